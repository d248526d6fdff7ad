// Whole buffers of compressed bytes, through the libraries of their formats. Bad input is found out, never trusted. Any
// thread may call.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vg::copy {

enum class Format : uint8_t {
  Deflate,  // a raw stream, RFC 1951, without zlib's or gzip's header
  Snappy,   // a raw block, its length in front
  Lz4,      // a raw block
};

// Writes what `source` expands to. True with its length in `written`; false when the input is damaged, cut off or
// expands to more than `capacity` bytes: then the first `capacity` bytes of the destination are unspecified.
bool decompress(Format format, const std::byte* source, size_t bytes, std::byte* destination, size_t capacity,
                size_t& written);

}  // namespace vg::copy
