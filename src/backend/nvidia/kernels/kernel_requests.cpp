#include "backend/nvidia/kernels/kernel_requests.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "backend/device_side/device_runtime.h"
#include "backend/nvidia/channel/store_fence.h"
#include "backend/nvidia/kernels/gpu_kernel.h"
#include "backend/nvidia/kernels/gpu_parts.h"
#include "base/log.h"
#include "copy/copy.h"

namespace vg::backend::nvidia {
namespace {

constexpr size_t kRingBytes = kRequestPlaces * sizeof(KernelRequest);
constexpr size_t kBufferBytes = kParameterBuffers * sizeof(ParameterBuffer);
constexpr size_t kAtOnce = 256;  // requests, before others have their turn

constexpr size_t kFunctions = 0
#define VG_DEVICE_CALL(...) +1
#include "ptx/abi/device_runtime.inc"
#undef VG_DEVICE_CALL
    ;

// Numbers that channels give grids by themselves are smaller.
uint64_t nextNumber() {
  static std::atomic<uint64_t> last{uint64_t{1} << 48};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

// Which argument points to memory that is read here; -1: none.
int pointerOf(uint32_t function) {
  if (function == kCheckUpdate) return 0;
  switch (static_cast<ptx::DeviceCall>(function)) {
    case ptx::DeviceCall::Memcpy3DAsync:
    case ptx::DeviceCall::GraphKernelNodeUpdatesApply:
      return 0;
    case ptx::DeviceCall::GraphKernelNodeSetParam:
      return 2;
    default:
      return -1;
  }
}

uint64_t product(const uint32_t (&size)[3]) { return uint64_t{size[0]} * size[1] * size[2]; }

class Source final : public ChildGrids::Source {
 public:
  Source(std::shared_ptr<KernelRequests> requests, FaultSink& faults, const std::array<uint32_t, 4>& disabledTpcs)
      : requests_(std::move(requests)), faults_(faults), disabledTpcs_(disabledTpcs) {}

  std::unique_ptr<Queue> makeQueue() override { return requests_->gpu().childQueues.makeQueue(disabledTpcs_); }
  std::unique_ptr<Queue> makeTailQueue() override { return requests_->gpu().childQueues.makeTailQueue(disabledTpcs_); }
  // There are fewer channels than that, and each queue takes as long to make as a launch.
  size_t mostIdleQueues() const override { return 2 * ComputeEngine::kLanes; }
  std::byte* allocate(size_t bytes) override { return requests_->pieces().allocate(bytes); }
  void release(std::byte* memory, size_t bytes) override { requests_->pieces().release(memory, bytes); }
  FaultSink& faults() override { return faults_; }
  const KernelLimits& limits() override { return requests_->limits(); }

 private:
  const std::shared_ptr<KernelRequests> requests_;
  FaultSink& faults_;
  const std::array<uint32_t, 4> disabledTpcs_;
};

}  // namespace

// One request: a copy of the host's own, which the kernel cannot change any more.
struct KernelRequests::Asked {
  uint32_t function, thread;
  uint64_t grid, block;
  union {
    uint32_t words[kArgumentWords];
    uint64_t arguments[kArgumentWords / 2];
  };
  uint64_t pointed[kPointedWords];  // of functions that read it
  uint32_t answerWords = 0, answer[kAnswerWords];
};

class KernelRequests::Grid final : public ParentGrid {
 public:
  Grid(std::shared_ptr<KernelRequests> requests, const GpuKernel& kernel, const LaunchRecord& record, FaultSink& faults,
       const std::array<uint32_t, 4>& disabledTpcs)
      : ParentGrid(nextNumber()),
        requests_(std::move(requests)),
        kernel_(kernel),
        shape_(record.shape),
        graph_(record.graph),
        faults_(faults),
        disabledTpcs_(disabledTpcs) {
    requests_->add(*this);
  }
  ~Grid() override { requests_->remove(*this); }

  void begin() override { begun_ = true; }
  bool serve() override { return requests_->serve(); }
  Point finish() override {
    ChildGrids* const children = children_.exchange(nullptr, std::memory_order_acq_rel);
    return children ? children->finish() : Point{};
  }

 private:
  friend class KernelRequests;

  const std::shared_ptr<KernelRequests> requests_;
  const GpuKernel& kernel_;
  const LaunchShape shape_;
  GraphRun* const graph_;  // that it is a node of; null outside of graphs
  FaultSink& faults_;
  const std::array<uint32_t, 4> disabledTpcs_;
  bool begun_ = false;
  std::atomic<ChildGrids*> children_{nullptr};
};

std::unique_ptr<ParentGrid> KernelRequests::parent(const GpuKernel& kernel, const LaunchRecord& record,
                                                   FaultSink& faults, const std::array<uint32_t, 4>& disabledTpcs) {
  return std::make_unique<Grid>(shared_from_this(), kernel, record, faults, disabledTpcs);
}

class KernelRequests::Caller final : public DeviceRuntimeCaller {
 public:
  Caller(Grid& parent, Asked& request) : parent_(parent), request_(request) {}

  bool sane() const {
    return request_.block < product(parent_.shape_.grid) && request_.thread < product(parent_.shape_.block);
  }
  using DeviceRuntimeCaller::checkUpdate;

 private:
  const Traits& traits() const override { return parent_.requests_->gpu().traits; }
  const KernelLimits& limits() const override { return parent_.requests_->limits(); }
  ChildGrids& children() override {
    return ChildGrids::of(parent_.children_, [this] {
      return std::make_unique<Source>(parent_.requests_, parent_.faults_, parent_.disabledTpcs_);
    });
  }
  const char* kernelName() const override { return parent_.kernel_.name().c_str(); }
  uint64_t block() const override { return request_.block; }
  uint64_t thread() const override { return request_.block * product(parent_.shape_.block) + request_.thread; }
  Kernel* kernelAt(uint64_t address) const override { return parent_.kernel_.launchable(address); }
  CUresult permits(Kernel& kernel, const LaunchShape& shape) const override {
    return static_cast<GpuKernel&>(kernel).permits(shape);
  }
  // The functions of the device put it where their first argument says.
  void store(uint64_t address, const void* value, size_t bytes) override {
    if (address != request_.arguments[0] || bytes > sizeof request_.answer || bytes % sizeof(uint32_t))
      unreachable("an answer of %zu bytes to a kernel", bytes);
    std::memcpy(request_.answer, value, bytes);
    request_.answerWords = static_cast<uint32_t>(bytes / sizeof(uint32_t));
  }
  const std::byte* parametersAt(uint64_t address, size_t bytes) const override {
    ParameterBuffer* const all = parent_.requests_->buffers();
    const uint64_t number = (address - reinterpret_cast<uint64_t>(all)) / sizeof(ParameterBuffer);
    return number < kParameterBuffers && bytes <= sizeof(ParameterBuffer) ? all[number].bytes : nullptr;
  }
  uint64_t addressOf(const char* text) const override { return parent_.requests_->shown(text); }
  GraphRun* graph() const override { return parent_.graph_; }
  // Who answers waits for nobody.
  void later(const HostCall& call) override {
    if (call.brief)
      parent_.requests_->later(call);
    else
      parent_.requests_->gpu().childQueues.call(call);
  }
  // The functions of the device have brought it along.
  bool load(uint64_t address, void* to, size_t bytes) const override {
    const uint64_t at = address - reinterpret_cast<uint64_t>(request_.pointed);
    if (at > sizeof request_.pointed || bytes > sizeof request_.pointed - at) return false;
    std::memcpy(to, reinterpret_cast<const std::byte*>(request_.pointed) + at, bytes);
    return true;
  }
  // The device's own malloc found nothing before it asked.
  uint64_t allocate(uint64_t) override { return 0; }
  RuntimeError release(uint64_t) override { return RuntimeError::NotSupported; }
  bool reachable(const Command& command) const override {
    const Transfer& transfer = parent_.requests_->gpu().transfer;
    if (const auto* copy = std::get_if<CopyCommand>(&command)) return transfer.reaches(copy->shape);
    return transfer.reaches(std::get<FillCommand>(command).fill);
  }

  Grid& parent_;
  Asked& request_;
};

Result<std::shared_ptr<KernelRequests>> KernelRequests::create(const GpuParts& gpu, const ImageSource& source,
                                                               const cubin::External& external) {
  VG_TRY(const LaunchFunctions& functions, launchFunctions(static_cast<uint32_t>(gpu.traits.computeCapability)));
  auto made = std::make_shared<KernelRequests>(gpu, source, functions);
  VG_CHECK(made->make(source, external));
  return made;
}

KernelRequests::KernelRequests(const GpuParts& gpu, const ImageSource& source, const LaunchFunctions& functions)
    : gpu_(gpu),
      functions_(functions),
      limits_(source.limitsOrDefaults()),
      code_(gpu.transfer, functions.code, "the device runtime of kernels"),
      pieces_(gpu.hostPages) {}

KernelRequests::~KernelRequests() {
  if (ring_) gpu_.hostPages.release(reinterpret_cast<std::byte*>(ring_), kRingBytes);
  if (buffers_) gpu_.hostPages.release(reinterpret_cast<std::byte*>(buffers_), kBufferBytes);
}

CUresult KernelRequests::make(const ImageSource& source, const cubin::External& external) {
  VG_TRY(std::byte* const ring, gpu_.hostPages.allocate(kRingBytes));
  ring_ = reinterpret_cast<KernelRequest*>(ring);
  VG_TRY(std::byte* const buffers, gpu_.hostPages.allocate(kBufferBytes));
  buffers_ = reinterpret_cast<ParameterBuffer*>(buffers);
  VG_TRY(answers_, gpu_.engine.writtenByHost(kRequestPlaces * sizeof(uint64_t)));
  VG_CHECK(pieces_.begin());
  VG_CHECK(code_.place(source));
  VG_CHECK(code_.fill(external, false));
  VG_CHECK(write(*functions_.ring, reinterpret_cast<uint64_t>(ring_)));
  VG_CHECK(write(*functions_.answers, answers_->address()));
  VG_CHECK(write(*functions_.buffers, reinterpret_cast<uint64_t>(buffers_)));
  gpu_.engine.codeChanged();
  return CUDA_SUCCESS;
}

CUresult KernelRequests::write(const cubin::Variable& variable, uint64_t value) {
  return gpu_.transfer.write(code_.addressOf(variable), &value, sizeof value);
}

CUresult KernelRequests::noteParameters(uint32_t bytes) {
  const MutexLock guard(noting_);
  if (bytes <= sizeof(ParameterBuffer) || buffersAreSmall_) return CUDA_SUCCESS;
  VG_CHECK(write(*functions_.buffersAreSmall, 1));
  buffersAreSmall_ = true;
  return CUDA_SUCCESS;
}

void KernelRequests::add(Grid& grid) {
  const MutexLock guard(mutex_);
  parents_[grid.number()] = &grid;
}

void KernelRequests::remove(Grid& grid) {
  const MutexLock guard(mutex_);
  parents_.erase(grid.number());
}

// A grid ends after its last answer, and by the thread that answers: it is there until then. It has to wait as long as
// the host does not know that what was before it has ended.
bool KernelRequests::serve() {
  size_t count = 0;
  for (; count < kAtOnce; ++count) {
    KernelRequest& place = ring_[next_ % kRequestPlaces];
    Asked asked;
    if (!read(place, asked)) break;
    Grid* parent = nullptr;
    {
      const MutexLock guard(mutex_);
      if (const auto found = parents_.find(asked.grid); found != parents_.end()) parent = found->second;
    }
    if (parent && !parent->begun_) break;
    answer(place, asked, parent);
    for (const HostCall& call : rest_) call.function(call.data);
    rest_.clear();
  }
  return count;
}

// False while some of the next request has not come yet.
bool KernelRequests::read(const KernelRequest& place, Asked& asked) const {
  uint32_t words[kArguments] = {};
  const auto take = [&](int from, uint32_t count, uint32_t* to) {
    bool whole = true;
    for (uint32_t i = 0; i < count; ++i) {
      const uint64_t word = __atomic_load_n(&place.asked[from + static_cast<int>(i)], __ATOMIC_ACQUIRE);
      whole &= static_cast<uint32_t>(word) == static_cast<uint32_t>(next_ + 1);
      to[i] = static_cast<uint32_t>(word >> 32);
    }
    return whole;
  };
  if (!take(kFunction, 1, words) || !take(kThread, kArguments - kThread, words + kThread)) return false;
  const uint32_t arguments = std::min<uint32_t>(argumentsOf(words[kFunction]), kArgumentWords);
  if (!take(kArguments, arguments, asked.words)) return false;
  std::fill(asked.words + arguments, std::end(asked.words), 0);
  asked.function = functionOf(words[kFunction]);
  asked.thread = words[kThread];
  asked.grid = words[kGrid] | uint64_t{words[kGrid + 1]} << 32;
  asked.block = words[kBlock] | uint64_t{words[kBlock + 1]} << 32;
  return true;
}

void KernelRequests::answer(KernelRequest& place, Asked& asked, Grid* parent) {
  const auto call = static_cast<ptx::DeviceCall>(asked.function);
  uint64_t result = 0;
  const bool known = asked.function < kFunctions || asked.function == kCheckUpdate;
  if (!parent || !known || !Caller(*parent, asked).sane()) {
    VG_LOG(Info, "a kernel asks for function %u of the device runtime as grid %#llx, block %llu: it is not answered",
           asked.function, static_cast<unsigned long long>(asked.grid), static_cast<unsigned long long>(asked.block));
    const bool pointer = call == ptx::DeviceCall::GetParameterBuffer || call == ptx::DeviceCall::GetParameterBufferV2;
    result = pointer ? 0 : static_cast<uint64_t>(RuntimeError::NotSupported);
  } else {
    uint64_t arguments[std::size(asked.arguments)];
    std::memcpy(arguments, asked.arguments, sizeof arguments);
    if (const int pointer = pointerOf(asked.function); pointer >= 0) {
      std::memcpy(asked.pointed, place.pointed, sizeof asked.pointed);
      arguments[pointer] = reinterpret_cast<uint64_t>(asked.pointed);
    }
    Caller caller(*parent, asked);
    result = asked.function == kCheckUpdate ? static_cast<uint64_t>(caller.checkUpdate(arguments[0]))
                                            : caller.call(call, DeviceArguments(reinterpret_cast<uint64_t>(arguments)));
  }
  place.result = result;
  place.answerWords = asked.answerWords;
  std::memcpy(place.answer, asked.answer, asked.answerWords * sizeof(uint32_t));
  sendAnswer(result);
}

// The first fence: who sees the word sees what is in the place. The second: it leaves the processor at once.
void KernelRequests::sendAnswer(uint64_t result) {
  auto* const words = reinterpret_cast<uint64_t*>(answers_->start());
  storeFence();
  __atomic_store_n(&words[next_ % kRequestPlaces], numberedWord(next_ + 1, result), __ATOMIC_RELEASE);
  storeFence();
  ++next_;
}

uint64_t KernelRequests::shown(const char* text) {
  std::byte*& place = texts_[text];
  const size_t bytes = std::strlen(text) + 1;
  if (!place && (place = pieces_.allocate(bytes))) std::memcpy(place, text, bytes);
  return reinterpret_cast<uint64_t>(place);
}

}  // namespace vg::backend::nvidia
