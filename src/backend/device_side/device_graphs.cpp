// What kernels ask the device runtime of graphs: launches, and changes of nodes. Memory of the kernel, which may not be
// there, is read while no lock is held.
#include <algorithm>
#include <cstring>

#include "backend/device_side/device_runtime.h"
#include "backend/device_side/updatable_node.h"
#include "base/log.h"

namespace vg::backend {
namespace {

using ptx::DeviceCall;
using Error = RuntimeError;

constexpr unsigned kModeShift = 56;  // the streams that name a way to launch have nothing but it, in the highest byte

struct GridLimits {
  explicit GridLimits(const Traits& traits) {
    const auto limit = [&](CUdevice_attribute which) { return static_cast<uint32_t>(traits.attribute(which)); };
    size[0] = limit(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
    size[1] = limit(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
    size[2] = limit(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
  }
  uint32_t size[3];
};

// The results that core gives have the same numbers in both APIs.
Error errorOf(CUresult result) { return static_cast<Error>(result); }

}  // namespace

// cudaGraphKernelNodeUpdate.
struct DeviceRuntimeCaller::NodeUpdate {
  enum class Field : uint32_t { GridDim = 1, Param, Enabled };
  uint64_t node;
  uint32_t field;
  union {
    uint32_t grid[3];
    struct {
      uint64_t value, offset, bytes;
    } parameter;
    uint32_t enabled;
  };
};

bool DeviceRuntimeCaller::load(uint64_t address, void* to, size_t bytes) const {
  std::memcpy(to, reinterpret_cast<const void*>(address), bytes);
  return true;
}

Error DeviceRuntimeCaller::launchGraph(uint64_t exec, uint64_t stream) {
  const uint64_t mode = stream >> kModeShift;
  const bool known = mode >= 1 && mode <= 3 && stream == mode << kModeShift;
  const Critical guard(*this);
  if (known && graph()) {
    HostCall rest{};
    const CUresult result = graph()->launch(exec, static_cast<GraphRun::Launch>(mode), rest);
    if (rest.function) later(rest);
    return errorOf(result);
  }
  VG_LOG(Info, "kernel %s launches a graph %s", kernelName(),
         graph() ? "into a stream that is none of graphs" : "and runs in none");
  return Error::InvalidValue;
}

Error DeviceRuntimeCaller::setNodeParameter(uint64_t node, uint64_t offset, uint64_t from, uint64_t bytes) {
  if (!from) return Error::InvalidValue;
  const auto wrong = [&] {
    const Critical guard(*this);
    return UpdatableNode::hasParameters(node, offset, bytes);
  }();
  if (wrong != CUDA_SUCCESS) return errorOf(wrong);
  std::byte some[256];
  for (uint64_t done = 0, part = 0; done < bytes; done += part) {
    part = std::min<uint64_t>(sizeof some, bytes - done);
    if (!load(from + done, some, part)) return Error::InvalidValue;
    const Critical guard(*this);
    const CUresult result = UpdatableNode::setParameter(node, offset + done, some, part);
    if (result != CUDA_SUCCESS) return errorOf(result);
  }
  return Error::Success;
}

Error DeviceRuntimeCaller::setNodeEnabled(uint64_t node, bool on) {
  const Critical guard(*this);
  return errorOf(UpdatableNode::setEnabled(node, on));
}

Error DeviceRuntimeCaller::setNodeGrid(uint64_t node, const uint32_t (&grid)[3]) {
  const GridLimits limits(traits());
  const Critical guard(*this);
  return errorOf(UpdatableNode::setGrid(node, grid, limits.size));
}

Error DeviceRuntimeCaller::canUpdate(const NodeUpdate& update) {
  const GridLimits limits(traits());
  const Critical guard(*this);
  switch (static_cast<NodeUpdate::Field>(update.field)) {
    case NodeUpdate::Field::GridDim:
      return errorOf(UpdatableNode::canHaveGrid(update.node, update.grid, limits.size));
    case NodeUpdate::Field::Param:
      if (!update.parameter.value) return Error::InvalidValue;
      return errorOf(UpdatableNode::hasParameters(update.node, update.parameter.offset, update.parameter.bytes));
    case NodeUpdate::Field::Enabled:
      return errorOf(UpdatableNode::hasParameters(update.node, 0, 0));
  }
  return Error::InvalidValue;
}

Error DeviceRuntimeCaller::checkUpdate(uint64_t address) {
  NodeUpdate update;
  return load(address, &update, sizeof update) ? canUpdate(update) : Error::InvalidValue;
}

Error DeviceRuntimeCaller::updateNode(const NodeUpdate& update) {
  switch (static_cast<NodeUpdate::Field>(update.field)) {
    case NodeUpdate::Field::GridDim:
      return setNodeGrid(update.node, update.grid);
    case NodeUpdate::Field::Param:
      return setNodeParameter(update.node, update.parameter.offset, update.parameter.value, update.parameter.bytes);
    case NodeUpdate::Field::Enabled:
      return setNodeEnabled(update.node, update.enabled != 0);
  }
  return Error::InvalidValue;
}

// All of them, or none.
Error DeviceRuntimeCaller::updateNodes(uint64_t updates, uint64_t count) {
  static_assert(sizeof(NodeUpdate) == 40);
  if (!updates) return Error::InvalidValue;
  for (uint64_t i = 0; i < count; ++i)
    if (const Error error = checkUpdate(updates + i * sizeof(NodeUpdate)); error != Error::Success) return error;
  for (uint64_t i = 0; i < count; ++i) {
    NodeUpdate update;
    if (!load(updates + i * sizeof update, &update, sizeof update)) return Error::InvalidValue;
    if (const Error error = updateNode(update); error != Error::Success) return error;
  }
  return Error::Success;
}

Error DeviceRuntimeCaller::callGraphs(DeviceCall which, DeviceArguments& arguments) {
  const auto first = arguments.take<uint64_t>();
  switch (which) {
    case DeviceCall::GraphLaunch:
      return launchGraph(first, arguments.take<uint64_t>());
    case DeviceCall::GraphKernelNodeSetParam: {
      const auto offset = arguments.take<uint64_t>(), value = arguments.take<uint64_t>();
      return setNodeParameter(first, offset, value, arguments.take<uint64_t>());
    }
    case DeviceCall::GraphKernelNodeSetEnabled:
      return setNodeEnabled(first, arguments.take<uint32_t>() & 1);
    case DeviceCall::GraphKernelNodeSetGridDim: {
      struct Grid {
        uint32_t size[3];
      };
      return setNodeGrid(first, arguments.take<Grid>().size);
    }
    default:
      return updateNodes(first, arguments.take<uint64_t>());
  }
}

}  // namespace vg::backend
