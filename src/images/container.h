// Fat binary containers: a 16-byte header, then entries one after another, each PTX, native code or something else for
// one target. Reading checks every size against the bytes at hand; payloads stay compressed until asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace vg::images {

enum class EntryKind : uint16_t { Ptx = 1, Cubin = 2, LtoIr = 8 };
enum class Compression : uint8_t { None, Lz4, Zstd };

struct Entry {
  EntryKind kind = EntryKind::Ptx;  // other values occur and are kept
  Compression compression = Compression::None;
  uint32_t target = 0;        // 90 for sm_90
  char suffix = 0;            // 'a' architecture-specific, 'f' family-specific, or 0
  uint32_t version = 0;       // PTX: 10 * major + minor of the ISA
  std::string_view name;      // of the source file, often empty
  std::string_view payload;   // as stored, without padding where the header tells the exact size
  uint64_t unpackedSize = 0;  // bytes; of the payload itself when not compressed
};

// Bytes that a container spans by its own header; 0 when `available` bytes hold no container header.
uint64_t containerSize(const std::byte* bytes, size_t available);
// All entries. CUDA_ERROR_INVALID_IMAGE when a size does not add up. The entries point into `bytes`.
Result<std::vector<Entry>> readContainer(const std::byte* bytes, size_t size);
// The entry's content: PTX text without trailing NULs, or the native code.
Result<std::string> unpack(const Entry& entry);
// Whether PTX made for `target` with `suffix` runs on a device of `capability` (121 for 12.1).
bool targetFits(uint32_t target, char suffix, uint32_t capability);
// Whether native code made for them does: within a major version, from its own minor version on.
bool nativeTargetFits(uint32_t target, char suffix, uint32_t capability);
// "sm_90a"
std::string targetName(uint32_t target, char suffix);

}  // namespace vg::images
