#include <new>

#include "backend/cpu/device.h"
#include "backend/registry.h"

namespace vg::backend {
namespace {

Device* createCpu(int ordinal) { return new (std::nothrow) cpu::CpuDevice(ordinal, cpu::Workers::shared()); }

}  // namespace

const Kind kKinds[] = {{"cpu", createCpu}, {nullptr, nullptr}};

}  // namespace vg::backend
