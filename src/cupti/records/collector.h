// Where the records of one user of the activity interface go: which kinds it has enabled, and its buffers. There is one
// for programs that use the interface without a subscriber, and one for each subscriber.
//
// Thread-safe. The program's functions are called on the thread that has a record for which there is no room, when a
// buffer is requested, and on the recorder's thread or the one that flushes, when one is given back. No lock of the
// collector is held then; the recorder lets no other thread consume meanwhile, so they must not wait for one that
// flushes.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/sync/mutex.h"
#include "cupti/calls/callbacks.h"
#include "cupti/cupti.h"

namespace vg::cupti {

class Collector {
 public:
  bool wants(CUpti_ActivityKind kind) const { return kinds_.load(std::memory_order_relaxed) >> kind & 1; }
  uint64_t kinds() const { return kinds_.load(std::memory_order_relaxed); }
  uint64_t kindsOrParts() const { return kinds() | single_.load(std::memory_order_relaxed); }
  // Whether it wants a record of the kind that belongs to this context.
  bool wants(CUpti_ActivityKind kind, uint64_t context) const;
  void enable(CUpti_ActivityKind kind, bool on);
  void enable(CUpti_ActivityKind kind, uint64_t context, bool on);
  // Calls of one function of the driver or runtime API. enable() of the kind means all of them.
  void enableCall(CUpti_ActivityKind kind, CUpti_CallbackId id, bool on);
  bool wantsCall(CUpti_ActivityKind kind, CUpti_CallbackId id) const;

  CUptiResult use(CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete);
  CUptiResult use(CUpti_BuffersCallbackRequestFunc_v2 request, CUpti_BuffersCallbackCompleteFunc_v2 complete);
  bool usable() const { return usable_.load(std::memory_order_acquire); }

  // A record of recordSize() bytes. Where there is no buffer for it, it is dropped and counted.
  template <class Record>
  void add(const Record& record) {
    add(&record, sizeof record);
  }
  void countDropped(uint64_t records) { dropped_.fetch_add(records, std::memory_order_relaxed); }
  uint64_t takeDropped() { return dropped_.exchange(0, std::memory_order_relaxed); }

  // Gives full buffers back.
  void giveBackFull();
  // And those that have records.
  void flush();
  // As after the start of the process. What has not been flushed goes back all the same.
  void reset();

 private:
  struct Buffer {
    uint8_t* bytes = nullptr;
    size_t size = 0, used = 0, mostRecords = 0, records = 0;
    bool has(size_t more) const { return bytes && used + more <= size && (!mostRecords || records < mostRecords); }
  };
  static constexpr unsigned kWords = (kDriverCallbacks + 63) / 64;

  void add(const void* record, size_t bytes);
  bool addLocked(const void* record, size_t bytes) VG_REQUIRES(mutex_);
  // With a buffer that was requested at `start`. False where the collector has ended meanwhile: the buffer goes back.
  bool addTo(const Buffer& fresh, uint64_t start, const void* record, size_t bytes);
  void retireCurrent() VG_REQUIRES(mutex_);
  Buffer request();
  void complete(const Buffer& buffer);
  void giveBack(std::vector<Buffer> buffers);

  std::atomic<uint64_t> kinds_{0};
  std::atomic<uint64_t> single_{0};              // kinds of which some contexts or functions are wanted
  std::atomic<uint64_t> calls_[2][kWords] = {};  // of the driver and the runtime API
  std::atomic<bool> usable_{false};
  std::atomic<uint64_t> dropped_{0};

  mutable Mutex mutex_;
  std::vector<uint64_t> contexts_[CUPTI_ACTIVITY_KIND_COUNT] VG_GUARDED_BY(mutex_);
  // Kept when the collector ends, for a buffer that was just then requested.
  CUpti_BuffersCallbackRequestFunc request_ VG_GUARDED_BY(mutex_) = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete_ VG_GUARDED_BY(mutex_) = nullptr;
  CUpti_BuffersCallbackRequestFunc_v2 request2_ VG_GUARDED_BY(mutex_) = nullptr;
  CUpti_BuffersCallbackCompleteFunc_v2 complete2_ VG_GUARDED_BY(mutex_) = nullptr;
  Buffer current_ VG_GUARDED_BY(mutex_);
  std::vector<Buffer> spare_ VG_GUARDED_BY(mutex_), full_ VG_GUARDED_BY(mutex_);
};

// Whether the thread is in a function of the program that requests or takes a buffer: nothing may wait for records
// there.
bool insideBufferFunction();

// The record behind `*record` in a buffer, or the first where that is null.
CUptiResult nextRecord(uint8_t* buffer, size_t validBytes, void** record);

}  // namespace vg::cupti
