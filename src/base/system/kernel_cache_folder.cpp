#include "base/system/kernel_cache_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/log.h"

namespace vg {

OpenFile::~OpenFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

namespace cache_folder {
namespace {

constinit std::atomic<bool> refusalSaid{false};

void refuse(const std::string& path, const char* why, const struct stat& status) {
  if (refusalSaid.exchange(true, std::memory_order_relaxed)) return;
  VG_LOG(Warn,
         "kernel cache %s is not used, as code from there is run: %s (owner %u, mode %o; this process runs as %u); "
         "kernels "
         "are compiled anew in each process. CUDA_CACHE_PATH names another folder",
         path.c_str(), why, status.st_uid, status.st_mode & 07777u, geteuid());
}

bool makeFolders(const std::string& path) {
  for (size_t at = 1; at <= path.size(); ++at)
    if (at == path.size() || path[at] == '/')
      if (mkdir(path.substr(0, at).c_str(), 0700) && errno != EEXIST) return false;
  return true;
}

}  // namespace

const char* distrust(const struct stat& status) {
  if (status.st_uid != geteuid() && status.st_uid != 0) return "it belongs to somebody else";
  if (status.st_mode & (S_IWGRP | S_IWOTH)) return "others may write to it";
  return nullptr;
}

OpenFile open(const std::string& path, bool make) {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC;
  int found = ::open(path.c_str(), kFlags);
  if (found < 0 && make) {
    if (makeFolders(path)) found = ::open(path.c_str(), kFlags);
    if (found < 0) VG_LOG(Info, "kernel cache %s: %s", path.c_str(), std::strerror(errno));
  }
  OpenFile folder(found);
  struct stat status;
  if (!folder) return folder;
  if (fstat(found, &status)) return OpenFile(-1);
  const char* const why = distrust(status);
  if (!why) return folder;
  refuse(path, why, status);
  return OpenFile(-1);
}

}  // namespace cache_folder
}  // namespace vg
