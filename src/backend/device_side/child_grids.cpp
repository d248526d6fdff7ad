#include "backend/device_side/child_grids.h"

#include <algorithm>
#include <cstring>

#include "backend/queues/command_failure.h"
#include "base/log.h"
#include "ptx/facts/reach.h"

namespace vg::backend {

// A launch, and where its parameters are.
struct ChildGrids::Buffer : LaunchRecord {
  Source* source = nullptr;
  std::atomic<size_t>* pending = nullptr;  // counts it
  size_t bytes = 0;

  void discard() {
    source->release(const_cast<std::byte*>(parameters), bytes);
    delete this;
  }
  // For the queue.
  static void finish(LaunchRecord* record) {
    auto* const buffer = static_cast<Buffer*>(record);
    if (buffer->pending) buffer->pending->fetch_sub(1, std::memory_order_release);
    buffer->discard();
  }
};

ChildGrids::Stream::Stream(std::unique_ptr<Queue> made)
    : queue(std::move(made)), timeline(Timeline::create()), value(timeline->value()) {}

CUresult ChildGrids::Stream::submit(const Command* commands, size_t count) {
  VG_CHECK(queue->submit(commands, count, {timeline, value + 1}));
  ++value;
  return CUDA_SUCCESS;
}

ChildGrids::Stream::~Stream() { Timeline::destroy(timeline); }

ChildGrids& ChildGrids::addTo(std::atomic<ChildGrids*>& place, std::unique_ptr<Source> source) {
  ChildGrids* present = nullptr;
  auto* const made = new ChildGrids(std::move(source));
  if (place.compare_exchange_strong(present, made, std::memory_order_acq_rel)) return *made;
  delete made;
  return *present;
}

ChildGrids::ChildGrids(std::unique_ptr<Source> source) : source_(std::move(source)), over_(Timeline::create()) {
  Continuation::run = [](Continuation* self) { static_cast<ChildGrids*>(self)->proceed(); };
}

ChildGrids::~ChildGrids() { Timeline::destroy(over_); }

ChildGrids::Buffer* ChildGrids::newBuffer(Kernel* kernel, const LaunchShape& shape, size_t bytes) {
  auto buffer = std::make_unique<Buffer>();
  std::byte* const parameters = source_->allocate(bytes);
  if (!parameters) return nullptr;
  buffer->kernel = kernel;
  buffer->shape = shape;
  buffer->parameters = parameters;
  buffer->release = Buffer::finish;
  buffer->source = source_.get();
  buffer->bytes = bytes;
  return buffer.release();
}

std::byte* ChildGrids::makeBuffer(Kernel* kernel, const LaunchShape& shape, size_t bytes) {
  Buffer* const buffer = newBuffer(kernel, shape, bytes);
  if (!buffer) return nullptr;
  const MutexLock lock(mutex_);
  try {
    open_.emplace(buffer->parameters, buffer);
    ptx::addKernelMemory(buffer->parameters, bytes);  // until it is launched
  } catch (const std::bad_alloc&) {
    buffer->discard();
    return nullptr;
  }
  return const_cast<std::byte*>(buffer->parameters);
}

bool ChildGrids::describe(const std::byte* parameters, Kernel& kernel, const LaunchShape& shape) {
  const MutexLock lock(mutex_);
  const auto found = open_.find(parameters);
  if (found == open_.end() || found->second->bytes < kernel.parameterBytes()) return false;
  found->second->kernel = &kernel;
  found->second->shape = shape;
  return true;
}

size_t ChildGrids::limit() const { return source_->limits().pendingLaunches.load(std::memory_order_relaxed); }

bool ChildGrids::hasRoom(uint64_t stream) const {
  return stream == kTailLaunch || pending_.load(std::memory_order_acquire) < std::max<size_t>(limit(), 1);
}

RuntimeError ChildGrids::launch(const std::byte* parameters, uint64_t stream, uint64_t block) {
  const MutexLock lock(mutex_);
  const auto found = open_.find(parameters);
  if (found == open_.end() || !found->second->kernel) return RuntimeError::InvalidValue;
  Buffer* const buffer = found->second;
  open_.erase(found);
  ptx::removeKernelMemory(parameters);
  return begin(buffer, stream, block);
}

RuntimeError ChildGrids::launchCopy(Kernel& kernel, const LaunchShape& shape, const std::byte* parameters,
                                    uint64_t stream, uint64_t block) {
  const size_t bytes = kernel.parameterBytes();
  Buffer* const buffer = newBuffer(&kernel, shape, bytes);
  if (!buffer) return RuntimeError::MemoryAllocation;
  if (bytes) std::memcpy(const_cast<std::byte*>(buffer->parameters), parameters, bytes);
  const MutexLock lock(mutex_);
  return begin(buffer, stream, block);
}

// Takes the buffer.
RuntimeError ChildGrids::begin(Buffer* buffer, uint64_t stream, uint64_t block) {
  if (stream == kTailLaunch) {
    if (tailLaunches_ >= limit()) {
      VG_LOG(Info, "tail launch of %s: %zu others are pending", buffer->kernel->name().c_str(), tailLaunches_);
      buffer->discard();
      return RuntimeError::LaunchPendingCountExceeded;
    }
    ++tailLaunches_;
  } else {
    pending_.fetch_add(1, std::memory_order_relaxed);
    buffer->pending = &pending_;
  }
  const RuntimeError error = put(LaunchCommand{buffer, &faults()}, stream, block);
  if (error != RuntimeError::Success) {
    if (stream == kTailLaunch) --tailLaunches_;
    Buffer::finish(buffer);
  }
  return error;
}

RuntimeError ChildGrids::queue(const Command& command, uint64_t stream, uint64_t block) {
  const MutexLock lock(mutex_);
  return put(command, stream, block);
}

RuntimeError ChildGrids::put(const Command& command, uint64_t stream, uint64_t block) noexcept {
  try {
    return putOrThrow(command, stream, block);
  } catch (const std::bad_alloc&) {
    return RuntimeError::MemoryAllocation;
  }
}

RuntimeError ChildGrids::putOrThrow(const Command& command, uint64_t stream, uint64_t block) {
  if (stream == kTailLaunch) {
    tail_.push_back(command);
    return RuntimeError::Success;
  }
  Stream* const target = stream == kFireAndForget ? idleStream() : find(stream, block);
  if (!target) return RuntimeError::InvalidResourceHandle;
  return target->submit(&command, 1) == CUDA_SUCCESS ? RuntimeError::Success : RuntimeError::MemoryAllocation;
}

ChildGrids::Stream* ChildGrids::addStream(std::unique_ptr<Queue> queue) {
  streams_.push_back(std::make_unique<Stream>(std::move(queue)));
  return streams_.back().get();
}

// Looks at a few only. Sharing a busy one delays a launch, and nothing may rely on it not to be.
ChildGrids::Stream* ChildGrids::idleStream() {
  for (size_t tries = std::min<size_t>(fireAndForget_.size(), 4); tries; --tries) {
    Stream* const stream = fireAndForget_[++nextIdle_ % fireAndForget_.size()];
    if (stream->last().done()) return stream;
  }
  if (fireAndForget_.size() == source_->mostIdleQueues()) return fireAndForget_[nextIdle_ % fireAndForget_.size()];
  return fireAndForget_.emplace_back(makeStream());
}

// One that launches can be ordered in; null when there is none of the name.
ChildGrids::Stream* ChildGrids::find(uint64_t stream, uint64_t block) {
  if (stream <= kPerThread) {
    Stream*& own = blockStreams_[block % kBlockStreams];
    if (!own) own = makeStream();
    return own;
  }
  return named_.contains(stream) ? reinterpret_cast<Stream*>(stream) : nullptr;
}

uint64_t ChildGrids::createStream() {
  const MutexLock lock(mutex_);
  Stream* stream;
  if (spare_.empty()) {
    stream = makeStream();
  } else {
    stream = spare_.back();
    spare_.pop_back();
  }
  const auto name = reinterpret_cast<uint64_t>(stream);
  named_.insert(name);
  return name;
}

RuntimeError ChildGrids::destroyStream(uint64_t stream) {
  const MutexLock lock(mutex_);
  if (stream <= kFireAndForget) return RuntimeError::InvalidValue;
  if (!named_.erase(stream)) return RuntimeError::InvalidResourceHandle;
  spare_.push_back(reinterpret_cast<Stream*>(stream));
  return RuntimeError::Success;
}

uint64_t ChildGrids::createEvent() {
  const MutexLock lock(mutex_);
  events_.emplace(++lastEvent_, Point{});
  return lastEvent_;
}

RuntimeError ChildGrids::destroyEvent(uint64_t event) {
  const MutexLock lock(mutex_);
  return events_.erase(event) ? RuntimeError::Success : RuntimeError::InvalidResourceHandle;
}

RuntimeError ChildGrids::record(uint64_t event, uint64_t stream, uint64_t block) {
  const MutexLock lock(mutex_);
  if (stream == kTailLaunch || stream == kFireAndForget) return RuntimeError::InvalidValue;
  const auto found = events_.find(event);
  const Stream* const target = find(stream, block);
  if (found == events_.end() || !target) return RuntimeError::InvalidResourceHandle;
  found->second = target->last();
  return RuntimeError::Success;
}

RuntimeError ChildGrids::wait(uint64_t stream, uint64_t event, uint64_t block) {
  const MutexLock lock(mutex_);
  if (stream == kTailLaunch || stream == kFireAndForget) return RuntimeError::InvalidValue;
  const auto found = events_.find(event);
  if (found == events_.end()) return RuntimeError::InvalidResourceHandle;
  return put(Wait{found->second}, stream, block);
}

void ChildGrids::noteError(uint64_t thread, RuntimeError error) {
  const MutexLock lock(mutex_);
  errors_[thread] = error;
}

RuntimeError ChildGrids::lastError(uint64_t thread, bool forget) {
  const MutexLock lock(mutex_);
  const auto found = errors_.find(thread);
  if (found == errors_.end()) return RuntimeError::Success;
  const RuntimeError error = found->second;
  if (forget) errors_.erase(found);
  return error;
}

Point ChildGrids::finish() noexcept {
  for (const auto& [parameters, buffer] : open_) {
    ptx::removeKernelMemory(parameters);
    buffer->discard();
  }
  open_.clear();
  const Point over{over_, over_->value() + 1};
  proceed();
  return over;
}

// Goes through the streams, one after another; called again when the one that is not done is.
void ChildGrids::proceed() noexcept {
  for (;; ++awaited_) {
    if (awaited_ == streams_.size() && !tail_.empty()) beginTail();
    if (awaited_ == streams_.size()) break;
    const Point last = streams_[awaited_]->last();
    if (last.done()) continue;
    Continuation::value = last.value;
    if (last.timeline->whenReached(this)) return;
  }
  streams_.clear();
  source_.reset();
  over_->advance(over_->value() + 1);
  delete this;
}

void ChildGrids::beginTail() noexcept {
  CUresult result = CUDA_ERROR_OUT_OF_MEMORY;
  try {
    result = addStream(source_->makeTailQueue())->submit(tail_.data(), tail_.size());
  } catch (const std::bad_alloc&) {
  }
  if (result != CUDA_SUCCESS) dropTail(result);
  tail_.clear();
}

void ChildGrids::dropTail(CUresult error) noexcept {
  faults().report(error, "no memory for tail launches");
  for (const Command& command : tail_) dropRecord(command);
}

}  // namespace vg::backend
