#include "ptx/tensor_copy.h"

#include <cuda.h>

#include <cstring>

#include "ptx/element_reduction.h"

namespace vg::ptx {
namespace {

// Swizzles exchange pieces of shared memory by the address: `bits` bits from `low` are combined with those `shift`
// higher.
struct Swizzle {
  uint32_t bits = 0, low = 0, shift = 0;
};
Swizzle swizzleOf(const TensorMap& map) {
  switch (map.swizzle) {
    case CU_TENSOR_MAP_SWIZZLE_32B:
      return {1, 4, 3};
    case CU_TENSOR_MAP_SWIZZLE_64B:
      return {2, 4, 3};
    case CU_TENSOR_MAP_SWIZZLE_128B:
      return {3, 4, 3};
    case CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B:
      return {2, 5, 2};
    default:
      return {};
  }
}

std::byte* swizzled(std::byte* at, const Swizzle& s) {
  const uint64_t address = reinterpret_cast<uint64_t>(at);
  const uint64_t field = (uint64_t{1} << s.bits) - 1;
  return reinterpret_cast<std::byte*>(address ^ ((address >> (s.low + s.shift) & field) << s.low));
}

// The largest stretch that no swizzle tears apart.
constexpr uint64_t kPiece = 16;

// Elements that lie in a row on both sides: `inside` of them from `memory`, after `before` and before what is left of
// `count` elements outside of the tensor.
struct Run {
  std::byte* shared;
  std::byte* memory;
  uint64_t before, inside, count;  // elements
};

bool inside(const TensorMap& map, uint32_t dimension, int64_t at) {
  return at >= 0 && static_cast<uint64_t>(at) < map.size(dimension);
}

// The part of `count` elements from `first` that lies in the innermost dimension.
Run innermost(const TensorMap& map, int64_t first, uint64_t count, uint64_t rowAddress, bool rowInside,
              std::byte* shared) {
  Run run{shared, nullptr, count, 0, count};
  const int64_t size = static_cast<int64_t>(map.size(0)), end = first + static_cast<int64_t>(count);
  const int64_t from = first < 0 ? 0 : first, to = end < size ? end : size;
  if (!rowInside || from >= to) return run;
  run.before = static_cast<uint64_t>(from - first);
  run.inside = static_cast<uint64_t>(to - from);
  run.memory = reinterpret_cast<std::byte*>(rowAddress + static_cast<uint64_t>(from) * map.elementBytes());
  return run;
}

uint32_t strideOf(const TensorMap& map, uint32_t dimension) {
  return map.elementStrides[dimension] ? map.elementStrides[dimension] : 1;
}
// Elements of a tile along a dimension. Without interleaving the stride of the innermost one has no meaning.
uint64_t tileSize(const TensorMap& map, uint32_t dimension) {
  const uint32_t stride = dimension ? strideOf(map, dimension) : 1;
  return (map.box[dimension] + stride - 1) / stride;
}

template <class Visit>
void eachTileRow(const TensorMap& map, const TensorPlace& place, std::byte* shared, Visit visit) {
  const uint64_t count = tileSize(map, 0);
  uint64_t at[TensorMap::kMostDimensions] = {};
  for (;;) {
    uint64_t address = map.address;
    bool valid = true;
    for (uint32_t d = 1; d < map.rank; ++d) {
      const int64_t coordinate = int64_t{place.coordinates[d]} + static_cast<int64_t>(at[d] * strideOf(map, d));
      valid = valid && inside(map, d, coordinate);
      address += static_cast<uint64_t>(coordinate) * map.strides[d - 1];
    }
    visit(innermost(map, place.coordinates[0], count, address, valid, shared));
    shared += count * map.elementBytes();
    uint32_t d = 1;
    for (; d < map.rank && ++at[d] == tileSize(map, d); ++d) at[d] = 0;
    if (d >= map.rank) return;
  }
}

// Pixels one after another: along w to the corner of the bounding box, then h and d, then the next image.
template <class Visit>
void eachPixel(const TensorMap& map, const TensorPlace& place, std::byte* shared, Visit visit) {
  const uint32_t axes = map.rank - 2u;  // w, h, d are dimensions 1 and up
  int64_t base[TensorMap::kMostDimensions] = {};
  for (uint32_t d = 0; d < map.rank; ++d) base[d] = place.coordinates[d];
  for (uint32_t pixel = 0; pixel < map.pixels; ++pixel) {
    uint64_t address = map.address + static_cast<uint64_t>(base[map.rank - 1]) * map.strides[map.rank - 2];
    bool valid = inside(map, map.rank - 1u, base[map.rank - 1]);
    for (uint32_t axis = 0; axis < axes; ++axis) {
      const int64_t coordinate = base[axis + 1] + place.offsets[axis];
      valid = valid && inside(map, axis + 1, coordinate);
      address += static_cast<uint64_t>(coordinate) * map.strides[axis];
    }
    visit(innermost(map, base[0], map.channels, address, valid, shared));
    shared += uint64_t{map.channels} * map.elementBytes();
    uint32_t axis = 0;
    for (; axis < axes; ++axis) {
      base[axis + 1] += strideOf(map, axis + 1);
      if (base[axis + 1] < static_cast<int64_t>(map.size(axis + 1)) + map.upperCorner[axis]) break;
      base[axis + 1] = map.lowerCorner[axis];
    }
    if (axis == axes) ++base[map.rank - 1];
  }
}

template <class Visit>
void eachRun(const TensorMap& map, TensorMode mode, const TensorPlace& place, std::byte* shared, Visit visit) {
  mode == TensorMode::Tile ? eachTileRow(map, place, shared, visit) : eachPixel(map, place, shared, visit);
}

// Visits pieces of a stretch of shared memory where they really lie: visit(shared, offset, bytes).
template <class Visit>
void eachPiece(std::byte* shared, uint64_t bytes, const Swizzle& swizzle, Visit visit) {
  if (!swizzle.bits) return bytes ? visit(shared, uint64_t{0}, bytes) : void();
  for (uint64_t done = 0; done < bytes;) {
    std::byte* const at = shared + done;
    const uint64_t whole = kPiece - reinterpret_cast<uint64_t>(at) % kPiece;
    const uint64_t size = whole < bytes - done ? whole : bytes - done;
    visit(swizzled(at, swizzle), done, size);
    done += size;
  }
}

// The bits of NaN that stand for what lies outside; 0 for types that have none.
uint64_t fillBits(const TensorMap& map) {
  if (!map.nanFill) return 0;
  switch (map.type) {
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
      return 0x7fff;
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT64:
      return 0x7fffffffffffffff;
    default:
      return 0x7fffffff;
  }
}

void fill(std::byte* shared, uint64_t elements, const TensorMap& map, const Swizzle& swizzle) {
  const uint64_t bits = fillBits(map), size = map.elementBytes();
  eachPiece(shared, elements * size, swizzle, [&](std::byte* at, uint64_t, uint64_t bytes) {
    if (!bits) {
      std::memset(at, 0, bytes);
      return;
    }
    for (uint64_t k = 0; k < bytes; k += size) std::memcpy(at + k, &bits, size);
  });
}

// The PTX type in which elements are combined; None where reductions do not exist.
Type typeOf(const TensorMap& map, AsyncReduction operation) {
  const bool bits =
      operation == AsyncReduction::And || operation == AsyncReduction::Or || operation == AsyncReduction::Xor;
  switch (map.type) {
    case CU_TENSOR_MAP_DATA_TYPE_UINT32:
      return bits ? Type::B32 : Type::U32;
    case CU_TENSOR_MAP_DATA_TYPE_INT32:
      return bits ? Type::B32 : Type::S32;
    case CU_TENSOR_MAP_DATA_TYPE_UINT64:
      return bits ? Type::B64 : Type::U64;
    case CU_TENSOR_MAP_DATA_TYPE_INT64:
      return bits ? Type::B64 : Type::S64;
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
      return Type::F16;
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
      return Type::BF16;
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ:
      return Type::F32;
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT64:
      return Type::F64;
    default:
      return Type::None;
  }
}

}  // namespace

bool canCopyTensor(const TensorMap& map, TensorMode mode, uint32_t dimensions) {
  if (!map.rank || map.rank != dimensions || map.interleave || (map.im2col != 0) != (mode == TensorMode::Im2col))
    return false;
  return mode == TensorMode::Tile || dimensions >= 3;
}

uint64_t tensorBytes(const TensorMap& map, TensorMode mode) {
  if (mode == TensorMode::Im2col) return uint64_t{map.channels} * map.pixels * map.elementBytes();
  uint64_t bytes = map.elementBytes();
  for (uint32_t d = 0; d < map.rank; ++d) bytes *= tileSize(map, d);
  return bytes;
}

void loadTensor(const TensorMap& map, TensorMode mode, const TensorPlace& place, std::byte* shared) {
  const Swizzle swizzle = swizzleOf(map);
  const uint64_t size = map.elementBytes();
  eachRun(map, mode, place, shared, [&](const Run& run) {
    fill(run.shared, run.before, map, swizzle);
    std::byte* const middle = run.shared + run.before * size;
    eachPiece(middle, run.inside * size, swizzle,
              [&](std::byte* at, uint64_t offset, uint64_t bytes) { std::memcpy(at, run.memory + offset, bytes); });
    fill(middle + run.inside * size, run.count - run.before - run.inside, map, swizzle);
  });
}

void storeTensor(const TensorMap& map, TensorMode mode, const TensorPlace& place, std::byte* shared) {
  const Swizzle swizzle = swizzleOf(map);
  const uint64_t size = map.elementBytes();
  eachRun(map, mode, place, shared, [&](const Run& run) {
    eachPiece(run.shared + run.before * size, run.inside * size, swizzle,
              [&](std::byte* at, uint64_t offset, uint64_t bytes) { std::memcpy(run.memory + offset, at, bytes); });
  });
}

bool reduceTensor(const TensorMap& map, TensorMode mode, const TensorPlace& place, std::byte* shared,
                  AsyncReduction operation) {
  const Type type = typeOf(map, operation);
  if (!canReduce(operation, type)) return false;
  const Swizzle swizzle = swizzleOf(map);
  const uint64_t size = map.elementBytes();
  eachRun(map, mode, place, shared, [&](const Run& run) {
    eachPiece(run.shared + run.before * size, run.inside * size, swizzle,
              [&](std::byte* at, uint64_t offset, uint64_t bytes) {
                reduceElements(operation, type, run.memory + offset, at, bytes / size);
              });
  });
  return true;
}

}  // namespace vg::ptx
