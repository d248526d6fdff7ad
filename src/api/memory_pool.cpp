// Stream-ordered allocation and memory pools.
#include "core/memory_pool.h"
#include "api/call.h"
#include "base/raw_enum.h"
#include "core/device.h"

namespace vg::handlers {
namespace {

namespace memory = core::memory;

CUresult missing(const char* argument) { return fail(CUDA_ERROR_INVALID_VALUE, "%s is null", argument); }

// The device of a location that a device pool may be asked for.
Result<core::Device&> deviceOf(const CUmemLocation* location, CUmemAllocationType type) {
  if (!location) return missing("location");
  if (const int kind = rawValue(location->type);
      kind != CU_MEM_LOCATION_TYPE_DEVICE || type != CU_MEM_ALLOCATION_TYPE_PINNED)
    return unsupported("a pool of location type %d and allocation type %d", kind, static_cast<int>(type));
  return core::findDevice(location->id);
}

}  // namespace

CUresult cuMemAllocAsync(const Call& call, CUdeviceptr* dptr, size_t bytesize, CUstream hStream) {
  if (!dptr) return missing("dptr");
  VG_TRY(core::Stream & stream, call.resolve(hStream));
  *dptr = 0;
  VG_TRY(*dptr, memory::allocateAsync(stream, bytesize));
  return CUDA_SUCCESS;
}

CUresult cuMemAllocFromPoolAsync(const Call& call, CUdeviceptr* dptr, size_t bytesize, CUmemoryPool pool,
                                 CUstream hStream) {
  if (!dptr) return missing("dptr");
  VG_TRY(core::Stream & stream, call.resolve(hStream));
  VG_TRY(memory::Pool & from, memory::findPool(pool));
  VG_TRY(*dptr, memory::allocateAsync(stream, bytesize, &from));
  return CUDA_SUCCESS;
}

CUresult cuMemFreeAsync(const Call& call, CUdeviceptr dptr, CUstream hStream) {
  VG_TRY(core::Stream & stream, call.resolve(hStream));
  if (!dptr) return CUDA_SUCCESS;
  return memory::releaseAsync(stream, dptr);
}

CUresult cuMemPoolCreate(const Call&, CUmemoryPool* pool, const CUmemPoolProps* poolProps) {
  if (!pool || !poolProps) return missing("pool or poolProps");
  VG_TRY(*pool, memory::createPool(*poolProps));
  return CUDA_SUCCESS;
}

CUresult cuMemPoolDestroy(const Call&, CUmemoryPool pool) { return memory::destroyPool(pool); }

CUresult cuMemPoolGetAttribute(const Call&, CUmemoryPool pool, CUmemPool_attribute attr, void* value) {
  if (!value) return missing("value");
  VG_TRY(memory::Pool & found, memory::findPool(pool));
  return memory::poolAttribute(found, attr, value);
}

CUresult cuMemPoolSetAttribute(const Call&, CUmemoryPool pool, CUmemPool_attribute attr, void* value) {
  if (!value) return missing("value");
  VG_TRY(memory::Pool & found, memory::findPool(pool));
  return memory::setPoolAttribute(found, attr, value);
}

CUresult cuMemPoolTrimTo(const Call&, CUmemoryPool pool, size_t) {
  VG_TRY(memory::Pool & found, memory::findPool(pool));
  return memory::trimPool(found);
}

// Every device of an emulated machine reaches every pool.
CUresult cuMemPoolSetAccess(const Call&, CUmemoryPool pool, const CUmemAccessDesc* map, size_t count) {
  if (!map && count) return missing("map");
  VG_CHECK(memory::findPool(pool));
  for (size_t i = 0; i < count; ++i) {
    if (const int type = rawValue(map[i].location.type); type != CU_MEM_LOCATION_TYPE_DEVICE)
      return fail(CUDA_ERROR_INVALID_VALUE, "location type %d", type);
    VG_CHECK(core::findDevice(map[i].location.id));
  }
  return CUDA_SUCCESS;
}

CUresult cuMemPoolGetAccess(const Call&, CUmemAccess_flags* flags, CUmemoryPool memPool, CUmemLocation* location) {
  if (!flags || !location) return missing("flags or location");
  VG_CHECK(memory::findPool(memPool));
  VG_CHECK(deviceOf(location, CU_MEM_ALLOCATION_TYPE_PINNED));
  *flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetDefaultMemPool(const Call&, CUmemoryPool* pool_out, CUdevice dev) {
  if (!pool_out) return missing("pool_out");
  VG_TRY(core::Device & device, core::findDevice(dev));
  *pool_out = memory::defaultPool(device);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetMemPool(const Call&, CUmemoryPool* pool, CUdevice dev) {
  if (!pool) return missing("pool");
  VG_TRY(core::Device & device, core::findDevice(dev));
  *pool = memory::currentPool(device);
  return CUDA_SUCCESS;
}

CUresult cuDeviceSetMemPool(const Call&, CUdevice dev, CUmemoryPool pool) {
  VG_TRY(core::Device & device, core::findDevice(dev));
  return memory::setCurrentPool(device, pool);
}

CUresult cuMemGetDefaultMemPool(const Call&, CUmemoryPool* pool_out, CUmemLocation* location,
                                CUmemAllocationType type) {
  if (!pool_out) return missing("pool_out");
  VG_TRY(core::Device & device, deviceOf(location, type));
  *pool_out = memory::defaultPool(device);
  return CUDA_SUCCESS;
}

CUresult cuMemGetMemPool(const Call&, CUmemoryPool* pool, CUmemLocation* location, CUmemAllocationType type) {
  if (!pool) return missing("pool");
  VG_TRY(core::Device & device, deviceOf(location, type));
  *pool = memory::currentPool(device);
  return CUDA_SUCCESS;
}

CUresult cuMemSetMemPool(const Call&, CUmemLocation* location, CUmemAllocationType type, CUmemoryPool pool) {
  VG_TRY(core::Device & device, deviceOf(location, type));
  return memory::setCurrentPool(device, pool);
}

}  // namespace vg::handlers
