#include "backend/nvidia/driver/system_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>

#include "backend/nvidia/driver/courtesy.h"

namespace vg::backend::nvidia {
namespace {

class RealCalls final : public SystemCalls {
 public:
  int open(const std::string& path) override {
    int descriptor;
    do descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    while (descriptor < 0 && errno == EINTR);
    return descriptor < 0 ? -errno : descriptor;
  }

  void close(int descriptor) override { ::close(descriptor); }

  int control(int descriptor, unsigned long request, void* argument) override {
    const Courtesy courtesy;
    int result;
    do result = ::ioctl(descriptor, request, argument);
    while (result < 0 && (errno == EINTR || errno == EAGAIN));
    return result < 0 ? -errno : 0;
  }

  int map(int descriptor, void* address, size_t bytes, uint64_t offset) override {
    void* const mapped =
        mmap(address, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, descriptor, static_cast<off_t>(offset));
    return mapped == MAP_FAILED ? -errno : 0;
  }

  bool present(void* address) override {
    unsigned char answer = 1;
    return mincore(address, 4096, &answer) || (answer & 1);
  }

  std::string moduleVersion() override {
    FILE* const file = std::fopen("/sys/module/nvidia/version", "re");
    if (!file) return "";
    char text[64] = "";
    const bool found = std::fscanf(file, "%63s", text) == 1;
    std::fclose(file);
    return found ? text : "";
  }
};

}  // namespace

SystemCalls& SystemCalls::real() {
  static RealCalls calls;
  return calls;
}

}  // namespace vg::backend::nvidia
