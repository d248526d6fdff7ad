// The thread that sees when work on a GPU has ended: polls the queues that have some, sleeps when none has. Started at
// the first need, never destroyed.
//
// It polls without a pause while something ends every now and then, which is what makes waiting calls quick; behind a
// long kernel it naps.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace vg::backend::nvidia {

class SentWork;

class Watcher {
 public:
  // Looks at `work` until nothing was sent for a while and its leave() says yes. Requires: not watched at present.
  void watch(std::shared_ptr<SentWork> work);

 private:
  using Works = std::vector<std::shared_ptr<SentWork>>;
  struct Watched {
    std::shared_ptr<SentWork> work;
    uint32_t emptyLooks = 0;  // one behind the other
  };
  void main();
  void takeNew(std::vector<Watched>& active);
  static bool enough(Watched& one, size_t all);
  void rest(uint32_t seen);

  std::mutex mutex_;
  Works new_;                          // guarded by mutex_
  bool started_ = false;               // guarded by mutex_
  std::atomic<uint32_t> arrivals_{0};  // counts watch(); futex word
  std::atomic<bool> asleep_{false};
};

}  // namespace vg::backend::nvidia
