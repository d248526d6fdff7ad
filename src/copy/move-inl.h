// Included once per instruction set by a file that has defined `Isa`. No include guard and no standard header: every
// function it brings in is compiled for that instruction set and must stay local to it.
namespace {

// Copies the first and the last Piece, which may overlap each other: right for one to two Pieces of bytes.
template <class Piece>
inline void moveEnds(std::byte* destination, const std::byte* source, size_t bytes) {
  Piece first, last;
  __builtin_memcpy(&first, source, sizeof(Piece));
  __builtin_memcpy(&last, source + bytes - sizeof(Piece), sizeof(Piece));
  __builtin_memcpy(destination, &first, sizeof(Piece));
  __builtin_memcpy(destination + bytes - sizeof(Piece), &last, sizeof(Piece));
}

// The same with kCount vectors at each end. Everything is loaded before anything is stored, so overlap is no matter.
template <int kCount>
inline void moveEndVectors(std::byte* destination, const std::byte* source, size_t bytes) {
  constexpr size_t kBlock = kCount * Isa::kBytes;
  Isa::Vector first[kCount], last[kCount];
  for (int i = 0; i < kCount; ++i) first[i] = Isa::load(source + i * Isa::kBytes);
  for (int i = 0; i < kCount; ++i) last[i] = Isa::load(source + bytes - kBlock + i * Isa::kBytes);
  for (int i = 0; i < kCount; ++i) Isa::store(destination + i * Isa::kBytes, first[i]);
  for (int i = 0; i < kCount; ++i) Isa::store(destination + bytes - kBlock + i * Isa::kBytes, last[i]);
}

using Single __attribute__((vector_size(16))) = long long;
struct Pair {  // 32 bytes without asking for more than the baseline
  Single low, high;
};

inline void moveSmall(std::byte* destination, const std::byte* source, size_t bytes) {
  if (bytes >= 32) return moveEnds<Pair>(destination, source, bytes);
  if (bytes >= 16) return moveEnds<Single>(destination, source, bytes);
  if (bytes >= 8) return moveEnds<uint64_t>(destination, source, bytes);
  if (bytes >= 4) return moveEnds<uint32_t>(destination, source, bytes);
  if (bytes >= 2) return moveEnds<uint16_t>(destination, source, bytes);
  if (bytes) *destination = *source;
}

constexpr size_t kBlockBytes = 4 * Isa::kBytes;

inline void loadBlock(Isa::Vector (&block)[4], const std::byte* source) {
  for (int i = 0; i < 4; ++i) block[i] = Isa::load(source + i * Isa::kBytes);
}
inline void storeBlock(std::byte* destination, const Isa::Vector (&block)[4]) {
  for (int i = 0; i < 4; ++i) Isa::store(destination + i * Isa::kBytes, block[i]);
}

// Upwards, stores aligned. The ends are loaded before the loop, which may overwrite their source.
void moveUp(std::byte* destination, const std::byte* source, size_t bytes) {
  const Isa::Vector first = Isa::load(source);
  Isa::Vector last[4], block[4];
  loadBlock(last, source + bytes - kBlockBytes);
  std::byte* const end = destination + bytes - kBlockBytes;
  std::byte* to = Isa::alignUp(destination + 1);
  const std::byte* from = source + (to - destination);
  for (; to < end; to += kBlockBytes, from += kBlockBytes) {
    loadBlock(block, from);
    for (int i = 0; i < 4; ++i) Isa::storeAligned(to + i * Isa::kBytes, block[i]);
  }
  storeBlock(end, last);
  Isa::store(destination, first);
}

void moveDown(std::byte* destination, const std::byte* source, size_t bytes) {
  const Isa::Vector last = Isa::load(source + bytes - Isa::kBytes);
  Isa::Vector first[4], block[4];
  loadBlock(first, source);
  std::byte* const start = destination + kBlockBytes;
  std::byte* to = Isa::alignUp(destination + bytes - Isa::kBytes);
  const std::byte* from = source + (to - destination);
  while (to > start) {
    to -= kBlockBytes;
    from -= kBlockBytes;
    loadBlock(block, from);
    for (int i = 0; i < 4; ++i) Isa::storeAligned(to + i * Isa::kBytes, block[i]);
  }
  storeBlock(destination, first);
  Isa::store(destination + bytes - Isa::kBytes, last);
}

void move(std::byte* destination, const std::byte* source, size_t bytes) {
  if (bytes < 64) return moveSmall(destination, source, bytes);
  if (bytes <= 2 * Isa::kBytes) return moveEndVectors<1>(destination, source, bytes);
  if (bytes <= 4 * Isa::kBytes) return moveEndVectors<2>(destination, source, bytes);
  if (bytes <= 8 * Isa::kBytes) return moveEndVectors<4>(destination, source, bytes);
  const size_t ahead = static_cast<size_t>(destination - source);
  if (ahead < bytes) return moveDown(destination, source, bytes);
  moveUp(destination, source, bytes);
}

// Rows of a known way of moving one. Each row may lie in lines of its own that no prefetcher of the processor brings
// for stores, so both sides are asked for some rows ahead (beyond the last row that does no harm).
template <class MoveRow>
inline void eachRow(std::byte* destination, size_t destinationPitch, const std::byte* source, size_t sourcePitch,
                    size_t rows, MoveRow moveRow) {
  constexpr size_t kAhead = 32;
  for (size_t row = 0; row < rows; ++row) {
    __builtin_prefetch(source + kAhead * sourcePitch);
    __builtin_prefetch(destination + kAhead * destinationPitch, 1);
    moveRow(destination, source);
    destination += destinationPitch;
    source += sourcePitch;
  }
}

template <class Piece>
inline void rowsOf(std::byte* destination, size_t destinationPitch, const std::byte* source, size_t sourcePitch,
                   size_t bytes, size_t rows) {
  if (bytes == sizeof(Piece))
    return eachRow(destination, destinationPitch, source, sourcePitch, rows, [](std::byte* to, const std::byte* from) {
      Piece piece;
      __builtin_memcpy(&piece, from, sizeof piece);
      __builtin_memcpy(to, &piece, sizeof piece);
    });
  eachRow(destination, destinationPitch, source, sourcePitch, rows,
          [bytes](std::byte* to, const std::byte* from) { moveEnds<Piece>(to, from, bytes); });
}

void moveShortRows(std::byte* destination, size_t destinationPitch, const std::byte* source, size_t sourcePitch,
                   size_t bytes, size_t rows) {
  const auto run = [&](auto rowsOfPiece) {
    rowsOfPiece(destination, destinationPitch, source, sourcePitch, bytes, rows);
  };
  if (bytes >= 32) return run(rowsOf<Pair>);
  if (bytes >= 16) return run(rowsOf<Single>);
  if (bytes >= 8) return run(rowsOf<uint64_t>);
  if (bytes >= 4) return run(rowsOf<uint32_t>);
  if (bytes >= 2) return run(rowsOf<uint16_t>);
  if (bytes) run(rowsOf<unsigned char>);
}

// Past the caches on the side that is written. Reading far ahead hides more latency than the processor's own prefetcher
// does (measured: +15 %); a source that the last cache can keep (kKeepSource) is read into it.
template <bool kKeepSource>
void streamLines(std::byte* destination, const std::byte* source, size_t bytes) {
  constexpr size_t kAhead = 1024, kLine = 64;
  constexpr int kReuse = kKeepSource ? 3 : 0;  // of all caches, or of none
  if (bytes < 2 * kBlockBytes + kLine) return move(destination, source, bytes);
  const size_t before = -reinterpret_cast<uintptr_t>(destination) % kLine;
  move(destination, source, before);
  std::byte* to = destination + before;
  const std::byte* from = source + before;
  std::byte* const end = to + (bytes - before) / kBlockBytes * kBlockBytes;
  Isa::Vector block[4];
  for (; to < end; to += kBlockBytes, from += kBlockBytes) {
    for (size_t line = 0; line < kBlockBytes; line += kLine) __builtin_prefetch(from + kAhead + line, 0, kReuse);
    loadBlock(block, from);
    for (int i = 0; i < 4; ++i) Isa::storeStreaming(to + i * Isa::kBytes, block[i]);
  }
  // The rest in whole lines as well: ordinary stores beside streamed lines are slow.
  size_t left = (bytes - before) % kBlockBytes;
  for (; left >= kLine; left -= kLine, to += kLine, from += kLine)
    for (size_t at = 0; at < kLine; at += Isa::kBytes) Isa::storeStreaming(to + at, Isa::load(from + at));
  move(to, from, left);
}

void stream(std::byte* destination, const std::byte* source, size_t bytes) {
  streamLines<false>(destination, source, bytes);
}
void streamKeptSource(std::byte* destination, const std::byte* source, size_t bytes) {
  streamLines<true>(destination, source, bytes);
}

}  // namespace
