// The log that a program may read: the last failures and what was wrong.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "api/entry/call.h"
#include "base/text/log_history.h"

namespace vg::handlers {
namespace {

// Without an iterator everything that is kept is meant.
uint32_t startOf(const CUlogIterator* iterator) { return iterator ? *iterator : 0; }

}  // namespace

CUresult cuLogsRegisterCallback(const Call&, CUlogsCallback callbackFunc, void* userData,
                                CUlogsCallbackHandle* callback_out) {
  if (!callbackFunc) return missing("callbackFunc");
  log::Subscriber* const made = log::subscribe(callbackFunc, userData);
  if (callback_out) *callback_out = reinterpret_cast<CUlogsCallbackHandle>(made);
  return CUDA_SUCCESS;
}

CUresult cuLogsUnregisterCallback(const Call&, CUlogsCallbackHandle callback) {
  if (log::unsubscribe(reinterpret_cast<log::Subscriber*>(callback))) return CUDA_SUCCESS;
  return fail(CUDA_ERROR_INVALID_VALUE, "%p is no log callback", static_cast<void*>(callback));
}

// The vendor's driver takes any flags.
CUresult cuLogsCurrent(const Call&, CUlogIterator* iterator_out, unsigned int) {
  if (!iterator_out) return missing("iterator_out");
  *iterator_out = log::position();
  return CUDA_SUCCESS;
}

CUresult cuLogsDumpToMemory(const Call&, CUlogIterator* iterator, char* buffer, size_t* size, unsigned int) {
  if (!buffer || !size || !*size) return missing("buffer or size");
  uint32_t from = startOf(iterator);
  const uint32_t end = log::position();
  *size = log::dump(from, buffer, *size);
  if (!*size && from < end) return fail(CUDA_ERROR_INVALID_VALUE, "the buffer is too small for one line");
  if (iterator) *iterator = from;
  return CUDA_SUCCESS;
}

CUresult cuLogsDumpToFile(const Call&, CUlogIterator* iterator, const char* pathToFile, unsigned int) {
  if (!pathToFile) return missing("pathToFile");
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  const std::unique_ptr<std::FILE, Close> file(std::fopen(pathToFile, "we"));
  if (!file) return fail(CUDA_ERROR_INVALID_VALUE, "%s: %s", pathToFile, std::strerror(errno));
  constexpr size_t kPiece = size_t{16} << 10;
  const std::unique_ptr<char[]> piece(new char[kPiece]);
  uint32_t from = startOf(iterator);
  while (const size_t bytes = log::dump(from, piece.get(), kPiece))
    if (std::fwrite(piece.get(), 1, bytes, file.get()) != bytes)
      return fail(CUDA_ERROR_OPERATING_SYSTEM, "%s: %s", pathToFile, std::strerror(errno));
  if (iterator) *iterator = from;
  return CUDA_SUCCESS;
}

}  // namespace vg::handlers
