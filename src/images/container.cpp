#include "images/container.h"

#include <lz4.h>
#include <zstd.h>

#include <cstring>

namespace vg::images {
namespace {

constexpr uint32_t kMagic = 0xBA55ED50, kOldMagic = 0x1EE55A01;
constexpr uint16_t kContainerVersion = 1;
constexpr uint64_t kFlagLz4 = 0x2000, kFlagZstd = 0x8000, kFlagArchitecture = 0x100000, kFlagFamily = 0x200000;
constexpr uint64_t kLargestPayload = uint64_t{1} << 31;  // bytes unpacked; real ones stay below 100 MiB
constexpr uint64_t kLz4LargestRatio = 255;

struct ContainerHeader {
  uint32_t magic;
  uint16_t version;
  uint16_t headerSize;
  uint64_t entriesSize;  // bytes after the header
};
static_assert(sizeof(ContainerHeader) == 16);

struct EntryHeader {
  uint16_t kind;
  uint16_t version;
  uint32_t headerSize;      // with strings: where the payload starts
  uint64_t payloadSize;     // as stored, padded
  uint32_t compressedSize;  // exact; 0 when not compressed
  uint32_t optionsOffset;
  uint16_t minor, major;
  uint32_t target;
  uint32_t nameOffset, nameSize;
  uint64_t flags;
  uint64_t reserved;
  uint64_t unpackedSize;  // 0 when not compressed
};
static_assert(sizeof(EntryHeader) == 64);

// The headers lie at any alignment.
template <class T>
T load(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

std::string_view textAt(const std::byte* bytes, uint64_t size) {
  return {reinterpret_cast<const char*>(bytes), static_cast<size_t>(size)};
}

Result<Entry> readEntry(const std::byte* bytes, size_t available) {
  if (available < sizeof(EntryHeader))
    return fail(CUDA_ERROR_INVALID_IMAGE, "fat binary entry of %zu bytes is shorter than its header", available);
  const auto header = load<EntryHeader>(bytes);
  if (header.headerSize < sizeof(EntryHeader) || header.headerSize > available ||
      header.payloadSize > available - header.headerSize)
    return fail(CUDA_ERROR_INVALID_IMAGE, "fat binary entry: header of %u and payload of %llu bytes exceed %zu bytes",
                header.headerSize, static_cast<unsigned long long>(header.payloadSize), available);
  if (header.compressedSize > header.payloadSize)
    return fail(CUDA_ERROR_INVALID_IMAGE, "fat binary entry: %u compressed bytes in a payload of %llu",
                header.compressedSize, static_cast<unsigned long long>(header.payloadSize));
  Entry entry;
  entry.kind = static_cast<EntryKind>(header.kind);
  if (header.flags & kFlagLz4) entry.compression = Compression::Lz4;
  if (header.flags & kFlagZstd) entry.compression = Compression::Zstd;
  entry.target = header.target;
  if (header.flags & kFlagArchitecture) entry.suffix = 'a';
  if (header.flags & kFlagFamily) entry.suffix = 'f';
  entry.version = header.major * 10u + header.minor;
  if (header.nameOffset >= sizeof(EntryHeader) && header.nameOffset <= header.headerSize &&
      header.nameSize <= header.headerSize - header.nameOffset)
    entry.name = textAt(bytes + header.nameOffset, header.nameSize);
  const bool packed = entry.compression != Compression::None;
  const uint64_t stored = packed && header.compressedSize ? header.compressedSize : header.payloadSize;
  entry.payload = textAt(bytes + header.headerSize, stored);
  entry.unpackedSize = packed ? header.unpackedSize : stored;
  return entry;
}

CUresult unpackLz4(const Entry& entry, std::string& out) {
  if (entry.unpackedSize > entry.payload.size() * kLz4LargestRatio + 64)
    return fail(CUDA_ERROR_INVALID_IMAGE, "LZ4 block of %zu bytes cannot hold %llu", entry.payload.size(),
                static_cast<unsigned long long>(entry.unpackedSize));
  out.resize(entry.unpackedSize);
  const int got = LZ4_decompress_safe(entry.payload.data(), out.data(), static_cast<int>(entry.payload.size()),
                                      static_cast<int>(out.size()));
  if (got < 0 || static_cast<uint64_t>(got) != entry.unpackedSize)
    return fail(CUDA_ERROR_INVALID_IMAGE, "LZ4 block is damaged (%d of %llu bytes)", got,
                static_cast<unsigned long long>(entry.unpackedSize));
  return CUDA_SUCCESS;
}

CUresult unpackZstd(const Entry& entry, std::string& out) {
  const unsigned long long size = ZSTD_getFrameContentSize(entry.payload.data(), entry.payload.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || (size != ZSTD_CONTENTSIZE_UNKNOWN && size != entry.unpackedSize))
    return fail(CUDA_ERROR_INVALID_IMAGE, "zstd frame does not hold the %llu bytes that its entry names",
                static_cast<unsigned long long>(entry.unpackedSize));
  out.resize(entry.unpackedSize);
  const size_t got = ZSTD_decompress(out.data(), out.size(), entry.payload.data(), entry.payload.size());
  if (ZSTD_isError(got) || got != entry.unpackedSize)
    return fail(CUDA_ERROR_INVALID_IMAGE, "zstd frame is damaged: %s",
                ZSTD_isError(got) ? ZSTD_getErrorName(got) : "too short");
  return CUDA_SUCCESS;
}

}  // namespace

uint64_t containerSize(const std::byte* bytes, size_t available) {
  if (available < sizeof(ContainerHeader)) return 0;
  const auto header = load<ContainerHeader>(bytes);
  if (header.magic != kMagic && header.magic != kOldMagic) return 0;
  if (header.headerSize < sizeof(ContainerHeader)) return 0;
  uint64_t size = 0;
  return __builtin_add_overflow(header.headerSize, header.entriesSize, &size) ? ~uint64_t{0} : size;
}

Result<std::vector<Entry>> readContainer(const std::byte* bytes, size_t size) {
  const uint64_t promised = containerSize(bytes, size);
  if (!promised || promised > size)
    return fail(CUDA_ERROR_INVALID_IMAGE, "fat binary container of %llu bytes in an image of %zu",
                static_cast<unsigned long long>(promised), size);
  const auto header = load<ContainerHeader>(bytes);
  if (header.version != kContainerVersion)
    return fail(CUDA_ERROR_INVALID_IMAGE, "fat binary container version %u is not known", header.version);
  std::vector<Entry> entries;
  for (uint64_t at = header.headerSize; at < promised;) {
    VG_TRY(Entry entry, readEntry(bytes + at, promised - at));
    const auto entryHeader = load<EntryHeader>(bytes + at);
    at += entryHeader.headerSize + entryHeader.payloadSize;
    entries.push_back(entry);
  }
  return entries;
}

Result<std::string> unpack(const Entry& entry) {
  if (entry.unpackedSize > kLargestPayload || entry.payload.size() > kLargestPayload)
    return fail(CUDA_ERROR_INVALID_IMAGE, "fat binary payload of %llu bytes is too large",
                static_cast<unsigned long long>(entry.unpackedSize));
  std::string out;
  switch (entry.compression) {
    case Compression::None:
      out = entry.payload;
      break;
    case Compression::Lz4:
      VG_CHECK(unpackLz4(entry, out));
      break;
    case Compression::Zstd:
      VG_CHECK(unpackZstd(entry, out));
      break;
  }
  if (entry.kind == EntryKind::Ptx) out.resize(strnlen(out.data(), out.size()));
  return out;
}

bool targetFits(uint32_t target, char suffix, uint32_t capability) {
  if (suffix == 'a') return target == capability;
  if (suffix == 'f') return target / 10 == capability / 10 && target <= capability;
  return target <= capability;
}

bool nativeTargetFits(uint32_t target, char suffix, uint32_t capability) {
  return targetFits(target, suffix, capability) && target / 10 == capability / 10;
}

std::string targetName(uint32_t target, char suffix) {
  std::string name = "sm_" + std::to_string(target);
  if (suffix) name += suffix;
  return name;
}

}  // namespace vg::images
