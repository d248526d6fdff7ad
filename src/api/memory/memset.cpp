// Fills of 8, 16 and 32 bits, of one row and of several.
#include "api/entry/call.h"
#include "core/work/copy.h"

namespace vg::handlers {
namespace {

using core::Form;

CUresult row(const Call& call, CUdeviceptr destination, uint32_t value, uint32_t elementSize, size_t count,
             CUstream handle, Form form) {
  VG_TRY(core::Stream & stream, call.resolve(handle));
  return stream.give(core::work::fillOf(destination, 0, value, elementSize, count, 1), form);
}

CUresult rows(const Call& call, CUdeviceptr destination, size_t pitch, uint32_t value, uint32_t elementSize,
              size_t width, size_t height, CUstream handle, Form form) {
  VG_TRY(core::Stream & stream, call.resolve(handle));
  return stream.give(core::work::fillOf(destination, pitch, value, elementSize, width, height), form);
}

}  // namespace

CUresult cuMemsetD8_v2(const Call& call, CUdeviceptr dstDevice, unsigned char uc, size_t N) {
  return row(call, dstDevice, uc, 1, N, nullptr, Form::Synchronous);
}

CUresult cuMemsetD8Async(const Call& call, CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream) {
  return row(call, dstDevice, uc, 1, N, hStream, Form::Asynchronous);
}

CUresult cuMemsetD2D8_v2(const Call& call, CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width,
                         size_t Height) {
  return rows(call, dstDevice, dstPitch, uc, 1, Width, Height, nullptr, Form::Synchronous);
}

CUresult cuMemsetD2D8Async(const Call& call, CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width,
                           size_t Height, CUstream hStream) {
  return rows(call, dstDevice, dstPitch, uc, 1, Width, Height, hStream, Form::Asynchronous);
}

CUresult cuMemsetD16_v2(const Call& call, CUdeviceptr dstDevice, unsigned short us, size_t N) {
  return row(call, dstDevice, us, 2, N, nullptr, Form::Synchronous);
}

CUresult cuMemsetD16Async(const Call& call, CUdeviceptr dstDevice, unsigned short us, size_t N, CUstream hStream) {
  return row(call, dstDevice, us, 2, N, hStream, Form::Asynchronous);
}

CUresult cuMemsetD2D16_v2(const Call& call, CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width,
                          size_t Height) {
  return rows(call, dstDevice, dstPitch, us, 2, Width, Height, nullptr, Form::Synchronous);
}

CUresult cuMemsetD2D16Async(const Call& call, CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width,
                            size_t Height, CUstream hStream) {
  return rows(call, dstDevice, dstPitch, us, 2, Width, Height, hStream, Form::Asynchronous);
}

CUresult cuMemsetD32_v2(const Call& call, CUdeviceptr dstDevice, unsigned int ui, size_t N) {
  return row(call, dstDevice, ui, 4, N, nullptr, Form::Synchronous);
}

CUresult cuMemsetD32Async(const Call& call, CUdeviceptr dstDevice, unsigned int ui, size_t N, CUstream hStream) {
  return row(call, dstDevice, ui, 4, N, hStream, Form::Asynchronous);
}

CUresult cuMemsetD2D32_v2(const Call& call, CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width,
                          size_t Height) {
  return rows(call, dstDevice, dstPitch, ui, 4, Width, Height, nullptr, Form::Synchronous);
}

CUresult cuMemsetD2D32Async(const Call& call, CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width,
                            size_t Height, CUstream hStream) {
  return rows(call, dstDevice, dstPitch, ui, 4, Width, Height, hStream, Form::Asynchronous);
}

}  // namespace vg::handlers
