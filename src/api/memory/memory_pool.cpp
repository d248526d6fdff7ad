// Stream-ordered allocation and memory pools.
#include "core/pools/memory_pool.h"
#include "api/entry/call.h"
#include "base/raw_enum.h"
#include "core/pools/pool_registry.h"
#include "core/pools/pool_sharing.h"
#include "core/process/device.h"

namespace vg::handlers {
namespace {

namespace memory = core::memory;

// The code of these calls for a device that there is not.
Result<core::Device&> deviceOf(CUdevice number) {
  Result<core::Device&> device = core::findDevice(number);
  if (!device) return CUDA_ERROR_INVALID_VALUE;
  return *device;
}

}  // namespace

CUresult cuMemAllocAsync(const Call& call, CUdeviceptr* dptr, size_t bytesize, CUstream hStream) {
  if (!dptr) return missing("dptr");
  VG_TRY(core::Stream & stream, call.resolve(hStream));
  *dptr = 0;
  return stream.give(core::work::Allocation{bytesize, nullptr, dptr});
}

CUresult cuMemAllocFromPoolAsync(const Call& call, CUdeviceptr* dptr, size_t bytesize, CUmemoryPool pool,
                                 CUstream hStream) {
  if (!dptr) return missing("dptr");
  VG_TRY(core::Stream & stream, call.resolve(hStream));
  return stream.give(core::work::Allocation{bytesize, pool, dptr, true});
}

CUresult cuMemFreeAsync(const Call& call, CUdeviceptr dptr, CUstream hStream) {
  VG_TRY(core::Stream & stream, call.resolve(hStream));
  return stream.give(core::work::Free{dptr});
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

CUresult cuMemPoolTrimTo(const Call&, CUmemoryPool pool, size_t minBytesToKeep) {
  VG_TRY(memory::Pool & found, memory::findPool(pool));
  return memory::trimPool(found, minBytesToKeep);
}

CUresult cuMemPoolSetAccess(const Call&, CUmemoryPool pool, const CUmemAccessDesc* map, size_t count) {
  if (!map) return missing("map");
  VG_TRY(memory::Pool & found, memory::findPool(pool));
  return memory::setPoolAccess(found, map, count);
}

CUresult cuMemPoolGetAccess(const Call&, CUmemAccess_flags* flags, CUmemoryPool memPool, CUmemLocation* location) {
  if (!flags || !location) return missing("flags or location");
  VG_TRY(memory::Pool & found, memory::findPool(memPool));
  VG_TRY(*flags, memory::poolAccess(found, *location));
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetDefaultMemPool(const Call&, CUmemoryPool* pool_out, CUdevice dev) {
  if (!pool_out) return missing("pool_out");
  VG_TRY(core::Device & device, core::findDevice(dev));
  VG_TRY(*pool_out, memory::defaultPool(memory::placeOf(device)));
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetMemPool(const Call&, CUmemoryPool* pool, CUdevice dev) {
  if (!pool) return missing("pool");
  VG_TRY(core::Device & device, deviceOf(dev));
  VG_TRY(*pool, memory::currentPool(memory::placeOf(device)));
  return CUDA_SUCCESS;
}

CUresult cuDeviceSetMemPool(const Call&, CUdevice dev, CUmemoryPool pool) {
  VG_TRY(core::Device & device, deviceOf(dev));
  return memory::setCurrentPool(memory::placeOf(device), pool);
}

CUresult cuMemGetDefaultMemPool(const Call&, CUmemoryPool* pool_out, CUmemLocation* location,
                                CUmemAllocationType type) {
  if (!pool_out || !location) return missing("pool_out or location");
  VG_TRY(*pool_out, memory::defaultPool({*location, type}));
  return CUDA_SUCCESS;
}

CUresult cuMemGetMemPool(const Call&, CUmemoryPool* pool, CUmemLocation* location, CUmemAllocationType type) {
  if (!pool || !location) return missing("pool or location");
  VG_TRY(*pool, memory::currentPool({*location, type}));
  return CUDA_SUCCESS;
}

CUresult cuMemSetMemPool(const Call&, CUmemLocation* location, CUmemAllocationType type, CUmemoryPool pool) {
  if (!location) return missing("location");
  return memory::setCurrentPool({*location, type}, pool);
}

CUresult cuMemPoolExportToShareableHandle(const Call&, void* handle_out, CUmemoryPool pool,
                                          CUmemAllocationHandleType handleType, unsigned long long flags) {
  if (!handle_out) return missing("handle_out");
  if (flags) return fail(CUDA_ERROR_INVALID_VALUE, "flags %#llx are reserved", flags);
  VG_TRY(memory::Pool & found, memory::findPool(pool));
  VG_TRY(*static_cast<int*>(handle_out), memory::exportPool(found, handleType));
  return CUDA_SUCCESS;
}

CUresult cuMemPoolImportFromShareableHandle(const Call&, CUmemoryPool* pool_out, void* handle,
                                            CUmemAllocationHandleType handleType, unsigned long long flags) {
  if (!pool_out) return missing("pool_out");
  if (flags) return fail(CUDA_ERROR_INVALID_VALUE, "flags %#llx are reserved", flags);
  if (!handle) return missing("handle");
  *pool_out = nullptr;
  const int descriptor = static_cast<int>(reinterpret_cast<intptr_t>(handle));
  VG_TRY(*pool_out, memory::importPool(descriptor, handleType));
  return CUDA_SUCCESS;
}

CUresult cuMemPoolExportPointer(const Call&, CUmemPoolPtrExportData* shareData_out, CUdeviceptr ptr) {
  if (!shareData_out) return missing("shareData_out");
  VG_TRY(*shareData_out, memory::exportPoolPointer(ptr));
  return CUDA_SUCCESS;
}

CUresult cuMemPoolImportPointer(const Call&, CUdeviceptr* ptr_out, CUmemoryPool pool,
                                CUmemPoolPtrExportData* shareData) {
  if (!ptr_out || !shareData) return missing("ptr_out or shareData");
  VG_TRY(memory::Pool & found, memory::findPool(pool));
  VG_TRY(*ptr_out, memory::importPoolPointer(found, *shareData));
  return CUDA_SUCCESS;
}

}  // namespace vg::handlers
