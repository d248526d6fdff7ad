// Work whose own thread the system refuses to start. Whoever waits for a timeline, or asks whether one has got
// somewhere, does pieces of it meanwhile: a process that can have no more threads is slower, but nothing in it waits
// for ever.
//
// Lent hands run the work of others, host functions of the application too, so nobody may wait for a timeline with a
// lock that such work takes.
#pragma once

#include <atomic>

namespace vg::spare_hands {

// Work that has a thread of its own where one can be had. Never destroyed.
class Orphan {
 public:
  // Does a piece of the work on the calling thread; false when there is none to do now. Thread-safe, takes a moment's
  // lock at most while it chooses.
  virtual bool help() noexcept = 0;

 protected:
  ~Orphan() = default;

 private:
  friend void adopt(Orphan& orphan) noexcept;
  friend bool lend() noexcept;
  std::atomic<bool> adopted_{false};
  Orphan* next_ = nullptr;
};

// The orphan's thread could not be started: from now on those who wait help. May be said again.
void adopt(Orphan& orphan) noexcept;
// A piece of anybody's work on the calling thread; false when there was none.
bool lend() noexcept;

extern constinit std::atomic<Orphan*> first;
// Whether there is anybody to help.
inline bool wanted() { return first.load(std::memory_order_acquire) != nullptr; }
// For who asks again and again instead of waiting.
inline void lendIfWanted() {
  if (wanted()) [[unlikely]]
    lend();
}

}  // namespace vg::spare_hands
