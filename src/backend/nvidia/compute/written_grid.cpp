#include "backend/nvidia/compute/written_grid.h"

#include <cstring>

namespace vg::backend::nvidia {

void sendDescriptor(Push& push, uint64_t address, uint32_t action) {
  push.write(kComputeSubchannel, compute::kSendPcasA, {static_cast<uint32_t>(address / Qmd::kAlignment)});
  push.write(kComputeSubchannel, compute::kSendSignalingPcas2B, {action});
}

// Bank 0 has the parameters behind the driver's words.
void writeGrid(std::byte* to, uint64_t address, const GridContents& contents, const ComputeFacts& facts,
               const GridEnd& end) {
  constexpr size_t kLine = kLineBytes;
  alignas(kLine) std::byte bank[kDriverWords + kMostParameters + kLine];
  writeDriverWords(bank, address + kGridBankAt, contents.code, contents.grid, facts);
  if (contents.bytes) std::memcpy(bank + kDriverWords, contents.parameters, contents.bytes);
  const size_t used = kDriverWords + contents.bytes, whole = (used + kLine - 1) / kLine * kLine;
  std::memset(bank + used, 0, whole - used);
  alignas(kLine) const Qmd descriptor =
      describe(*facts.generation, contents.code, contents.grid, address + kGridBankAt, end);
  writeLines(to, reinterpret_cast<const std::byte*>(descriptor.words().data()), Qmd::kBytes);
  writeLines(to + kGridBankAt, bank, whole);
}

}  // namespace vg::backend::nvidia
