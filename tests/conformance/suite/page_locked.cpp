#include "page_locked.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "results.h"
#include "stream_objects.h"

namespace suite {

Pages::Pages(size_t bytes, int protection) : size_(bytes) {
  void* const made = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  data_ = static_cast<uint8_t*>(made);
  memset(data_, 1, bytes);
  protect(protection);
}

Pages::~Pages() { munmap(data_, size_); }

void Pages::protect(int protection) const { EXPECT_EQ(mprotect(data_, size_, protection), 0); }

Registered::Registered(size_t bytes, unsigned flags) : Pages(bytes) {
  EXPECT_OK(cuMemHostRegister(data(), bytes, flags));
}

Registered::~Registered() { EXPECT_OK(cuMemHostUnregister(data())); }

OtherContext::OtherContext(CUdevice device) { EXPECT_OK(cuCtxCreate(&context_, nullptr, 0, device)); }

OtherContext::~OtherContext() { EXPECT_OK(cuCtxDestroy(context_)); }

bool returnsBeforeTheStream(const std::function<CUresult(CUstream)>& call) {
  constexpr double kBusy = 0.5;  // seconds
  const Stream stream;
  StreamBlock block(stream);
  const double start = now();
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::duration<double>(kBusy));
    block.release();
  });
  EXPECT_OK(call(stream));
  const bool before = now() - start < kBusy / 2;
  later.join();
  stream.synchronize();
  return before;
}

}  // namespace suite
