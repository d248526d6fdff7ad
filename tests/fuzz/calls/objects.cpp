#include "objects.h"

namespace calls {

Slots<CUstream, 4> streams{"stream"};
Slots<CUevent, 4> events{"event"};
Slots<CUarray, 4> arrays{"array"};
Slots<CUmipmappedArray, 2> mipmappedArrays{"mipmapped"};
Slots<CUtexObject, 3> textures{"texture"};
Slots<CUsurfObject, 3> surfaces{"surface"};
Slots<CUcontext, 3> contexts{"context"};
Slots<CUmemoryPool, 3> pools{"pool"};
CUcontext primary;
bool capturing;
Memory memories[kMemorySlots];

namespace {

constexpr const char* kKindNames[] = {"device", "pitched", "managed", "host", "registered", "ordered", "pageable"};

Pointer null() { return {0, 0, -1, "null"}; }

template <class Wanted>
Pointer pointerInto(const Wanted& wanted, int nullPercent) {
  if (wrong("null pointer", nullPercent)) return null();
  const int first = belowInt(kMemorySlots);
  const uint64_t how = below(6), word = randomWord();
  for (int i = 0; i < kMemorySlots; ++i) {
    const int slot = (first + i) % kMemorySlots;
    const Memory& memory = memories[slot];
    if (!memory.live || !wanted(memory.kind)) continue;
    size_t offset = 0;
    if (how == 0) offset = word % memory.bytes;
    if (how == 1) offset = (word % memory.bytes) & ~size_t{3};
    if (how == 2) offset = (word % memory.bytes) & ~size_t{255};
    return {memory.address + offset, memory.bytes - offset, slot,
            memoryName(slot) + (offset ? "+" + text(offset) : "")};
  }
  return null();
}

}  // namespace

Named<CUstream> anyStream() {
  switch (below(8)) {
    case 0:
      return {nullptr, "default"};
    case 1:
      return {CU_STREAM_LEGACY, "legacy"};
    case 2:
      return {CU_STREAM_PER_THREAD, "per-thread"};
    default:
      break;
  }
  const Named<CUstream> created = streams.any();
  return created ? created : Named<CUstream>{nullptr, "default"};
}

std::string contextName(CUcontext context) { return context == primary ? "primary" : contexts.nameOf(context); }

std::string memoryName(int slot) { return kKindNames[static_cast<int>(memories[slot].kind)] + std::to_string(slot); }

void usePageable(void* memory) {
  memories[kPageableSlot] = {Kind::Pageable, true, reinterpret_cast<CUdeviceptr>(memory), kPageableBytes, 0};
}

void Pointer::alignTo(size_t bytes) {
  const size_t beyond = null() ? 0 : (address - memories[slot].address) % bytes;
  if (beyond == 0) return;
  address -= beyond;
  room += beyond;
  name += "-" + text(beyond);
}

Pointer anyPointer(int nullPercent) {
  return pointerInto([](Kind) { return true; }, nullPercent);
}
Pointer devicePointer(int nullPercent) {
  return pointerInto([](Kind kind) { return kind != Kind::Pageable; }, nullPercent);
}
Pointer pointerOf(Kind wanted, int nullPercent) {
  return pointerInto([wanted](Kind kind) { return kind == wanted; }, nullPercent);
}

CUdeviceptr given(const char* name, const Pointer& pointer) {
  describe(name, pointer.name);
  return pointer.address;
}
void* givenHost(const char* name, const Pointer& pointer) { return reinterpret_cast<void*>(given(name, pointer)); }

std::string where(CUdeviceptr address) {
  if (!address) return "null";
  for (int slot = 0; slot < kMemorySlots; ++slot) {
    const Memory& memory = memories[slot];
    if (memory.live && address >= memory.address && address < memory.address + memory.bytes)
      return memoryName(slot) + "+" + text(address - memory.address);
  }
  return "elsewhere";
}

CUmemLocation anyLocation() {
  CUmemLocation location{};
  location.type = static_cast<CUmemLocationType>(mostly(85, {0, 1, 1, 2, 3, 4}, {5, 100, -1}));
  location.id = mostly(85, {0}, {1, -1, 100});
  return location;
}
std::string text(const CUmemLocation& location) { return text(location.type) + ":" + text(location.id); }
CUmemLocation given(const char* name, const CUmemLocation& location) {
  describe(name, text(location));
  return location;
}

}  // namespace calls
