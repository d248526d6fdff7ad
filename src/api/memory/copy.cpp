// Copies of linear memory: one row, boxes, between devices.
#include "core/work/copy.h"
#include "api/entry/call.h"
#include "base/raw_enum.h"
#include "core/contexts/current_context.h"
#include "core/work/copy_batch.h"

namespace vg::handlers {
namespace {

using core::Form;
using core::memory::Place;
using core::work::Row;

// The functions without a stream use the default one and return when the copy is done.
CUresult linear(const Call& call, Place destination, Place source, size_t bytes) {
  VG_TRY(core::Stream & stream, call.resolve(nullptr));
  return stream.give(Row{destination, source, bytes}, Form::Synchronous);
}

CUresult linear(const Call& call, Place destination, Place source, size_t bytes, CUstream handle) {
  VG_TRY(core::Stream & stream, call.resolve(handle));
  return stream.give(Row{destination, source, bytes});
}

template <class Box>
CUresult box(const Call& call, const Box* pCopy, CUstream handle, Form form) {
  if (!pCopy) return missing("pCopy");
  VG_TRY(core::Stream & stream, call.resolve(handle));
  return stream.give(core::work::copyOf(*pCopy), form);
}

CUresult boxBetweenContexts(const Call& call, const CUDA_MEMCPY3D_PEER& box, CUstream handle, Form form) {
  VG_TRY(core::Stream & stream, call.resolve(handle));
  VG_CHECK(stream.mustRun("a copy between contexts"));
  return stream.give(core::work::copyOf(box), form);
}

// A synchronous copy between contexts comes after what their default streams have to do.
CUresult awaitContext(CUcontext handle) {
  if (!handle) return CUDA_SUCCESS;
  VG_TRY(core::Context & context, core::findContext(handle));
  return &context == core::threadState.current ? CUDA_SUCCESS : context.legacyStream().synchronize();
}

// Addresses say which device is meant, so the contexts matter only for the order; null stands for any.
CUresult awaitContexts(CUcontext destination, CUcontext source) {
  VG_CHECK(awaitContext(destination));
  return awaitContext(source);
}

CUresult checkContexts(CUcontext destination, CUcontext source) {
  if (destination) VG_CHECK(core::findContext(destination));
  if (source) VG_CHECK(core::findContext(source));
  return CUDA_SUCCESS;
}

// Runs copy(stream, culprit). What goes wrong before it leaves failIdx alone.
template <class Copy>
CUresult batch(const Call& call, CUstream handle, size_t* failIdx, Copy copy) {
  if (!core::threadState.current) return fail(CUDA_ERROR_INVALID_VALUE, "a batch of copies without a context");
  VG_TRY(core::Stream & stream, call.resolve(handle));
  VG_CHECK(core::memory::checkBatchStream(stream));
  size_t culprit = core::memory::kWholeBatch;
  const CUresult result = copy(stream, culprit);
  if (failIdx) *failIdx = culprit;
  return result;
}

CUresult linearBatch(const Call& call, const core::memory::LinearBatch& copies, size_t* failIdx, CUstream handle) {
  return batch(call, handle, failIdx,
               [&](core::Stream& stream, size_t& culprit) { return core::memory::copyBatch(stream, copies, culprit); });
}

CUresult boxBatch(const Call& call, size_t count, const CUDA_MEMCPY3D_BATCH_OP* boxes, size_t* failIdx,
                  unsigned long long flags, CUstream handle) {
  return batch(call, handle, failIdx, [&](core::Stream& stream, size_t& culprit) {
    if (flags) return fail(CUDA_ERROR_INVALID_VALUE, "flags %#llx are reserved", flags);
    return core::memory::copyBatch(stream, boxes, count, culprit);
  });
}

}  // namespace

CUresult cuMemcpy(const Call& call, CUdeviceptr dst, CUdeviceptr src, size_t ByteCount) {
  return linear(call, Place::unified(dst), Place::unified(src), ByteCount);
}

CUresult cuMemcpyAsync(const Call& call, CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream) {
  return linear(call, Place::unified(dst), Place::unified(src), ByteCount, hStream);
}

CUresult cuMemcpyHtoD_v2(const Call& call, CUdeviceptr dstDevice, const void* srcHost, size_t ByteCount) {
  return linear(call, Place::device(dstDevice), Place::host(srcHost), ByteCount);
}

CUresult cuMemcpyHtoDAsync_v2(const Call& call, CUdeviceptr dstDevice, const void* srcHost, size_t ByteCount,
                              CUstream hStream) {
  return linear(call, Place::device(dstDevice), Place::host(srcHost), ByteCount, hStream);
}

CUresult cuMemcpyDtoH_v2(const Call& call, void* dstHost, CUdeviceptr srcDevice, size_t ByteCount) {
  return linear(call, Place::host(dstHost), Place::device(srcDevice), ByteCount);
}

CUresult cuMemcpyDtoHAsync_v2(const Call& call, void* dstHost, CUdeviceptr srcDevice, size_t ByteCount,
                              CUstream hStream) {
  return linear(call, Place::host(dstHost), Place::device(srcDevice), ByteCount, hStream);
}

CUresult cuMemcpyDtoD_v2(const Call& call, CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount) {
  return linear(call, Place::device(dstDevice), Place::device(srcDevice), ByteCount);
}

CUresult cuMemcpyDtoDAsync_v2(const Call& call, CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount,
                              CUstream hStream) {
  return linear(call, Place::device(dstDevice), Place::device(srcDevice), ByteCount, hStream);
}

CUresult cuMemcpyPeer(const Call& call, CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                      CUcontext srcContext, size_t ByteCount) {
  VG_CHECK(awaitContexts(dstContext, srcContext));
  VG_TRY(core::Stream & stream, call.resolve(nullptr));
  return stream.give(Row{Place::device(dstDevice), Place::device(srcDevice), ByteCount}, Form::Synchronous);
}

CUresult cuMemcpyPeerAsync(const Call& call, CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                           CUcontext srcContext, size_t ByteCount, CUstream hStream) {
  VG_CHECK(checkContexts(dstContext, srcContext));
  VG_TRY(core::Stream & stream, call.resolve(hStream));
  VG_CHECK(stream.mustRun("cuMemcpyPeerAsync"));
  return stream.give(Row{Place::device(dstDevice), Place::device(srcDevice), ByteCount});
}

CUresult cuMemcpy2D_v2(const Call& call, const CUDA_MEMCPY2D* pCopy) {
  return box(call, pCopy, nullptr, Form::Synchronous);
}

// Every pitch is as good as any other here, so the unaligned form is the same function.
CUresult cuMemcpy2DUnaligned_v2(const Call& call, const CUDA_MEMCPY2D* pCopy) {
  return box(call, pCopy, nullptr, Form::Synchronous);
}

CUresult cuMemcpy2DAsync_v2(const Call& call, const CUDA_MEMCPY2D* pCopy, CUstream hStream) {
  return box(call, pCopy, hStream, Form::Asynchronous);
}

CUresult cuMemcpy3D_v2(const Call& call, const CUDA_MEMCPY3D* pCopy) {
  return box(call, pCopy, nullptr, Form::Synchronous);
}

CUresult cuMemcpy3DAsync_v2(const Call& call, const CUDA_MEMCPY3D* pCopy, CUstream hStream) {
  return box(call, pCopy, hStream, Form::Asynchronous);
}

CUresult cuMemcpy3DPeer(const Call& call, const CUDA_MEMCPY3D_PEER* pCopy) {
  if (!pCopy) return missing("pCopy");
  VG_CHECK(awaitContexts(pCopy->dstContext, pCopy->srcContext));
  return boxBetweenContexts(call, *pCopy, nullptr, Form::Synchronous);
}

CUresult cuMemcpy3DPeerAsync(const Call& call, const CUDA_MEMCPY3D_PEER* pCopy, CUstream hStream) {
  if (!pCopy) return missing("pCopy");
  VG_CHECK(checkContexts(pCopy->dstContext, pCopy->srcContext));
  return boxBetweenContexts(call, *pCopy, hStream, Form::Asynchronous);
}

CUresult cuMemcpyBatchAsync(const Call& call, CUdeviceptr* dsts, CUdeviceptr* srcs, size_t* sizes, size_t count,
                            CUmemcpyAttributes* attrs, size_t* attrsIdxs, size_t numAttrs, size_t* failIdx,
                            CUstream hStream) {
  return linearBatch(call, {dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs}, failIdx, hStream);
}

CUresult cuMemcpyBatchAsync_v2(const Call& call, CUdeviceptr* dsts, CUdeviceptr* srcs, size_t* sizes, size_t count,
                               CUmemcpyAttributes* attrs, size_t* attrsIdxs, size_t numAttrs, CUstream hStream) {
  return linearBatch(call, {dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs}, nullptr, hStream);
}

CUresult cuMemcpy3DBatchAsync(const Call& call, size_t numOps, CUDA_MEMCPY3D_BATCH_OP* opList, size_t* failIdx,
                              unsigned long long flags, CUstream hStream) {
  return boxBatch(call, numOps, opList, failIdx, flags, hStream);
}

CUresult cuMemcpy3DBatchAsync_v2(const Call& call, size_t numOps, CUDA_MEMCPY3D_BATCH_OP* opList,
                                 unsigned long long flags, CUstream hStream) {
  return boxBatch(call, numOps, opList, nullptr, flags, hStream);
}

// One copy with the attributes of a batch's. Its source is read when the stream gets there, or during the call.
CUresult cuMemcpyWithAttributesAsync(const Call& call, CUdeviceptr dst, CUdeviceptr src, size_t size,
                                     CUmemcpyAttributes* attr, CUstream hStream) {
  if (!attr) return missing("attr");
  if (!size) return fail(CUDA_ERROR_INVALID_VALUE, "a copy of no bytes");
  VG_TRY(core::Stream & stream, call.resolve(hStream));
  VG_CHECK(core::memory::checkAttributes(*attr));
  const bool duringCall = rawValue(attr->srcAccessOrder) == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
  return stream.give(Row{Place::unified(dst), Place::unified(src), size},
                     duringCall ? Form::Synchronous : Form::Asynchronous);
}

CUresult cuMemcpy3DWithAttributesAsync(const Call& call, CUDA_MEMCPY3D_BATCH_OP* op, unsigned long long flags,
                                       CUstream hStream) {
  if (!op) return missing("op");
  if (flags) return fail(CUDA_ERROR_INVALID_VALUE, "flags %#llx are reserved", flags);
  VG_TRY(core::Stream & stream, call.resolve(hStream));
  return core::memory::copyBox(stream, *op);
}

}  // namespace vg::handlers
