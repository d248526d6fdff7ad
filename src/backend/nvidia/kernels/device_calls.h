// What native code calls of CUDA's device runtime, by the names that it has for it. A program has the vendor's own
// functions of that name in it as a rule, which call one another and ask the vendor's driver.
#pragma once

#include <optional>
#include <string_view>

#include "backend/device.h"
#include "cubin/calls.h"
#include "cubin/cubin.h"
#include "ptx/abi/device_runtime.h"

namespace vg::backend::nvidia {

// Nothing: the symbol is no function of the device runtime.
std::optional<ptx::DeviceCall> deviceCallOf(const cubin::Symbol& symbol);
// Whether code other than the vendor's functions themselves calls the device runtime.
bool callsDeviceRuntime(const cubin::Cubin& cubin);
// What the vendor's functions ask of its driver.
bool isVendorCall(std::string_view name);
// The first kernel that asks the vendor's driver in its own code, where no function can be replaced; null: none.
const cubin::Kernel* kernelWithVendorCode(const cubin::Cubin& cubin);

// Which kernels come to call what of it.
class DeviceCalls {
 public:
  explicit DeviceCalls(const cubin::Cubin& cubin);
  bool mayReach(const cubin::Kernel& kernel) const { return any_.mayReach(kernel); }
  // Whether its grids may have children, which end after them; graphs are none.
  bool mayQueueWork(const cubin::Kernel& kernel) const { return work_.mayReach(kernel); }
  // Those that launch kernels are refused in graphs for device launch: only what is sure to.
  Kernel::Calls of(const cubin::Kernel& kernel) const {
    return {kernels_.names(kernel), graphs_.mayReach(kernel), nodes_.mayReach(kernel)};
  }

 private:
  const cubin::Calls any_, kernels_, graphs_, nodes_, work_;
};

}  // namespace vg::backend::nvidia
