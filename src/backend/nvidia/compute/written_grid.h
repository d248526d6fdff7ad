// A grid in memory that the hardware reads: the descriptor, the workspace of a cooperative grid, bank 0.
#pragma once

#include "backend/nvidia/channel/push.h"
#include "backend/nvidia/channel/write_lines.h"
#include "backend/nvidia/compute/grid.h"

namespace vg::backend::nvidia {

inline constexpr uint32_t kMostParameters = 32764;  // bytes of a grid
inline constexpr size_t kGridWorkspaceAt = 448, kGridBankAt = 512;
inline constexpr size_t bytesOfGrid(size_t parameters) {
  return (kGridBankAt + kDriverWords + parameters + 511) / 512 * 512;
}
static_assert(Qmd::kBytes <= kGridWorkspaceAt && Qmd::kBytes % kLineBytes == 0);

// What a grid runs, and on what. Nothing of it is needed once it is written.
struct GridContents {
  const KernelCode& code;
  const Grid& grid;
  const std::byte* parameters;
  uint32_t bytes;  // of the parameters
};

inline bool canBeWritten(const GridContents& grid) {
  return grid.bytes <= kMostParameters && grid.code.parameterBase == kDriverWords;
}
// Does something with the descriptor at this address: compute::kPrefetch, compute::kSchedule.
inline constexpr size_t kDescriptorWords = 4;
void sendDescriptor(Push& push, uint64_t address, uint32_t action);

// The descriptor and bank 0 at [to, to + bytesOfGrid(grid.bytes)), which the GPU has at `address`.
void writeGrid(std::byte* to, uint64_t address, const GridContents& contents, const ComputeFacts& facts,
               const GridEnd& end);

}  // namespace vg::backend::nvidia
