// A queue from one thread to another that neither ever waits for: what is put in comes out in order. It grows as needed
// and keeps its size. Who puts in touches no line of the cache that the other thread writes, but when it looks full.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace vg {

template <class T>
class Handover {
 public:
  Handover() : back_(new Ring(kFirst)), front_(back_) {}
  ~Handover() {
    while (front()) pop();
    delete front_;
  }
  Handover(const Handover&) = delete;

  // One thread at a time puts in.
  void push(T value) {
    const uint64_t at = pushed_.load(std::memory_order_relaxed);
    if (at - seenPopped_ > back_->mask) [[unlikely]]
      makeRoom(at, 1);
    std::construct_at(back_->place(at), std::move(value));
    pushed_.store(at + 1, std::memory_order_seq_cst);
  }
  // Room for so many more: the next pushes need no memory.
  void reserve(size_t count) {
    const uint64_t at = pushed_.load(std::memory_order_relaxed);
    if (at + count - seenPopped_ > back_->mask + 1) [[unlikely]]
      makeRoom(at, count);
  }
  // Fetches the place of the next one, so that push() has not to wait for it.
  void prepare() {
    const auto* const place = reinterpret_cast<const std::byte*>(back_->place(pushed_.load(std::memory_order_relaxed)));
    for (size_t i = 0; i < sizeof(T); i += kLine) __builtin_prefetch(place + i, 1);
  }
  // How many were put in. Any thread.
  uint64_t pushed() const { return pushed_.load(std::memory_order_acquire); }

  // One thread at a time takes out. Null: nothing is there. The first stays where it is until pop().
  T* front() {
    const uint64_t at = popped_.load(std::memory_order_relaxed);
    if (at == seenPushed_) {
      seenPushed_ = pushed_.load(std::memory_order_seq_cst);
      if (at == seenPushed_) return nullptr;
    }
    if (Ring* const next = front_->next.load(std::memory_order_acquire); next && at == front_->end) [[unlikely]]
      delete std::exchange(front_, next);
    return front_->place(at);
  }
  // Requires: front().
  void pop() {
    const uint64_t at = popped_.load(std::memory_order_relaxed);
    std::destroy_at(front_->place(at));
    popped_.store(at + 1, std::memory_order_release);
  }

 private:
  static constexpr size_t kFirst = 8, kLine = 64;

  struct Ring {
    explicit Ring(size_t size) : mask(size - 1), places(new Place[size]) {}
    T* place(uint64_t at) { return reinterpret_cast<T*>(places[at & mask].bytes); }

    struct Place {
      alignas(T) std::byte bytes[sizeof(T)];
    };
    const uint64_t mask;
    const std::unique_ptr<Place[]> places;
    std::atomic<Ring*> next{nullptr};
    uint64_t end = 0;  // what is put in from here on is in `next`
  };

  void makeRoom(uint64_t at, size_t count) {
    seenPopped_ = popped_.load(std::memory_order_acquire);
    if (at + count - seenPopped_ <= back_->mask + 1) return;
    size_t size = 2 * (back_->mask + 1);
    while (size < at + count - seenPopped_) size *= 2;
    auto* const larger = new Ring(size);
    back_->end = at;
    back_->next.store(larger, std::memory_order_release);
    back_ = larger;
  }

  // Of who puts in; the first is read by the other.
  alignas(64) std::atomic<uint64_t> pushed_{0};
  alignas(64) Ring* back_;
  uint64_t seenPopped_ = 0;
  // Of who takes out; the first is read by the other.
  alignas(64) std::atomic<uint64_t> popped_{0};
  uint64_t seenPushed_ = 0;
  Ring* front_;
};

}  // namespace vg
