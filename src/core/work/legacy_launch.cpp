#include "core/work/legacy_launch.h"

#include <cstring>
#include <map>
#include <vector>

#include "base/sync/mutex.h"
#include "base/undying.h"
#include "core/contexts/context.h"
#include "core/modules/kernel.h"
#include "core/streams/stream.h"
#include "core/work/launch.h"

namespace vg::core::legacy {
namespace {

constexpr unsigned kLargestParameters = 4096;  // bytes; what this interface ever took

struct Settings {
  uint32_t block[3] = {1, 1, 1};
  unsigned shared = 0;
  std::vector<std::byte> parameters;
};

struct Table {
  Mutex mutex;
  // By context and function, so that a function that later gets the same handle elsewhere starts anew.
  std::map<std::pair<uint64_t, CUfunction>, Settings> settings VG_GUARDED_BY(mutex);
};
Table& table() { return undying<Table, Table>(); }

template <class Change>
CUresult change(Context& context, CUfunction function, Change&& apply) {
  VG_CHECK(resolveKernel(function, context));
  Table& all = table();
  const MutexLock lock(all.mutex);
  apply(all.settings[{context.id(), function}]);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult setBlockShape(Context& context, CUfunction function, int x, int y, int z) {
  if (x <= 0 || y <= 0 || z <= 0) return fail(CUDA_ERROR_INVALID_VALUE, "block of %d x %d x %d threads", x, y, z);
  return change(context, function, [&](Settings& settings) {
    settings.block[0] = static_cast<uint32_t>(x);
    settings.block[1] = static_cast<uint32_t>(y);
    settings.block[2] = static_cast<uint32_t>(z);
  });
}

CUresult setSharedSize(Context& context, CUfunction function, unsigned bytes) {
  return change(context, function, [&](Settings& settings) { settings.shared = bytes; });
}

CUresult setParameterSize(Context& context, CUfunction function, unsigned bytes) {
  if (bytes > kLargestParameters) return fail(CUDA_ERROR_INVALID_VALUE, "%u bytes of parameters", bytes);
  return change(context, function, [&](Settings& settings) { settings.parameters.resize(bytes); });
}

CUresult setParameter(Context& context, CUfunction function, int offset, const void* value, unsigned bytes) {
  if (offset < 0 || bytes > kLargestParameters || static_cast<unsigned>(offset) > kLargestParameters - bytes || !value)
    return fail(CUDA_ERROR_INVALID_VALUE, "parameter of %u bytes at %d", bytes, offset);
  return change(context, function, [&](Settings& settings) {
    const size_t end = static_cast<size_t>(offset) + bytes;
    if (settings.parameters.size() < end) settings.parameters.resize(end);
    std::memcpy(settings.parameters.data() + offset, value, bytes);
  });
}

CUresult launch(Stream& stream, CUfunction function, int width, int height) {
  if (width <= 0 || height <= 0) return fail(CUDA_ERROR_INVALID_VALUE, "grid of %d x %d blocks", width, height);
  Settings settings;
  VG_CHECK(change(stream.context(), function, [&](Settings& known) { settings = known; }));
  work::LaunchCall call{.function = function};
  call.shape.grid[0] = static_cast<uint32_t>(width);
  call.shape.grid[1] = static_cast<uint32_t>(height);
  std::memcpy(call.shape.block, settings.block, sizeof settings.block);
  call.shape.dynamicShared = settings.shared;
  size_t size = settings.parameters.size();
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, settings.parameters.data(), CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   CU_LAUNCH_PARAM_END};
  call.arguments = {nullptr, extra};
  return stream.give(call);
}

}  // namespace vg::core::legacy
