// For the library's layers over the fake kernel driver: GPUs that are found and opened as real ones are, through system
// calls that are refused as the real ones may be. What the fake driver itself needs is never refused.
#include <dlfcn.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

#include "backend/nvidia/driver/system_calls.h"
#include "gpu/fake_gpu.h"
#include "shortage/subject.h"

namespace vg {
namespace {

using backend::nvidia::SystemCalls;

enum What { kMmap = 2, kOpen = 64, kIoctl = 128, kStatus = 256 };  // as inject.c has them

void (*pauseBy)(int);
int (*refuses)(int);
bool refused(What what) { return refuses && refuses(what); }

// What this thread does meanwhile is not the library's doing.
struct Paused {
  Paused() {
    if (pauseBy) pauseBy(1);
  }
  ~Paused() {
    if (pauseBy) pauseBy(-1);
  }
};

class RefusedCalls final : public SystemCalls {
 public:
  explicit RefusedCalls(testing::FakeDriver::Description description) : driver_(std::move(description)) {}

  int open(const std::string& path) override {
    if (refused(kOpen)) return -EMFILE;
    const Paused paused;
    return driver_.open(path);
  }
  void close(int descriptor) override {
    const Paused paused;
    driver_.close(descriptor);
  }
  int control(int descriptor, unsigned long request, void* argument) override {
    if (refused(kIoctl)) return -ENOMEM;
    const bool status = refused(kStatus);
    const Paused paused;
    if (status) driver_.refuse(1, backend::nvidia::kNoMemory);  // or the next that may be
    return driver_.control(descriptor, request, argument);
  }
  int map(int descriptor, void* address, size_t bytes, uint64_t offset) override {
    if (refused(kMmap)) return -ENOMEM;
    const Paused paused;
    return driver_.map(descriptor, address, bytes, offset);
  }
  bool present(void* address) override {
    const Paused paused;
    return driver_.present(address);
  }
  std::string moduleVersion() override {
    const Paused paused;
    return driver_.moduleVersion();
  }

 private:
  testing::FakeDriver driver_;
};

RefusedCalls* calls;

}  // namespace

// In place of the operating system's.
backend::nvidia::SystemCalls& backend::nvidia::SystemCalls::real() { return *calls; }

}  // namespace vg

void prepareDevices() {
  setenv("VERDIGRIS_DEVICES", "gpu:all", 1);
  setenv("SHORTAGE_NO_KERNELS", "1", 1);
  vg::pauseBy = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "shortagePause"));
  vg::refuses = reinterpret_cast<int (*)(int)>(dlsym(RTLD_DEFAULT, "shortageRefuses"));
  vg::testing::FakeDriver::Description gpu;
  gpu.memory = uint64_t{1} << 30;
  gpu.program = vg::testing::moveBoxes;
  const vg::Paused paused;
  vg::calls = new vg::RefusedCalls(std::move(gpu));
}
