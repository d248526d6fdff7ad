// Launching kernels, in the forms that CUDA has had over time.
#include "core/work/launch.h"

#include "api/entry/call.h"
#include "base/sync/caller_time.h"
#include "core/contexts/context.h"
#include "core/streams/stream.h"
#include "core/work/launch_attributes.h"
#include "core/work/legacy_launch.h"
#include "core/work/multi_device_launch.h"

namespace vg::handlers {
namespace {

using core::work::LaunchCall;

LaunchCall callOf(CUfunction function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY,
                  unsigned blockZ, unsigned shared, core::LaunchArguments arguments) {
  return {function, {{gridX, gridY, gridZ}, {blockX, blockY, blockZ}, {1, 1, 1}, shared, false}, arguments};
}

}  // namespace

CUresult cuLaunchKernel(const Call& call, CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                        unsigned int gridDimZ, unsigned int blockDimX, unsigned int blockDimY, unsigned int blockDimZ,
                        unsigned int sharedMemBytes, CUstream hStream, void** kernelParams, void** extra) {
  const CallerTime time;
  const LaunchCall launch =
      callOf(f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes, {kernelParams, extra});
  VG_TRY(core::Stream & stream, call.resolve(hStream));
  return stream.give(launch);
}

CUresult cuLaunchKernelEx(const Call& call, const CUlaunchConfig* config, CUfunction f, void** kernelParams,
                          void** extra) {
  if (!config) return missing("config");
  const CallerTime time;
  VG_TRY(core::Stream & stream, call.resolve(config->hStream));
  core::LaunchAttributes attributes;
  VG_TRY(LaunchCall launch, core::work::callOf(*config, stream.context().device(), attributes));
  launch.function = f;
  launch.arguments = {kernelParams, extra};
  return stream.give(launch);
}

CUresult cuLaunchCooperativeKernel(const Call& call, CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                                   unsigned int gridDimZ, unsigned int blockDimX, unsigned int blockDimY,
                                   unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream,
                                   void** kernelParams) {
  LaunchCall launch =
      callOf(f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes, {kernelParams, nullptr});
  launch.shape.cooperative = true;
  VG_TRY(core::Stream & stream, call.resolve(hStream));
  return stream.give(launch);
}

CUresult cuLaunchCooperativeKernelMultiDevice(const Call&, CUDA_LAUNCH_PARAMS* launchParamsList,
                                              unsigned int numDevices, unsigned int flags) {
  if (!launchParamsList) return missing("launchParamsList");
  return core::launchOnDevices({launchParamsList, numDevices}, flags);
}

CUresult cuFuncSetBlockShape(const Call& call, CUfunction hfunc, int x, int y, int z) {
  return core::legacy::setBlockShape(*call.context, hfunc, x, y, z);
}

CUresult cuFuncSetSharedSize(const Call& call, CUfunction hfunc, unsigned int bytes) {
  return core::legacy::setSharedSize(*call.context, hfunc, bytes);
}

CUresult cuParamSetSize(const Call& call, CUfunction hfunc, unsigned int numbytes) {
  return core::legacy::setParameterSize(*call.context, hfunc, numbytes);
}

CUresult cuParamSeti(const Call& call, CUfunction hfunc, int offset, unsigned int value) {
  return core::legacy::setParameter(*call.context, hfunc, offset, &value, sizeof value);
}

CUresult cuParamSetf(const Call& call, CUfunction hfunc, int offset, float value) {
  return core::legacy::setParameter(*call.context, hfunc, offset, &value, sizeof value);
}

CUresult cuParamSetv(const Call& call, CUfunction hfunc, int offset, void* ptr, unsigned int numbytes) {
  return core::legacy::setParameter(*call.context, hfunc, offset, ptr, numbytes);
}

CUresult cuLaunch(const Call& call, CUfunction f) { return cuLaunchGrid(call, f, 1, 1); }

CUresult cuLaunchGrid(const Call& call, CUfunction f, int grid_width, int grid_height) {
  return cuLaunchGridAsync(call, f, grid_width, grid_height, nullptr);
}

CUresult cuLaunchGridAsync(const Call& call, CUfunction f, int grid_width, int grid_height, CUstream hStream) {
  VG_TRY(core::Stream & stream, call.resolve(hStream));
  return core::legacy::launch(stream, f, grid_width, grid_height);
}

}  // namespace vg::handlers
