#include "backend/cpu/device_runtime.h"

#include <time.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "backend/cpu/code/cpu_kernel.h"
#include "backend/cpu/code/places.h"
#include "backend/cpu/run/block.h"
#include "backend/cpu/run/give_up.h"
#include "backend/cpu/run/kernel_context.h"
#include "backend/cpu/run/thread.h"
#include "backend/device_side/device_runtime.h"
#include "check/check.h"
#include "check/memory/heap_leaks.h"
#include "copy/watch.h"
#include "ptx/facts/layout.h"

namespace vg::backend::cpu {
namespace {

using Error = RuntimeError;

constexpr long kNap = 20'000;  // ns, while too many launches are pending

// Queues that run where the parent does, and parameters in memory of the host.
class Source final : public ChildGrids::Source {
 public:
  explicit Source(const RunningLaunch& parent)
      : device_(parent.device),
        place_{parent.place.workers, parent.place.urgency, parent.texturesRemoved, parent.place.makeQueue},
        faults_(*parent.faults),
        context_(*parent.context) {}

  std::unique_ptr<Queue> makeQueue() override { return place_.makeQueue(device_, place_); }
  std::byte* allocate(size_t bytes) override {
    auto* const memory = static_cast<std::byte*>(std::aligned_alloc(kAlignment, rounded(bytes)));
    if (memory && check::any() && bytes) {
      check::beginParts(reinterpret_cast<CUdeviceptr>(memory), rounded(bytes));
      check::addPart(reinterpret_cast<CUdeviceptr>(memory), bytes, "parameters of a launch from a kernel");
    }
    return memory;
  }
  void release(std::byte* memory, size_t bytes) override {
    if (check::any() && bytes) check::endParts(reinterpret_cast<CUdeviceptr>(memory), rounded(bytes));
    std::free(memory);
  }
  FaultSink& faults() override { return faults_; }
  const KernelLimits& limits() override { return context_.limits(); }

 private:
  static constexpr size_t kAlignment = 256;
  static size_t rounded(size_t bytes) {
    return (std::max<size_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
  }

  const Device& device_;
  const LaunchPlace place_;
  FaultSink& faults_;
  KernelContext& context_;
};

// What a thread hands in may be any address.
class Caller final : public DeviceRuntimeCaller {
 public:
  Caller(ptx::BlockState& state, uint32_t warp, uint32_t lane, const void* from)
      : state_(state), block_(ResidentBlock::of(&state)), warp_(warp), lane_(lane), from_(from) {}

 private:
  RunningLaunch& launch() const { return block_.launch(); }

  void beginCritical() override { critical_.emplace(block_.thread()); }
  void endCritical() override { critical_.reset(); }
  const Traits& traits() const override { return launch().device.traits(); }
  const KernelLimits& limits() const override { return launch().context->limits(); }
  ChildGrids& children() override {
    return ChildGrids::of(launch().children, [this] { return std::make_unique<Source>(launch()); });
  }
  const char* kernelName() const override { return launch().kernelName; }
  uint64_t block() const override {
    const uint32_t(&index)[3] = state_.blockIndex;
    const uint32_t(&grid)[3] = launch().abi.gridSize;
    return index[0] + uint64_t{grid[0]} * (index[1] + uint64_t{grid[1]} * index[2]);
  }
  uint64_t thread() const override { return block() * launch().abi.threadsPerBlock + warp_ * ptx::kWarpSize + lane_; }
  Kernel* kernelAt(uint64_t address) const override;
  CUresult permits(Kernel& kernel, const LaunchShape& shape) const override {
    return static_cast<CpuKernel&>(kernel).permits(shape);
  }
  GraphRun* graph() const override { return launch().graph; }
  void store(uint64_t address, const void* value, size_t bytes) override {
    std::memcpy(reinterpret_cast<void*>(address), value, bytes);
    copy::tellWritten(reinterpret_cast<void*>(address), bytes);
  }
  void awaitRoom(uint64_t stream) override;
  uint64_t allocate(uint64_t bytes) override {
    const KernelThread::Critical guard(block_.thread());
    const auto memory = reinterpret_cast<uint64_t>(launch().context->heap().allocate(bytes, limits().heapBytes));
    if (check::heap_leaks::on())
      check::heap_leaks::allocated(memory, bytes, {launch().kernelName, launch().module, lineOfCall(block_, from_)});
    return memory;
  }
  RuntimeError release(uint64_t memory) override;
  bool hasRoom(uint64_t stream) {
    const KernelThread::Critical guard(block_.thread());
    return children().hasRoom(stream);
  }

  ptx::BlockState& state_;
  ResidentBlock& block_;
  const uint32_t warp_, lane_;
  const void* const from_;  // what the kernel's call returns to
  std::optional<KernelThread::Critical> critical_;
};

Kernel* Caller::kernelAt(uint64_t address) const {
  const uint64_t number = (address - ptx::kFunctionAddressTag) / 16;
  const std::vector<CpuKernel*>* const kernels = launch().kernels;
  if (!kernels || number >= kernels->size() || address != ptx::functionAddress(static_cast<uint32_t>(number)))
    return nullptr;
  return (*kernels)[number];
}

void Caller::awaitRoom(uint64_t stream) {
  while (!hasRoom(stream)) {
    stopIfEnded(block_, from_);
    const timespec nap{0, kNap};
    nanosleep(&nap, nullptr);
  }
}

Error Caller::release(uint64_t memory) {
  {
    const KernelThread::Critical guard(block_.thread());
    if (launch().context->heap().release(reinterpret_cast<void*>(memory))) return Error::Success;
  }
  KernelFault fault;
  fault.warp = warp_;
  fault.lanes = 1u << lane_;
  fault.codeAddress = callBefore(from_);
  fault.error = CUDA_ERROR_ILLEGAL_ADDRESS;
  fault.what = "cudaFree, in a kernel, of memory that no kernel allocated";
  giveUp(block_, fault);
}

}  // namespace

void callDeviceRuntime(ptx::BlockState* state, uint32_t warp, uint32_t mask, const uint32_t* functions,
                       const uint64_t* arguments, uint64_t* results, const void* from) {
  stopIfEnded(ResidentBlock::of(state), from);
  for (uint32_t left = mask; left; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    results[lane] = Caller(*state, warp, lane, from)
                        .call(static_cast<ptx::DeviceCall>(functions[lane]), DeviceArguments(arguments[lane]));
  }
}

}  // namespace vg::backend::cpu
