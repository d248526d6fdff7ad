#include "copy/decompress.h"

#include <libdeflate.h>
#include <lz4.h>
#include <snappy-c.h>

#include <climits>
#include <memory>

namespace vg::copy {
namespace {

bool inflate(const std::byte* source, size_t bytes, std::byte* destination, size_t capacity, size_t& written) {
  struct Free {
    void operator()(libdeflate_decompressor* decompressor) const { libdeflate_free_decompressor(decompressor); }
  };
  const std::unique_ptr<libdeflate_decompressor, Free> decompressor(libdeflate_alloc_decompressor());
  return decompressor && libdeflate_deflate_decompress(decompressor.get(), source, bytes, destination, capacity,
                                                       &written) == LIBDEFLATE_SUCCESS;
}

bool unsnap(const std::byte* source, size_t bytes, std::byte* destination, size_t capacity, size_t& written) {
  written = capacity;
  return snappy_uncompress(reinterpret_cast<const char*>(source), bytes, reinterpret_cast<char*>(destination),
                           &written) == SNAPPY_OK;
}

bool unlz4(const std::byte* source, size_t bytes, std::byte* destination, size_t capacity, size_t& written) {
  if (bytes > INT_MAX) return false;
  const int room = capacity > INT_MAX ? INT_MAX : static_cast<int>(capacity);
  const int made = LZ4_decompress_safe(reinterpret_cast<const char*>(source), reinterpret_cast<char*>(destination),
                                       static_cast<int>(bytes), room);
  if (made < 0) return false;
  written = static_cast<size_t>(made);
  return true;
}

}  // namespace

bool decompress(Format format, const std::byte* source, size_t bytes, std::byte* destination, size_t capacity,
                size_t& written) {
  switch (format) {
    case Format::Deflate:
      return inflate(source, bytes, destination, capacity, written);
    case Format::Snappy:
      return unsnap(source, bytes, destination, capacity, written);
    case Format::Lz4:
      return unlz4(source, bytes, destination, capacity, written);
  }
  return false;
}

}  // namespace vg::copy
