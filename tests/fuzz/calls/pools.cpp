// Memory pools and what is allocated from them.
#include "families.h"
#include "objects.h"

namespace calls {
namespace {

struct Block {
  CUdeviceptr address;
  size_t bytes;
  int pool;
};
Block blocks[4];

CUmemoryPool defaultPool() {
  CUmemoryPool pool = nullptr;
  CALL(cuDeviceGetDefaultMemPool, &pool, 0);
  return pool;
}

Named<CUmemoryPool> anyPool() {
  const Named<CUmemoryPool> pool = pools.any();
  return pool && chance(80) ? pool : Named<CUmemoryPool>{defaultPool(), "default"};
}

CUmemLocation anyPlace() {
  CUmemLocation location{};
  location.type = static_cast<CUmemLocationType>(mostly(75, {1}, {0, 2, 3, 4, 5}));
  location.id = mostly(90, {0}, {1, -1});
  return location;
}

void createPool() {
  const int slot = pools.unused();
  if (slot < 0) return;
  CUmemPoolProps properties{};
  properties.allocType = static_cast<CUmemAllocationType>(mostly(92, {1}, {0, 2, 3}));
  properties.handleTypes = static_cast<CUmemAllocationHandleType>(chance(60) ? 0 : mostly(80, {1}, {2, 4, 8, 9}));
  properties.location = anyPlace();
  properties.maxSize = mostly<size_t>(70, {0}, {1, 1 << 20, 32 << 20, 33 << 20, size_t{1} << 50});
  properties.usage = mostly<unsigned short>(92, {0}, {1, 2, 4});
  if (wrong("reserved", 2)) properties.reserved[3] = 1;
  describe("properties", list(properties.allocType, properties.handleTypes) + "," + text(properties.location) + "," +
                             list(properties.maxSize, int{properties.usage}));
  CUmemoryPool pool = nullptr;
  if (RECORD(cuMemPoolCreate, out("pool", &pool, 1), out("properties", &properties, 1)) == CUDA_SUCCESS)
    pools.put(slot, pool);
}

void destroyPool() {
  const Named<CUmemoryPool> pool = pools.any();
  if (!pool || chance(60)) return;
  for (const Block& block : blocks)
    if (block.address && block.pool == pool.slot) return;
  if (RECORD(cuMemPoolDestroy, given("pool", pool)) == CUDA_SUCCESS) pools.remove(pool);
}

int anyAttribute() { return chance(96) ? 1 + belowInt(8) : oneOf({0, 9}); }

void askAttribute() {
  const Named<CUmemoryPool> pool = anyPool();
  const int attribute = anyAttribute();
  uint64_t value = 0;
  RECORD(cuMemPoolGetAttribute, given("pool", pool), givenAs<CUmemPool_attribute>("attribute", attribute),
         static_cast<void*>(&value));
  const bool isFlag = attribute <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES;
  if (isFlag)
    output("value", static_cast<int>(value));
  else if (attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD)
    output("value", value);
  else if (pool)
    output("value", value ? "some" : "0");  // how much is the library's affair
}

void setAttribute() {
  const Named<CUmemoryPool> pool = anyPool();
  uint64_t value = chance(60) ? below(3) : oneOf<uint64_t>({1 << 20, ~uint64_t{0}, 5});
  describe("value", text(value));
  RECORD(cuMemPoolSetAttribute, given("pool", pool), givenAs<CUmemPool_attribute>("attribute", anyAttribute()),
         static_cast<void*>(&value));
  if (pool) return;
  int one = 1;  // the default pool outlives the sequence
  for (int flag = 1; flag <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES; ++flag)
    CALL(cuMemPoolSetAttribute, pool.object, static_cast<CUmemPool_attribute>(flag), &one);
  uint64_t none = 0;
  CALL(cuMemPoolSetAttribute, pool.object, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &none);
}

void trimPool() {
  RECORD(cuMemPoolTrimTo, given("pool", anyPool()), given("keep", oneOf<size_t>({0, 1, 1 << 20, ~size_t{0}})));
}

void setAccess() {
  CUmemAccessDesc access{};
  access.location = anyPlace();
  access.flags = static_cast<CUmemAccess_flags>(oneOf({0, 1, 3, 3, 2, 5}));
  describe("access", text(access.location) + "=" + text(access.flags));
  RECORD(cuMemPoolSetAccess, given("pool", anyPool()), &access, given("count", mostly<size_t>(92, {1}, {0})));
}

void askAccess() {
  CUmemLocation location = anyPlace();
  CUmemAccess_flags flags{};
  describe("location", text(location));
  RECORD(cuMemPoolGetAccess, &flags, given("pool", anyPool()), &location);
  output("flags", flags);
}

void allocateFromPool() {
  Block& block = blocks[below(std::size(blocks))];
  const Named<CUmemoryPool> pool = pools.any();
  if (block.address || !pool) return;
  size_t bytes = 1 + anySize();
  if (wrong("size", 5)) bytes = oneOf<size_t>({0, 40 << 20});
  const CUmemoryPool from = wrong("no pool", 2) ? nullptr : pool.object;
  describe("pool", pool.name);
  CUdeviceptr address = 0;
  if (RECORD(cuMemAllocFromPoolAsync, out("address", &address), given("bytes", bytes), from,
             given("stream", anyStream())) == CUDA_SUCCESS)
    block = {address, bytes, pool.slot};
  settle();
}

void freeBlock() {
  Block& block = blocks[below(std::size(blocks))];
  if (!block.address) return;
  const CUdeviceptr address = block.address + (wrong("inside", 8) ? block.bytes / 2 : 0);
  if (RECORD(cuMemFreeAsync, address, given("stream", anyStream())) == CUDA_SUCCESS) block = {};
  settle();
}

void askBlock() {
  const Block& block = blocks[below(std::size(blocks))];
  if (!block.address) return;
  const size_t offset = given("offset", chance(60) ? 0 : below(block.bytes));
  const int attribute = 1 + belowInt(21);
  uint64_t value[4] = {};
  if (RECORD(cuPointerGetAttribute, value, givenAs<CUpointer_attribute>("attribute", attribute),
             block.address + offset))
    return;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return output("pool", pools.nameOf(reinterpret_cast<CUmemoryPool>(value[0])));
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return output("offset", value[0] ? value[0] - block.address : 0);
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:  // how pools map is the library's affair
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      return;
    default:
      return output("value", pointerAttribute(attribute, value));
  }
}

void askPoolOfPlace() {
  CUmemLocation location = anyPlace();
  describe("location", text(location));
  const auto type = givenAs<CUmemAllocationType>("type", mostly(80, {1}, {0, 2, 3}));
  CUmemoryPool pool = nullptr;
  if (chance(50))
    RECORD(cuMemGetDefaultMemPool, &pool, &location, type);
  else
    RECORD(cuMemGetMemPool, &pool, &location, type);
  output("pool", pools.nameOf(pool));
}

}  // namespace

void callPools() {
  pickOf({{2, createPool},
          {1, destroyPool},
          {2, askAttribute},
          {2, setAttribute},
          {1, trimPool},
          {1, setAccess},
          {1, askAccess},
          {3, allocateFromPool},
          {1, freeBlock},
          {1, askBlock},
          {1, askPoolOfPlace}});
}

void releasePools() {
  for (Block& block : blocks) {
    if (block.address) CALL(cuMemFreeAsync, block.address, nullptr);
    block = {};
  }
  CALL(cuCtxSynchronize);
  pools.releaseAll([](CUmemoryPool pool) { CALL(cuMemPoolDestroy, pool); });
}

}  // namespace calls
