// Memory of the host as a dma-buf, which other devices' drivers import.
#include <errno.h>
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "alloc/host_memory.h"
#include "base/log.h"

namespace vg::alloc {
namespace {

// The system's own maker of dma-bufs, or -1. Opened once and kept.
int maker() {
  static const int file = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
  return file;
}

// The same memory with a file position of its own.
Result<int> reopened(int file, size_t position) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  const int copy = open(path, O_RDWR | O_CLOEXEC);
  if (copy < 0) return fail(CUDA_ERROR_OUT_OF_MEMORY, "no descriptor: %s", strerror(errno));
  lseek(copy, static_cast<off_t>(position), SEEK_SET);
  return copy;
}

const HostMemory& hostMemory(const PhysicalMemory::Part& part) { return static_cast<const HostMemory&>(*part.memory); }

}  // namespace

Result<int> HostMemory::dmaBuf(const std::vector<Part>& parts) const {
  if (maker() < 0) {
    const Part& only = parts.front();
    if (parts.size() > 1 || !only.memory->shareable())
      return unsupported("a dma-buf of private memory without /dev/udmabuf");
    VG_LOG(Warn, "no /dev/udmabuf: the descriptor is one of shared memory, not a dma-buf");
    return reopened(hostMemory(only).file_, hostMemory(only).offset_ + only.offset);
  }
  std::vector<char> room(sizeof(udmabuf_create_list) + parts.size() * sizeof(udmabuf_create_item));
  auto* list = reinterpret_cast<udmabuf_create_list*>(room.data());
  list->flags = UDMABUF_FLAGS_CLOEXEC;
  list->count = static_cast<uint32_t>(parts.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    udmabuf_create_item item{};
    item.memfd = static_cast<uint32_t>(hostMemory(parts[i]).file_);
    item.offset = hostMemory(parts[i]).offset_ + parts[i].offset;
    item.size = parts[i].bytes;
    memcpy(room.data() + sizeof *list + i * sizeof item, &item, sizeof item);
  }
  const int made = ioctl(maker(), UDMABUF_CREATE_LIST, list);
  if (made < 0) return fail(CUDA_ERROR_OUT_OF_MEMORY, "the system makes no dma-buf: %s", strerror(errno));
  return made;
}

}  // namespace vg::alloc
