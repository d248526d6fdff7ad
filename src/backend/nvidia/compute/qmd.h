// The descriptor of a grid that the compute engine reads: 384 bytes of bit fields, version 4.0 (Hopper). Fields have
// the names of the public class header; what is not set is zero.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace vg::backend::nvidia {

class Qmd {
 public:
  static constexpr size_t kBytes = 384, kAlignment = 256, kBanks = 8;

  // Bits [first, first + width); none is wider than a word or crosses one.
  struct Field {
    uint16_t first, width;
  };
  // Cut to the field's width, which is the caller's to check.
  constexpr void set(Field field, uint32_t value) {
    uint32_t& word = words_[field.first / 32];
    const unsigned shift = field.first % 32;
    word = (word & ~(maskOf(field) << shift)) | (value & maskOf(field)) << shift;
  }
  constexpr uint32_t get(Field field) const { return words_[field.first / 32] >> field.first % 32 & maskOf(field); }
  const std::array<uint32_t, kBytes / 4>& words() const { return words_; }
  std::array<uint32_t, kBytes / 4>& words() { return words_; }

 private:
  static constexpr uint32_t maskOf(Field field) { return field.width == 32 ? ~0u : (1u << field.width) - 1; }

  std::array<uint32_t, kBytes / 4> words_{};
};

namespace qmd {

inline constexpr Qmd::Field kGroup{16, 6};         // blocks of a group with a smaller number are placed first
inline constexpr Qmd::Field kTpcMaskValid{31, 1};  // of tpcDisabled()
inline constexpr Qmd::Field kType{23, 3};          // 1 nothing, 2 a grid of blocks, 3 of clusters
inline constexpr Qmd::Field kLocalLowSize{512, 24}, kSassVersion{536, 8}, kLocalHighSize{544, 24};
inline constexpr Qmd::Field kApiVisibleCallLimit{568, 1},
    kSamplerIndex{569, 1};                             // 1: as the header's; 0: the word behind it
inline constexpr Qmd::Field kPrefetchedBytes{570, 6};  // of a bank, at most; / 256
inline constexpr Qmd::Field kMinorVersion{576, 4}, kMajorVersion{580, 4};
inline constexpr Qmd::Field kSharedMemorySize{584, 18};  // bytes, a multiple of 128
inline constexpr Qmd::Field kInvalidateTextureHeader{602, 1}, kInvalidateTextureSampler{603, 1},
    kInvalidateTextureData{604, 1}, kInvalidateShaderData{605, 1}, kInvalidateInstruction{606, 1},
    kInvalidateShaderConstant{607, 1};
// How a multiprocessor divides its memory between shared memory and cache: KiB / 4 + 1.
inline constexpr Qmd::Field kMinSharedConfig{608, 6}, kMaxSharedConfig{614, 6}, kTargetSharedConfig{620, 6};
inline constexpr Qmd::Field kGridWidth{1024, 32}, kGridHeight{1056, 16}, kGridDepth{1088, 16};
inline constexpr Qmd::Field kMembarType{1136, 2};  // 1 system, 3 GPU
inline constexpr Qmd::Field kBlockWidth{1152, 16}, kBlockHeight{1168, 16}, kBlockDepth{1184, 16};
inline constexpr Qmd::Field kRegisterCount{1200, 9}, kBarrierCount{1211, 5};
inline constexpr Qmd::Field kProgramLow{1216, 32}, kProgramHigh{1248, 25};
// Code that multiprocessors fetch when the grid begins: address / 256, bytes / 256.
inline constexpr Qmd::Field kPrefetchedProgramLow{1344, 32}, kPrefetchedProgramHigh{1376, 17},
    kPrefetchedProgramSize{1393, 9};
inline constexpr Qmd::Field kClusterWidth{2144, 6}, kClusterHeight{2152, 6}, kClusterDepth{2160, 6};

constexpr Qmd::Field of(unsigned index, unsigned first, unsigned width, unsigned stride) {
  return {static_cast<uint16_t>(first + index * stride), static_cast<uint16_t>(width)};
}
constexpr Qmd::Field tpcDisabled(unsigned word) { return of(word, 2432, 32, 32); }
// What is written when the grid is done.
constexpr Qmd::Field releaseEnable(unsigned i) { return of(i, 320, 1, 16); }
// 0 with the time, 1 a word of 32 bits, 2 of 64.
constexpr Qmd::Field releaseStructure(unsigned i) { return of(i, 321, 2, 16); }
constexpr Qmd::Field releaseMembar(unsigned i) { return of(i, 323, 1, 16); }     // 1: of the whole system
constexpr Qmd::Field releaseReduces(unsigned i) { return of(i, 324, 1, 16); }    // into what is there, by:
constexpr Qmd::Field releaseReduction(unsigned i) { return of(i, 325, 3, 16); }  // 0 addition
constexpr Qmd::Field releasePayload64(unsigned i) { return of(i, 332, 1, 16); }
constexpr Qmd::Field releaseAddressLow(unsigned i) { return of(i, 640, 32, 128); }
constexpr Qmd::Field releaseAddressHigh(unsigned i) { return of(i, 672, 25, 128); }
constexpr Qmd::Field releasePayloadLow(unsigned i) { return of(i, 704, 32, 128); }
constexpr Qmd::Field releasePayloadHigh(unsigned i) { return of(i, 736, 32, 128); }

// What is scheduled when the grid is done: another descriptor, which is fetched while this grid runs.
inline constexpr Qmd::Field kNextEnable{368, 1}, kNextAction{369, 3}, kNextPrefetch{372, 1};
inline constexpr Qmd::Field kNextPointer{448, 32};  // address / 256

// Programmatic launches. A latch is open unless a grid under way arrives at it; griddepcontrol.wait waits for that.
inline constexpr Qmd::Field kArrivesAtLatch{28, 1}, kWaitsForLatch{29, 1}, kLatchOfArrival{1472, 32},
    kLatchOfWait{1504, 32};
// What a block may have in its caches when its wait is over is from before.
inline constexpr Qmd::Field kLatchInvalidatesData{1406, 1}, kLatchInvalidatesTextures{1407, 1};
inline constexpr Qmd::Field kBlocksAllowNext{1151,
                                             1};  // ENABLE_PROGRAM_PRE_EXIT: griddepcontrol.launch_dependents counts

constexpr Qmd::Field bankValid(unsigned bank) { return of(bank, 416, 1, 4); }
constexpr Qmd::Field bankPrefetch(unsigned bank) { return of(bank, 417, 2, 4); }  // 1: before the grid begins
constexpr Qmd::Field bankInvalidate(unsigned bank) { return of(bank, 419, 1, 4); }
constexpr Qmd::Field bankAddressLow(unsigned bank) { return of(bank, 1536, 32, 64); }   // address / 64
constexpr Qmd::Field bankAddressHigh(unsigned bank) { return of(bank, 1568, 19, 64); }  // address / 64
constexpr Qmd::Field bankSize(unsigned bank) { return of(bank, 1587, 13, 64); }         // bytes / 16

}  // namespace qmd
}  // namespace vg::backend::nvidia
