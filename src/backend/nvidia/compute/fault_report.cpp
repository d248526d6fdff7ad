#include "backend/nvidia/compute/fault_report.h"

#include <cstdio>

namespace vg::backend::nvidia {

// The debugger's object is made now: while one exists, exceptions may be held for it. Of exceptions inside a
// multiprocessor the driver keeps nothing that could be asked for afterwards.
std::string describeFault(Gpu& gpu, const Channel& channel) {
  Client& client = gpu.client();
  const rm::DebuggerParameters parameters{0, client.handle(), channel.computeObject()};
  const Client::Made debugger = client.make(gpu.device(), rm::kDebugger, &parameters, sizeof parameters);
  if (debugger.status) return "";
  rm::MmuFaults faults{};
  const Status status = client.control(debugger.handle, rm::kReadMmuFaults, &faults, sizeof faults);
  client.free(gpu.device(), debugger.handle);
  if (status || !faults.count) return "";
  char text[96];
  std::snprintf(text, sizeof text, "it %s %#llx, where nothing is mapped",
                faults.entries[0].access == rm::kFaultOfWrite ? "wrote to" : "read from",
                static_cast<unsigned long long>(faults.entries[0].address));
  return text;
}

}  // namespace vg::backend::nvidia
