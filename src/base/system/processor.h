// What the processor can do and the system lets programs use. Read once, when first asked for: a virtual machine leaves
// the processor for each question, and the compiler's own functions ask dozens at load. Includes no inline functions,
// as files for one instruction set ask too.
#pragma once

#include <cstdint>

namespace vg::processor {

// The registers that the system must save for it.
enum class State : uint8_t { General, Avx, Avx512 };

// Where cpuid says so.
struct Feature {
  uint32_t leaf;
  char word;  // 'b', 'c' or 'd': the register
  uint8_t bit;
  State state;
};

inline constexpr Feature kPopcnt{1, 'c', 23, State::General}, kFma{1, 'c', 12, State::Avx},
    kF16c{1, 'c', 29, State::Avx}, kAvx{1, 'c', 28, State::Avx}, kAvx2{7, 'b', 5, State::Avx},
    kAvx512F{7, 'b', 16, State::Avx512}, kAvx512Dq{7, 'b', 17, State::Avx512}, kAvx512Cd{7, 'b', 28, State::Avx512},
    kAvx512Bw{7, 'b', 30, State::Avx512}, kAvx512Vl{7, 'b', 31, State::Avx512}, kAvx512Vnni{7, 'c', 11, State::Avx512};
inline constexpr Feature kFastRepMove{7, 'b', 9, State::General};  // enhanced `rep movsb` and `rep stosb`

// Leaves 1, 7 and 0x80000001.
bool has(const Feature& feature);

bool isIntel();
bool isAmd();

}  // namespace vg::processor
