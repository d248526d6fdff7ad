// CUDA's device runtime: what kernels ask for when they launch kernels, make streams, copy, allocate, and look at
// errors. What the functions mean is here, the same on every kind of device; a device says how a kernel reaches them.
#pragma once

#include <optional>

#include "backend/device.h"
#include "backend/device_side/child_grids.h"
#include "backend/device_side/device_arguments.h"
#include "backend/device_side/graph_run.h"
#include "ptx/abi/device_runtime.h"

namespace vg::backend {

// One thread of a kernel that calls. Answers as a GPU of compute capability 9.0 was seen to.
class DeviceRuntimeCaller {
 public:
  // Without memory of the host: cudaErrorMemoryAllocation.
  uint64_t call(ptx::DeviceCall which, DeviceArguments arguments) noexcept;

 protected:
  ~DeviceRuntimeCaller() = default;

  // While one lives, locks of the process are held and the C library is called; memory of the kernel, which may not be
  // there, is never touched meanwhile.
  virtual void beginCritical() {}
  virtual void endCritical() {}
  virtual const Traits& traits() const = 0;
  virtual const KernelLimits& limits() const = 0;
  virtual ChildGrids& children() = 0;
  virtual const char* kernelName() const = 0;
  // The linear numbers of the thread's block and of the thread in the whole grid.
  virtual uint64_t block() const = 0;
  virtual uint64_t thread() const = 0;
  // The kernel whose address a program has taken; null for what is none.
  virtual Kernel* kernelAt(uint64_t address) const = 0;
  // Whether a kernel may launch it so. Compiles nothing and waits for nothing.
  virtual CUresult permits(Kernel& kernel, const LaunchShape& shape) const = 0;
  // Writes to an address that the kernel gave.
  virtual void store(uint64_t address, const void* value, size_t bytes) = 0;
  // Where the kernel finds a text of the table of errors.
  virtual uint64_t addressOf(const char* text) const { return reinterpret_cast<uint64_t>(text); }
  // Parameters that are in no buffer of the children's, but where a kernel puts them by itself: to be copied. Null for
  // other addresses.
  virtual const std::byte* parametersAt(uint64_t /*address*/, size_t /*bytes*/) const { return nullptr; }
  // While too many launches are pending, may wait until there is room for one.
  virtual void awaitRoom(uint64_t /*stream*/) {}
  // The heap of malloc: the memory, 0 when there is none; ends the launch for what is no memory of it.
  virtual uint64_t allocate(uint64_t bytes) = 0;
  virtual RuntimeError release(uint64_t memory) = 0;
  // The graph that the kernel is a node of; null outside of graphs.
  virtual GraphRun* graph() const { return nullptr; }
  // Makes a call that may wait for other work, now or soon.
  virtual void later(const HostCall& call) { call.function(call.data); }
  // Reads memory that the kernel named. False, with nothing read, where the host cannot.
  virtual bool load(uint64_t address, void* to, size_t bytes) const;
  // Whether a copy or a fill may be queued.
  virtual bool reachable(const Command&) const { return true; }
  // Whether the cudaGraphKernelNodeUpdate there could be made.
  RuntimeError checkUpdate(uint64_t address);

 private:
  struct Critical {
    explicit Critical(DeviceRuntimeCaller& of) : caller(of) { caller.beginCritical(); }
    ~Critical() { caller.endCritical(); }
    Critical(const Critical&) = delete;
    DeviceRuntimeCaller& caller;
  };
  struct NodeUpdate;
  template <class Act>
  auto critical(Act act);
  template <class T>
  RuntimeError give(uint64_t address, const T& value) {
    store(address, &value, sizeof value);
    return RuntimeError::Success;
  }
  uint64_t perform(ptx::DeviceCall which, DeviceArguments arguments);
  std::optional<uint64_t> tell(ptx::DeviceCall which, DeviceArguments arguments);
  RuntimeError act(ptx::DeviceCall which, DeviceArguments arguments);
  RuntimeError note(RuntimeError error);
  RuntimeError prepare(Kernel* kernel, const LaunchShape& shape);
  RuntimeError launchBuffer(uint64_t buffer, uint64_t stream);
  uint64_t parameterBuffer(DeviceArguments& arguments);
  uint64_t plainBuffer(DeviceArguments& arguments);
  RuntimeError launchOld(DeviceArguments& arguments);
  RuntimeError deviceAttribute(DeviceArguments& arguments);
  RuntimeError deviceLimit(DeviceArguments& arguments);
  RuntimeError functionAttributes(DeviceArguments& arguments);
  RuntimeError occupancy(DeviceArguments& arguments);
  RuntimeError allocate(DeviceArguments& arguments);
  RuntimeError createStream(DeviceArguments& arguments);
  RuntimeError createEvent(DeviceArguments& arguments);
  RuntimeError waitEvent(DeviceArguments& arguments);
  RuntimeError recordEvent(DeviceArguments& arguments);
  RuntimeError copy(ptx::DeviceCall which, DeviceArguments& arguments);
  // In device_graphs.cpp.
  RuntimeError callGraphs(ptx::DeviceCall which, DeviceArguments& arguments);
  RuntimeError launchGraph(uint64_t exec, uint64_t stream);
  RuntimeError setNodeParameter(uint64_t node, uint64_t offset, uint64_t from, uint64_t bytes);
  RuntimeError setNodeEnabled(uint64_t node, bool on);
  RuntimeError setNodeGrid(uint64_t node, const uint32_t (&grid)[3]);
  RuntimeError updateNodes(uint64_t updates, uint64_t count);
  RuntimeError canUpdate(const NodeUpdate& update);
  RuntimeError updateNode(const NodeUpdate& update);
};

}  // namespace vg::backend
