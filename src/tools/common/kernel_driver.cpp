#include "tools/common/kernel_driver.h"

#include <cstdio>
#include <utility>

namespace vg::tools {

using namespace backend::nvidia;

std::optional<KernelDriver> openKernelDriver() {
  Result<std::unique_ptr<Client>> client = Client::open(SystemCalls::real());
  if (!client.ok()) {
    std::printf("There is no NVIDIA kernel driver to talk to.\n");
    return {};
  }
  Result<std::unique_ptr<Uvm>> uvm = Uvm::open(**client);
  if (!uvm.ok()) return {};
  return KernelDriver{std::move(*client), std::move(*uvm)};
}

}  // namespace vg::tools
