// What is known of the generations of GPUs, a row each. Class numbers are those of the public class headers, the newest
// that a chip of the generation has (tests/gpu/chip_classes.tsv).
//
// A generation is `driven` when all that lies above the kernel driver is written for it: methods, the descriptor of a
// grid, texture headers, attributes. The others are recognised and refused with their names.
#pragma once

#include <array>
#include <cstdint>

namespace vg::backend::nvidia {

struct Generation {
  const char* name;
  int computeCapability;                      // 10 * major + minor
  uint32_t smVersion;                         // what the kernel driver says of the multiprocessors
  uint32_t usermode, channel, compute, copy;  // classes
  bool driven;
  // Of driven generations:
  uint32_t descriptorVersion;                // of a grid
  uint32_t driverWords;                      // bytes of constant bank 0 in front of the parameters
  std::array<uint32_t, 10> sharedSplitsKiB;  // shared memory that a multiprocessor can be divided to have
};

inline constexpr Generation kHopper{.name = "Hopper",
                                    .computeCapability = 90,
                                    .smVersion = 0x900,
                                    .usermode = 0xc661,
                                    .channel = 0xc86f,
                                    .compute = 0xcbc0,
                                    .copy = 0xc8b5,
                                    .driven = true,
                                    .descriptorVersion = 4,
                                    .driverWords = 0x210,
                                    .sharedSplitsKiB = {0, 8, 16, 32, 64, 100, 132, 164, 196, 228}};

// Newest first. What a generation shares with an older one has the older one's class.
// clang-format off
inline constexpr Generation kGenerations[] = {
    {.name = "Blackwell (GB20x)", .computeCapability = 120, .smVersion = 0xa04,
     .usermode = 0xc761, .channel = 0xca6f, .compute = 0xcec0, .copy = 0xcab5},
    {.name = "Blackwell (GB11x)", .computeCapability = 103, .smVersion = 0xa03,
     .usermode = 0xc661, .channel = 0xc96f, .compute = 0xcdc0, .copy = 0xc9b5},
    {.name = "Blackwell (GB10x)", .computeCapability = 100, .smVersion = 0xa00,
     .usermode = 0xc661, .channel = 0xc96f, .compute = 0xcdc0, .copy = 0xc9b5},
    kHopper,
    {.name = "Ada", .computeCapability = 89, .smVersion = 0x809,
     .usermode = 0xc561, .channel = 0xc56f, .compute = 0xc9c0, .copy = 0xc7b5},
    {.name = "Ampere (GA10x)", .computeCapability = 86, .smVersion = 0x806,
     .usermode = 0xc561, .channel = 0xc56f, .compute = 0xc7c0, .copy = 0xc7b5},
    {.name = "Ampere (GA100)", .computeCapability = 80, .smVersion = 0x800,
     .usermode = 0xc561, .channel = 0xc56f, .compute = 0xc6c0, .copy = 0xc6b5},
    {.name = "Turing", .computeCapability = 75, .smVersion = 0x705,
     .usermode = 0xc461, .channel = 0xc46f, .compute = 0xc5c0, .copy = 0xc5b5},
    {.name = "Volta", .computeCapability = 70, .smVersion = 0x700,
     .usermode = 0xc361, .channel = 0xc36f, .compute = 0xc3c0, .copy = 0xc3b5},
};
// clang-format on

// The row of a compute capability; null where there is none.
constexpr const Generation* generationOf(int computeCapability) {
  for (const Generation& row : kGenerations)
    if (row.computeCapability == computeCapability) return &row;
  return nullptr;
}

constexpr bool isDriven(int computeCapability) {
  const Generation* const row = generationOf(computeCapability);
  return row && row->driven;
}

}  // namespace vg::backend::nvidia
