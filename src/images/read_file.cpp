#include "images/read_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

namespace vg::images {

Result<std::string> readFile(const std::string& path) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "rbe"), std::fclose);
  if (!file) return fail(CUDA_ERROR_FILE_NOT_FOUND, "%s: %s", path.c_str(), std::strerror(errno));
  std::string bytes;
  char piece[64 * 1024];
  for (size_t got; (got = std::fread(piece, 1, sizeof piece, file.get())) > 0;) bytes.append(piece, got);
  if (std::ferror(file.get())) return fail(CUDA_ERROR_FILE_NOT_FOUND, "%s cannot be read", path.c_str());
  return bytes;
}

}  // namespace vg::images
