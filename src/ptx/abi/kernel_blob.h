// Compiled kernels as position-independent bytes: what the code generator returns and the disk cache stores. Code and
// constants form one piece without external relocations: map it, make it executable, call at the entry offset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "ptx/abi/kernel_abi.h"

namespace vg::ptx {

// One entry a code range that can fault or trap: native offset -> PTX line, ascending by offset.
struct LineEntry {
  uint32_t codeOffset;
  uint32_t ptxLine;
};

// In a line for debuggers: the code before it that notes where lanes are (facts/kept_registers.h).
inline constexpr uint32_t kNoted = 1u << 30;

// What the code takes for granted: the pointer at this place among the parameters (bytes), plus a displacement, is a
// multiple of `bytes`, a power of two.
struct AlignmentRule {
  uint32_t parameter;
  uint32_t displacement;
  uint32_t bytes;

  // `parameters`: the launch's buffer.
  bool holds(const std::byte* parameters) const;
};

struct KernelBlob {
  KernelTraits traits;
  std::vector<AlignmentRule> alignments;
  std::vector<uint8_t> code;  // text and constants, loaded at a 64-byte aligned address
  uint32_t textSize = 0;      // the first textSize bytes of code are instructions
  uint32_t entryOffset = 0;   // of the KernelEntry function in code
  std::vector<LineEntry> lines;
};

std::vector<uint8_t> encode(const KernelBlob& blob);
// Checks magic, kKernelAbiVersion, kEngineVersion, sizes and an XXH3 checksum; CUDA_ERROR_INVALID_IMAGE otherwise.
Result<KernelBlob> decode(const uint8_t* bytes, size_t size);

}  // namespace vg::ptx
