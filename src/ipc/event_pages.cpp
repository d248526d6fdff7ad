#include "ipc/event_pages.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/memory/own_memory.h"
#include "base/system/file_size_guard.h"

namespace vg::ipc {
namespace {

std::byte* map(int file) {
  std::byte* const start = own_memory::reserve(EventPages::kBytes);
  if (!start) return nullptr;
  if (mmap(start, EventPages::kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED) {
    own_memory::give(start, EventPages::kBytes);
    return nullptr;
  }
  madvise(start, EventPages::kBytes, MADV_DONTFORK);
  return start;
}

// A file that cannot become shorter while it is mapped.
int makeFile() {
  const FileSizeGuard guard;
  const int file = memfd_create("verdigris events", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file >= 0 && ftruncate(file, EventPages::kBytes) == 0 &&
      fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
    return file;
  if (file >= 0) close(file);
  return -1;
}

}  // namespace

Result<std::shared_ptr<EventPages>> EventPages::create() {
  const int file = makeFile();
  std::byte* base = file < 0 ? nullptr : map(file);
  if (base) return std::shared_ptr<EventPages>(new EventPages(base, file));
  const int error = errno;
  if (file >= 0) close(file);
  return fail(CUDA_ERROR_OUT_OF_MEMORY, "no shared memory for events: %s", strerror(error));
}

Result<std::shared_ptr<EventPages>> EventPages::attach(int descriptor) {
  struct stat status {};
  const int seals = fcntl(descriptor, F_GET_SEALS);
  if (seals < 0 || !(seals & F_SEAL_SHRINK) || fstat(descriptor, &status) || status.st_size != kBytes)
    return fail(CUDA_ERROR_MAP_FAILED, "the exporting process sent something that is not memory of events");
  if (std::byte* base = map(descriptor)) return std::shared_ptr<EventPages>(new EventPages(base, -1));
  return fail(CUDA_ERROR_MAP_FAILED, "the event cannot be mapped: %s", strerror(errno));
}

EventPages::~EventPages() {
  own_memory::give(base_, kBytes);
  if (file_ >= 0) close(file_);
}

}  // namespace vg::ipc
