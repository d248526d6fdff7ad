// Where records of what a program does come together, and go to those who want them (activity/consumer.h): the file of
// VERDIGRIS_TIMELINE, the summary of VERDIGRIS_SUMMARY, and profilers (api/tables/observer_table.h).
//
// Off, which is the default, each place that could tell something costs one load and a branch that never goes. On, a
// record is written into memory of the thread's own (activity/chunks.h), and a thread of the library consumes it a few
// milliseconds later. Where too much waits, whoever has a record waits a moment; what cannot be taken even then is
// counted and left out. All functions may be called from any thread. Records of a thread come in their order.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "activity/record.h"
#include "base/sync/tick_clock.h"

namespace vg::activity {

class Consumer;
struct Chunk;

// Who wants records; none of these: nobody.
enum WantedBy : unsigned { BySettings = 1, ByAdded = 2 };
extern constinit std::atomic<unsigned> on;
inline bool recording() { return on.load(std::memory_order_relaxed); }
// Whether calls of the API are records.
extern constinit std::atomic<bool> callsRecorded;
// Who looks at calls of the API; none of these: nobody.
enum CallObserver : unsigned { ByRecorder = 1, ByTrace = 2, ByProfiler = 4, ByInterleaving = 8, ByChecker = 16 };
extern constinit std::atomic<unsigned> callsObserved;

// Begins, if a setting asks for it; once. A child of fork() begins anew.
void start();
// Passes everything on that was recorded and ends the files. At the end of the process.
void finish();

// One more consumer, for as long as the process lives. It is given records while want(true) holds, and those that
// others want. False where there is no memory or thread for it.
bool add(std::unique_ptr<Consumer> consumer) noexcept;
// Whether the consumers that were added want records. Consumers may call it.
void want(bool records);
// Gives the consumers what has been told until now. Not to be called by a consumer.
void passOn() noexcept;

// Its texts belong to the recorder from now on.
void tell(const Record& record) noexcept;
void tell(const Call& call) noexcept;

// A launch is written once, by who submits it, and its times by who runs it. Null where there is no memory. Then one of
// the others, on any thread.
Launch* takeLaunch() noexcept;
void tell(Launch* launch) noexcept;
void drop(Launch* launch) noexcept;

// The same facts for the same kernel; others where there is no memory.
const KernelFacts* kernelFacts(std::string_view name, uint32_t registers, uint32_t local,
                               uint32_t staticShared) noexcept;

// When something is told to have happened; `nowHere` orders what one thread does.
inline uint64_t now() { return tick_clock::now(); }
inline uint64_t nowHere() { return tick_clock::now<false>(); }

// What is known of the calling thread.
struct ThreadPart {
  uint64_t correlation = 0;         // of the call that it is in; 0: none
  uint64_t outer = 0;               // of the call of the runtime API around that, where a profiler follows those
  bool async = false;               // that call does not wait for what it submits
  uint32_t graph = 0;               // the executable graph that it submits or runs; 0: none
  const Origin* runsFor = nullptr;  // of the work that it is doing for a stream; null: none
  uint32_t number = 0;              // the system's, once asked for
  uint64_t callBegan = 0;           // when it began the call that it is in
  bool submitted = false;           // that call has submitted work
  bool telling = false;             // interrupted by itself: a handler of a signal tells nothing then
  Chunk* chunk = nullptr;           // what it tells goes there
  Launch* launches = nullptr;       // for use
  Launch* told = nullptr;           // launches that were, fewer than a batch
  uint32_t toldCount = 0;
  // What its chunk holds whole: later packets that say the same name the place.
  struct Whole {
    const void* of = nullptr;  // null: nothing
    uint32_t at = 0;
  };
  Whole calls[4], kernels[2];               // by a hash
  uint64_t nextNumber = 0, lastNumber = 0;  // for use
};
extern constinit thread_local ThreadPart threadPart [[gnu::tls_model("initial-exec")]];
uint32_t threadNumber();

// A number that no call or piece of work has had. Threads take some at once.
uint64_t takeNumbers() noexcept;
inline uint64_t nextNumber() {
  return threadPart.nextNumber < threadPart.lastNumber ? ++threadPart.nextNumber : takeNumbers();
}

// A call of the API, while it lives. Calls that a profiler makes while it is told of one are calls of their own inside
// it.
class InsideCall {
 public:
  explicit InsideCall(bool async)
      : correlation_(nextNumber()),
        around_(threadPart.correlation),
        aroundBegan_(threadPart.callBegan),
        aroundAsync_(threadPart.async),
        aroundSubmitted_(threadPart.submitted) {
    threadPart.correlation = correlation_;
    threadPart.callBegan = nowHere();
    threadPart.async = async;
    threadPart.submitted = false;
  }
  ~InsideCall() {
    threadPart.correlation = around_;
    threadPart.callBegan = aroundBegan_;
    threadPart.async = aroundAsync_;
    threadPart.submitted = aroundSubmitted_;
  }
  InsideCall(const InsideCall&) = delete;
  uint64_t correlation() const { return correlation_; }
  uint64_t began() const { return threadPart.callBegan; }

 private:
  const uint64_t correlation_, around_, aroundBegan_;
  const bool aroundAsync_, aroundSubmitted_;
};

}  // namespace vg::activity
