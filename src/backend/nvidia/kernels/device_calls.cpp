#include "backend/nvidia/kernels/device_calls.h"

namespace vg::backend::nvidia {
namespace {

bool isDeviceCall(const cubin::Symbol& symbol) { return deviceCallOf(symbol).has_value(); }
bool launchesKernels(const cubin::Symbol& symbol) {
  const auto call = deviceCallOf(symbol);
  return call == ptx::DeviceCall::LaunchDevice || call == ptx::DeviceCall::LaunchDeviceV2;
}
bool launchesGraphs(const cubin::Symbol& symbol) { return deviceCallOf(symbol) == ptx::DeviceCall::GraphLaunch; }
bool updatesNodes(const cubin::Symbol& symbol) {
  const auto call = deviceCallOf(symbol);
  return call >= ptx::DeviceCall::GraphKernelNodeSetParam && call <= ptx::DeviceCall::GraphKernelNodeUpdatesApply;
}
// All but graphs, and what has to do with no work at all.
bool queuesWork(const cubin::Symbol& symbol) {
  const auto call = deviceCallOf(symbol);
  if (!call || launchesGraphs(symbol) || updatesNodes(symbol)) return false;
  switch (*call) {
    case ptx::DeviceCall::GetLastError:
    case ptx::DeviceCall::PeekAtLastError:
    case ptx::DeviceCall::GetErrorString:
    case ptx::DeviceCall::GetErrorName:
      return false;
    default:
      return true;
  }
}
bool asksVendor(const cubin::Symbol& symbol) { return isVendorCall(symbol.name); }

}  // namespace

std::optional<ptx::DeviceCall> deviceCallOf(const cubin::Symbol& symbol) { return ptx::deviceCallNamed(symbol.name); }

bool isVendorCall(std::string_view name) { return name.starts_with("__cuda_syscall_cnp"); }

bool callsDeviceRuntime(const cubin::Cubin& cubin) {
  for (uint32_t section = 0; section < cubin.sections.size(); ++section)
    for (const cubin::Relocation& relocation : cubin.relocations[section]) {
      const cubin::Symbol& symbol = cubin.symbols[relocation.symbol];
      if (symbol.section != section && isDeviceCall(symbol)) return true;
    }
  return false;
}

const cubin::Kernel* kernelWithVendorCode(const cubin::Cubin& cubin) {
  const cubin::Calls calls(cubin, asksVendor, isDeviceCall);
  for (const cubin::Kernel& kernel : cubin.kernels)
    if (calls.names(kernel)) return &kernel;
  return nullptr;
}

DeviceCalls::DeviceCalls(const cubin::Cubin& cubin)
    : any_(cubin, isDeviceCall, isDeviceCall),
      kernels_(cubin, launchesKernels, isDeviceCall),
      graphs_(cubin, launchesGraphs, isDeviceCall),
      nodes_(cubin, updatesNodes, isDeviceCall),
      work_(cubin, queuesWork, isDeviceCall) {}

}  // namespace vg::backend::nvidia
