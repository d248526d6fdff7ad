// Copies: of bytes, boxes, bytes of arrays, batches.
#include <algorithm>
#include <vector>

#include "families.h"
#include "objects.h"

namespace calls {
namespace {

constexpr size_t kFarApart = 65536;  // boxes of copies are smaller

// By slot, for which memories lie beside each other is the library's affair.
bool near(const Pointer& a, const Pointer& b, size_t bytes) {
  return a.slot == b.slot && a.address < b.address + bytes && b.address < a.address + bytes;
}

// --- bytes

struct Row {
  Pointer target, source;
  size_t bytes;
};

// Past the end only where no host memory would be overrun.
Row anyRow() {
  Row row{anyPointer(), anyPointer(), 0};
  const size_t least = std::min(row.target.room, row.source.room);
  row.bytes = least && chance(70) ? below(least + 1) : least;
  const bool host = row.target.readableByHost() || row.source.readableByHost();
  if (!host && wrong("past the end", 4)) row.bytes = least + 1 + below(8);
  return row;
}

void copyBytes() {
  const Row row = anyRow();
  const auto& [target, source, bytes] = row;
  if (near(target, source, bytes) && target.address != source.address) return;
  const int how = belowInt(5);
  if (how == 1 && (!source.readableByHost() || (source.null() && bytes))) return;  // it is read here, or faults
  if (how == 2 && (!target.readableByHost() || (target.null() && bytes))) return;
  const Named<CUstream> stream = anyStream();
  const bool async = chance(50);
  const CUcontext sourceContext = how == 4 && wrong("no context", 10) ? nullptr : primary;
  const CUdeviceptr to = given("target", target), from = given("source", source);
  describe("bytes", text(bytes));
  if (async) describe("stream", stream.name);
  switch (how) {
    case 0:
      async ? RECORD(cuMemcpyAsync, to, from, bytes, stream.object) : RECORD(cuMemcpy, to, from, bytes);
      break;
    case 1:
      async ? RECORD(cuMemcpyHtoDAsync, to, source.host(), bytes, stream.object)
            : RECORD(cuMemcpyHtoD, to, source.host(), bytes);
      break;
    case 2:
      async ? RECORD(cuMemcpyDtoHAsync, target.host(), from, bytes, stream.object)
            : RECORD(cuMemcpyDtoH, target.host(), from, bytes);
      break;
    case 3:
      async ? RECORD(cuMemcpyDtoDAsync, to, from, bytes, stream.object) : RECORD(cuMemcpyDtoD, to, from, bytes);
      break;
    default:
      async ? RECORD(cuMemcpyPeerAsync, to, primary, from, sourceContext, bytes, stream.object)
            : RECORD(cuMemcpyPeer, to, primary, from, sourceContext, bytes);
      break;
  }
  settle();
}

// --- boxes

struct Side {
  CUmemorytype type;
  Pointer pointer;
  CUarray array;
  size_t pitch, height, x, y, z;
  std::string text;
  bool possible;  // it overruns no memory of the host
};

Side arraySide(const Named<CUarray>& array) {
  Side side{CU_MEMORYTYPE_ARRAY, {}, array.object, 0, 0, 0, 0, 0, array.name, true};
  side.x = chance(70) ? 0 : 4 * below(8);
  side.y = chance(70) ? 0 : below(6);
  side.z = chance(80) ? 0 : below(3);
  if (wrong("odd x", 4)) side.x += 1;
  if (wrong("pitch of array", 5)) side.pitch = below(100);
  return side;
}

Side linearSide(size_t width, size_t height, size_t depth) {
  Side side{CU_MEMORYTYPE_DEVICE, anyPointer(), nullptr, 0, 0, 0, 0, 0, {}, true};
  const Pointer& pointer = side.pointer;
  if (pointer.onHost()) side.type = CU_MEMORYTYPE_HOST;
  if (chance(20) && !pointer.pageable()) side.type = CU_MEMORYTYPE_UNIFIED;
  if (pointer.null()) side.type = oneOf({CU_MEMORYTYPE_DEVICE, CU_MEMORYTYPE_UNIFIED, CU_MEMORYTYPE_HOST});
  side.x = chance(75) ? 0 : below(16);
  side.y = chance(75) ? 0 : below(4);
  side.z = depth == 1 || chance(80) ? 0 : below(2);
  side.pitch = std::max(width + oneOf<size_t>({0, 0, 1, 4, 12, 64}), chance(90) ? side.x + width : 0);
  side.height = height + oneOf<size_t>({0, 0, 0, 1, 2});
  if (wrong("pitch", 4)) side.pitch = oneOf<size_t>({0, 1, width - 1, width, size_t{1} << 31, size_t{1} << 40});
  if (wrong("height", 4)) side.height = oneOf<size_t>({0, 1, height - 1});
  const size_t slice = side.pitch * side.height;
  const size_t end = (side.z + depth) * slice + (side.y + height) * side.pitch + side.x + width;
  if (!pointer.null() && end > pointer.room) {
    tag("short memory");
    side.possible = !pointer.readableByHost() && end <= pointer.room + 2048;
  }
  if (pointer.null() && side.type == CU_MEMORYTYPE_HOST) side.possible = width * height * depth == 0;
  side.text = pointer.name;
  return side;
}

Side anySide(size_t width, size_t height, size_t depth) {
  const Named<CUarray> array = arrays.any();
  Side side = array && chance(40) ? arraySide(array) : linearSide(width, height, depth);
  if (wrong("memory type", 2)) {
    side.type = static_cast<CUmemorytype>(oneOf({0, 5, 3, 4}));
    if (side.type == CU_MEMORYTYPE_ARRAY) side.array = nullptr;
  }
  side.text += " " + list(side.type, side.pitch, side.height) + " at " + list(side.x, side.y, side.z);
  return side;
}

// Sides for the three structures, whose members have the same names.
template <class Copy>
Copy copyOf(const Side& source, const Side& target, size_t width, size_t height) {
  Copy copy{};
  copy.srcMemoryType = source.type;
  copy.srcHost = source.pointer.host();
  copy.srcDevice = source.pointer.address;
  copy.srcArray = source.array;
  copy.srcPitch = source.pitch;
  copy.srcXInBytes = source.x;
  copy.srcY = source.y;
  copy.dstMemoryType = target.type;
  copy.dstHost = target.pointer.host();
  copy.dstDevice = target.pointer.address;
  copy.dstArray = target.array;
  copy.dstPitch = target.pitch;
  copy.dstXInBytes = target.x;
  copy.dstY = target.y;
  copy.WidthInBytes = width;
  copy.Height = height;
  return copy;
}

template <class Copy>
Copy deepCopyOf(const Side& source, const Side& target, size_t width, size_t height, size_t depth) {
  auto copy = copyOf<Copy>(source, target, width, height);
  copy.srcHeight = source.height;
  copy.srcZ = source.z;
  copy.dstHeight = target.height;
  copy.dstZ = target.z;
  copy.Depth = depth;
  return copy;
}

void copyFlat(const Side& source, const Side& target, size_t width, size_t height) {
  const auto copy = copyOf<CUDA_MEMCPY2D>(source, target, width, height);
  switch (below(3)) {
    case 0:
      RECORD(cuMemcpy2D, &copy);
      return;
    case 1:
      RECORD(cuMemcpy2DAsync, &copy, given("stream", anyStream()));
      return;
    default:
      RECORD(cuMemcpy2DUnaligned, &copy);
      return;
  }
}

void copyDeep(const Side& source, const Side& target, size_t width, size_t height, size_t depth) {
  auto copy = deepCopyOf<CUDA_MEMCPY3D>(source, target, width, height, depth);
  if (wrong("level", 3)) copy.srcLOD = 1;
  if (wrong("reserved", 2)) copy.reserved0 = &copy;
  if (chance(50))
    RECORD(cuMemcpy3D, &copy);
  else
    RECORD(cuMemcpy3DAsync, &copy, given("stream", anyStream()));
}

void copyToPeer(const Side& source, const Side& target, size_t width, size_t height, size_t depth) {
  auto copy = deepCopyOf<CUDA_MEMCPY3D_PEER>(source, target, width, height, depth);
  copy.srcContext = wrong("no source context", 10) ? nullptr : primary;
  copy.dstContext = wrong("no target context", 10) ? nullptr : primary;
  if (chance(50))
    RECORD(cuMemcpy3DPeer, &copy);
  else
    RECORD(cuMemcpy3DPeerAsync, &copy, given("stream", anyStream()));
}

void copyBox() {
  size_t width = chance(50) ? 4 * (1 + below(16)) : 1 + below(60), height = 1 + below(6);
  const bool flat = chance(50);
  size_t depth = flat || chance(50) ? 1 : 1 + below(3);
  if (wrong("no width", 3)) width = 0;
  if (wrong("no height", 3)) height = 0;
  if (!flat && wrong("no depth", 3)) depth = 0;
  const Side source = anySide(width, height, depth), target = anySide(width, height, depth);
  if (!source.possible || !target.possible || (source.array && source.array == target.array)) return;
  if (!source.array && !target.array && near(source.pointer, target.pointer, kFarApart)) return;
  describe("box", list(width, height, depth));
  describe("source", source.text);
  describe("target", target.text);
  if (flat)
    copyFlat(source, target, width, height);
  else if (chance(50))
    copyDeep(source, target, width, height, depth);
  else
    copyToPeer(source, target, width, height, depth);
  settle();
}

// --- bytes of arrays

void copyArrayBytes() {
  const Named<CUarray> array = arrays.any(), other = arrays.any();
  if (!array) return;
  const size_t offset = chance(60) ? 0 : below(100), otherOffset = chance(60) ? 0 : below(100);
  const size_t bytes = chance(80) ? 4 * below(40) : anySize() % 4096;
  const bool host = chance(60);
  const Pointer pointer = host ? pointerOf(oneOf({Kind::Pageable, Kind::Host}), 1) : devicePointer(1);
  if (pointer.null() && bytes) return;
  if (bytes > pointer.room) {
    if (pointer.readableByHost()) return;
    tag("short memory");
  }
  const Named<CUstream> stream = anyStream();
  describe("array", array.name + "+" + text(offset));
  describe("bytes", text(bytes));
  if (chance(15)) {
    if (array.slot == other.slot) return;
    describe("from", other.name + "+" + text(otherOffset));
    RECORD(cuMemcpyAtoA, array.object, offset, other.object, otherOffset, bytes);
    return settle();
  }
  const CUdeviceptr address = given("memory", pointer);
  const bool toArray = chance(50);
  if (!host) {
    toArray ? RECORD(cuMemcpyDtoA, array.object, offset, address, bytes)
            : RECORD(cuMemcpyAtoD, address, array.object, offset, bytes);
  } else if (chance(50)) {
    toArray ? RECORD(cuMemcpyHtoA, array.object, offset, pointer.host(), bytes)
            : RECORD(cuMemcpyAtoH, pointer.host(), array.object, offset, bytes);
  } else {
    const CUstream queue = given("stream", stream);
    toArray ? RECORD(cuMemcpyHtoAAsync, array.object, offset, pointer.host(), bytes, queue)
            : RECORD(cuMemcpyAtoHAsync, pointer.host(), array.object, offset, bytes, queue);
  }
  settle();
}

// --- batches

// Whether some copy writes what another reads or writes.
bool collide(const std::vector<Pointer>& targets, const std::vector<Pointer>& sources, size_t bytes) {
  for (size_t i = 0; i < targets.size(); ++i)
    for (size_t j = 0; j < targets.size(); ++j)
      if (near(targets[i], sources[j], bytes) || (i != j && near(targets[i], targets[j], bytes))) return true;
  return false;
}

void copyBatch() {
  constexpr size_t kMost = 4, kMostBytes = 3000;
  std::vector<Pointer> targets, sources;
  CUdeviceptr to[kMost], from[kMost];
  size_t sizes[kMost], firsts[kMost];
  CUmemcpyAttributes attributes[kMost]{};
  const size_t count = chance(95) ? 1 + below(kMost) : 0;
  std::string copies, hints;
  for (size_t i = 0; i < count; ++i) {
    const Pointer target = anyPointer(1), source = anyPointer(1);
    if ((target.null() && source.pageable()) || (source.null() && target.pageable())) return;
    if (target.slot == source.slot && !target.null()) return;
    targets.push_back(target);
    sources.push_back(source);
    to[i] = target.address;
    from[i] = source.address;
    sizes[i] = target.null() || source.null() ? 4 : std::min({target.room, source.room, 1 + below(kMostBytes)});
    if (wrong("no bytes", 3)) sizes[i] = 0;
    copies += target.name + "<-" + source.name + "*" + text(sizes[i]) + ";";
  }
  if (collide(targets, sources, 2 * kMostBytes)) return;
  size_t described = count ? 1 + below(count) : 0;
  if (wrong("number of attributes", 4)) described = std::min(oneOf<size_t>({0, count + 1}), kMost);
  for (size_t i = 0; i < described; ++i) {
    firsts[i] = i;
    attributes[i].srcAccessOrder = static_cast<CUmemcpySrcAccessOrder>(mostly(95, {1, 2, 3}, {0, 4, 100}));
    attributes[i].flags = static_cast<unsigned>(below(chance(95) ? 2 : 10));
    if (chance(30)) attributes[i].srcLocHint = anyLocation();
    if (chance(30)) attributes[i].dstLocHint = anyLocation();
  }
  if (described && wrong("first copies", 4)) firsts[below(described)] = below(6);
  for (size_t i = 0; i < described; ++i)
    hints += text(firsts[i]) + ":" + list(attributes[i].srcAccessOrder, attributes[i].flags) + "," +
             text(attributes[i].srcLocHint) + "," + text(attributes[i].dstLocHint) + ";";
  describe("copies", copies);
  describe("attributes", hints);
  RECORD(cuMemcpyBatchAsync, to, from, sizes, count, attributes, firsts, described, given("stream", anyStream()));
  settle();
}

// An operand and its memory; false where the copy would overrun memory of the host.
bool drawOperand(CUmemcpy3DOperand& operand, Pointer& pointer, size_t width, size_t height, std::string& drawn) {
  const Named<CUarray> array = arrays.any();
  if (array && chance(40)) {
    operand.type = CU_MEMCPY_OPERAND_TYPE_ARRAY;
    operand.op.array.array = array.object;
    CUoffset3D& at = operand.op.array.offset;
    at = {chance(70) ? 0 : below(8), chance(70) ? 0 : below(4), chance(80) ? 0 : below(2)};
    drawn += array.name + "@" + list(at.x, at.y, at.z) + " ";
    return true;
  }
  pointer = anyPointer(1);
  operand.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
  auto& linear = operand.op.ptr;
  linear.ptr = pointer.address;
  linear.rowLength = chance(50) ? 0 : width + below(4);
  linear.layerHeight = chance(50) ? 0 : height + below(3);
  if (wrong("short rows", 4)) linear.rowLength = width - 1;
  if (chance(30)) linear.locHint = anyLocation();
  drawn += pointer.name + " " + list(linear.rowLength, linear.layerHeight) + " " + text(linear.locHint) + " ";
  if (pointer.null() || pointer.room >= kFarApart) return true;
  tag("perhaps short");
  return !pointer.readableByHost();
}

void copyBatchOfBoxes() {
  CUDA_MEMCPY3D_BATCH_OP copies[2]{};
  const size_t count = 1 + below(2);
  std::string drawn;
  for (size_t i = 0; i < count; ++i) {
    CUDA_MEMCPY3D_BATCH_OP& copy = copies[i];
    copy.extent = {1 + below(16), 1 + below(4), chance(60) ? 1 : 1 + below(3)};
    Pointer source{}, target{};
    if (!drawOperand(copy.src, source, copy.extent.width, copy.extent.height, drawn)) return;
    if (!drawOperand(copy.dst, target, copy.extent.width, copy.extent.height, drawn)) return;
    if (wrong("no height", 4)) copy.extent.height = 0;
    copy.srcAccessOrder = static_cast<CUmemcpySrcAccessOrder>(mostly(95, {1, 2, 3}, {0, 4}));
    copy.flags = static_cast<unsigned>(below(chance(95) ? 2 : 10));
    drawn += list(copy.extent.width, copy.extent.height, copy.extent.depth, copy.srcAccessOrder, copy.flags) + ";";
    if (copy.src.type != copy.dst.type) continue;
    if (copy.src.type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
      if (copy.src.op.array.array == copy.dst.op.array.array) return;
    } else if (near(source, target, kFarApart)) {
      return;
    }
  }
  describe("copies", drawn);
  RECORD(cuMemcpy3DBatchAsync, count, copies, given("flags", mostly(97, {0ull}, {1ull})), given("stream", anyStream()));
  settle();
}

}  // namespace

void callCopies() {
  pickOf({{25, copyBox}, {8, copyArrayBytes}, {12, copyBytes}, {8, copyBatch}, {8, copyBatchOfBoxes}});
}

}  // namespace calls
