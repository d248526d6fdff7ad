#include "core/modules/image_preview.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "core/modules/device_code.h"

namespace vg::core {
namespace {

Result<CUdeviceptr> allocatePrivate(void*, size_t bytes, size_t alignment) {
  void* memory = nullptr;
  if (posix_memalign(&memory, std::max(alignment, sizeof(void*)), std::max(bytes, size_t{1})))
    return fail(CUDA_ERROR_OUT_OF_MEMORY, "no %zu bytes for the variables of an image", bytes);
  std::memset(memory, 0, bytes);
  return reinterpret_cast<CUdeviceptr>(memory);
}

void releasePrivate(void*, CUdeviceptr address) { std::free(reinterpret_cast<void*>(address)); }

// Managed variables of an image that is only tried; they end with the image like its others.
Result<backend::ImageSource::Managed> resolvePrivate(void* owner, const std::string&, size_t size, size_t alignment) {
  auto& kept = *static_cast<std::vector<std::unique_ptr<std::byte, void (*)(std::byte*)>>*>(owner);
  VG_TRY(const CUdeviceptr address, allocatePrivate(nullptr, size, alignment));
  kept.emplace_back(reinterpret_cast<std::byte*>(address), [](std::byte* memory) { std::free(memory); });
  return backend::ImageSource::Managed{address, true};
}

}  // namespace

Result<std::unique_ptr<Blueprint>> Blueprint::load(backend::Device& device, DeviceCode& code, const std::string& name,
                                                   ManagedVariables* managed, const backend::LoadOptions& options) {
  std::unique_ptr<Blueprint> made(new Blueprint);
  made->source_.name = name;
  made->source_.describeOnly = true;
  VG_CHECK(code.provide(device.traits(), made->source_, options));
  made->source_.resolveManaged = managed ? ManagedVariables::resolve : resolvePrivate;
  made->source_.resolveOwner = managed ? static_cast<void*>(managed) : &made->managed_;
  made->source_.allocate = allocatePrivate;
  made->source_.release = releasePrivate;
  VG_TRY(made->image_, device.load(made->source_, options));
  return made;
}

}  // namespace vg::core
