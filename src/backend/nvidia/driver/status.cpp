#include "backend/nvidia/driver/status.h"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "base/result.h"

namespace vg::backend::nvidia {
namespace {

constexpr struct {
  Status status;
  CUresult result;
  const char* words;
} kRows[] = {
    {0x3, CUDA_ERROR_NOT_READY, "busy, try again"},
    {kGpuLost, CUDA_ERROR_DEVICE_UNAVAILABLE, "the GPU is lost"},
    {kInsertDuplicate, CUDA_ERROR_INVALID_HANDLE, "the handle is in use"},
    {kInsufficientResources, CUDA_ERROR_OUT_OF_MEMORY, "insufficient resources"},
    {kInsufficientPermissions, CUDA_ERROR_NOT_PERMITTED, "insufficient permissions"},
    {kInvalidAddress, CUDA_ERROR_INVALID_VALUE, "invalid address"},
    {kInvalidArgument, CUDA_ERROR_INVALID_VALUE, "invalid argument"},
    {kInvalidClass, CUDA_ERROR_NOT_SUPPORTED, "invalid class"},
    {kInvalidClient, CUDA_ERROR_INVALID_HANDLE, "invalid client"},
    {kInvalidCommand, CUDA_ERROR_NOT_SUPPORTED, "invalid command"},
    {kInvalidFlags, CUDA_ERROR_INVALID_VALUE, "invalid flags"},
    {kInvalidObject, CUDA_ERROR_INVALID_HANDLE, "invalid object"},
    {kInvalidHandle, CUDA_ERROR_INVALID_HANDLE, "invalid handle"},
    {kInvalidParent, CUDA_ERROR_INVALID_HANDLE, "invalid parent"},
    {kInvalidParameterStructure, CUDA_ERROR_INVALID_VALUE, "invalid parameter structure"},
    {kInvalidState, CUDA_ERROR_ILLEGAL_STATE, "invalid state"},
    {kNoMemory, CUDA_ERROR_OUT_OF_MEMORY, "no memory"},
    {kNotSupported, CUDA_ERROR_NOT_SUPPORTED, "not supported"},
    {kObjectNotFound, CUDA_ERROR_INVALID_HANDLE, "no such object"},
    {kPageTableNotAvailable, CUDA_ERROR_OUT_OF_MEMORY, "no page table"},
    {0x63, CUDA_ERROR_DEVICE_UNAVAILABLE, "in use by another process"},
    {0x65, CUDA_ERROR_TIMEOUT, "timed out"},
    {kAddressInUse, CUDA_ERROR_INVALID_VALUE, "the address range is in use"},
};

}  // namespace

const char* statusText(Status status) {
  thread_local char text[96];
  if (status & kSystemCall && status < 0x80000000) {
    std::snprintf(text, sizeof text, "%s", std::strerror(static_cast<int>(status & ~kSystemCall)));
    return text;
  }
  const char* words = "driver status";
  for (const auto& row : kRows)
    if (row.status == status) words = row.words;
  std::snprintf(text, sizeof text, "%s (0x%x)", words, status);
  return text;
}

// What the host lacks for now may be there again when somebody tries once more.
static CUresult resultOfSystem(int error) {
  return error == ENOMEM || error == EMFILE || error == ENFILE ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_UNKNOWN;
}

CUresult resultOf(Status status) {
  if (status == kOk) return CUDA_SUCCESS;
  for (const auto& row : kRows)
    if (row.status == status) return row.result;
  if (status & kSystemCall && status < 0x80000000) return resultOfSystem(static_cast<int>(status & ~kSystemCall));
  return CUDA_ERROR_UNKNOWN;
}

CUresult refused(Status status, const char* what, ...) {
  char text[256];
  va_list arguments;
  va_start(arguments, what);
  std::vsnprintf(text, sizeof text, what, arguments);
  va_end(arguments);
  return fail(resultOf(status), "the kernel driver refuses %s: %s", text, statusText(status));
}

}  // namespace vg::backend::nvidia
