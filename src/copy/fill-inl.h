// Included once per instruction set by a file that has defined `Isa`. No include guard and no standard header: every
// function it brings in is compiled for that instruction set and must stay local to it.
namespace {

// The pattern as it continues `bytes` further on.
inline uint32_t continued(uint32_t pattern, size_t bytes) {
  const unsigned shift = bytes % 4 * 8;
  return shift ? pattern >> shift | pattern << (32 - shift) : pattern;
}

inline void fillSmall(std::byte* to, size_t bytes, uint32_t pattern) {
  for (; bytes >= 4; to += 4, bytes -= 4) __builtin_memcpy(to, &pattern, 4);
  for (; bytes; ++to, --bytes, pattern >>= 8) *to = static_cast<std::byte>(pattern);
}

// Both ends with unaligned vectors, the rest aligned: no loop for what is left over.
template <bool kStreaming>
inline void fillRow(std::byte* destination, size_t bytes, uint32_t pattern) {
  if (bytes < Isa::kBytes) return fillSmall(destination, bytes, pattern);
  Isa::store(destination, Isa::splat(pattern));
  std::byte* const lastVector = destination + bytes - Isa::kBytes;
  std::byte* to = Isa::alignUp(destination + 1);
  const Isa::Vector aligned = Isa::splat(continued(pattern, static_cast<size_t>(to - destination)));
  for (; lastVector - to > static_cast<ptrdiff_t>(3 * Isa::kBytes); to += 4 * Isa::kBytes)
    for (int i = 0; i < 4; ++i) {
      if constexpr (kStreaming) {
        Isa::storeStreaming(to + i * Isa::kBytes, aligned);
      } else {
        Isa::storeAligned(to + i * Isa::kBytes, aligned);
      }
    }
  for (; to < lastVector; to += Isa::kBytes) Isa::storeAligned(to, aligned);
  Isa::store(lastVector, Isa::splat(continued(pattern, bytes - Isa::kBytes)));
}

void fill(std::byte* destination, size_t bytes, uint32_t pattern) { fillRow<false>(destination, bytes, pattern); }
void streamFill(std::byte* destination, size_t bytes, uint32_t pattern) { fillRow<true>(destination, bytes, pattern); }

}  // namespace
