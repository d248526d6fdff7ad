#include "ptx/abi/kernel_blob.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstring>

#include "ptx/abi/engine.h"

namespace vg::ptx {
namespace {

constexpr uint32_t kMagic = 0x4B504756;  // "VGPK"

struct Header {
  uint32_t magic = kMagic;
  uint32_t abiVersion = kKernelAbiVersion;
  uint32_t engineVersion = kEngineVersion;
  uint32_t traitsSize = sizeof(KernelTraits);
  uint64_t checksum = 0;  // checksumOf(the header with 0 here, what follows it)
  uint32_t codeSize = 0, textSize = 0, entryOffset = 0, lineCount = 0, alignmentCount = 0, reserved = 0;
};

// Of the header's fields and of everything behind it.
uint64_t checksumOf(Header header, const uint8_t* bytes, size_t size) {
  header.checksum = 0;
  return XXH3_64bits_withSeed(bytes, size, XXH3_64bits(&header, sizeof header));
}

}  // namespace

bool AlignmentRule::holds(const std::byte* parameters) const {
  uint64_t pointer;
  std::memcpy(&pointer, parameters + parameter, sizeof pointer);
  return ((pointer + displacement) & (bytes - 1)) == 0;
}

// header | traits | alignments | lines | code
std::vector<uint8_t> encode(const KernelBlob& blob) {
  Header header;
  header.codeSize = static_cast<uint32_t>(blob.code.size());
  header.textSize = blob.textSize;
  header.entryOffset = blob.entryOffset;
  header.lineCount = static_cast<uint32_t>(blob.lines.size());
  header.alignmentCount = static_cast<uint32_t>(blob.alignments.size());
  const size_t lineBytes = blob.lines.size() * sizeof(LineEntry);
  const size_t alignmentBytes = blob.alignments.size() * sizeof(AlignmentRule);
  std::vector<uint8_t> bytes(sizeof header + sizeof(KernelTraits) + alignmentBytes + lineBytes + blob.code.size());
  uint8_t* at = bytes.data() + sizeof header;
  // Field by field, so that padding is zero and equal kernels are equal files.
  KernelTraits traits;
  std::memset(static_cast<void*>(&traits), 0, sizeof traits);
  traits.staticShared = blob.traits.staticShared;
  traits.dynamicSharedOffset = blob.traits.dynamicSharedOffset;
  traits.localPerThread = blob.traits.localPerThread;
  traits.localStride = blob.traits.localStride;
  traits.stackPerWarp = blob.traits.stackPerWarp;
  traits.frameBytes = blob.traits.frameBytes;
  traits.streamedPerThread = blob.traits.streamedPerThread;
  traits.stackOfCalls = blob.traits.stackOfCalls;
  traits.registers = blob.traits.registers;
  traits.keptBytes = blob.traits.keptBytes;
  traits.waits = blob.traits.waits;
  traits.clusterAddresses = blob.traits.clusterAddresses;
  traits.polls = blob.traits.polls;
  traits.loops = blob.traits.loops;
  traits.usesDynamicShared = blob.traits.usesDynamicShared;
  traits.spans = blob.traits.spans;
  traits.allocates = blob.traits.allocates;
  traits.recurses = blob.traits.recurses;
  traits.atomics = blob.traits.atomics;
  traits.samples = blob.traits.samples;
  traits.callsApart = blob.traits.callsApart;
  std::memcpy(at, &traits, sizeof traits);
  at += sizeof traits;
  if (alignmentBytes) std::memcpy(at, blob.alignments.data(), alignmentBytes);
  at += alignmentBytes;
  if (lineBytes) std::memcpy(at, blob.lines.data(), lineBytes);
  at += lineBytes;
  if (!blob.code.empty()) std::memcpy(at, blob.code.data(), blob.code.size());
  header.checksum = checksumOf(header, bytes.data() + sizeof header, bytes.size() - sizeof header);
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

Result<KernelBlob> decode(const uint8_t* bytes, size_t size) {
  Header header;
  if (size < sizeof header + sizeof(KernelTraits))
    return fail(CUDA_ERROR_INVALID_IMAGE, "kernel blob of %zu bytes", size);
  std::memcpy(&header, bytes, sizeof header);
  if (header.magic != kMagic || header.abiVersion != kKernelAbiVersion || header.engineVersion != kEngineVersion ||
      header.traitsSize != sizeof(KernelTraits))
    return fail(CUDA_ERROR_INVALID_IMAGE, "kernel blob of another version (abi %u, engine %u)", header.abiVersion,
                header.engineVersion);
  const uint64_t lineBytes = uint64_t{header.lineCount} * sizeof(LineEntry);
  const uint64_t alignmentBytes = uint64_t{header.alignmentCount} * sizeof(AlignmentRule);
  if (sizeof header + sizeof(KernelTraits) + alignmentBytes + lineBytes + header.codeSize != size ||
      header.textSize > header.codeSize || header.entryOffset >= header.textSize)
    return fail(CUDA_ERROR_INVALID_IMAGE, "kernel blob of %zu bytes with wrong sizes", size);
  if (checksumOf(header, bytes + sizeof header, size - sizeof header) != header.checksum)
    return fail(CUDA_ERROR_INVALID_IMAGE, "kernel blob with a wrong checksum");
  KernelBlob blob;
  const uint8_t* at = bytes + sizeof header;
  std::memcpy(static_cast<void*>(&blob.traits), at, sizeof blob.traits);
  at += sizeof blob.traits;
  blob.alignments.resize(header.alignmentCount);
  if (alignmentBytes) std::memcpy(blob.alignments.data(), at, alignmentBytes);
  at += alignmentBytes;
  blob.lines.resize(header.lineCount);
  if (lineBytes) std::memcpy(blob.lines.data(), at, lineBytes);
  at += lineBytes;
  blob.code.assign(at, at + header.codeSize);
  blob.textSize = header.textSize;
  blob.entryOffset = header.entryOffset;
  return blob;
}

}  // namespace vg::ptx
