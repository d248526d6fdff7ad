// A store that checked mode has been told of and that the block has not come past yet: it may be in memory, or not.
// Whoever wants to compare with what it leaves there waits for it first.
#pragma once

#include <atomic>
#include <cstdint>

namespace vg::check {

// Of one block at a time; written by whoever runs it.
class StoreUnderWay {
 public:
  StoreUnderWay();
  ~StoreUnderWay();
  StoreUnderWay(const StoreUnderWay&) = delete;

  // `id`: of the block. Several of one instruction become one.
  void begins(uint64_t id, uint64_t address, uint64_t bytes);
  void ends() {
    const uint64_t state = state_.load(std::memory_order_relaxed);
    if (state & 1) state_.store(state + 1, std::memory_order_release);
  }
  // Returns when the block, if it stores there, has done so, or does not go on.
  static void await(uint64_t id, uint64_t address, uint64_t bytes);

 private:
  bool covers(uint64_t id, uint64_t address, uint64_t bytes) const;

  std::atomic<uint64_t> state_{0};  // odd: under way
  std::atomic<uint64_t> id_{0}, from_{0}, end_{0};
};

}  // namespace vg::check
