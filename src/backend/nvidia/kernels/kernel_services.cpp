#include "backend/nvidia/kernels/kernel_services.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "backend/device_side/condition_table.h"
#include "backend/nvidia/kernels/device_calls.h"
#include "backend/nvidia/kernels/gpu_parts.h"
#include "backend/nvidia/kernels/kernel_requests.h"
#include "base/sync/mutex.h"
#include "base/undying.h"
#include "copy/copy.h"

namespace vg::backend::nvidia {
namespace {

// All that live. Never destroyed: kernels may print while the process exits.
struct List {
  Mutex mutex;  // guards all; not held while memory is taken
  std::vector<std::weak_ptr<KernelServices>> all VG_GUARDED_BY(mutex);
};
List& theList() { return undying<List, List>(); }
constinit std::atomic<bool> any{false};

Result<uint64_t> callsNothing(const std::string& name) {
  return fail(CUDA_ERROR_INVALID_IMAGE, "the driver's own functions call %s", name.c_str());
}

}  // namespace

Result<std::shared_ptr<KernelServices>> KernelServices::of(const GpuParts& gpu, const ImageSource& source) {
  static Mutex making;  // one at a time, so that a context gets one
  const MutexLock guard(making);
  List& list = theList();
  {
    const MutexLock lock(list.mutex);
    std::erase_if(list.all, [](const auto& one) { return one.expired(); });
    for (const auto& one : list.all)
      if (auto known = one.lock(); known && known->owner_ == source.memoryOwner && &known->gpu_ == &gpu) return known;
  }
  VG_TRY(const cubin::DeviceFunctions& functions,
         cubin::deviceFunctions(static_cast<uint32_t>(gpu.traits.computeCapability)));
  auto made = std::make_shared<KernelServices>(gpu, source, functions);
  VG_CHECK(made->make(source));
  const MutexLock lock(list.mutex);
  list.all.push_back(made);
  any.store(true, std::memory_order_release);
  return made;
}

void KernelServices::flushAll() noexcept {
  if (!any.load(std::memory_order_acquire)) [[likely]]
    return;
  std::vector<std::shared_ptr<KernelServices>> living;
  {
    const MutexLock lock(theList().mutex);
    for (const auto& one : theList().all)
      if (auto known = one.lock()) living.push_back(std::move(known));
  }
  for (const auto& one : living) (void)one->flush();
}

KernelServices::KernelServices(const GpuParts& gpu, const ImageSource& source, const cubin::DeviceFunctions& functions)
    : gpu_(gpu),
      functions_(functions),
      owner_(source.memoryOwner),
      release_(source.release),
      code_(gpu.transfer, functions.code, "printf, malloc and assert of kernels") {}

KernelServices::~KernelServices() {
  if (output_) (void)flush();
  for (const CUdeviceptr memory : {heap_, ring_})
    if (memory) release_(owner_, memory);
}

Result<CUdeviceptr> KernelServices::allocate(const ImageSource& source, size_t bytes, CUdeviceptr& kept) {
  VG_TRY(kept, source.allocate(owner_, bytes, 256));
  return kept;
}

CUresult KernelServices::makeHeap(const ImageSource& source, cubin::DeviceState& state) {
  cubin::HeapHeader header;
  header.size = std::max<uint64_t>(source.limitsOrDefaults().heapBytes.load(std::memory_order_relaxed),
                                   2 * cubin::HeapHeader::kHeapStart) &
                ~uint64_t{15};
  VG_TRY(state.heap, allocate(source, header.size, heap_));
  return gpu_.transfer.write(heap_, &header, sizeof header);
}

// The CPU reads it where it is.
CUresult KernelServices::makeOutput(const ImageSource& source, cubin::DeviceState& state) {
  const size_t bytes = DeviceOutput::bytesFor(source.limitsOrDefaults().printfBytes.load(std::memory_order_relaxed));
  VG_TRY(state.output, allocate(source, bytes, ring_));
  VG_CHECK(gpu_.transfer.zero(ring_, bytes));
  auto* const start = reinterpret_cast<std::byte*>(ring_);
  gpu_.memory.showToHost(start, bytes);
  std::byte first;
  if (!copy::copyBytes(&first, start, sizeof first))
    return fail(CUDA_ERROR_OUT_OF_MEMORY, "the buffer for what kernels print cannot be mapped for the host");
  const MutexLock guard(mutex_);
  output_.emplace(start, bytes);
  return CUDA_SUCCESS;
}

CUresult KernelServices::make(const ImageSource& source) {
  VG_CHECK(code_.place(source));
  VG_CHECK(code_.fill(callsNothing, false));
  cubin::DeviceState state{};
  VG_CHECK(makeHeap(source, state));
  VG_CHECK(makeOutput(source, state));
  const cubin::Variable* const variable = code_.code().variable(cubin::kDeviceState);
  if (!variable || variable->size < sizeof state)
    return fail(CUDA_ERROR_INVALID_IMAGE, "the driver's own functions have no state");
  state_ = code_.addressOf(*variable);
  VG_CHECK(gpu_.transfer.write(state_, &state, sizeof state));
  gpu_.engine.codeChanged();
  return CUDA_SUCCESS;
}

// The table is the same for all contexts; a device pins it when the first module needs it.
CUresult KernelServices::shareConditions() {
  const MutexLock guard(mutex_);
  if (conditionsShared_) return CUDA_SUCCESS;
  static_assert(conditions::kMost == cubin::kMostConditions);
  VG_TRY(std::byte* const table, conditions::memory());
  VG_CHECK(gpu_.hostPages.showOnce(table, conditions::kMost * sizeof(uint32_t)));
  const auto address = reinterpret_cast<uint64_t>(table);
  VG_CHECK(gpu_.transfer.write(state_ + offsetof(cubin::DeviceState, conditions), &address, sizeof address));
  conditionsShared_ = true;
  return CUDA_SUCCESS;
}

Result<uint64_t> KernelServices::external(const std::string& name) {
  if (name == "cudaGraphSetConditional") VG_CHECK(shareConditions());
  if (const cubin::Function* const function = functions_.find(name)) return code_.addressOf(*function);
  if (isVendorCall(name)) return unsupported("launches from kernels on real GPUs (%s)", name.c_str());
  return fail(CUDA_ERROR_NOT_SUPPORTED, "native code calls %s, which this driver does not supply", name.c_str());
}

CUresult KernelServices::placeGradients(const ImageSource& source) {
  if (gradients_) return CUDA_SUCCESS;
  VG_TRY(const GradientFunctions& functions, gradientFunctions(static_cast<uint32_t>(gpu_.traits.computeCapability)));
  auto placed = std::make_unique<PlacedCubin>(gpu_.transfer, functions.code, "gradients of boxes and cubemaps");
  VG_CHECK(placed->place(source));
  VG_CHECK(placed->fill(callsNothing, false));
  gpu_.engine.codeChanged();
  gradients_ = std::move(placed);
  gradientFunctions_.store(&functions, std::memory_order_release);
  return CUDA_SUCCESS;
}

Result<uint64_t> KernelServices::gradient(const ImageSource& source, const std::string& name) {
  const MutexLock guard(gradientsMutex_);
  VG_CHECK(placeGradients(source));
  const GradientFunctions& functions = *gradientFunctions_.load(std::memory_order_relaxed);
  if (const cubin::Function* const function = functions.find(name)) return gradients_->addressOf(*function);
  return unsupported("gradients with offsets, comparisons or halves for boxes and cubemaps on real GPUs (%s)",
                     name.c_str());
}

uint32_t KernelServices::registers() const {
  const GradientFunctions* const gradients = gradientFunctions_.load(std::memory_order_acquire);
  return std::max(functions_.registers, gradients ? gradients->registers : 0);
}
uint32_t KernelServices::stackBytes() const {
  const GradientFunctions* const gradients = gradientFunctions_.load(std::memory_order_acquire);
  return std::max(functions_.stackBytes, gradients ? gradients->stackBytes : 0);
}

Result<std::shared_ptr<KernelRequests>> KernelServices::launching(const ImageSource& source) {
  const MutexLock guard(launchingMutex_);
  if (requests_) return requests_;
  VG_TRY(requests_, KernelRequests::create(gpu_, source, [this](const std::string& name) { return external(name); }));
  return requests_;
}

bool KernelServices::flush() noexcept {
  const MutexLock guard(mutex_);
  const DeviceOutput::Drained drained = output_->drain();
  std::fwrite(drained.printed.data(), 1, drained.printed.size(), stdout);
  std::fwrite(drained.assertions.data(), 1, drained.assertions.size(), stderr);
  asserted_ |= !drained.assertions.empty();
  return asserted_;
}

}  // namespace vg::backend::nvidia
