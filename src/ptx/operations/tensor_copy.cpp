#include "ptx/operations/tensor_copy.h"

#include <cuda.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "ptx/operations/element_reduction.h"
#include "ptx/operations/tensor_elements.h"

namespace vg::ptx {
namespace {

// Swizzles exchange pieces of shared memory by the address: `bits` bits from `low` are combined with those `shift`
// higher. `flips`: the halves of every 16 bytes change places in every other row of 128.
struct Swizzle {
  uint32_t bits = 0, low = 0, shift = 0;
  bool flips = false;

  // The largest stretch that is not torn apart.
  uint64_t piece() const { return flips ? 8 : 16; }
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
    case CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B_FLIP_8B:
      return {2, 5, 2, true};
    case CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B:
      return {1, 6, 1};
    default:
      return {};
  }
}

std::byte* swizzled(std::byte* at, const Swizzle& s) {
  const uint64_t address = reinterpret_cast<uint64_t>(at);
  const uint64_t field = (uint64_t{1} << s.bits) - 1;
  const uint64_t flip = s.flips ? (address >> 7 & 1) << 3 : 0;
  return reinterpret_cast<std::byte*>(address ^ ((address >> (s.low + s.shift) & field) << s.low) ^ flip);
}

// Units that lie in a row on both sides: `inside` of them from `memory`, after `before` and before what is left of
// `count` units outside of the tensor.
struct Run {
  std::byte* shared;
  std::byte* memory;
  uint64_t before, inside, count;  // units
};

bool inside(const TensorMap& map, uint32_t dimension, int64_t at) {
  return at >= 0 && static_cast<uint64_t>(at) < map.size(dimension);
}

// Bytes in which the hardware writes: rows that end within such a piece are written to the end of it.
constexpr uint64_t kWritten = 16;

enum class Direction : uint8_t { Load, Store };

// Units of the innermost dimension that copies reach.
uint64_t reachedUnits(const TensorMap& map, Direction direction) {
  const TensorUnit unit = map.unit();
  const uint64_t units = map.size(0) / unit.elements, bytes = units * unit.memory;
  return direction == Direction::Load ? units : (bytes + kWritten - 1) / kWritten * kWritten / unit.memory;
}

// The part of `count` units from element `at` that lies in the innermost dimension.
Run innermost(const TensorMap& map, Direction direction, int64_t at, uint64_t count, uint64_t rowAddress,
              bool rowInside, std::byte* shared) {
  Run run{shared, nullptr, count, 0, count};
  const TensorUnit unit = map.unit();
  const int64_t first = at / unit.elements, size = static_cast<int64_t>(reachedUnits(map, direction));
  const int64_t end = first + static_cast<int64_t>(count), from = first < 0 ? 0 : first, to = end < size ? end : size;
  if (!rowInside || from >= to) return run;
  run.before = static_cast<uint64_t>(from - first);
  run.inside = static_cast<uint64_t>(to - from);
  run.memory = reinterpret_cast<std::byte*>(rowAddress + static_cast<uint64_t>(from) * unit.memory);
  return run;
}

uint32_t strideOf(const TensorMap& map, uint32_t dimension) {
  return map.elementStrides[dimension] ? map.elementStrides[dimension] : 1;
}
// Steps along the innermost dimension are for slices; elements lie side by side.
uint32_t tileStep(const TensorMap& map, uint32_t dimension) {
  return dimension || map.interleave ? strideOf(map, dimension) : 1;
}
// Elements of a tile along a dimension; slices of an interleaved one, which has one of the last dimension but one: that
// of the slices of channels.
uint64_t tileSize(const TensorMap& map, uint32_t dimension) {
  if (map.interleave && dimension + 2 == map.rank) return 1;
  const uint32_t step = tileStep(map, dimension);
  return (map.box[dimension] + step - 1) / step;
}

// Units of a pixel: its channels, or the one slice that a column of an interleaved image has.
uint64_t pixelUnits(const TensorMap& map) { return map.interleave ? 1 : map.channels / map.unit().elements; }

uint64_t rowUnits(const TensorMap& map) {
  return map.im2col ? pixelUnits(map) : tileSize(map, 0) / map.unit().elements;
}
// Bytes from row to row in shared memory: swizzled rows that are shorter than what the swizzle turns leave gaps.
uint64_t rowPitch(const TensorMap& map) {
  constexpr uint64_t kSpans[] = {0, 32, 64, 128, 128};
  const uint64_t bytes = rowUnits(map) * map.unit().shared;
  return map.interleave ? bytes : std::max(bytes, kSpans[std::min<uint8_t>(map.swizzle, 4)]);
}
uint64_t rowCount(const TensorMap& map, const TensorPlace& place) {
  if (place.rows) return place.rows;
  uint64_t rows = map.im2col ? map.pixels : 1;
  for (uint32_t d = 1; !map.im2col && d < map.rank; ++d) rows *= tileSize(map, d);
  return rows;
}

template <class Visit>
void eachTileRow(const TensorMap& map, Direction direction, const TensorPlace& place, std::byte* shared, Visit visit) {
  const TensorUnit unit = map.unit();
  const uint64_t count = tileSize(map, 0) / unit.elements;
  const uint32_t step = tileStep(map, 0);
  const uint64_t pitch = rowPitch(map);
  uint64_t at[TensorMap::kMostDimensions] = {};
  for (;;) {
    uint64_t address = map.address;
    bool valid = true;
    for (uint32_t d = 1; d < map.rank; ++d) {
      const int64_t coordinate = int64_t{place.coordinates[d]} + static_cast<int64_t>(at[d] * strideOf(map, d));
      valid = valid && inside(map, d, coordinate);
      address += static_cast<uint64_t>(coordinate) * map.strides[d - 1];
    }
    if (step == 1) visit(innermost(map, direction, place.coordinates[0], count, address, valid, shared));
    for (uint64_t k = 0; step != 1 && k < count; ++k)
      visit(innermost(map, direction, place.coordinates[0] + static_cast<int64_t>(k * step), 1, address, valid,
                      shared + k * unit.shared));
    shared += pitch;
    uint32_t d = 1;
    for (; d < map.rank && ++at[d] == tileSize(map, d); ++d) at[d] = 0;
    if (d >= map.rank) return;
  }
}

// Pixels one after another: along w to the corner of the bounding box, then h and d, then the next image.
template <class Visit>
void eachPixel(const TensorMap& map, Direction direction, const TensorPlace& place, std::byte* shared, Visit visit) {
  const uint32_t axes = map.rank - 2u, first = map.firstImageAxis();
  const uint64_t pitch = rowPitch(map);
  std::array<int64_t, TensorMap::kMostDimensions> base = {};
  for (uint32_t d = 0; d < map.rank; ++d) base[d] = place.coordinates[d];
  for (uint32_t pixel = 0; pixel < map.pixels; ++pixel) {
    auto at = base;
    for (uint32_t axis = 0; axis < axes; ++axis) at[first + axis] += place.offsets[axis];
    uint64_t address = map.address;
    bool valid = true;
    for (uint32_t d = 1; d < map.rank; ++d) {
      valid = valid && inside(map, d, at[d]);
      address += static_cast<uint64_t>(at[d]) * map.strides[d - 1];
    }
    visit(innermost(map, direction, at[0], pixelUnits(map), address, valid, shared));
    shared += pitch;
    uint32_t axis = 0;
    for (; axis < axes; ++axis) {
      const uint32_t d = first + axis;
      base[d] += strideOf(map, d);
      if (base[d] < static_cast<int64_t>(map.size(d)) + map.upperCorner[axis]) break;
      base[d] = map.lowerCorner[axis];
    }
    if (axis == axes) ++base[map.rank - 1];
  }
}

// Rows that lie anywhere, side by side in shared memory.
template <class Visit>
void eachNamedRow(const TensorMap& map, Direction direction, const TensorPlace& place, std::byte* shared, Visit visit) {
  for (uint32_t k = 0; k < place.rows; ++k, shared += rowPitch(map)) {
    const int64_t row = place.coordinates[1 + k];
    const uint64_t address = map.address + static_cast<uint64_t>(row) * map.strides[0];
    visit(innermost(map, direction, place.coordinates[0], rowUnits(map), address, inside(map, 1, row), shared));
  }
}

template <class Visit>
void eachRun(const TensorMap& map, Direction direction, const TensorPlace& place, std::byte* shared, Visit visit) {
  if (place.rows) return eachNamedRow(map, direction, place, shared, visit);
  map.im2col ? eachPixel(map, direction, place, shared, visit) : eachTileRow(map, direction, place, shared, visit);
}

// Visits pieces of a stretch of shared memory where they really lie: visit(shared, offset, bytes).
template <class Visit>
void eachPiece(std::byte* shared, uint64_t bytes, const Swizzle& swizzle, Visit visit) {
  if (!swizzle.bits) return bytes ? visit(shared, uint64_t{0}, bytes) : void();
  for (uint64_t done = 0; done < bytes;) {
    std::byte* const at = shared + done;
    const uint64_t whole = swizzle.piece() - reinterpret_cast<uint64_t>(at) % swizzle.piece();
    const uint64_t size = whole < bytes - done ? whole : bytes - done;
    visit(swizzled(at, swizzle), done, size);
    done += size;
  }
}

// What stands for elements outside: zero, or a NaN of whatever type, half by half.
void fill(std::byte* shared, uint64_t units, const TensorMap& map, const Swizzle& swizzle) {
  const uint16_t bits = map.nanFill ? 0x7ff7 : 0;
  eachPiece(shared, units * map.unit().shared, swizzle, [&](std::byte* at, uint64_t, uint64_t bytes) {
    if (!bits) {
      std::memset(at, 0, bytes);
      return;
    }
    for (uint64_t k = 0; k < bytes; k += sizeof bits) std::memcpy(at + k, &bits, sizeof bits);
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
  if (!map.rank || map.rank != dimensions || (map.im2col != 0) != (mode == TensorMode::Im2col)) return false;
  return (mode != TensorMode::Im2col && !map.interleave) || dimensions >= 3;
}

bool canStoreTensor(const TensorMap& map, const TensorPlace& place) {
  for (uint32_t d = 0; d < (place.rows ? 1 + place.rows : map.rank); ++d)
    if (place.coordinates[d] < 0) return false;
  for (uint32_t axis = 0; map.im2col && axis + 2u < map.rank; ++axis)
    if (map.lowerCorner[axis] < 0 || map.upperCorner[axis] > 0) return false;
  return true;
}

uint64_t tensorBytes(const TensorMap& map, const TensorPlace& place) {
  return rowCount(map, place) * rowUnits(map) * map.unit().shared;
}

uint64_t tensorSpan(const TensorMap& map, const TensorPlace& place) {
  return (rowCount(map, place) - 1) * rowPitch(map) + rowUnits(map) * map.unit().shared;
}

void loadTensor(const TensorMap& map, const TensorPlace& place, std::byte* shared) {
  const Swizzle swizzle = swizzleOf(map);
  const uint64_t size = map.unit().shared;
  eachRun(map, Direction::Load, place, shared, [&](const Run& run) {
    fill(run.shared, run.before, map, swizzle);
    std::byte* const middle = run.shared + run.before * size;
    eachPiece(middle, run.inside * size, swizzle,
              [&](std::byte* at, uint64_t offset, uint64_t bytes) { unpack(map, at, run.memory, offset, bytes); });
    fill(middle + run.inside * size, run.count - run.before - run.inside, map, swizzle);
  });
}

void storeTensor(const TensorMap& map, const TensorPlace& place, std::byte* shared) {
  const Swizzle swizzle = swizzleOf(map);
  const uint64_t size = map.unit().shared;
  eachRun(map, Direction::Store, place, shared, [&](const Run& run) {
    eachPiece(run.shared + run.before * size, run.inside * size, swizzle,
              [&](std::byte* at, uint64_t offset, uint64_t bytes) { pack(map, run.memory, at, offset, bytes); });
  });
}

bool reduceTensor(const TensorMap& map, const TensorPlace& place, std::byte* shared, AsyncReduction operation) {
  const Type type = typeOf(map, operation);
  const bool orders = operation == AsyncReduction::Min || operation == AsyncReduction::Max;
  if (map.type == CU_TENSOR_MAP_DATA_TYPE_INT64 && !orders) return false;  // an H100 has the two alone
  if (!canReduce(operation, type)) return false;
  const Swizzle swizzle = swizzleOf(map);
  const uint64_t size = map.unit().shared;
  eachRun(map, Direction::Store, place, shared, [&](const Run& run) {
    eachPiece(run.shared + run.before * size, run.inside * size, swizzle,
              [&](std::byte* at, uint64_t offset, uint64_t bytes) {
                const uint64_t count = bytes / map.elementBytes();
                if (map.type == CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ) return addFlushing(run.memory + offset, at, count);
                reduceElements(operation, type, run.memory + offset, at, count);
              });
  });
  return true;
}

}  // namespace vg::ptx
