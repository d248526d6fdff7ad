#include "alloc/host_memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "alloc/geometry.h"
#include "alloc/physical_pieces.h"
#include "base/round.h"
#include "base/system/file_size_guard.h"
#include "base/undying.h"

namespace vg::alloc {
namespace {

// Made at the first need, never destroyed.
PhysicalPieces& pieces() { return undying<PhysicalPieces, PhysicalPieces>(); }

size_t systemPage() {
  static const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

// Whether shared memory gets huge pages where a program asks for them.
bool hugeOnAdvice() {
  static const bool advice = [] {
    char text[128] = "";
    if (FILE* file = fopen("/sys/kernel/mm/transparent_hugepage/shmem_enabled", "re")) {
      if (!fgets(text, sizeof text, file)) text[0] = 0;
      fclose(file);
    }
    return strstr(text, "[advise]") || strstr(text, "[within_size]");
  }();
  return advice;
}

int bitsOf(Protection protection) {
  return protection == Protection::None   ? PROT_NONE
         : protection == Protection::Read ? PROT_READ
                                          : PROT_READ | PROT_WRITE;
}

CUresult noMemory(const char* what, size_t bytes) {
  return fail(CUDA_ERROR_OUT_OF_MEMORY, "%s of %zu bytes: %s", what, bytes, strerror(errno));
}

// A descriptor closed at the end of the scope unless it was released.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() {
    if (value_ >= 0) close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  explicit operator bool() const { return value_ >= 0; }
  int get() const { return value_; }
  int release() { return std::exchange(value_, -1); }

 private:
  int value_;
};

// Nobody may make the file smaller while it is mapped: an access beyond its end would be a bus error.
bool cannotShrink(int file) {
  const int seals = fcntl(file, F_GET_SEALS);
  if (seals < 0) return false;
  return (seals & F_SEAL_SHRINK) || fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK) == 0;
}

}  // namespace

Result<PhysicalRef> HostMemory::create(size_t bytes, Sharing sharing, const char* label) {
  const size_t whole = roundUp(bytes, systemPage());
  if (whole < bytes) return fail(CUDA_ERROR_OUT_OF_MEMORY, "%zu bytes of memory", bytes);
  return sharing == Sharing::Private ? createPrivate(whole) : createShareable(whole, label);
}

Result<PhysicalRef> HostMemory::createPrivate(size_t bytes) {
  PhysicalPieces& from = pieces();
  VG_TRY(const size_t offset, from.take(bytes));
  return PhysicalRef(new HostMemory(from.file(), offset, bytes, Sharing::Private, from.device(), from.inode()));
}

Result<PhysicalRef> HostMemory::createShareable(size_t bytes, const char* label) {
  const FileSizeGuard guard;
  Descriptor file(memfd_create(label, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  struct stat status {};
  if (!file || fstat(file.get(), &status) || ftruncate(file.get(), static_cast<off_t>(bytes)) ||
      fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
    return noMemory("a file", bytes);
  auto* made = new HostMemory(file.get(), 0, bytes, Sharing::Shareable, status.st_dev, status.st_ino);
  file.release();
  return PhysicalRef(made);
}

Result<PhysicalRef> HostMemory::fromDescriptor(int descriptor, size_t bytes) {
  struct stat status {};
  if (descriptor < 0 || fstat(descriptor, &status))
    return fail(CUDA_ERROR_INVALID_VALUE, "%d is no open descriptor", descriptor);
  const auto size = static_cast<size_t>(status.st_size);
  if (!S_ISREG(status.st_mode) || !size || !cannotShrink(descriptor))
    return fail(CUDA_ERROR_INVALID_VALUE, "descriptor %d is memory that could be taken away: it is not sealed",
                descriptor);
  const size_t wanted = bytes ? roundUp(bytes, systemPage()) : size / systemPage() * systemPage();
  if (!wanted || wanted < bytes || wanted > size)
    return fail(CUDA_ERROR_INVALID_VALUE, "%zu bytes of a descriptor of %zu", bytes, size);
  Descriptor own(fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
  if (!own) return noMemory("a descriptor", wanted);
  auto* made = new HostMemory(own.get(), 0, wanted, Sharing::Shareable, status.st_dev, status.st_ino);
  own.release();
  return PhysicalRef(made);
}

std::string HostMemory::labelOf(int descriptor) {
  constexpr char kBefore[] = "/memfd:", kAfter[] = " (deleted)";
  char link[64], target[512];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const ssize_t length = readlink(link, target, sizeof target);
  if (length <= 0 || length == static_cast<ssize_t>(sizeof target)) return "";
  std::string label(target, static_cast<size_t>(length));
  if (label.rfind(kBefore, 0) != 0) return "";
  label.erase(0, sizeof kBefore - 1);
  if (const size_t end = label.rfind(kAfter); end != std::string::npos) label.resize(end);
  return label;
}

HostMemory::~HostMemory() {
  if (!shareable()) {
    pieces().give(offset_, bytes());
  } else {
    close(file_);
  }
}

CUresult HostMemory::map(std::byte* address, size_t offset, size_t bytes, Protection protection) const {
  void* mapped = mmap(address, bytes, bitsOf(protection), MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file_,
                      static_cast<off_t>(offset_ + offset));
  if (mapped == MAP_FAILED) return noMemory("a mapping", bytes);
  if (bytes >= kGranule && hugeOnAdvice()) madvise(address, bytes, MADV_HUGEPAGE);
  return CUDA_SUCCESS;
}

CUresult HostMemory::protect(std::byte* address, size_t bytes, Protection protection) const {
  if (mprotect(address, bytes, bitsOf(protection))) return noMemory("a change of protection", bytes);
  return CUDA_SUCCESS;
}

void HostMemory::unmap(std::byte* address, size_t bytes) const {
  constexpr int kReserved = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  if (mmap(address, bytes, PROT_NONE, kReserved, -1, 0) != MAP_FAILED) return;
  // Out of mappings: the pages stay reachable for nobody until something else is mapped there.
  mprotect(address, bytes, PROT_NONE);
}

CUresult HostMemory::write(size_t offset, const std::byte* source, size_t bytes) const {
  for (size_t done = 0; done < bytes;) {
    // The plain call: the protection of the source's pages orders it with the application's stores, of which a thread
    // sanitizer that watches pwrite() knows nothing.
    const ssize_t wrote = syscall(SYS_pwrite64, file_, source + done, bytes - done, offset_ + offset + done);
    if (wrote <= 0 && errno != EINTR) return noMemory("pages", bytes);
    if (wrote > 0) done += static_cast<size_t>(wrote);
  }
  return CUDA_SUCCESS;
}

Result<int> HostMemory::duplicate() const {
  const int copy = fcntl(file_, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return noMemory("a descriptor", bytes());
  return copy;
}

size_t HostMemory::pageBytes() const { return systemPage(); }

void HostMemory::trim() { pieces().trim(); }

}  // namespace vg::alloc
