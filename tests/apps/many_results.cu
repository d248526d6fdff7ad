// A kernel that stores two hundred results a thread, each to an array of its own, more than the last cache holds: its
// first launches run while better code is made of it. The results are copied into fresh pageable memory, again and
// again, while other threads want the cores. Every element of every array must be there each time.
#include <atomic>
#include <memory>
#include <thread>
#include <utility>

#include "check.h"

constexpr int kThreads = 20000, kResults = 209;
using AllResults = std::make_integer_sequence<int, kResults>;

// Some arithmetic whose condition is used again behind a branch; another one for each result.
template <int kResult>
__host__ __device__ inline unsigned long long result(unsigned long long x, unsigned n) {
  const unsigned shift = (n + kResult) % 24;
  const bool large = shift > 15;
  unsigned short low = static_cast<unsigned short>(x >> kResult % 48);
  if (shift % 5) low = static_cast<unsigned short>(low << shift % 5 | low >> (16 - shift % 5));
  const auto shifted = static_cast<long long>(static_cast<short>(low) << (shift & 15));
  return large ? 0 : static_cast<unsigned long long>(shifted) + kResult;
}

template <int... kAll>
__device__ __forceinline__ void storeAll(unsigned long long* out, unsigned long long x, unsigned n, int count, int at,
                                         std::integer_sequence<int, kAll...>) {
  ((out[static_cast<long long>(kAll) * count + at] = result<kAll>(x, n)), ...);
}

__global__ void compute(const unsigned long long* in, unsigned long long* out, int count) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= count) return;
  const unsigned long long x = in[at];
  storeAll(out, x, static_cast<unsigned>(x >> 32), count, at, AllResults{});
}

template <int kResult>
void expectOne(const unsigned long long* got, const std::vector<unsigned long long>& in, int round) {
  const unsigned long long* const row = got + size_t{kResult} * kThreads;
  for (int at = 0; at < kThreads; ++at) {
    const unsigned long long wanted = result<kResult>(in[at], static_cast<unsigned>(in[at] >> 32));
    if (row[at] == wanted) continue;
    std::fprintf(stderr, "round %d, result %d of thread %d: %llx, not %llx\n", round, kResult, at, row[at], wanted);
    std::_Exit(1);
  }
}

template <int... kAll>
void expectAll(const unsigned long long* got, const std::vector<unsigned long long>& in, int round,
               std::integer_sequence<int, kAll...>) {
  (expectOne<kAll>(got, in, round), ...);
}

std::vector<unsigned long long> inputOf(int round) {
  RandomWords random(static_cast<unsigned>(round) + 1);
  std::vector<unsigned long long> in(kThreads);
  for (unsigned long long& x : in) x = static_cast<unsigned long long>(random()) << 32 | random();
  return in;
}

// One of what a program does: allocations, copies, the launch and its end.
void run(int round) {
  const std::vector<unsigned long long> in = inputOf(round);
  const DeviceArray<unsigned long long> source(in);
  DeviceArray<unsigned long long> results(size_t{kThreads} * kResults);
  compute<<<(kThreads + 127) / 128, 128>>>(source, results, kThreads);
  CHECK_LAUNCH();
  const std::unique_ptr<unsigned long long[]> got(new unsigned long long[results.size()]);
  CHECK(cudaMemcpy(got.get(), results, results.size() * sizeof(unsigned long long), cudaMemcpyDeviceToHost));
  expectAll(got.get(), in, round, AllResults{});
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 3;
  std::atomic<bool> over{false};
  std::vector<std::thread> others;
  for (int n = 0; n < 2; ++n)
    others.emplace_back([&over] {
      std::vector<char> a(1 << 20), b(1 << 20, 1);
      while (!over) a.swap(b), std::memcpy(a.data(), b.data(), a.size());
    });
  for (int round = 0; round < rounds; ++round) run(round);
  over = true;
  for (std::thread& other : others) other.join();
  return passed();
}
