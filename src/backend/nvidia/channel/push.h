// Writes methods into memory that a channel will read. Plain stores; the channel bounds a submission's words.
#pragma once

#include <initializer_list>

#include "backend/nvidia/channel/methods.h"
#include "base/result.h"

namespace vg::backend::nvidia {

class Push {
 public:
  Push() = default;
  Push(uint32_t* words, size_t capacity) : words_(words), capacity_(capacity) {}

  size_t used() const { return used_; }
  size_t left() const { return capacity_ - used_; }
  // Requires: there are so many words more.
  void extend(size_t words) { capacity_ += words; }

  // A method and those after it, one word each.
  void write(uint32_t subchannel, uint32_t method, std::initializer_list<uint32_t> values) {
    add(incrementing(subchannel, method, static_cast<uint32_t>(values.size())));
    for (uint32_t value : values) add(value);
  }
  // An upper word and a lower one, as all engines take addresses.
  void writeAddress(uint32_t subchannel, uint32_t method, uint64_t address) {
    write(subchannel, method, {static_cast<uint32_t>(address >> 32), static_cast<uint32_t>(address)});
  }

 private:
  void add(uint32_t word) {
    if (used_ == capacity_) unreachable("a push buffer of %zu words is full", capacity_);
    words_[used_++] = word;
  }

  uint32_t* words_ = nullptr;
  size_t capacity_ = 0, used_ = 0;
};

// Host methods; any channel.
namespace host {
// A 64-bit word that the GPU writes, and a value of it.
struct Semaphore {
  uint64_t address = 0, payload = 0;
};
// Writes the payload, and a timestamp 8 bytes behind it, when all work before is done. Requires: 16-byte alignment.
void release(Push& push, const Semaphore& semaphore);
// The same when the channel has come here, whatever its engine does; the timestamp only when asked for.
void releaseAtOnce(Push& push, const Semaphore& semaphore, bool timestamp);
// Holds the channel until the word is the payload or later. Other channels of the group go on; the engine goes to other
// groups meanwhile, which takes it some 5 us each way, or stays.
enum class Meanwhile { Leave, Stay };
void acquire(Push& push, const Semaphore& semaphore, Meanwhile meanwhile = Meanwhile::Leave);
// The same of a word of 32 bits.
void acquireCount(Push& push, uint64_t address, uint32_t count, Meanwhile meanwhile);
inline constexpr size_t kSemaphoreWords = 6;
}  // namespace host

}  // namespace vg::backend::nvidia
