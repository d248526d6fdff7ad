// Physical memory, reserved addresses and mappings.
#include <unistd.h>

#include <vector>

#include "families.h"
#include "objects.h"

namespace calls {
namespace {

using Handle = CUmemGenericAllocationHandle;

constexpr size_t kGranule = size_t{2} << 20;
constexpr int kHandles = 3, kReservations = 2;

struct Mapping {
  size_t at, bytes;
};
struct Reservation {
  bool live = false;
  CUdeviceptr address = 0;
  size_t bytes = 0;
  std::vector<Mapping> mappings;
};

Slots<Handle, kHandles> handles{"handle"};
size_t handleBytes[kHandles];
Reservation reservations[kReservations];

CUmemAllocationProp drawProperties() {
  CUmemAllocationProp properties{};
  properties.type = static_cast<CUmemAllocationType>(mostly(93, {1}, {0, 2, 3}));
  properties.requestedHandleTypes =
      static_cast<CUmemAllocationHandleType>(chance(60) ? 0 : mostly(80, {1}, {2, 4, 8, 9, 16}));
  properties.location.type = static_cast<CUmemLocationType>(mostly(80, {1}, {0, 2, 3, 4, 5}));
  properties.location.id = mostly(92, {0}, {1, -1, 100});
  auto& flags = properties.allocFlags;
  flags.compressionType = mostly<unsigned char>(93, {0}, {1, 2, 255});
  flags.gpuDirectRDMACapable = mostly<unsigned char>(85, {0}, {1, 2});
  flags.usage = mostly<unsigned short>(90, {0}, {1, 2, 3, 4});
  if (wrong("reserved", 2)) flags.reserved[1] = 1;
  if (wrong("metadata of Windows", 2)) properties.win32HandleMetaData = &reservations;
  return properties;
}

std::string propertiesText(const CUmemAllocationProp& properties) {
  const auto& flags = properties.allocFlags;
  return list(properties.type, properties.requestedHandleTypes) + "," + text(properties.location) + "," +
         list(int{flags.compressionType}, int{flags.gpuDirectRDMACapable}, int{flags.usage});
}

void askGranularity() {
  const CUmemAllocationProp properties = drawProperties();
  describe("properties", propertiesText(properties));
  size_t granularity = 0;
  RECORD(cuMemGetAllocationGranularity, out("granularity", &granularity), out("properties", &properties),
         givenAs<CUmemAllocationGranularity_flags>("option", mostly(92, {0, 1}, {2, -1})));
  output("granularity", granularity);
}

void createHandle() {
  const int slot = handles.unused();
  if (slot < 0) return;
  const CUmemAllocationProp properties = drawProperties();
  size_t bytes = kGranule * (1 + below(3));
  if (wrong("size", 8)) bytes = oneOf<size_t>({0, 1, 4096, 65536, kGranule + 4096, kGranule - 1});
  describe("properties", propertiesText(properties));
  Handle handle = 0;
  if (RECORD(cuMemCreate, out("handle", &handle, 1), given("bytes", bytes), out("properties", &properties, 1),
             given("flags", mostly(96, {0ull}, {1ull}))))
    return;
  handles.put(slot, handle);
  handleBytes[slot] = bytes;
}

void askHandle() {
  const Named<Handle> handle = handles.any();
  if (!handle) return;
  CUmemAllocationProp properties{};
  RECORD(cuMemGetAllocationPropertiesFromHandle, &properties, given("handle", handle));
  output("properties", propertiesText(properties));
}

void releaseHandle() {
  const Named<Handle> handle = handles.any();
  if (!handle || chance(50)) return;
  if (RECORD(cuMemRelease, given("handle", handle)) == CUDA_SUCCESS) handles.remove(handle);
}

void exportHandle() {
  const Named<Handle> handle = handles.any();
  if (!handle) return;
  uint64_t exported[8] = {};  // room for handles of every type
  const int type = mostly(70, {1}, {0, 2, 4, 8});
  if (RECORD(cuMemExportToShareableHandle, static_cast<void*>(exported), given("handle", handle),
             givenAs<CUmemAllocationHandleType>("type", type), given("flags", mostly(95, {0ull}, {1ull}))))
    return;
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return;
  const auto file = static_cast<uint32_t>(exported[0]);
  Handle imported = 0;
  const CUresult result = CALL(cuMemImportFromShareableHandle, &imported, reinterpret_cast<void*>(uintptr_t{file}),
                               CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  output("import", result);
  output("same", imported == handle.object);
  if (result == CUDA_SUCCESS) CALL(cuMemRelease, imported);
  close(static_cast<int>(file));
}

void reserve() {
  Reservation& place = reservations[below(kReservations)];
  if (place.live) return;
  size_t bytes = kGranule * (1 + below(5));
  if (wrong("size", 6)) bytes = oneOf<size_t>({0, 1, 4096, 65536, kGranule + 4096});
  const size_t alignment =
      mostly<size_t>(70, {0}, {kGranule, 4096, 1, 3, 65536, kGranule * 4, kGranule + 4096, size_t{1} << 30});
  const CUdeviceptr wish = mostly<CUdeviceptr>(85, {0}, {1, 4096, 0x1000000000, 0x7000000001});
  CUdeviceptr address = 0;
  if (RECORD(cuMemAddressReserve, out("address", &address), given("bytes", bytes), given("alignment", alignment),
             given("wish", wish), given("flags", mostly(96, {0ull}, {1ull}))) ||
      !address)
    return;
  output("off", address % (alignment ? alignment : kGranule));
  if (wish) output("granted", address == wish);
  place = {true, address, bytes, {}};
}

// A range of a living reservation, most often one of its mappings.
struct Range {
  Reservation* place;
  size_t at, bytes;
};
Range anyRange() {
  Reservation& place = reservations[below(kReservations)];
  Range range{place.live ? &place : nullptr, 0, place.bytes};
  if (!place.mappings.empty() && chance(75)) {
    const Mapping& mapping = place.mappings[below(place.mappings.size())];
    range.at = mapping.at;
    range.bytes = mapping.bytes;
  }
  if (wrong("a part", 12)) range.bytes = kGranule;
  if (wrong("elsewhere", 7)) range.at += kGranule;
  if (wrong("odd size", 4)) range.bytes -= 4096;
  if (wrong("no bytes", 2)) range.bytes = 0;
  if (range.at + range.bytes > place.bytes) range.place = nullptr;  // what lies behind is the library's affair
  return range;
}
CUdeviceptr givenRange(const Range& range) {
  describe("range", list(range.at, range.bytes));
  describe("of", text(range.place->bytes));
  describe("mapped", text(range.place->mappings.size()));
  return range.place->address + range.at;
}

void freeReservation() {
  Range range = anyRange();
  if (!range.place) return;
  if (chance(80)) range = {range.place, 0, range.place->bytes};
  if (RECORD(cuMemAddressFree, givenRange(range), range.bytes) == CUDA_SUCCESS) *range.place = {};
}

void map() {
  Reservation& place = reservations[below(kReservations)];
  const Named<Handle> handle = handles.any();
  if (!place.live || !handle) return;
  const size_t whole = handleBytes[handle.slot];
  size_t bytes = chance(60) ? whole : kGranule * (1 + below(3));
  size_t offset = chance(70) ? 0 : kGranule * below(3), at = chance(50) ? 0 : kGranule * below(4);
  if (wrong("size", 4)) bytes = oneOf<size_t>({0, 1, 4096, 65536, kGranule - 1});
  if (wrong("odd place", 3)) at += 4096;
  if (wrong("odd offset", 3)) offset += 65536;
  if (at + bytes > place.bytes) return;
  describe("handle bytes", text(whole));
  if (RECORD(cuMemMap, givenRange({&place, at, bytes}), bytes, given("offset", offset), given("handle", handle),
             given("flags", mostly(96, {0ull}, {1ull}))) == CUDA_SUCCESS)
    place.mappings.push_back({at, bytes});
}

void unmap() {
  const Range range = anyRange();
  if (!range.place || chance(40)) return;
  if (RECORD(cuMemUnmap, givenRange(range), range.bytes)) return;
  std::erase_if(range.place->mappings,
                [&](const Mapping& mapping) { return mapping.at >= range.at && mapping.at < range.at + range.bytes; });
}

void setAccess() {
  const Range range = anyRange();
  if (!range.place) return;
  CUmemAccessDesc access[2]{};
  const size_t count = mostly<size_t>(90, {1}, {0, 2});
  std::string drawn;
  for (size_t i = 0; i < count; ++i) {
    access[i].location.type = static_cast<CUmemLocationType>(mostly(85, {1}, {0, 2, 3, 4, 5}));
    access[i].location.id = mostly(93, {0}, {1, -1});
    access[i].flags = static_cast<CUmemAccess_flags>(mostly(90, {0, 1, 3, 3}, {2, 4, 7}));
    drawn += text(access[i].location) + "=" + text(access[i].flags) + ";";
  }
  describe("access", drawn);
  RECORD(cuMemSetAccess, givenRange(range), range.bytes, access, count);
}

void askAccess() {
  const Range range = anyRange();
  if (!range.place) return;
  CUmemLocation location{};
  location.type = static_cast<CUmemLocationType>(mostly(80, {1}, {0, 2, 3, 4, 5}));
  location.id = mostly(90, {0}, {1});
  describe("location", text(location));
  unsigned long long flags = 0;
  RECORD(cuMemGetAccess, &flags, &location, givenRange(range));
  output("flags", flags);
}

void retainHandle() {
  const Range range = anyRange();
  Handle handle = 0;
  CUresult result;
  if (range.place && chance(70))
    result = RECORD(cuMemRetainAllocationHandle, &handle, reinterpret_cast<void*>(givenRange(range)));
  else
    result = RECORD(cuMemRetainAllocationHandle, &handle, givenHost("pointer", anyPointer()));
  output("handle", handles.nameOf(handle));
  if (result == CUDA_SUCCESS) CALL(cuMemRelease, handle);
}

void askPointer() {
  const Range range = anyRange();
  if (!range.place) return;
  const CUdeviceptr address = givenRange(range);
  if (chance(50)) {
    CUdeviceptr base = 0;
    size_t bytes = 0;
    if (RECORD(cuMemGetAddressRange, &base, &bytes, address) == CUDA_SUCCESS)
      output("range", list(base - range.place->address, bytes));
    return;
  }
  uint64_t value[4] = {};
  const int attribute = 1 + belowInt(21);
  if (RECORD(cuPointerGetAttribute, value, givenAs<CUpointer_attribute>("attribute", attribute), address)) return;
  const bool isAddress =
      attribute == CU_POINTER_ATTRIBUTE_DEVICE_POINTER || attribute == CU_POINTER_ATTRIBUTE_HOST_POINTER ||
      attribute == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR || attribute == CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR;
  if (isAddress && value[0])
    output("offset", value[0] - range.place->address);
  else
    output("value", pointerAttribute(attribute, value));
}

}  // namespace

void callVirtualMemory() {
  pickOf({{2, askGranularity},
          {3, createHandle},
          {1, askHandle},
          {1, releaseHandle},
          {2, reserve},
          {1, freeReservation},
          {3, map},
          {1, unmap},
          {2, setAccess},
          {1, askAccess},
          {1, retainHandle},
          {1, exportHandle},
          {1, askPointer}});
}

void releaseVirtualMemory() {
  for (Reservation& place : reservations) {
    if (!place.live) continue;
    for (const Mapping& mapping : place.mappings) CALL(cuMemUnmap, place.address + mapping.at, mapping.bytes);
    CALL(cuMemAddressFree, place.address, place.bytes);
    place = {};
  }
  handles.releaseAll([](Handle handle) { CALL(cuMemRelease, handle); });
}

}  // namespace calls
