#include "stream_objects.h"

#include <chrono>

#include "results.h"

namespace suite {

Stream::Stream(unsigned flags) { EXPECT_OK(cuStreamCreate(&handle_, flags)); }

Stream::~Stream() {
  if (handle_) {
    EXPECT_OK(cuStreamDestroy(handle_));
  }
}

bool Stream::idle() const { return cuStreamQuery(handle_) == CUDA_SUCCESS; }

void Stream::synchronize() const { EXPECT_OK(cuStreamSynchronize(handle_)); }

Event::Event(unsigned flags) { EXPECT_OK(cuEventCreate(&handle_, flags)); }

Event::~Event() {
  if (handle_) {
    EXPECT_OK(cuEventDestroy(handle_));
  }
}

StreamBlock::StreamBlock(CUstream stream) {
  const CUresult result = cuLaunchHostFunc(stream, wait, this);
  EXPECT_OK(result);
  queued_ = result == CUDA_SUCCESS;
}

StreamBlock::~StreamBlock() {
  release();
  // The function may be behind other work; it must have left this object before it goes away.
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return finished_ || !queued_; });
}

void StreamBlock::release() {
  const std::lock_guard lock(mutex_);
  released_ = true;
  changed_.notify_all();
}

void CUDA_CB StreamBlock::wait(void* self) {
  StreamBlock& block = *static_cast<StreamBlock*>(self);
  std::unique_lock lock(block.mutex_);
  block.changed_.wait(lock, [&] { return block.released_; });
  block.finished_ = true;
  block.changed_.notify_all();
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace suite
