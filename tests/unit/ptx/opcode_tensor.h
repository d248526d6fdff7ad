// Cases of tensor-map copies. Included by opcode_matrix.h, whose Builder it fills. Every thread has a piece of 256
// bytes of shared memory (tile), fills it with numbers of its own (from operand d), copies with coordinates that
// operands a to c name, and shows a sum of all that it then finds and one word of it.
//
// The kernels get two parameters more: the tensor, kTensorBytes that every case finds as tensorContents() has them, and
// a map of it. Loads read anywhere in it; of stores and reductions each thread has 128 bytes of its own.
#pragma once

namespace vg::ptx::matrix {

inline constexpr uint32_t kTensorBytes = kThreads * 128;

// A coordinate: `span` values, `unit` apart, the least of them -`margin`.
struct Axis {
  uint32_t span, unit = 1, margin = 0;
};

struct TensorPiece {
  TensorMap map;
  std::vector<Axis> axes;  // of the leading dimensions; the last one of a store is the thread's
};

// Of `rank` dimensions, with rows at multiples of 16 bytes and nothing else between them.
inline TensorMap denseMap(uint8_t type, const std::vector<uint32_t>& sizes, const std::vector<uint16_t>& box) {
  TensorMap map;
  map.type = type;
  map.rank = static_cast<uint8_t>(sizes.size());
  for (size_t d = 0; d < sizes.size(); ++d) {
    map.lastIndex[d] = sizes[d] - 1;
    map.box[d] = d < box.size() ? box[d] : 1;
    map.elementStrides[d] = 1;
    if (d == 1) map.strides[0] = (sizes[0] * map.elementBytes() + 15) / 16 * 16;
    if (d > 1) map.strides[d - 1] = map.strides[d - 2] * sizes[d - 1];
  }
  return map;
}

inline std::string number(uint64_t n) { return std::to_string(n); }

inline std::string tensorBegin() {
  return "{ .shared .align 1024 .b8 tiles[32768]; .reg .b64 mp, tp, st, policy; .reg .b32 tile, t, n, k, v, c0, c1, "
         "c2, "
         "c3, c4; .reg .b16 o0, o1, o2, cta; .reg .pred p; mov.b64 mp, map; cvta.param.u64 mp, mp; "
         "ld.param.u64 tp, [tensor]; cvta.to.global.u64 tp, tp; mul.wide.u32 st, thread, 128; add.u64 tp, tp, st; "
         "shl.b32 tile, lane, 8; mov.u32 t, tiles; add.u32 tile, tile, t; mov.u32 k, 0; mov.u32 t, tile; "
         "F: mad.lo.u32 v, k, 2654435769, d; st.shared.u32 [t], v; add.u32 t, t, 4; add.u32 k, k, 1; "
         "setp.lt.u32 p, k, 64; @p bra F; mov.u64 policy, 0; mov.u16 cta, 1; ";
}

// c0 and on from 16 bits each of a, b and c.
inline std::string tensorCoordinates(const std::vector<Axis>& axes) {
  std::string text;
  for (size_t d = 0; d < axes.size(); ++d) {
    const std::string c = "c" + number(d);
    text += "bfe.u32 " + c + ", " + "abc"[d / 2] + ", " + number(d % 2 * 16) + ", 16; rem.u32 " + c + ", " + c + ", " +
            number(axes[d].span) + "; mul.lo.u32 " + c + ", " + c + ", " + number(axes[d].unit) + "; sub.u32 " + c +
            ", " + c + ", " + number(axes[d].margin) + "; ";
  }
  return text;
}

// The operand [mp, {c0, ..}].
inline std::string tensorPlace(uint32_t rank) {
  std::string text = "[mp, {c0";
  for (uint32_t d = 1; d < rank; ++d) text += ", c" + number(d);
  return text + "}]";
}

// Folds `words` words from `from` into x; y is the one that d names.
inline std::string tensorSum(const std::string& space, const std::string& from, uint32_t words) {
  const std::string bits = space == "global" ? "64" : "32", at = bits == "64" ? "st" : "t";
  return "mov.u32 x, 2166136261; mov.u32 k, 0; mov.b" + bits + " " + at + ", " + from + "; H: ld." + space +
         ".u32 v, [" + at + "]; xor.b32 x, x, v; mul.lo.u32 x, x, 16777619; add.u" + bits + " " + at + ", " + at +
         ", 4; add.u32 k, k, 1; setp.lt.u32 p, k, " + number(words) + "; @p bra H; and.b32 k, d, " + number(words - 1) +
         "; shl.b32 k, k, 2; " + (bits == "64" ? "cvt.u64.u32 st, k; " : "mov.u32 t, k; ") + "add.u" + bits + " " + at +
         ", " + at + ", " + from + "; ld." + space + ".u32 y, [" + at + "]; }";
}

inline uint64_t pieceBytes(const TensorMap& map) {
  uint64_t bytes = map.interleave ? map.sliceBytes() : map.elementBytes();
  if (map.im2col) return bytes * (map.interleave ? 1 : map.channels) * map.pixels;
  for (uint32_t d = 0; d < map.rank; ++d) {
    const uint32_t step = d || map.interleave ? map.elementStrides[d] : 1;
    bytes *= (map.box[d] + step - 1) / step;
  }
  return bytes;
}

class TensorCases {
 public:
  explicit TensorCases(Builder& m) : m_(m) {}

  // `tail`: what follows the barrier object; `to`: the destination's space.
  void load(const std::string& name, const TensorPiece& piece, const std::string& to = "shared::cluster",
            const std::string& modifiers = "", const std::string& tail = "") {
    const uint32_t rank = piece.map.rank;
    const std::string mode = piece.map.im2col ? "im2col" : "tile", op = dimensions(rank) + "." + to + ".global." + mode;
    // A copy that brings another number of bytes must not hold the device for ever.
    add("cp.async.bulk.tensor." + op + modifiers + " " + name,
        tensorCoordinates(piece.axes) + offsets(piece.map) +
            "mbarrier.init.shared.b64 [sslot], 1; fence.mbarrier_init.release.cluster; mov.u32 n, " +
            number(pieceBytes(piece.map)) +
            "; mbarrier.arrive.expect_tx.shared.b64 st, [sslot], n; fence.proxy.async; " + "cp.async.bulk.tensor." +
            op + ".mbarrier::complete_tx::bytes" + modifiers + " [tile], " + tensorPlace(rank) + ", [sslot]" +
            offsetOperand(piece.map) + tail + "; mov.u32 n, 0; " +
            "W: mbarrier.try_wait.parity.shared.b64 p, [sslot], 0; @p bra D; add.u32 n, n, 1; " +
            "setp.lt.u32 p, n, 2000; @p bra W; D: " + tensorSum("shared", "tile", 64),
        piece.map, {{32, Match::Bits}, {32, Match::Bits}});
    if (to == "shared::cluster" && modifiers.find("multicast") != modifiers.npos) m_.cases.back().cluster = true;
  }

  void store(const std::string& name, const TensorPiece& piece, uint32_t imagesEach = 1) {
    add("cp.async.bulk.tensor." + storeOf(piece.map, "") + " " + name, moved(piece, "", imagesEach) + sum(), piece.map,
        {{32, Match::Bits}, {32, Match::Bits}});
  }

  void reduce(const std::string& operation, const std::string& name, const TensorPiece& piece,
              uint32_t imagesEach = 1) {
    add("cp.reduce.async.bulk.tensor." + storeOf(piece.map, "." + operation) + " " + name,
        moved(piece, "." + operation, imagesEach) + sum(), piece.map, {{32, Match::Bits}, {32, Match::Bits}});
  }
  // Of numbers: two of `bits` bits, which may be any NaN where one is.
  void reduceFloats(const std::string& operation, const std::string& name, const TensorPiece& piece, int bits,
                    Match match) {
    const std::string b = ".b" + std::to_string(bits), mask = bits == 64 ? "15" : "31", shift = bits == 64 ? "3" : "2";
    const auto get = [&](const std::string& result, const std::string& low) {
      return "bfe.u32 k, d, " + low + ", 5; and.b32 k, k, " + mask + "; shl.b32 k, k, " + shift +
             "; cvt.u64.u32 st, k; add.u64 st, st, tp; ld.global" + b + " " + result + ", [st]; ";
    };
    add("cp.reduce.async.bulk.tensor." + storeOf(piece.map, "." + operation) + " " + name,
        moved(piece, "." + operation, 1) + get("x", "0") + get("y", "5") + "}", piece.map,
        {{bits, match}, {bits, match}});
  }

  void prefetch(const TensorPiece& piece) {
    const std::string op = "cp.async.bulk.prefetch.tensor." + dimensions(piece.map.rank) + ".L2.global." +
                           (piece.map.im2col ? "im2col" : "tile");
    add(op,
        tensorCoordinates(piece.axes) + offsets(piece.map) + "prefetch.tensormap [mp]; " + op + " " +
            tensorPlace(piece.map.rank) + offsetOperand(piece.map) + "; mov.b32 x, a; mov.b32 y, b; }",
        piece.map, {{32, Match::Bits}, {32, Match::Bits}});
  }

 private:
  static std::string dimensions(uint32_t rank) { return number(rank) + "d"; }
  // Where im2col looks from each pixel, out of the upper bits of c.
  static std::string offsets(const TensorMap& map) {
    std::string text;
    for (uint32_t d = 0; map.im2col && d + 2u < map.rank; ++d)
      text += "bfe.u32 v, c, " + number(16 + 3 * d) + ", 2; cvt.u16.u32 o" + number(d) + ", v; ";
    return text;
  }
  static std::string offsetOperand(const TensorMap& map) {
    if (!map.im2col) return "";
    std::string text = ", {o0";
    for (uint32_t d = 1; d + 2u < map.rank; ++d) text += ", o" + number(d);
    return text + "}";
  }
  static std::string storeOf(const TensorMap& map, const std::string& operation) {
    return dimensions(map.rank) + ".global.shared::cta" + operation + (map.im2col ? ".im2col_no_offs" : ".tile") +
           ".bulk_group";
  }
  static std::string moved(const TensorPiece& piece, const std::string& operation, uint32_t imagesEach) {
    const std::string last = "c" + number(piece.map.rank - 1u);
    const std::string place = piece.map.rank == 1 ? "shl.b32 v, thread, 5; add.u32 c0, c0, v; "
                                                  : "mul.lo.u32 " + last + ", thread, " + number(imagesEach) + "; ";
    return tensorCoordinates(piece.axes) + place + "fence.proxy.async; cp." + (operation.empty() ? "" : "reduce.") +
           "async.bulk.tensor." + storeOf(piece.map, operation) + " " + tensorPlace(piece.map.rank) + ", [tile]; " +
           "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; fence.proxy.async; ";
  }
  static std::string sum() { return tensorSum("global", "tp", 32); }

  void add(const std::string& name, const std::string& text, const TensorMap& map,
           std::vector<std::pair<int, Match>> results) {
    m_.add(name, tensorBegin() + text, std::vector<Domain>(4, Domain::Int32), std::move(results));
    m_.cases.back().map = map;
  }

  Builder& m_;
};

struct ElementType {
  const char* name;
  uint8_t type;
};
inline const ElementType kElementTypes[] = {{"u8", CU_TENSOR_MAP_DATA_TYPE_UINT8},
                                            {"u16", CU_TENSOR_MAP_DATA_TYPE_UINT16},
                                            {"u32", CU_TENSOR_MAP_DATA_TYPE_UINT32},
                                            {"s32", CU_TENSOR_MAP_DATA_TYPE_INT32},
                                            {"u64", CU_TENSOR_MAP_DATA_TYPE_UINT64},
                                            {"s64", CU_TENSOR_MAP_DATA_TYPE_INT64},
                                            {"f16", CU_TENSOR_MAP_DATA_TYPE_FLOAT16},
                                            {"f32", CU_TENSOR_MAP_DATA_TYPE_FLOAT32},
                                            {"f64", CU_TENSOR_MAP_DATA_TYPE_FLOAT64},
                                            {"bf16", CU_TENSOR_MAP_DATA_TYPE_BFLOAT16},
                                            {"f32.ftz", CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ},
                                            {"tf32", CU_TENSOR_MAP_DATA_TYPE_TFLOAT32},
                                            {"tf32.ftz", CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ}};
inline constexpr uint8_t kWords = CU_TENSOR_MAP_DATA_TYPE_UINT32;

// A box of 32 bytes by 8 rows that looks beyond all edges.
inline TensorPiece flatPiece(uint8_t type) {
  TensorPiece piece{denseMap(type, {1, 1}, {1, 8}), {}};
  const auto unit = static_cast<uint16_t>(16 / piece.map.elementBytes());
  piece.map = denseMap(type, {unit * 5u + 1, 20}, {static_cast<uint16_t>(2 * unit), 8});
  piece.axes = {{9, unit, 2u * unit}, {30, 1, 9}};
  return piece;
}

inline TensorPiece spacePiece(uint32_t rank, uint8_t type = kWords) {
  if (rank == 1) return {denseMap(type, {1001}, {64}), {{300, 4, 80}}};
  if (rank == 2) return flatPiece(type);
  if (rank == 3) return {denseMap(type, {23, 9, 7}, {4, 4, 4}), {{9, 4, 8}, {14, 1, 4}, {12, 1, 4}}};
  if (rank == 4) return {denseMap(type, {23, 5, 4, 6}, {4, 4, 2, 2}), {{9, 4, 8}, {10, 1, 4}, {7, 1, 2}, {9, 1, 2}}};
  return {denseMap(type, {23, 5, 4, 3, 5}, {4, 2, 2, 2, 2}), {{9, 4, 8}, {8, 1, 2}, {7, 1, 2}, {6, 1, 2}, {8, 1, 2}}};
}

// Images of `channels` channels, columns of so many bytes that 256 hold them.
inline TensorPiece imagePiece(uint32_t rank, uint8_t type, uint16_t channels, uint16_t pixels) {
  const std::vector<uint32_t> sizes = rank == 3   ? std::vector<uint32_t>{channels + 2u, 11, 6}
                                      : rank == 4 ? std::vector<uint32_t>{channels + 2u, 7, 5, 4}
                                                  : std::vector<uint32_t>{channels + 2u, 5, 4, 3, 4};
  TensorPiece piece{denseMap(type, sizes, {}), {}};
  piece.map.im2col = 1;
  piece.map.channels = channels;
  piece.map.pixels = pixels;
  const auto unit = 16 / piece.map.elementBytes();
  piece.axes.push_back({4, unit, unit});
  for (uint32_t axis = 0; axis + 2 < rank; ++axis) {
    piece.map.lowerCorner[axis] = -1;
    piece.map.upperCorner[axis] = static_cast<int16_t>(axis == 1 ? -2 : -1);
    piece.axes.push_back({sizes[axis + 1] - (axis == 1), 1, 1});  // within the box of pixels
  }
  piece.axes.push_back({6, 1, 1});
  return piece;
}

inline void tensorLoads(TensorCases& t) {
  for (const ElementType& e : kElementTypes) {
    t.load(e.name, flatPiece(e.type));
    if (e.type < CU_TENSOR_MAP_DATA_TYPE_FLOAT16) continue;
    TensorPiece piece = flatPiece(e.type);
    piece.map.nanFill = 1;
    t.load(std::string(e.name) + ", filled with NaN", piece);
  }
  for (uint32_t rank : {1, 3, 4, 5}) t.load("words", spacePiece(rank));
  for (uint32_t rank : {2, 3, 4, 5}) {
    TensorPiece piece = spacePiece(rank);
    for (uint32_t d = 0; d < rank; ++d) piece.map.elementStrides[d] = static_cast<uint8_t>(d == 1 ? 3 : d ? 2 : 5);
    t.load("with steps", piece);
  }
  t.load("to its own block", flatPiece(kWords), "shared::cta");
  t.load("with a hint", flatPiece(kWords), "shared::cluster", ".L2::cache_hint", ", policy");
  t.load("to all blocks", flatPiece(kWords), "shared::cluster", ".multicast::cluster", ", cta");
  TensorPiece promoted = flatPiece(kWords);
  promoted.map.promotion = CU_TENSOR_MAP_L2_PROMOTION_L2_256B;
  t.load("promoted", promoted);
  TensorPiece far = flatPiece(kWords);
  far.axes = {{65536, 32768 * 4u, 1u << 31}, {65536, 65521, 1u << 31}};
  t.load("far away", far);
}

inline void tensorSwizzles(TensorCases& t) {
  for (uint32_t swizzle = 1; swizzle <= 3; ++swizzle)
    for (uint8_t type : {CU_TENSOR_MAP_DATA_TYPE_UINT8, CU_TENSOR_MAP_DATA_TYPE_UINT64})
      for (uint32_t bytes : {16u, 16u << swizzle}) {  // rows lie as far apart in either case
        TensorPiece piece = flatPiece(type);
        const uint32_t size = piece.map.elementBytes();
        piece.map = denseMap(type, {160 / size + 1, 20},
                             {static_cast<uint16_t>(bytes / size), static_cast<uint16_t>(16 >> swizzle)});
        piece.map.swizzle = static_cast<uint8_t>(swizzle);
        t.load("swizzle " + number(swizzle) + ", " + number(size) + " of " + number(bytes) + " bytes", piece);
      }
}

inline void tensorColumns(TensorCases& t) {
  for (uint32_t rank : {3, 4, 5}) {
    t.load("words", imagePiece(rank, kWords, 4, 16));
    t.load("halves", imagePiece(rank, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 16, 8));
    TensorPiece stepping = imagePiece(rank, kWords, 4, 13);
    for (uint32_t d = 1; d + 1 < rank; ++d) stepping.map.elementStrides[d] = static_cast<uint8_t>(1 + d);
    t.load("with steps", stepping);
  }
  TensorPiece nan = imagePiece(4, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 8, 16);
  nan.map.nanFill = 1;
  t.load("filled with NaN", nan);
  TensorPiece turned = imagePiece(4, kWords, 16, 4);
  turned.map.swizzle = CU_TENSOR_MAP_SWIZZLE_64B;
  t.load("swizzle 2", turned);
}

// Of a store: the thread's own 128 bytes. Stores must not begin before the tensor; they may end beyond it.
inline TensorPiece ownPiece(uint32_t rank, uint8_t type) {
  TensorPiece piece{denseMap(type, {1}, {1}), {}};
  const uint32_t unit = 16 / piece.map.elementBytes();
  const auto row = static_cast<uint16_t>(unit);
  if (rank == 1) return {denseMap(type, {kThreads * unit * 8 - 6}, {static_cast<uint16_t>(4 * row)}), {{5, unit}}};
  if (rank == 2) {
    piece = {denseMap(type, {7 * unit + unit / 2 + 1, kThreads}, {static_cast<uint16_t>(4 * row)}), {{10, unit}}};
    piece.map.strides[0] = 128;
    return piece;
  }
  const std::vector<uint32_t> sizes = rank == 3   ? std::vector<uint32_t>{unit / 2 + 1, 7, kThreads}
                                      : rank == 4 ? std::vector<uint32_t>{unit / 2 + 1, 3, 2, kThreads}
                                                  : std::vector<uint32_t>{unit / 2 + 1, 2, 2, 2, kThreads};
  piece.map = denseMap(type, sizes, {row, 2, 2, 2});
  if (rank == 3) piece.map.box[1] = 4;
  piece.map.box[rank - 1] = 1;
  piece.map.strides[rank - 2] = 128;
  piece.axes = {{2, unit}};
  for (uint32_t d = 1; d + 1 < rank; ++d) piece.axes.push_back({sizes[d] + 2});
  return piece;
}

// Two images of four pixels, of which a column takes three.
inline TensorPiece ownImages(uint32_t rank) {
  const std::vector<uint32_t> sizes = rank == 3   ? std::vector<uint32_t>{4, 4, 2 * kThreads}
                                      : rank == 4 ? std::vector<uint32_t>{4, 2, 2, 2 * kThreads}
                                                  : std::vector<uint32_t>{4, 2, 2, 1, 2 * kThreads};
  TensorPiece piece{denseMap(kWords, sizes, {}), {{2, 4}}};
  piece.map.im2col = 1;
  piece.map.channels = 4;
  piece.map.pixels = 3;
  for (uint32_t d = 1; d + 1 < rank; ++d) piece.axes.push_back({sizes[d]});
  return piece;
}

inline void tensorStores(TensorCases& t) {
  for (uint32_t rank = 1; rank <= 5; ++rank) t.store("words", ownPiece(rank, kWords));
  for (const ElementType& e : kElementTypes)
    if (e.type != kWords) t.store(e.name, ownPiece(2, e.type));
  TensorPiece stepping = ownPiece(3, kWords);
  stepping.map.elementStrides[1] = 2;
  t.store("with steps", stepping);
  for (uint8_t swizzle = 1; swizzle <= 3; ++swizzle) {
    TensorPiece piece = ownPiece(2, kWords);
    piece.map.box[0] = static_cast<uint16_t>(4 << swizzle);
    piece.map.swizzle = swizzle;
    t.store("swizzle " + number(swizzle), piece);
  }
  for (uint32_t rank : {3, 4, 5}) {
    t.store("images", ownImages(rank), 2);
    t.reduce("add", "images", ownImages(rank), 2);
  }
}

inline void tensorReductions(TensorCases& t) {
  for (const char* operation : {"add", "min", "max", "inc", "dec", "and", "or", "xor"}) {
    const bool counts = std::string(operation) == "inc" || std::string(operation) == "dec";
    for (const ElementType& e : kElementTypes) {
      const std::string name = e.name;
      const bool orders = std::string(operation) == "min" || std::string(operation) == "max";
      if (name == "u32" || (!counts && (name == "s32" || name == "u64")) || (orders && name == "s64"))
        t.reduce(operation, name, ownPiece(2, e.type));
    }
  }
  for (uint32_t rank : {1, 3, 4, 5}) t.reduce("add", "words", ownPiece(rank, kWords));
  t.reduceFloats("add", "f32", ownPiece(2, CU_TENSOR_MAP_DATA_TYPE_FLOAT32), 32, Match::F32);
  t.reduceFloats("add", "f32.ftz", ownPiece(2, CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ), 32, Match::F32);
  t.reduceFloats("add", "f64", ownPiece(2, CU_TENSOR_MAP_DATA_TYPE_FLOAT64), 64, Match::F64);
  for (const char* operation : {"add", "min", "max"}) {
    t.reduceFloats(operation, "f16", ownPiece(2, CU_TENSOR_MAP_DATA_TYPE_FLOAT16), 32, Match::F16x2);
    t.reduceFloats(operation, "bf16", ownPiece(2, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16), 32, Match::Bf16x2);
  }
}

// Interleaved maps: slices of channels of 16 or 32 bytes, side by side along the innermost dimension.
inline TensorMap slicedMap(uint8_t interleave, uint8_t type, const std::vector<uint32_t>& sizes,
                           const std::vector<uint16_t>& box) {
  TensorMap map = denseMap(CU_TENSOR_MAP_DATA_TYPE_UINT8, sizes, box);
  map.type = type;
  map.interleave = interleave;
  if (interleave == CU_TENSOR_MAP_INTERLEAVE_32B) map.swizzle = CU_TENSOR_MAP_SWIZZLE_32B;
  uint64_t bytes = map.sliceBytes();
  for (uint32_t d = 0; d + 1 < map.rank; ++d) map.strides[d] = bytes *= sizes[d];
  return map;
}

inline TensorPiece slicedPiece(uint32_t rank, uint8_t interleave, uint8_t type) {
  const std::vector<uint32_t> sizes = rank == 3   ? std::vector<uint32_t>{9, 7, 6}
                                      : rank == 4 ? std::vector<uint32_t>{7, 5, 4, 6}
                                                  : std::vector<uint32_t>{5, 4, 3, 4, 5};
  TensorPiece piece{slicedMap(interleave, type, sizes, {2, 2, 2}), {}};
  for (uint32_t size : sizes) piece.axes.push_back({size + 5, 1, 3});
  return piece;
}

// w, h and d, slices, images.
inline TensorPiece slicedImages(uint32_t rank, uint8_t interleave) {
  const std::vector<uint32_t> sizes = rank == 3   ? std::vector<uint32_t>{11, 3, 4}
                                      : rank == 4 ? std::vector<uint32_t>{7, 5, 3, 4}
                                                  : std::vector<uint32_t>{5, 4, 3, 2, 4};
  TensorPiece piece{slicedMap(interleave, CU_TENSOR_MAP_DATA_TYPE_UINT16, sizes, {}), {}};
  piece.map.im2col = 1;
  piece.map.channels = static_cast<uint16_t>(piece.map.sliceBytes() / 2);
  piece.map.pixels = static_cast<uint16_t>(192 / piece.map.sliceBytes());
  for (uint32_t axis = 0; axis + 2 < rank; ++axis) {
    piece.map.lowerCorner[axis] = -1;
    piece.map.upperCorner[axis] = static_cast<int16_t>(axis == 1 ? -2 : -1);
    piece.axes.push_back({sizes[axis] - (axis == 1), 1, 1});
  }
  piece.axes.push_back({sizes[rank - 2] + 2, 1, 1});
  piece.axes.push_back({6, 1, 1});
  return piece;
}

inline TensorPiece ownSlices(uint8_t interleave, bool images) {
  TensorPiece piece;
  if (images) {
    piece = {slicedMap(interleave, kWords, {interleave == 1 ? 4u : 2u, 1, 2 * kThreads}, {}), {{2}, {1}}};
    piece.map.im2col = 1;
    piece.map.channels = static_cast<uint16_t>(piece.map.sliceBytes() / 4);
    piece.map.pixels = 2;
  } else {
    piece = {slicedMap(interleave, kWords, {interleave == 1 ? 3u : 2u, 2, kThreads}, {2, 2}), {{4}, {3}}};
    piece.map.strides[0] = 64;
    piece.map.strides[1] = 128;
  }
  return piece;
}

inline void tensorSlices(TensorCases& t) {
  for (uint8_t interleave : {1, 2}) {
    const std::string name = "in slices of " + number(8u << interleave);
    for (uint32_t rank : {3, 4, 5}) {
      t.load(name, slicedPiece(rank, interleave, CU_TENSOR_MAP_DATA_TYPE_FLOAT16));
      t.load(name, slicedImages(rank, interleave));
    }
    for (uint8_t type : {CU_TENSOR_MAP_DATA_TYPE_UINT8, CU_TENSOR_MAP_DATA_TYPE_FLOAT64}) {
      TensorPiece piece = slicedPiece(3, interleave, type);
      piece.map.box[0] = 3;
      for (uint32_t d = 0; d < 3; ++d) piece.map.elementStrides[d] = static_cast<uint8_t>(2 - d % 2);
      if (type) piece.map.nanFill = 1;
      t.load(name + " with steps, type " + number(type), piece);
    }
    TensorPiece stepping = slicedImages(4, interleave);
    stepping.map.elementStrides[0] = 2;
    stepping.map.elementStrides[1] = 3;
    t.load(name + " with steps", stepping);
    t.store(name, ownSlices(interleave, false));
    t.reduce("add", name, ownSlices(interleave, false));
    t.store(name, ownSlices(interleave, true), 2);
  }
  TensorPiece turned = slicedPiece(4, 1, kWords);
  turned.map.swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
  t.load("in slices of 16, swizzle 3", turned);
}

inline void tensorCopies(Builder& m) {
  TensorCases t(m);
  tensorLoads(t);
  tensorSwizzles(t);
  tensorColumns(t);
  tensorStores(t);
  tensorReductions(t);
  tensorSlices(t);
  for (uint32_t rank = 1; rank <= 5; ++rank) t.prefetch(spacePiece(rank));
  for (uint32_t rank : {3, 4, 5}) t.prefetch(imagePiece(rank, kWords, 4, 16));
}

}  // namespace vg::ptx::matrix
