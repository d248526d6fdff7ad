// A bounded queue of records from any thread to one.
//
// Invariants:
// 1. A place's `turn` says whose it is: n when the n-th record may be put into it, n + 1 when that record is in it.
// 2. Who has moved `in_` from n to n + 1 owns the n-th place until it stores the turn n + 1.
// 3. The one who takes out owns the n-th place from then on until it stores the turn n + size.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <new>

#include "activity/record.h"

namespace vg::activity {

class Ring {
 public:
  static constexpr uint64_t kPlaces = 1 << 13;

  // Throws std::bad_alloc.
  Ring() : places_(new Place[kPlaces]) {
    for (uint64_t i = 0; i < kPlaces; ++i) places_[i].turn.store(i, std::memory_order_relaxed);
  }

  // Any thread. Where the n-th record is to be written; null: there is no room. Then publish(n).
  Record* claim(uint64_t* number) {
    uint64_t n = in_.load(std::memory_order_relaxed);
    for (;;) {
      Place& place = at(n);
      const uint64_t turn = place.turn.load(std::memory_order_acquire);
      if (turn == n) {
        if (!in_.compare_exchange_weak(n, n + 1, std::memory_order_relaxed)) continue;
        *number = n;
        return &place.record;
      }
      if (turn < n) return nullptr;  // of the last round: not taken out yet
      n = in_.load(std::memory_order_relaxed);
    }
  }
  void publish(uint64_t n) { at(n).turn.store(n + 1, std::memory_order_release); }

  // One thread. The oldest record; null: there is none. It stays until pop().
  Record* front() {
    Place& place = at(out_);
    return place.turn.load(std::memory_order_acquire) == out_ + 1 ? &place.record : nullptr;
  }
  void pop() {
    at(out_).turn.store(out_ + kPlaces, std::memory_order_release);
    ++out_;
  }

 private:
  struct alignas(64) Place {
    std::atomic<uint64_t> turn;
    Record record;
  };
  Place& at(uint64_t n) { return places_[n % kPlaces]; }

  const std::unique_ptr<Place[]> places_;
  alignas(64) std::atomic<uint64_t> in_{0};
  alignas(64) uint64_t out_ = 0;
};

}  // namespace vg::activity
