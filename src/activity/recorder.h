// Where records of what a program does come together, and go to those who want them (activity/consumer.h): the file of
// VERDIGRIS_TIMELINE, the summary of VERDIGRIS_SUMMARY.
//
// Off, which is the default, each place that could tell something costs one load and a branch that never goes. On, a
// record is copied into a ring of fixed size, and a thread of the library consumes it a few milliseconds later. Where
// the ring is full, whoever has a record waits a moment; what cannot be taken even then is counted and left out. All
// functions may be called from any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "activity/record.h"

namespace vg::activity {

// Whether anybody wants records.
extern constinit std::atomic<bool> on;
inline bool recording() { return on.load(std::memory_order_relaxed); }
// Whether calls of the API are looked at: for records, or by the trace of VERDIGRIS_TRACE.
extern constinit std::atomic<bool> callsObserved;

// Begins, if a setting asks for it; once. A child of fork() begins anew.
void start();
// Passes everything on that was recorded and ends the files. At the end of the process.
void finish();

// Puts the record into the ring. Its texts belong to the recorder from now on.
void tell(const Record& record) noexcept;

// What is known of the calling thread.
struct ThreadPart {
  uint64_t correlation = 0;         // of the call that it is in; 0: none
  const Origin* runsFor = nullptr;  // of the work that it is doing for a stream; null: none
  uint32_t number = 0;              // the system's, once asked for
};
extern constinit thread_local ThreadPart threadPart [[gnu::tls_model("initial-exec")]];
uint32_t threadNumber();

// A number that no call or piece of work has had.
uint64_t nextNumber();

// A call of the API, while it lives.
class InsideCall {
 public:
  InsideCall() : correlation_(nextNumber()) { threadPart.correlation = correlation_; }
  ~InsideCall() { threadPart.correlation = 0; }
  InsideCall(const InsideCall&) = delete;
  uint64_t correlation() const { return correlation_; }

 private:
  const uint64_t correlation_;
};

}  // namespace vg::activity
