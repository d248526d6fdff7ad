// Streams and events that tests own, and work that keeps a stream busy until the test says so.
#pragma once

#include <cuda.h>

#include <condition_variable>
#include <mutex>

namespace suite {

class Stream {
 public:
  explicit Stream(unsigned flags = CU_STREAM_NON_BLOCKING);
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream();
  operator CUstream() const { return handle_; }
  bool idle() const;  // cuStreamQuery
  void synchronize() const;

 private:
  CUstream handle_ = nullptr;
};

class Event {
 public:
  explicit Event(unsigned flags = CU_EVENT_DEFAULT);
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event();
  operator CUevent() const { return handle_; }

 private:
  CUevent handle_ = nullptr;
};

// Keeps `stream` busy with a host function that waits, until release() or the end of the scope: exact, and without a
// kernel. While it waits the driver runs no other host function, on any stream; use `Spin` (kernels.h) where that
// matters.
class StreamBlock {
 public:
  explicit StreamBlock(CUstream stream);
  StreamBlock(const StreamBlock&) = delete;
  StreamBlock& operator=(const StreamBlock&) = delete;
  ~StreamBlock();
  // Lets the stream go on. The second call does nothing.
  void release();

 private:
  static void CUDA_CB wait(void* self);

  std::mutex mutex_;
  std::condition_variable changed_;
  bool released_ = false;
  bool finished_ = false;
  bool queued_ = false;
};

// Seconds of the steady clock, to measure what a call takes.
double now();

}  // namespace suite
