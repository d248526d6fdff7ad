// The functions of the 32-bit era: addresses and sizes are 32-bit numbers. They belong to contexts of that time; in any
// other the vendor's driver answers CUDA_ERROR_INVALID_CONTEXT, and so do we. In a context of that
// time they do what their successors do, and an address that has no 32-bit form cannot be handed out.
#include "api/memory/era.h"

#include "api/entry/call.h"
#include "core/contexts/current_context.h"
#include "core/memory/memory.h"
#include "core/memory/memory_below_4gib.h"

namespace vg::handlers {
namespace {

// Not through aliases of the caller's: outputs are zero when the call fails.
template <class... Out>
void clear(Out*... out) {
  ((out ? void(*out = 0) : void()), ...);
}

CUresult narrow(CUdeviceptr address, CUdeviceptr_v1* out) {
  if (address >> 32) return fail(CUDA_ERROR_OUT_OF_MEMORY, "address %#llx has no 32-bit form", address);
  *out = static_cast<CUdeviceptr_v1>(address);
  return CUDA_SUCCESS;
}

CUDA_MEMCPY2D widen(const CUDA_MEMCPY2D_v1& box) {
  return {box.srcXInBytes, box.srcY,        box.srcMemoryType, box.srcHost,       box.srcDevice, box.srcArray,
          box.srcPitch,    box.dstXInBytes, box.dstY,          box.dstMemoryType, box.dstHost,   box.dstDevice,
          box.dstArray,    box.dstPitch,    box.WidthInBytes,  box.Height};
}

CUDA_MEMCPY3D widen(const CUDA_MEMCPY3D_v1& box) {
  CUDA_MEMCPY3D wide{};
  wide.srcXInBytes = box.srcXInBytes;
  wide.srcY = box.srcY;
  wide.srcZ = box.srcZ;
  wide.srcLOD = box.srcLOD;
  wide.srcMemoryType = box.srcMemoryType;
  wide.srcHost = box.srcHost;
  wide.srcDevice = box.srcDevice;
  wide.srcArray = box.srcArray;
  wide.srcPitch = box.srcPitch;
  wide.srcHeight = box.srcHeight;
  wide.dstXInBytes = box.dstXInBytes;
  wide.dstY = box.dstY;
  wide.dstZ = box.dstZ;
  wide.dstLOD = box.dstLOD;
  wide.dstMemoryType = box.dstMemoryType;
  wide.dstHost = box.dstHost;
  wide.dstDevice = box.dstDevice;
  wide.dstArray = box.dstArray;
  wide.dstPitch = box.dstPitch;
  wide.dstHeight = box.dstHeight;
  wide.WidthInBytes = box.WidthInBytes;
  wide.Height = box.Height;
  wide.Depth = box.Depth;
  return wide;
}

}  // namespace

CUresult cuMemAlloc(const Call& call, CUdeviceptr_v1* dptr, unsigned int bytesize) {
  clear(dptr);
  VG_CHECK(checkEra(call));
  if (!dptr) return missing("dptr");
  if (!bytesize) return fail(CUDA_ERROR_INVALID_VALUE, "an allocation of 0 bytes");
  VG_TRY(const CUdeviceptr address, core::memory::allocateLow(*call.context, bytesize));
  return narrow(address, dptr);
}

CUresult cuMemAllocPitch(const Call& call, CUdeviceptr_v1* dptr, unsigned int* pPitch, unsigned int WidthInBytes,
                         unsigned int Height, unsigned int ElementSizeBytes) {
  clear(dptr, pPitch);
  VG_CHECK(checkEra(call));
  if (!dptr || !pPitch) return missing("dptr or pPitch");
  VG_TRY(const core::memory::PitchedSize size, core::memory::pitchedSize(WidthInBytes, Height, ElementSizeBytes));
  VG_TRY(const CUdeviceptr address, core::memory::allocateLow(*call.context, size.bytes));
  *pPitch = static_cast<unsigned>(size.pitch);
  return narrow(address, dptr);
}

// Without a context it does what its successor does.
CUresult cuMemFree(const Call& call, CUdeviceptr_v1 dptr) {
  if (core::threadState.current) {
    VG_TRY(core::Context & current, core::currentContext());
    VG_CHECK(checkEra({&current, call.stream}));
  }
  return cuMemFree_v2(call, dptr);
}

CUresult cuMemGetAddressRange(const Call& call, CUdeviceptr_v1* pbase, unsigned int* psize, CUdeviceptr_v1 dptr) {
  clear(pbase, psize);
  VG_CHECK(checkEra(call));
  CUdeviceptr base = 0;
  size_t size = 0;
  VG_CHECK(cuMemGetAddressRange_v2(call, &base, &size, dptr));
  if (psize) *psize = static_cast<unsigned>(size);
  return pbase ? narrow(base, pbase) : CUDA_SUCCESS;
}

CUresult cuMemHostGetDevicePointer(const Call& call, CUdeviceptr_v1* pdptr, void* p, unsigned int Flags) {
  clear(pdptr);
  VG_CHECK(checkEra(call));
  if (!pdptr) return missing("pdptr");
  CUdeviceptr address = 0;
  VG_CHECK(cuMemHostGetDevicePointer_v2(call, &address, p, Flags));
  return narrow(address, pdptr);
}

CUresult cuMemcpyHtoD(const Call& call, CUdeviceptr_v1 dstDevice, const void* srcHost, unsigned int ByteCount) {
  VG_CHECK(checkEra(call));
  return cuMemcpyHtoD_v2(call, dstDevice, srcHost, ByteCount);
}

CUresult cuMemcpyDtoH(const Call& call, void* dstHost, CUdeviceptr_v1 srcDevice, unsigned int ByteCount) {
  VG_CHECK(checkEra(call));
  return cuMemcpyDtoH_v2(call, dstHost, srcDevice, ByteCount);
}

CUresult cuMemcpyDtoD(const Call& call, CUdeviceptr_v1 dstDevice, CUdeviceptr_v1 srcDevice, unsigned int ByteCount) {
  VG_CHECK(checkEra(call));
  return cuMemcpyDtoD_v2(call, dstDevice, srcDevice, ByteCount);
}

CUresult cuMemcpyHtoDAsync(const Call& call, CUdeviceptr_v1 dstDevice, const void* srcHost, unsigned int ByteCount,
                           CUstream hStream) {
  VG_CHECK(checkEra(call));
  return cuMemcpyHtoDAsync_v2(call, dstDevice, srcHost, ByteCount, hStream);
}

CUresult cuMemcpyDtoHAsync(const Call& call, void* dstHost, CUdeviceptr_v1 srcDevice, unsigned int ByteCount,
                           CUstream hStream) {
  VG_CHECK(checkEra(call));
  return cuMemcpyDtoHAsync_v2(call, dstHost, srcDevice, ByteCount, hStream);
}

CUresult cuMemcpyDtoDAsync(const Call& call, CUdeviceptr_v1 dstDevice, CUdeviceptr_v1 srcDevice, unsigned int ByteCount,
                           CUstream hStream) {
  VG_CHECK(checkEra(call));
  return cuMemcpyDtoDAsync_v2(call, dstDevice, srcDevice, ByteCount, hStream);
}

CUresult cuMemcpy2D(const Call& call, const CUDA_MEMCPY2D_v1* pCopy) {
  VG_CHECK(checkEra(call));
  if (!pCopy) return missing("pCopy");
  const CUDA_MEMCPY2D box = widen(*pCopy);
  return cuMemcpy2D_v2(call, &box);
}

CUresult cuMemcpy2DUnaligned(const Call& call, const CUDA_MEMCPY2D_v1* pCopy) {
  VG_CHECK(checkEra(call));
  if (!pCopy) return missing("pCopy");
  const CUDA_MEMCPY2D box = widen(*pCopy);
  return cuMemcpy2DUnaligned_v2(call, &box);
}

CUresult cuMemcpy2DAsync(const Call& call, const CUDA_MEMCPY2D_v1* pCopy, CUstream hStream) {
  VG_CHECK(checkEra(call));
  if (!pCopy) return missing("pCopy");
  const CUDA_MEMCPY2D box = widen(*pCopy);
  return cuMemcpy2DAsync_v2(call, &box, hStream);
}

CUresult cuMemcpy3D(const Call& call, const CUDA_MEMCPY3D_v1* pCopy) {
  VG_CHECK(checkEra(call));
  if (!pCopy) return missing("pCopy");
  const CUDA_MEMCPY3D box = widen(*pCopy);
  return cuMemcpy3D_v2(call, &box);
}

CUresult cuMemcpy3DAsync(const Call& call, const CUDA_MEMCPY3D_v1* pCopy, CUstream hStream) {
  VG_CHECK(checkEra(call));
  if (!pCopy) return missing("pCopy");
  const CUDA_MEMCPY3D box = widen(*pCopy);
  return cuMemcpy3DAsync_v2(call, &box, hStream);
}

CUresult cuMemsetD8(const Call& call, CUdeviceptr_v1 dstDevice, unsigned char uc, unsigned int N) {
  VG_CHECK(checkEra(call));
  return cuMemsetD8_v2(call, dstDevice, uc, N);
}

CUresult cuMemsetD16(const Call& call, CUdeviceptr_v1 dstDevice, unsigned short us, unsigned int N) {
  VG_CHECK(checkEra(call));
  return cuMemsetD16_v2(call, dstDevice, us, N);
}

CUresult cuMemsetD32(const Call& call, CUdeviceptr_v1 dstDevice, unsigned int ui, unsigned int N) {
  VG_CHECK(checkEra(call));
  return cuMemsetD32_v2(call, dstDevice, ui, N);
}

CUresult cuMemsetD2D8(const Call& call, CUdeviceptr_v1 dstDevice, unsigned int dstPitch, unsigned char uc,
                      unsigned int Width, unsigned int Height) {
  VG_CHECK(checkEra(call));
  return cuMemsetD2D8_v2(call, dstDevice, dstPitch, uc, Width, Height);
}

CUresult cuMemsetD2D16(const Call& call, CUdeviceptr_v1 dstDevice, unsigned int dstPitch, unsigned short us,
                       unsigned int Width, unsigned int Height) {
  VG_CHECK(checkEra(call));
  return cuMemsetD2D16_v2(call, dstDevice, dstPitch, us, Width, Height);
}

CUresult cuMemsetD2D32(const Call& call, CUdeviceptr_v1 dstDevice, unsigned int dstPitch, unsigned int ui,
                       unsigned int Width, unsigned int Height) {
  VG_CHECK(checkEra(call));
  return cuMemsetD2D32_v2(call, dstDevice, dstPitch, ui, Width, Height);
}

}  // namespace vg::handlers
