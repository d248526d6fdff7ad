// Large copies and fills through the exported functions, beside what a program could do itself with as many threads as
// there are cores: memcpy, `rep movsb`, streaming stores, memset.
//
//   build/release/bin/copy_bench
//
// Everybody works on the same memory. The ways are measured in turn, round after round, so that a change of the
// machine's pace meets all of them; what is printed is the median of the rounds. What one way leaves in the caches is
// not what the next would find there after itself (streaming stores leave nothing): each runs a few times before it
// is timed, and each round begins with another one.
#include <immintrin.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "driver.h"

namespace vg::bench {
namespace {

// Threads that wait spinning: nobody could start them sooner.
class Team {
 public:
  explicit Team(unsigned size) : size_(size) {
    for (unsigned i = 1; i < size; ++i) threads_.emplace_back([this, i] { member(i); });
  }
  ~Team() {
    work_ = nullptr;
    round_.fetch_add(1);
    rest(false);
    for (std::thread& thread : threads_) thread.join();
  }
  unsigned size() const { return size_; }
  void run(const std::function<void(unsigned)>& work) {
    work_ = &work;
    left_.store(size_ - 1);
    round_.fetch_add(1);
    work(0);
    while (left_.load(std::memory_order_acquire)) _mm_pause();
  }
  // The members sleep while somebody else is measured.
  void rest(bool resting) {
    resting_.store(resting);
    resting_.notify_all();
  }

 private:
  void member(unsigned number) {
    for (unsigned seen = 0;; ++seen) {
      while (round_.load(std::memory_order_acquire) == seen) {
        if (resting_.load(std::memory_order_relaxed)) {
          resting_.wait(true);
        } else {
          _mm_pause();
        }
      }
      if (!work_) return;
      (*work_)(number);
      left_.fetch_sub(1, std::memory_order_release);
    }
  }

  const unsigned size_;
  std::atomic<unsigned> round_{0}, left_{0};
  std::atomic<bool> resting_{false};
  const std::function<void(unsigned)>* work_ = nullptr;
  std::vector<std::thread> threads_;
};

unsigned usableCores() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) ? 1u : static_cast<unsigned>(CPU_COUNT(&set));
}

void repMove(char* to, const char* from, size_t bytes) {
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}

[[gnu::target("avx512f")]] void stream512(char* to, const char* from, size_t bytes) {
  for (size_t i = 0; i + 256 <= bytes; i += 256)
    for (size_t j = 0; j < 256; j += 64)
      _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i + j), _mm512_loadu_si512(from + i + j));
  _mm_sfence();
}

[[gnu::target("avx2")]] void stream256(char* to, const char* from, size_t bytes) {
  for (size_t i = 0; i + 128 <= bytes; i += 128)
    for (size_t j = 0; j < 128; j += 32)
      _mm256_stream_si256(reinterpret_cast<__m256i*>(to + i + j),
                          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + i + j)));
  _mm_sfence();
}

void streamMove(char* to, const char* from, size_t bytes) {
  return __builtin_cpu_supports("avx512f") ? stream512(to, from, bytes) : stream256(to, from, bytes);
}

[[gnu::target("avx2")]] void streamSet(char* to, size_t bytes) {
  const __m256i value = _mm256_set1_epi8(5);
  for (size_t i = 0; i + 32 <= bytes; i += 32) _mm256_stream_si256(reinterpret_cast<__m256i*>(to + i), value);
  _mm_sfence();
}

void repSet(char* to, size_t bytes) { asm volatile("rep stosb" : "+D"(to), "+c"(bytes) : "a"(5) : "memory"); }

struct Way {
  const char* name;
  bool ours;
  std::function<void()> run;
};

double seconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Measures all ways in turn and prints a line each, and how ours stand against the best of the others.
bool compare(Team& team, const std::string& title, size_t bytes, const std::vector<Way>& ways) {
  const int rounds = bytes >= (size_t{128} << 20) ? 15 : 31;
  std::vector<std::vector<double>> times(ways.size());
  // Runs, and at least so long, that bring the way's threads and its part of the caches: one that follows streaming
  // stores, which empty them, has a large last cache to fill.
  constexpr int kUntimed = 3;
  constexpr double kUntimedSeconds = 40e-3;
  for (int round = 0; round < rounds + 2; ++round) {
    for (size_t turn = 0; turn < ways.size(); ++turn) {
      const size_t i = (turn + static_cast<size_t>(round)) % ways.size();
      team.rest(ways[i].ours);
      if (ways[i].ours) std::this_thread::sleep_for(std::chrono::microseconds(400));
      double untimed = 0;
      for (int run = 0; run < kUntimed || untimed < kUntimedSeconds; ++run) untimed += seconds(ways[i].run);
      const double time = seconds(ways[i].run);
      if (round >= 2) times[i].push_back(time);
    }
  }
  team.rest(true);
  double best = 0;
  std::vector<double> rates;
  for (std::vector<double>& list : times) {
    std::sort(list.begin(), list.end());
    rates.push_back(static_cast<double>(bytes) / list[list.size() / 2] / 1e9);
  }
  for (size_t i = 0; i < ways.size(); ++i)
    if (!ways[i].ours) best = std::max(best, rates[i]);
  bool met = true;
  for (size_t i = 0; i < ways.size(); ++i) {
    std::printf("%-26s %-22s %7.2f GB/s", title.c_str(), ways[i].name, rates[i]);
    if (ways[i].ours) {
      met &= rates[i] >= 0.95 * best;
      std::printf("   %.2f of the best   %s", rates[i] / best, rates[i] >= 0.95 * best ? "met" : "MISSED");
    }
    std::printf("\n");
  }
  return met;
}

constexpr size_t kMiB = size_t{1} << 20;

bool compareCopies(Team& team, size_t bytes, CUdeviceptr device, CUdeviceptr other, char* host) {
  const auto shared = [&team, bytes](auto&& work) {
    return [&team, bytes, work] {
      const size_t share = bytes / team.size() / 4096 * 4096;
      team.run([&](unsigned i) {
        const size_t at = i * share;
        work(at, i + 1 == team.size() ? bytes - at : share);
      });
    };
  };
  bool met = true;
  const auto versus = [&](const char* name, char* to, const char* from, std::function<void()> ours) {
    met &=
        compare(team, std::string(name) + " " + std::to_string(bytes / kMiB) + " MiB", bytes,
                {{"memcpy", false, shared([=](size_t at, size_t n) { std::memcpy(to + at, from + at, n); })},
                 {"rep movsb", false, shared([=](size_t at, size_t n) { repMove(to + at, from + at, n); })},
                 {"streaming stores", false, shared([=](size_t at, size_t n) { streamMove(to + at, from + at, n); })},
                 {"Verdigris", true, std::move(ours)}});
  };
  char* const a = reinterpret_cast<char*>(device);
  char* const b = reinterpret_cast<char*>(other);
  const auto synchronize = DRIVER(cuCtxSynchronize);
  versus("HtoD", a, host, [=, copy = DRIVER(cuMemcpyHtoD_v2)] { check(copy(device, host, bytes), "copy"); });
  versus("DtoH", host, a, [=, copy = DRIVER(cuMemcpyDtoH_v2)] { check(copy(host, device, bytes), "copy"); });
  versus("DtoD", b, a, [=, copy = DRIVER(cuMemcpyDtoD_v2)] {
    check(copy(other, device, bytes), "copy");
    synchronize();
  });
  CUDA_MEMCPY2D box{};
  box.srcMemoryType = box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  box.srcDevice = device;
  box.dstDevice = other;
  box.srcPitch = box.dstPitch = 8192;
  box.WidthInBytes = 8000;
  box.Height = bytes / 8192;
  const size_t rows = box.Height / team.size();
  met &= compare(team, "2D 8000 of 8192, " + std::to_string(bytes / kMiB) + " MiB", box.WidthInBytes * box.Height,
                 {{"memcpy a row", false,
                   [&] {
                     team.run([&](unsigned i) {
                       for (size_t y = i * rows; y < (i + 1) * rows; ++y) std::memcpy(b + y * 8192, a + y * 8192, 8000);
                     });
                   }},
                  {"streaming a row", false,
                   [&] {
                     team.run([&](unsigned i) {
                       for (size_t y = i * rows; y < (i + 1) * rows; ++y) streamMove(b + y * 8192, a + y * 8192, 8000);
                     });
                   }},
                  {"Verdigris", true, [&, copy = DRIVER(cuMemcpy2D_v2)] {
                     check(copy(&box), "copy");
                     synchronize();
                   }}});
  return met;
}

bool compareFills(Team& team, size_t bytes, CUdeviceptr device) {
  const auto shared = [&team, bytes](auto&& work) {
    return [&team, bytes, work] {
      const size_t share = bytes / team.size() / 4096 * 4096;
      team.run([&](unsigned i) { work(i * share, i + 1 == team.size() ? bytes - i * share : share); });
    };
  };
  char* const a = reinterpret_cast<char*>(device);
  const auto synchronize = DRIVER(cuCtxSynchronize);
  const Way memsetWay{"memset", false, shared([=](size_t at, size_t n) { std::memset(a + at, 5, n); })};
  const Way repWay{"rep stosb", false, shared([=](size_t at, size_t n) { repSet(a + at, n); })};
  const Way streamWay{"streaming stores", false, shared([=](size_t at, size_t n) { streamSet(a + at, n); })};
  const size_t pitch = 8192, width = 8000, height = bytes / pitch;
  bool met = compare(team, "fill " + std::to_string(bytes / kMiB) + " MiB", bytes,
                     {memsetWay,
                      repWay,
                      streamWay,
                      {"Verdigris D8", true,
                       [=, fill = DRIVER(cuMemsetD8_v2)] {
                         check(fill(device, 5, bytes), "fill");
                         synchronize();
                       }},
                      {"Verdigris D16", true,
                       [=, fill = DRIVER(cuMemsetD16_v2)] {
                         check(fill(device, 5, bytes / 2), "fill");
                         synchronize();
                       }},
                      {"Verdigris D32", true, [=, fill = DRIVER(cuMemsetD32_v2)] {
                         check(fill(device, 5, bytes / 4), "fill");
                         synchronize();
                       }}});
  const size_t rows = height / team.size();
  met &= compare(team, "fill 2D, " + std::to_string(bytes / kMiB) + " MiB", width * height,
                 {{"memset a row", false,
                   [&] {
                     team.run([&](unsigned i) {
                       for (size_t y = i * rows; y < (i + 1) * rows; ++y) std::memset(a + y * pitch, 5, width);
                     });
                   }},
                  {"Verdigris D2D8", true,
                   [=, fill = DRIVER(cuMemsetD2D8_v2)] {
                     check(fill(device, pitch, 5, width, height), "fill");
                     synchronize();
                   }},
                  {"Verdigris D2D32", true, [=, fill = DRIVER(cuMemsetD2D32_v2)] {
                     check(fill(device, pitch, 5, width / 4, height), "fill");
                     synchronize();
                   }}});
  return met;
}

}  // namespace
}  // namespace vg::bench

int main() {
  using namespace vg::bench;
  start();
  Team team(usableCores());
  team.rest(true);
  constexpr size_t kLargest = 256 * kMiB;
  CUdeviceptr device, other;
  void* host;
  check(DRIVER(cuMemAlloc_v2)(&device, kLargest), "cuMemAlloc");
  check(DRIVER(cuMemAlloc_v2)(&other, kLargest), "cuMemAlloc");
  check(DRIVER(cuMemHostAlloc)(&host, kLargest, 0), "cuMemHostAlloc");
  std::memset(host, 1, kLargest);
  check(DRIVER(cuMemsetD8_v2)(device, 2, kLargest), "cuMemsetD8");
  check(DRIVER(cuMemsetD8_v2)(other, 3, kLargest), "cuMemsetD8");
  bool met = true;
  for (size_t bytes : {16 * kMiB, 64 * kMiB, kLargest}) {
    met &= compareCopies(team, bytes, device, other, static_cast<char*>(host));
    met &= compareFills(team, bytes, device);
  }
  std::printf("%s\n", met ? "all limits met" : "some limits MISSED");
}
