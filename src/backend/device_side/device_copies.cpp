#include "backend/device_side/device_copies.h"

#include "base/memory/own_memory.h"
#include "base/result.h"

namespace vg::backend {
namespace {

using ptx::DeviceCall;
using Arguments = DeviceArguments;
using Error = RuntimeError;

struct Extent {
  uint64_t width, height, depth;  // width in bytes
};
struct PitchedPointer {
  std::byte* pointer;
  uint64_t pitch, width, height;
};
struct Position {
  uint64_t x, y, z;
};
struct Copy3D {  // cudaMemcpy3DParms
  const void* sourceArray;
  Position sourcePosition;
  PitchedPointer source;
  const void* destinationArray;
  Position destinationPosition;
  PitchedPointer destination;
  Extent extent;
  int kind;
};

constexpr int kDeviceToDevice = 3, kDefaultKind = 4;

DeviceCopy failed(Error error) {
  DeviceCopy copy;
  copy.error = error;
  return copy;
}

// A kernel reaches memory of the device only.
bool allowed(int kind) { return kind == kDeviceToDevice || kind == kDefaultKind; }

copy::Side sideOf(std::byte* base, uint64_t pitch, uint64_t rows) { return {base, pitch, pitch * rows, nullptr}; }
copy::Side sideOf(const PitchedPointer& of, const Position& at) {
  return sideOf(of.pointer, of.pitch, of.height).moved(at.x, at.y, at.z);
}

DeviceCopy copyOf(const copy::Side& to, const copy::Side& from, const Extent& extent, uint64_t stream) {
  CopyCommand command;
  command.shape.destination = to;
  command.shape.source = from;
  command.shape.width = extent.width;
  command.shape.height = extent.height;
  command.shape.depth = extent.depth;
  const bool something = extent.width && extent.height && extent.depth;
  return {Error::Success, command, something ? 1u : 0u, 0, stream};
}

DeviceCopy fillOf(const PitchedPointer& where, int value, const Extent& extent, uint64_t stream) {
  FillCommand command;
  command.fill.base = where.pointer;
  command.fill.pitch = where.pitch;
  command.fill.width = extent.width;
  command.fill.height = extent.height;
  command.fill.pattern = static_cast<uint8_t>(value);
  const bool something = extent.width && extent.height;
  return {Error::Success, command, something ? extent.depth : 0, where.pitch * where.height, stream};
}

DeviceCopy copyLinear(Arguments& arguments) {
  auto* const to = arguments.take<std::byte*>();
  auto* const from = arguments.take<std::byte*>();
  const auto bytes = arguments.take<uint64_t>();
  if (!allowed(arguments.take<int>())) return failed(Error::InvalidMemcpyDirection);
  return copyOf(sideOf(to, bytes, 1), sideOf(from, bytes, 1), {bytes, 1, 1}, arguments.take<uint64_t>());
}

DeviceCopy copyRows(Arguments& arguments) {
  auto* const to = arguments.take<std::byte*>();
  const auto toPitch = arguments.take<uint64_t>();
  auto* const from = arguments.take<std::byte*>();
  const auto fromPitch = arguments.take<uint64_t>(), width = arguments.take<uint64_t>();
  const auto height = arguments.take<uint64_t>();
  if (!allowed(arguments.take<int>())) return failed(Error::InvalidMemcpyDirection);
  if (width > toPitch || width > fromPitch) return failed(Error::InvalidPitchValue);
  return copyOf(sideOf(to, toPitch, height), sideOf(from, fromPitch, height), {width, height, 1},
                arguments.take<uint64_t>());
}

DeviceCopy copyBox(Arguments& arguments) {
  const auto* const parameters = arguments.take<const Copy3D*>();
  const auto stream = arguments.take<uint64_t>();
  Copy3D p;
  std::memcpy(&p, parameters, sizeof p);
  if (!allowed(p.kind)) return failed(Error::InvalidMemcpyDirection);
  if (p.sourceArray || p.destinationArray) return failed(Error::InvalidValue);
  if (p.extent.width > p.source.pitch || p.extent.width > p.destination.pitch) return failed(Error::InvalidPitchValue);
  return copyOf(sideOf(p.destination, p.destinationPosition), sideOf(p.source, p.sourcePosition), p.extent, stream);
}

DeviceCopy fillLinear(Arguments& arguments) {
  auto* const base = arguments.take<std::byte*>();
  const auto value = arguments.take<int>();
  const auto bytes = arguments.take<uint64_t>();
  return fillOf({base, bytes, bytes, 1}, value, {bytes, 1, 1}, arguments.take<uint64_t>());
}

DeviceCopy fillRows(Arguments& arguments) {
  auto* const base = arguments.take<std::byte*>();
  const auto pitch = arguments.take<uint64_t>();
  const auto value = arguments.take<int>();
  const auto width = arguments.take<uint64_t>(), height = arguments.take<uint64_t>();
  if (width > pitch) return failed(Error::InvalidValue);
  return fillOf({base, pitch, width, height}, value, {width, height, 1}, arguments.take<uint64_t>());
}

DeviceCopy fillBox(Arguments& arguments) {
  const auto where = arguments.take<PitchedPointer>();
  const auto value = arguments.take<int>();
  const auto extent = arguments.take<Extent>();
  if (extent.width > where.pitch) return failed(Error::InvalidValue);
  return fillOf(where, value, extent, arguments.take<uint64_t>());
}

DeviceCopy described(DeviceCall which, Arguments& arguments) {
  switch (which) {
    case DeviceCall::MemcpyAsync:
      return copyLinear(arguments);
    case DeviceCall::Memcpy2DAsync:
      return copyRows(arguments);
    case DeviceCall::Memcpy3DAsync:
      return copyBox(arguments);
    case DeviceCall::MemsetAsync:
      return fillLinear(arguments);
    case DeviceCall::Memset2DAsync:
      return fillRows(arguments);
    case DeviceCall::Memset3DAsync:
      return fillBox(arguments);
    default:
      unreachable("function %u of the device runtime copies nothing", static_cast<uint32_t>(which));
  }
}

bool touchesOwnMemory(const CopyCommand& copy) {
  const copy::Shape& shape = copy.shape;
  return own_memory::overlaps(shape.destination.base, extent(shape.destination, shape)) ||
         own_memory::overlaps(shape.source.base, extent(shape.source, shape));
}

bool touchesOwnMemory(const DeviceCopy& copy) {
  if (!copy.slices) return false;
  if (const auto* const one = std::get_if<CopyCommand>(&copy.command)) return touchesOwnMemory(*one);
  const auto* const fill = std::get_if<FillCommand>(&copy.command);
  return fill && own_memory::overlaps(fill->fill.base, copy.slicePitch * (copy.slices - 1) + extent(fill->fill));
}

}  // namespace

void DeviceCopy::nextSlice() {
  --slices;
  if (auto* const fill = std::get_if<FillCommand>(&command)) fill->fill.base += slicePitch;
}

DeviceCopy describeCopy(DeviceCall which, DeviceArguments& arguments, FaultSink& faults) {
  DeviceCopy copy = described(which, arguments);
  if (touchesOwnMemory(copy)) return failed(Error::InvalidValue);
  if (auto* const one = std::get_if<CopyCommand>(&copy.command)) one->faults = &faults;
  if (auto* const one = std::get_if<FillCommand>(&copy.command)) one->faults = &faults;
  return copy;
}

}  // namespace vg::backend
