// Memory of the fake driver: pages that both the test's process (through mmap) and the fake GPU reach.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace vg::testing {

class FakeMemory {
 public:
  // New pages. `account` counts the bytes while they live.
  FakeMemory(size_t bytes, std::atomic<uint64_t>* account) : bytes_(bytes), account_(account) {
    file_ = memfd_create("fake-gpu", MFD_CLOEXEC);
    if (ftruncate(file_, static_cast<off_t>(bytes))) file_ = -1;
    start_ =
        static_cast<std::byte*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_, 0));
    if (account_) *account_ += bytes;
  }
  // Pages of the process.
  FakeMemory(std::byte* start, size_t bytes) : start_(start), bytes_(bytes) {}
  ~FakeMemory() {
    if (file_ < 0) return;
    munmap(start_, bytes_);
    close(file_);
    if (account_) *account_ -= bytes_;
  }
  FakeMemory(const FakeMemory&) = delete;

  std::byte* start() const { return start_; }
  size_t bytes() const { return bytes_; }
  int file() const { return file_; }  // -1: pages of the process

 private:
  std::byte* start_ = nullptr;
  size_t bytes_ = 0;
  int file_ = -1;
  std::atomic<uint64_t>* account_ = nullptr;
};

using FakeMemoryRef = std::shared_ptr<FakeMemory>;

}  // namespace vg::testing
