// A walk over things that have numbers, such as the blocks of a program: it comes to each once, last found first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace vg {

class Walk {
 public:
  // Numbers are below `count`.
  explicit Walk(size_t count) : found_(count, false) {}

  // The walk comes to this one, unless it has been found before; whether it had not.
  bool find(uint32_t number) {
    if (found_[number]) return false;
    found_[number] = true;
    open_.push_back(number);
    return true;
  }
  template <class Numbers>
  void findAll(const Numbers& numbers) {
    for (const uint32_t number : numbers) find(number);
  }
  // This one is never come to.
  void pass(uint32_t number) { found_[number] = true; }

  // Where the walk comes to next; none: it has been everywhere.
  std::optional<uint32_t> next() {
    if (open_.empty()) return {};
    const uint32_t number = open_.back();
    open_.pop_back();
    return number;
  }

  bool hasFound(uint32_t number) const { return found_[number]; }
  // What was found, by number; the walk has ended then.
  std::vector<bool> takeFound() { return std::move(found_); }

 private:
  std::vector<bool> found_;
  std::vector<uint32_t> open_;
};

}  // namespace vg
