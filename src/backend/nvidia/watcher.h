// The thread that sees when work on a GPU has ended: polls the queues that have some, sleeps when none has. Started at
// the first need, never destroyed.
//
// It polls without a pause while something ends every now and then, which is what makes waiting calls quick; behind a
// long kernel it naps. While the system refuses the thread, those who wait for work look (base/spare_hands.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "base/spare_hands.h"

namespace vg::backend::nvidia {

class SentWork;

class Watcher final : private spare_hands::Orphan {
 public:
  // Looks at `work` until nothing was sent for a while and its leave() says yes. Requires: not watched at present.
  void watch(std::shared_ptr<SentWork> work) noexcept;

 private:
  bool help() noexcept override;
  void main();
  void takeNew();
  bool lookAtAll();
  bool enough(SentWork& work) const;
  bool leave(std::shared_ptr<SentWork>& place);
  void rest(uint32_t seen);

  std::mutex mutex_;
  std::shared_ptr<SentWork> new_;      // guarded by mutex_: the first of a list
  bool started_ = false;               // guarded by mutex_
  std::mutex looking_;                 // the thread's, once there is one, for ever
  std::shared_ptr<SentWork> active_;   // guarded by looking_: the first of a list
  size_t count_ = 0;                   // guarded by looking_: of the list
  std::atomic<uint32_t> arrivals_{0};  // counts watch(); futex word
  std::atomic<bool> asleep_{false};
};

}  // namespace vg::backend::nvidia
