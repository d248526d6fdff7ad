// Where records of what a program does come together, and go to those who want them (activity/consumer.h): the file of
// VERDIGRIS_TIMELINE, the summary of VERDIGRIS_SUMMARY, and profilers (api/tables/observer_table.h).
//
// Off, which is the default, each place that could tell something costs one load and a branch that never goes. On, a
// record is copied into a ring of fixed size, and a thread of the library consumes it a few milliseconds later. Where
// the ring is full, whoever has a record waits a moment; what cannot be taken even then is counted and left out. All
// functions may be called from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "activity/record.h"

namespace vg::activity {

class Consumer;

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

// Puts the record into the ring. Its texts belong to the recorder from now on.
void tell(const Record& record) noexcept;

// What is known of the calling thread.
struct ThreadPart {
  uint64_t correlation = 0;         // of the call that it is in; 0: none
  uint64_t outer = 0;               // of the call of the runtime API around that, where a profiler follows those
  bool async = false;               // that call does not wait for what it submits
  uint32_t graph = 0;               // the executable graph that it submits or runs; 0: none
  const Origin* runsFor = nullptr;  // of the work that it is doing for a stream; null: none
  uint32_t number = 0;              // the system's, once asked for
};
extern constinit thread_local ThreadPart threadPart [[gnu::tls_model("initial-exec")]];
uint32_t threadNumber();

// A number that no call or piece of work has had.
uint64_t nextNumber();

// A call of the API, while it lives. Calls that a profiler makes while it is told of one are calls of their own inside
// it.
class InsideCall {
 public:
  explicit InsideCall(bool async)
      : correlation_(nextNumber()), around_(threadPart.correlation), aroundAsync_(threadPart.async) {
    threadPart.correlation = correlation_;
    threadPart.async = async;
  }
  ~InsideCall() {
    threadPart.correlation = around_;
    threadPart.async = aroundAsync_;
  }
  InsideCall(const InsideCall&) = delete;
  uint64_t correlation() const { return correlation_; }

 private:
  const uint64_t correlation_, around_;
  const bool aroundAsync_;
};

}  // namespace vg::activity
