#include "core/modules/library.h"

#include <algorithm>
#include <functional>

#include "base/log.h"
#include "base/memory/slab.h"
#include "core/contexts/context.h"
#include "core/modules/module.h"
#include "core/process/device.h"
#include "core/process/inside_host_function.h"

namespace vg::core {
namespace {

constinit Slab<Library, 1 << 18> slab;
constinit Mutex listMutex;  // guards first and the links of the libraries
constinit Library* first VG_GUARDED_BY(listMutex) = nullptr;
constinit std::atomic<unsigned> loaded{0};

// Programs look for kernel after kernel, and few say what the first answer was.
void tellRefused(const std::string& name, CUresult why) {
  VG_LOG(Warn, "%s: none of its kernels can be used (error %d); VERDIGRIS_LOG=info says why", name.c_str(),
         static_cast<int>(why));
}

using Select = std::function<Result<images::Selected>(const images::SelectOptions&)>;

}  // namespace

backend::Device& Library::deviceOf(const DeviceKind& kind) {
  int ordinal = 0;
  while (kindOf(deviceAt(ordinal).backend().traits()) != kind) ++ordinal;
  return deviceAt(ordinal).backend();
}

Library::~Library() {
  for (const auto& [name, kernel] : kernels_) dropKernel(kernel);
}

Module* Library::instance(Context& context) {
  const MutexLock lock(instancesMutex_);
  for (const Instance& instance : instances_)
    if (instance.context == &context && instance.id == context.id()) return instance.module;
  return nullptr;
}

Result<Module&> Library::in(Context& context) {
  const MutexLock lock(instancesMutex_);
  for (const Instance& instance : instances_)
    if (instance.context == &context && instance.id == context.id()) return *instance.module;
  const DeviceKind kind = kindOf(context.device().backend().traits());
  const auto code = code_.find(kind);
  if (code == code_.end())
    return fail(CUDA_ERROR_NO_BINARY_FOR_GPU, "%s holds no code for compute capability %d.%d", name_.c_str(),
                kind.computeCapability / 10, kind.computeCapability % 10);
  VG_TRY(Module & module, modules::instantiate(context, &managed_, code->second, name_, {}));
  instances_.push_back({&context, context.id(), &module});
  return module;
}

Result<Function&> Library::functionIn(Context& context, const std::string& name) {
  VG_TRY(Module & module, in(context));
  return module.function(name);
}

Result<backend::Image&> Library::description() {
  const MutexLock lock(blueprintMutex_);
  if (!blueprint_ && refused_ == CUDA_SUCCESS && code_.empty()) {
    tellRefused(name_, refused_ = CUDA_ERROR_NO_BINARY_FOR_GPU);
  } else if (!blueprint_ && refused_ == CUDA_SUCCESS) {
    auto& [kind, code] = *code_.begin();
    Result<std::unique_ptr<Blueprint>> made = Blueprint::load(deviceOf(kind), code, name_, &managed_, {});
    if (made)
      blueprint_ = std::move(*made);
    else
      tellRefused(name_, refused_ = made.error());
  }
  if (refused_) return refused_;
  return blueprint_->image();
}

Result<backend::Global> Library::managed(const std::string& name) {
  VG_CHECK(description());
  return managed_.find(name);
}

Result<Kernel&> Library::kernel(const std::string& name) {
  const MutexLock lock(kernelsMutex_);
  if (const auto known = kernels_.find(name); known != kernels_.end()) return *known->second;
  VG_TRY(backend::Image & image, description());
  VG_CHECK(image.kernel(name));
  Kernel* made = makeKernel(*this, name);
  kernels_[name] = made;
  return *made;
}

std::vector<std::string> Library::kernelNames() {
  const Result<backend::Image&> image = description();
  return image ? image->kernelNames() : std::vector<std::string>();
}

Result<std::vector<Kernel*>> Library::kernels() {
  std::vector<Kernel*> all;
  for (const std::string& name : kernelNames()) {
    VG_TRY(Kernel & made, kernel(name));
    all.push_back(&made);
  }
  return all;
}

// The list of all libraries, and the steps of a library's life that touch its insides.
struct LibraryList {
  // Devices may differ in what they run: the code for each kind is chosen now, while the image is at hand.
  static CUresult load(Library& library, const Select& select, JitOptions& options) {
    CUresult refused = CUDA_SUCCESS;
    for (int ordinal = 0; ordinal < deviceCount(); ++ordinal) {
      const backend::Device& device = deviceAt(ordinal).backend();
      const Library::DeviceKind kind = Library::kindOf(device.traits());
      if (library.code_.count(kind)) continue;
      Result<images::Selected> selected = select(modules::selectOptions(device, &options.errorLog()));
      if (!selected) {
        refused = selected.error();
        continue;
      }
      for (std::string& text : selected->ptx) options.limitRegisters(text);
      library.code_.try_emplace(kind, std::move(*selected));
    }
    // A real driver looks for code that fits when something is first asked of the library.
    return library.code_.empty() && refused != CUDA_ERROR_NO_BINARY_FOR_GPU ? refused : CUDA_SUCCESS;
  }

  static void add(Library& library) {
    const MutexLock lock(listMutex);
    library.next_ = first;
    if (first) first->previous_ = &library;
    first = &library;
  }

  static void remove(Library& library) {
    const MutexLock lock(listMutex);
    (library.previous_ ? library.previous_->next_ : first) = library.next_;
    if (library.next_) library.next_->previous_ = library.previous_;
  }

  static void forgetAll(Context& context) {
    const MutexLock lock(listMutex);
    for (Library* library = first; library; library = library->next_) {
      {
        const MutexLock kernels(library->kernelsMutex_);
        for (const auto& [name, kernel] : library->kernels_) kernel->forget(context);
      }
      const MutexLock instances(library->instancesMutex_);
      auto& all = library->instances_;
      all.erase(std::remove_if(all.begin(), all.end(), [&](const auto& one) { return one.context == &context; }),
                all.end());
    }
  }

  static std::vector<Library::Instance> takeInstances(Library& library) {
    const MutexLock lock(library.instancesMutex_);
    return std::exchange(library.instances_, {});
  }
};

namespace libraries {
namespace {

Result<Library&> make(std::string name, const Select& select, JitOptions& options) {
  Library* library = slab.create(std::move(name));
  if (const CUresult result = LibraryList::load(*library, select, options)) {
    slab.destroy(library);
    return result;
  }
  LibraryList::add(*library);
  return *library;
}

// What is no code at all is a library too: it is refused when something is first asked of it, as by a real driver.
Result<images::Selected> selectLazily(const void* image, const images::SelectOptions& options) {
  Result<images::Selected> selected = images::select(image, images::kUnknownSize, options);
  if (selected || selected.error() != CUDA_ERROR_INVALID_IMAGE) return selected;
  return images::Selected{};
}

}  // namespace

Result<Library&> load(const void* image, JitOptions& options) {
  return make(
      "library " + std::to_string(loaded.fetch_add(1) + 1),
      [image](const images::SelectOptions& how) { return selectLazily(image, how); }, options);
}

Result<Library&> loadFile(const std::string& path, JitOptions& options) {
  return make(
      path, [&path](const images::SelectOptions& how) { return images::selectFile(path, how); }, options);
}

Result<Library&> find(CUlibrary handle) {
  if (Library* library = slab.find(handle)) return *library;
  return fail(CUDA_ERROR_INVALID_HANDLE, "%p is no library", static_cast<void*>(handle));
}

CUresult unload(Library& library) {
  if (insideHostFunction) return fail(CUDA_ERROR_NOT_PERMITTED, "host functions may not unload libraries");
  if (!slab.retire(&library)) return fail(CUDA_ERROR_INVALID_HANDLE, "another thread unloads the library");
  LibraryList::remove(library);
  for (const auto& instance : LibraryList::takeInstances(library)) {
    (void)instance.context->synchronize();
    modules::end(*instance.module);
  }
  slab.recycle(&library);
  return CUDA_SUCCESS;
}

void forgetAll(Context& context) { LibraryList::forgetAll(context); }

}  // namespace libraries
}  // namespace vg::core
