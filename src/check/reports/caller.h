// Where in the application a call came from: return addresses outside of this library.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace vg::check {

class Caller {
 public:
  // The callers of the function that asks, innermost first.
  static Caller here();
  // The instruction that a signal has interrupted further out on the stack, and its callers.
  static Caller at(uintptr_t instruction);
  // "main+0x20 in ./program, 0x1234 in ./program": the first few outside of this library; "" when none is known.
  std::string text() const;
  // The file of the first of them outside of this library and of CUDA's runtime, without its folders; "" where none is.
  std::string library() const;
  // Equal for equal callers.
  uint64_t hash() const;

 private:
  static constexpr size_t kDepth = 24;
  std::array<uintptr_t, kDepth> frames_{};
};

}  // namespace vg::check
