// The thread that sees when work on a GPU has ended: polls the queues that have some, sleeps when none has. Started at
// the first need; ends with its device, as tests have it: those of a process stay.
//
// It polls without a pause while something ends every now and then, which is what makes waiting calls quick; behind a
// long kernel it naps. While the system refuses the thread, those who wait for work look (base/sync/spare_hands.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/sync/mutex.h"
#include "base/sync/spare_hands.h"

namespace vg::backend::nvidia {

// What a queue has sent, as the Watcher sees it.
class Watched {
 public:
  Watched() = default;
  Watched(const Watched&) = delete;
  // Takes what has ended off the front.
  enum class Found { Empty, Nothing, Something };  // Empty: nothing had been sent; Nothing: what was sent has not ended
  virtual Found collect() = 0;
  // The Watcher does not look any more; false: it has to, because something was sent.
  virtual bool leave() = 0;
  // When nothing has ended for a while.
  virtual void remind() = 0;

 protected:
  ~Watched() = default;

 private:
  friend class Watcher;
  std::shared_ptr<Watched> next_;  // the next one that the Watcher watches
  uint32_t emptyLooks_ = 0;        // how often it has found this one empty, one behind the other
};

class Watcher final : private spare_hands::Orphan {
 public:
  Watcher() = default;
  Watcher(const Watcher&) = delete;
  // What has not ended by then is not looked at any more.
  ~Watcher();
  // Looks at `work` until nothing was sent for a while and its leave() says yes. Requires: not watched at present.
  void watch(std::shared_ptr<Watched> work) noexcept;

 private:
  bool help() noexcept override;
  void main();
  void look() VG_EXCLUDES(looking_);
  void takeNew() VG_REQUIRES(looking_);
  bool lookAtAll() VG_REQUIRES(looking_);
  bool enough(Watched& work) const VG_REQUIRES(looking_);
  bool leave(std::shared_ptr<Watched>& place) VG_REQUIRES(looking_);
  void rest(uint32_t seen);

  Mutex mutex_;
  std::shared_ptr<Watched> new_ VG_GUARDED_BY(mutex_);  // the first of a list
  bool started_ VG_GUARDED_BY(mutex_) = false;
  Mutex looking_;                                            // the thread's, once there is one, for ever
  std::shared_ptr<Watched> active_ VG_GUARDED_BY(looking_);  // the first of a list
  size_t count_ VG_GUARDED_BY(looking_) = 0;                 // of the list
  std::atomic<uint32_t> arrivals_{0};                        // counts watch(); futex word
  std::atomic<bool> asleep_{false};
  std::atomic<bool> stopping_{false}, ended_{false};  // the latter: the thread touches nothing of this any more
};

}  // namespace vg::backend::nvidia
