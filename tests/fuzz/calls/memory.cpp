// Linear memory of all kinds: allocation, pointers and what is asked about them, fills.
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "families.h"
#include "objects.h"

namespace calls {
namespace {

constexpr size_t kPage = 4096;

int unusedMemory() {
  const int slot = belowInt(kPageableSlot);
  return memories[slot].live ? -1 : slot;
}

void keep(int slot, const Memory& memory) {
  memories[slot] = memory;
  const auto value = static_cast<unsigned char>(17 * slot + 3);
  if (memory.kind == Kind::Host || memory.kind == Kind::Registered) {
    std::memset(reinterpret_cast<void*>(memory.address), value, memory.bytes);
  } else if (!capturing) {
    CALL(cuMemsetD8, memory.address, value, memory.bytes);
    CALL(cuCtxSynchronize);
  }
  output("as", memoryName(slot));
}

size_t someSize() { return chance(70) ? 1 + anySize() : anySize(); }

void allocateDevice(int slot) {
  size_t bytes = someSize();
  if (wrong("huge", 2)) bytes = oneOf<size_t>({size_t{1} << 60, ~size_t{0}, size_t{1} << 48});
  CUdeviceptr address = 0;
  if (RECORD(cuMemAlloc, out("address", &address), given("bytes", bytes)) || !address) return;
  output("off 256", address % 256);
  keep(slot, {Kind::Device, true, address, bytes, 0});
}

void allocatePitched(int slot) {
  const size_t width = chance(90) ? 1 + below(3000) : anySize();
  const size_t height = chance(90) ? 1 + below(30) : oneOf<size_t>({0, 1, 65536});
  if (width * height > 8 << 20) return;
  CUdeviceptr address = 0;
  size_t pitch = 0;
  if (RECORD(cuMemAllocPitch, out("address", &address), out("pitch", &pitch), given("width", width),
             given("height", height), given("element", mostly(80, {4u, 8u, 16u}, {0u, 1u, 2u, 3u, 12u, 17u, 32u}))))
    return;
  if (!address || !pitch) return;
  output("pitch", pitch);
  keep(slot, {Kind::Pitched, true, address, pitch * height, 0});
}

void allocateManaged(int slot) {
  const size_t bytes = someSize();
  CUdeviceptr address = 0;
  const unsigned flags = mostly(85, {1u, 2u}, {0u, 3u, 4u, 5u, 6u, 7u, 8u});
  if (RECORD(cuMemAllocManaged, out("address", &address), given("bytes", bytes), given("flags", flags)) || !address)
    return;
  output("off 512", address % 512);
  keep(slot, {Kind::Managed, true, address, bytes, flags});
}

void allocateHost(int slot) {
  const size_t bytes = someSize();
  void* memory = nullptr;
  const auto flags = static_cast<unsigned>(below(chance(90) ? 8 : 70));
  if (RECORD(cuMemHostAlloc, out("address", &memory), given("bytes", bytes), given("flags", flags)) || !memory) return;
  const auto address = reinterpret_cast<CUdeviceptr>(memory);
  CUdeviceptr onDevice = 0;
  CALL(cuMemHostGetDevicePointer, &onDevice, memory, 0);
  output("same on device", onDevice == address);
  keep(slot, {Kind::Host, true, address, bytes, flags});
}

size_t mappedBytes(size_t bytes) { return (bytes + 2 * kPage) & ~(kPage - 1); }

void unmapRegistered(const Memory& memory) {
  const size_t start = memory.address & ~(kPage - 1);
  munmap(reinterpret_cast<void*>(start), mappedBytes(memory.bytes + memory.address - start));
}

void registerHost(int slot) {
  const size_t bytes = someSize() % 200000, offset = chance(70) ? 0 : below(4000);
  const auto flags = static_cast<unsigned>(below(chance(85) ? 4 : 40));
  const bool nowhere = wrong("no memory", 2);
  void* const mapping = mmap(nullptr, mappedBytes(bytes + offset), PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  char* const memory = static_cast<char*>(mapping) + offset;
  const Memory made{Kind::Registered, true, reinterpret_cast<CUdeviceptr>(memory), bytes, flags};
  describe("offset", text(offset));
  if (RECORD(cuMemHostRegister, static_cast<void*>(nowhere ? nullptr : memory), given("bytes", bytes),
             given("flags", flags)))
    return unmapRegistered(made);
  CUdeviceptr onDevice = 0;
  output("on device", CALL(cuMemHostGetDevicePointer, &onDevice, memory, 0));
  output("same on device", onDevice == made.address);
  keep(slot, made);
}

void allocateOrdered(int slot) {
  if (capturing) return;
  const size_t bytes = someSize();
  CUdeviceptr address = 0;
  if (RECORD(cuMemAllocAsync, out("address", &address), given("bytes", bytes), given("stream", anyStream())) ||
      !address)
    return;
  output("off 256", address % 256);
  CALL(cuCtxSynchronize);
  keep(slot, {Kind::Ordered, true, address, bytes, 0});
}

// Now and then by the function for memory of another kind, or inside of the memory.
void freeMemory() {
  const int slot = belowInt(kMemorySlots);
  if (!memories[slot].live || capturing) return;
  const Memory memory = memories[slot];
  CUdeviceptr address = memory.address;
  if (wrong("inside", 8) && memory.bytes > 4) address += memory.bytes / 2;
  int how = memory.kind == Kind::Host ? 1 : memory.kind == Kind::Registered ? 2 : 0;
  if (memory.kind == Kind::Ordered) how = oneOf({0, 3});
  if (memory.kind == Kind::Pageable || wrong("other kind", 8)) how = belowInt(4);
  settle();
  describe("memory", memoryName(slot));
  CUresult result;
  if (how == 0)
    result = RECORD(cuMemFree, address);
  else if (how == 1)
    result = RECORD(cuMemFreeHost, reinterpret_cast<void*>(address));
  else if (how == 2)
    result = RECORD(cuMemHostUnregister, reinterpret_cast<void*>(address));
  else
    result = RECORD(cuMemFreeAsync, address, given("stream", anyStream()));
  if (result == CUDA_SUCCESS && slot != kPageableSlot) {
    memories[slot].live = false;
    if (memory.kind == Kind::Registered) unmapRegistered(memory);
  }
  settle();
}

void freeNothing() {
  switch (below(3)) {
    case 0:
      RECORD(cuMemFree, CUdeviceptr{0});
      return;
    case 1:
      RECORD(cuMemFreeHost, nullptr);
      return;
    default:
      RECORD(cuMemFreeAsync, CUdeviceptr{0}, nullptr);
      return;
  }
}

// --- what is asked about pointers

void askAttribute() {
  const Pointer pointer = anyPointer(4);
  const int attribute = chance(95) ? 1 + belowInt(21) : oneOf({0, 22, 23, -1, 100});
  uint64_t value[4] = {};
  if (RECORD(cuPointerGetAttribute, out("value", value, 1), givenAs<CUpointer_attribute>("attribute", attribute),
             given("pointer", pointer)) == CUDA_SUCCESS)
    output("value", pointerAttribute(attribute, value));
}

void askAttributes() {
  constexpr uint64_t kUntouched = 0x5a5a5a5a5a5a5a5a;
  const Pointer pointer = anyPointer(6);
  const unsigned count = chance(95) ? 1 + static_cast<unsigned>(below(6)) : 0;
  CUpointer_attribute asked[6];
  uint64_t values[6][4];
  void* places[6];
  std::string all;
  for (unsigned i = 0; i < count; ++i) {
    asked[i] = static_cast<CUpointer_attribute>(chance(98) ? 1 + below(21) : 0);
    std::fill_n(values[i], 4, kUntouched);
    places[i] = values[i];
    all += text(asked[i]) + ",";
  }
  describe("attributes", all);
  if (RECORD(cuPointerGetAttributes, count, asked, places, given("pointer", pointer))) return;
  for (unsigned i = 0; i < count; ++i)
    output(text(asked[i]).c_str(), values[i][0] == kUntouched ? "untouched" : pointerAttribute(asked[i], values[i]));
}

void setAttribute() {
  const int value[4] = {belowInt(3)};
  describe("value", text(value[0]));
  RECORD(cuPointerSetAttribute, static_cast<const void*>(value),
         givenAs<CUpointer_attribute>("attribute", chance(80) ? 6 : belowInt(24)), given("pointer", anyPointer(4)));
}

void askRange() {
  CUdeviceptr base = 0;
  size_t bytes = 0;
  RECORD(cuMemGetAddressRange, out("base", &base, 10), out("size", &bytes, 10), given("pointer", anyPointer(4)));
  output("base", where(base));
  output("size", bytes);
}

void askHostFlags() {
  unsigned flags = 0;
  RECORD(cuMemHostGetFlags, &flags, givenHost("pointer", anyPointer(4)));
  output("flags", flags);
}

void askDevicePointer() {
  CUdeviceptr onDevice = 0;
  RECORD(cuMemHostGetDevicePointer, &onDevice, givenHost("pointer", anyPointer(4)),
         given("flags", mostly(90, {0u}, {1u, 2u, 3u})));
  output("on device", where(onDevice));
}

void askHandles() {
  CUipcMemHandle handle;
  RECORD(cuIpcGetMemHandle, &handle, given("pointer", anyPointer(4)));
}

void readContents() {
  static char bytes[1 << 22];
  const int slot = belowInt(kMemorySlots);
  const Memory& memory = memories[slot];
  if (!memory.live || capturing) return;
  settle();
  describe("memory", memoryName(slot));
  const size_t count = std::min(memory.bytes, sizeof bytes);
  if (RECORD(cuMemcpy, reinterpret_cast<CUdeviceptr>(bytes), memory.address, count) == CUDA_SUCCESS)
    output("hash", hashOf(bytes, count));
}

// --- fills; what is no memory of the device would fault

template <class Plain, class Async>
void fillRow(Plain plain, Async async, Pointer target, size_t element) {
  size_t count = target.room / element;
  if (count && chance(70)) count = below(count + 1);
  if (wrong("past the end", 4)) count = target.room / element + 1 + below(100);
  const Named<CUstream> stream = anyStream();
  const auto value = static_cast<unsigned>(randomWord());
  describe("target", target.name);
  describe("count", text(count));
  if (chance(50))
    plain(target.address, value, count);
  else
    async(target.address, value, count, given("stream", stream));
}

template <class Plain, class Async>
void fillRows(Plain plain, Async async, Pointer target, size_t element) {
  size_t width = 1 + below(40), height = 1 + below(10);
  size_t pitch = width * element + oneOf<size_t>({0, 0, 4, 8, 64});
  if (wrong("pitch", 8))
    pitch = oneOf<size_t>({0, 1, width * element - 1, width * element + 1, size_t{1} << 40, ~size_t{0}});
  if (wrong("nothing", 5)) (chance(50) ? width : height) = 0;
  if (wrong("past the end", 4)) height = target.room / (pitch ? pitch : 1) + 2;
  if (pitch * (height ? height - 1 : 0) + width * element > target.room) tag("short memory");
  const Named<CUstream> stream = anyStream();
  const auto value = static_cast<unsigned>(randomWord());
  describe("target", target.name);
  describe("pitch", text(pitch));
  describe("box", list(width, height));
  if (chance(50))
    plain(target.address, pitch, value, width, height);
  else
    async(target.address, pitch, value, width, height, given("stream", stream));
}

#define CALLS_FILLER(function) [](auto... arguments) { RECORD(function, arguments...); }

void fill() {
  const size_t element = oneOf<size_t>({1, 2, 4});
  Pointer target = devicePointer();
  if (chance(80)) target.alignTo(element);
  if (chance(60)) {
    if (element == 1) fillRow(CALLS_FILLER(cuMemsetD8), CALLS_FILLER(cuMemsetD8Async), target, 1);
    if (element == 2) fillRow(CALLS_FILLER(cuMemsetD16), CALLS_FILLER(cuMemsetD16Async), target, 2);
    if (element == 4) fillRow(CALLS_FILLER(cuMemsetD32), CALLS_FILLER(cuMemsetD32Async), target, 4);
  } else {
    if (element == 1) fillRows(CALLS_FILLER(cuMemsetD2D8), CALLS_FILLER(cuMemsetD2D8Async), target, 1);
    if (element == 2) fillRows(CALLS_FILLER(cuMemsetD2D16), CALLS_FILLER(cuMemsetD2D16Async), target, 2);
    if (element == 4) fillRows(CALLS_FILLER(cuMemsetD2D32), CALLS_FILLER(cuMemsetD2D32Async), target, 4);
  }
  settle();
}

}  // namespace

void allocate() {
  const int slot = unusedMemory();
  if (slot < 0) return;
  switch (below(7)) {
    case 0:
      return allocatePitched(slot);
    case 1:
      return allocateManaged(slot);
    case 2:
      return allocateHost(slot);
    case 3:
      return registerHost(slot);
    case 4:
      return allocateOrdered(slot);
    default:
      return allocateDevice(slot);
  }
}

std::string pointerAttribute(int attribute, const uint64_t* value) {
  int number;
  std::memcpy(&number, value, sizeof number);
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return contextName(reinterpret_cast<CUcontext>(value[0]));
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return where(value[0]);
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      return value[0] ? "some" : "none";
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return value[0] ? "pool" : "none";
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:  // mappings hold several memories
      return "uncompared";
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return text(value[0]);
    default:
      return text(number);
  }
}

void callMemory() {
  pickOf({{10, freeMemory},
          {1, freeNothing},
          {25, askAttribute},
          {8, askAttributes},
          {4, setAttribute},
          {8, askRange},
          {3, askHostFlags},
          {3, askDevicePointer},
          {1, askHandles},
          {15, fill},
          {6, readContents}});
}

void releaseMemory() {
  for (int slot = 0; slot < kPageableSlot; ++slot) {
    Memory& memory = memories[slot];
    if (!memory.live) continue;
    memory.live = false;
    if (memory.kind == Kind::Host) {
      CALL(cuMemFreeHost, reinterpret_cast<void*>(memory.address));
    } else if (memory.kind == Kind::Registered) {
      CALL(cuMemHostUnregister, reinterpret_cast<void*>(memory.address));
      unmapRegistered(memory);
    } else {
      CALL(cuMemFree, memory.address);
    }
  }
}

}  // namespace calls
