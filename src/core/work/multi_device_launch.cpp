#include "core/work/multi_device_launch.h"

#include <vector>

#include "core/contexts/context.h"
#include "core/process/device.h"
#include "core/streams/stream.h"
#include "core/work/launch.h"

namespace vg::core {
namespace {

constexpr unsigned kNoWaitBefore = CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_PRE_LAUNCH_SYNC;
constexpr unsigned kNoWaitBehind = CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_POST_LAUNCH_SYNC;

bool sameShape(const CUDA_LAUNCH_PARAMS& a, const CUDA_LAUNCH_PARAMS& b) {
  return a.gridDimX == b.gridDimX && a.gridDimY == b.gridDimY && a.gridDimZ == b.gridDimZ &&
         a.blockDimX == b.blockDimX && a.blockDimY == b.blockDimY && a.blockDimZ == b.blockDimZ &&
         a.sharedMemBytes == b.sharedMemBytes;
}

CUresult check(std::span<const CUDA_LAUNCH_PARAMS> grids, unsigned flags) {
  if (grids.empty() || grids.size() > static_cast<size_t>(deviceCount()))
    return fail(CUDA_ERROR_INVALID_VALUE, "%zu grids for %d devices", grids.size(), deviceCount());
  if (flags & ~(kNoWaitBefore | kNoWaitBehind)) return fail(CUDA_ERROR_INVALID_VALUE, "unknown flags %#x", flags);
  for (const CUDA_LAUNCH_PARAMS& grid : grids) {
    if (!grid.hStream || grid.hStream == CU_STREAM_LEGACY || grid.hStream == CU_STREAM_PER_THREAD)
      return fail(CUDA_ERROR_INVALID_HANDLE, "a default stream cannot wait for work of other devices");
    if (!sameShape(grid, grids[0])) return fail(CUDA_ERROR_INVALID_VALUE, "the grids differ in shape");
  }
  return CUDA_SUCCESS;
}

// The streams of the grids, each of a device of its own.
Result<std::vector<Stream*>> streamsOf(std::span<const CUDA_LAUNCH_PARAMS> grids) {
  std::vector<Stream*> streams;
  for (const CUDA_LAUNCH_PARAMS& grid : grids) {
    VG_TRY(Stream & stream, resolveStream(grid.hStream, nullptr));
    for (Stream* other : streams)
      if (&other->context().device() == &stream.context().device())
        return fail(CUDA_ERROR_INVALID_DEVICE, "two grids on device %d", stream.context().device().ordinal());
    streams.push_back(&stream);
  }
  return streams;
}

// Later work of each stream waits for what all of them have now.
CUresult meet(const std::vector<Stream*>& streams) {
  std::vector<Point> ends;
  ends.reserve(streams.size());
  for (const Stream* stream : streams) ends.push_back(stream->tail());
  for (Stream* stream : streams)
    for (const Point& end : ends) VG_CHECK(stream->waitFor(end));
  return CUDA_SUCCESS;
}

}  // namespace

CUresult launchOnDevices(std::span<const CUDA_LAUNCH_PARAMS> grids, unsigned flags) {
  VG_CHECK(check(grids, flags));
  VG_TRY(const std::vector<Stream*> streams, streamsOf(grids));
  if (!(flags & kNoWaitBefore)) VG_CHECK(meet(streams));
  for (size_t i = 0; i < grids.size(); ++i) {
    const CUDA_LAUNCH_PARAMS& grid = grids[i];
    const backend::LaunchShape shape{{grid.gridDimX, grid.gridDimY, grid.gridDimZ},
                                     {grid.blockDimX, grid.blockDimY, grid.blockDimZ},
                                     {1, 1, 1},
                                     grid.sharedMemBytes,
                                     true};
    VG_CHECK(streams[i]->give(work::LaunchCall{grid.function, shape, {grid.kernelParams, nullptr}}));
  }
  return flags & kNoWaitBehind ? CUDA_SUCCESS : meet(streams);
}

}  // namespace vg::core
