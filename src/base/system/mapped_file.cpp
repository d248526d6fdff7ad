#include "base/system/mapped_file.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include "base/system/file_by_name.h"

namespace vg {

MappedFile::MappedFile(const std::string& path) {
  const FileByName file(path, O_RDONLY);
  struct stat status {};
  if (*file >= 0 && fstat(*file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
    const size_t size = static_cast<size_t>(status.st_size);
    void* const memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, *file, 0);
    if (memory != MAP_FAILED) bytes_ = {static_cast<const char*>(memory), size};
  }
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<char*>(bytes_.data()), bytes_.size());
}

}  // namespace vg
