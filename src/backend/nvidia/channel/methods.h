// What goes into a push buffer: headers of methods, and the methods of the host, of the copy engine and of compute that
// we use, by the names of the public class headers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vg::backend::nvidia {

// Subchannels by convention.
inline constexpr uint32_t kHostSubchannel = 0, kComputeSubchannel = 1, kCopySubchannel = 4;

constexpr uint32_t incrementing(uint32_t subchannel, uint32_t method, uint32_t count) {
  return 1u << 29 | count << 16 | subchannel << 13 | method >> 2;
}
constexpr uint32_t immediate(uint32_t subchannel, uint32_t method, uint32_t value) {
  return 4u << 29 | value << 16 | subchannel << 13 | method >> 2;
}

namespace host {
inline constexpr uint32_t kSetObject = 0x0, kSemAddressLow = 0x5c, kSemExecute = 0x6c;
// SEM_EXECUTE
inline constexpr uint32_t kAcquireCircular = 3, kRelease = 1, kSwitchWhileWaiting = 1u << 12, kWaitForIdle = 1u << 20,
                          kPayload64 = 1u << 24, kTimestamp = 1u << 25;
}  // namespace host

namespace ce {
inline constexpr uint32_t kSemaphoreHigh = 0x240, kSemaphoreLow = 0x244, kPayloadLow = 0x248, kPayloadHigh = 0x24c,
                          kLaunch = 0x300, kInHigh = 0x400, kOutHigh = 0x408, kPitchIn = 0x410, kPitchOut = 0x414,
                          kLineLength = 0x418, kLineCount = 0x41c, kRemapConstA = 0x700, kRemapComponents = 0x708;
// Block-linear memory: block, width, height, depth and layer one after the other, and where a box begins
inline constexpr uint32_t kDestinationBlock = 0x70c, kSourceBlock = 0x728, kSourceOrigin = 0x744,
                          kDestinationOrigin = 0x74c;
// SET_SRC_BLOCK_SIZE, SET_DST_BLOCK_SIZE: powers of two of GOBs of 8 rows
constexpr uint32_t blockOf(uint32_t rows, uint32_t slices) { return 1u << 12 | slices << 8 | rows << 4; }
// LAUNCH_DMA
inline constexpr uint32_t kNoTransfer = 0, kPipelined = 1, kNonPipelined = 2, kFlush = 1u << 2,
                          kReleaseOneWord = 1u << 3, kReleaseTimestamp = 2u << 3, kSourcePitch = 1u << 7,
                          kDestinationPitch = 1u << 8, kMultiLine = 1u << 9, kRemap = 1u << 10, kSemaphore64 = 1u << 27;
// SET_REMAP_COMPONENTS: one component, constant A, of so many bytes
constexpr uint32_t constantOf(uint32_t elementSize) { return (elementSize - 1) << 16 | 4; }
}  // namespace ce

// Of Hopper; those that Ampere has too are at the same places.
namespace compute {
inline constexpr uint32_t kWaitForIdle = 0x110, kReportPayloadLow = 0x158, kReportExecute = 0x168,
                          kSharedWindowHigh = 0x2a0, kSendPcasA = 0x2b4, kSendSignalingPcas2B = 0x2c0,
                          kLocalBytesHigh = 0x2e4, kLocalMemoryHigh = 0x790, kLocalWindowHigh = 0x7b0,
                          kTextureHeaderVersion = 0x7ac, kSamplerPoolHigh = 0x155c, kTexturePoolHigh = 0x1574,
                          kInvalidateShaderCaches = 0x1698;
// SEND_SIGNALING_PCAS2_B: the hardware fetches a descriptor; runs it, where it lies
inline constexpr uint32_t kPrefetch = 8, kSchedule = 2;
// INVALIDATE_SHADER_CACHES_NO_WFI
inline constexpr uint32_t kInstructions = 1u << 0, kData = 1u << 4, kConstants = 1u << 12;
// REPORT_SEMAPHORE_EXECUTE: a payload of 64 bits and the time are written; what is cached stays there
inline constexpr uint32_t kRelease = 0, kKeepCaches = 1u << 5, kPayload64 = 1u << 12;
inline constexpr uint32_t kAllMultiprocessors = 0xff;  // of a TPC, for local memory
}  // namespace compute

}  // namespace vg::backend::nvidia
