// Copies of one row from and to arrays.
#include "api/entry/call.h"
#include "api/memory/era.h"
#include "core/work/copy.h"

namespace vg::handlers {
namespace {

using core::Form;
using core::memory::ArrayPlace;
using core::memory::Place;

template <class To, class From>
CUresult copy(const Call& call, To destination, From source, size_t bytes) {
  VG_TRY(core::Stream & stream, call.resolve(nullptr));
  return stream.give(core::work::copyOf(destination, source, bytes), Form::Synchronous);
}

template <class To, class From>
CUresult copy(const Call& call, To destination, From source, size_t bytes, CUstream handle) {
  VG_TRY(core::Stream & stream, call.resolve(handle));
  return stream.give(core::work::copyOf(destination, source, bytes));
}

}  // namespace

CUresult cuMemcpyAtoA_v2(const Call& call, CUarray dstArray, size_t dstOffset, CUarray srcArray, size_t srcOffset,
                         size_t ByteCount) {
  return copy(call, ArrayPlace{dstArray, dstOffset}, ArrayPlace{srcArray, srcOffset}, ByteCount);
}

CUresult cuMemcpyAtoD_v2(const Call& call, CUdeviceptr dstDevice, CUarray srcArray, size_t srcOffset,
                         size_t ByteCount) {
  return copy(call, Place::device(dstDevice), ArrayPlace{srcArray, srcOffset}, ByteCount);
}

CUresult cuMemcpyDtoA_v2(const Call& call, CUarray dstArray, size_t dstOffset, CUdeviceptr srcDevice,
                         size_t ByteCount) {
  return copy(call, ArrayPlace{dstArray, dstOffset}, Place::device(srcDevice), ByteCount);
}

CUresult cuMemcpyAtoH_v2(const Call& call, void* dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount) {
  return copy(call, Place::host(dstHost), ArrayPlace{srcArray, srcOffset}, ByteCount);
}

CUresult cuMemcpyHtoA_v2(const Call& call, CUarray dstArray, size_t dstOffset, const void* srcHost, size_t ByteCount) {
  return copy(call, ArrayPlace{dstArray, dstOffset}, Place::host(srcHost), ByteCount);
}

CUresult cuMemcpyAtoHAsync_v2(const Call& call, void* dstHost, CUarray srcArray, size_t srcOffset, size_t ByteCount,
                              CUstream hStream) {
  return copy(call, Place::host(dstHost), ArrayPlace{srcArray, srcOffset}, ByteCount, hStream);
}

CUresult cuMemcpyHtoAAsync_v2(const Call& call, CUarray dstArray, size_t dstOffset, const void* srcHost,
                              size_t ByteCount, CUstream hStream) {
  return copy(call, ArrayPlace{dstArray, dstOffset}, Place::host(srcHost), ByteCount, hStream);
}

// The forms of the 32-bit era: the same with smaller numbers.

CUresult cuMemcpyAtoA(const Call& call, CUarray dstArray, unsigned int dstOffset, CUarray srcArray,
                      unsigned int srcOffset, unsigned int ByteCount) {
  VG_CHECK(checkEra(call));
  return cuMemcpyAtoA_v2(call, dstArray, dstOffset, srcArray, srcOffset, ByteCount);
}

CUresult cuMemcpyAtoD(const Call& call, CUdeviceptr_v1 dstDevice, CUarray srcArray, unsigned int srcOffset,
                      unsigned int ByteCount) {
  VG_CHECK(checkEra(call));
  return cuMemcpyAtoD_v2(call, dstDevice, srcArray, srcOffset, ByteCount);
}

CUresult cuMemcpyDtoA(const Call& call, CUarray dstArray, unsigned int dstOffset, CUdeviceptr_v1 srcDevice,
                      unsigned int ByteCount) {
  VG_CHECK(checkEra(call));
  return cuMemcpyDtoA_v2(call, dstArray, dstOffset, srcDevice, ByteCount);
}

CUresult cuMemcpyAtoH(const Call& call, void* dstHost, CUarray srcArray, unsigned int srcOffset,
                      unsigned int ByteCount) {
  VG_CHECK(checkEra(call));
  return cuMemcpyAtoH_v2(call, dstHost, srcArray, srcOffset, ByteCount);
}

CUresult cuMemcpyHtoA(const Call& call, CUarray dstArray, unsigned int dstOffset, const void* srcHost,
                      unsigned int ByteCount) {
  VG_CHECK(checkEra(call));
  return cuMemcpyHtoA_v2(call, dstArray, dstOffset, srcHost, ByteCount);
}

CUresult cuMemcpyAtoHAsync(const Call& call, void* dstHost, CUarray srcArray, unsigned int srcOffset,
                           unsigned int ByteCount, CUstream hStream) {
  VG_CHECK(checkEra(call));
  return cuMemcpyAtoHAsync_v2(call, dstHost, srcArray, srcOffset, ByteCount, hStream);
}

CUresult cuMemcpyHtoAAsync(const Call& call, CUarray dstArray, unsigned int dstOffset, const void* srcHost,
                           unsigned int ByteCount, CUstream hStream) {
  VG_CHECK(checkEra(call));
  return cuMemcpyHtoAAsync_v2(call, dstArray, dstOffset, srcHost, ByteCount, hStream);
}

}  // namespace vg::handlers
