// Functions that stay functions: calls that are not inlined, recursion, function pointers, many arguments.
#include "check.h"

struct Pair {
  double first;
  int second;
};

__device__ __noinline__ int addThree(int a, int b, int c) { return a + b * 2 + c * 3; }

__device__ __noinline__ Pair combine(Pair a, const Pair& b) { return {a.first * b.first, a.second - b.second}; }

__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n) {
  if (m == 0) return n + 1;
  if (n == 0) return ackermann(m - 1, 1);
  return ackermann(m - 1, ackermann(m, n - 1));
}

__device__ __noinline__ long long manyArguments(char a, short b, int c, long long d, float e, double f, unsigned char g,
                                                const int* h) {
  return a + b + c + d + (long long)e + (long long)f + g + *h;
}

__device__ int square(int x) { return x * x; }
__device__ int negate(int x) { return -x; }
__device__ int addSeven(int x) { return x + 7; }
__device__ int (*const kOperations[])(int) = {square, negate, addSeven};

__global__ void callAll(int* out, Pair* pairs, long long* sums, unsigned* ack) {
  const int i = threadIdx.x;
  out[i] = i % 2 ? addThree(i, i + 1, i + 2) : -addThree(1, i, 3);
  pairs[i] = combine({double(i), i}, {0.5, 3});
  sums[i] =
      manyArguments(char(i), short(i * 2), i * 3, (1ll << 40) * i, i * 5.0f, i * 6.0, (unsigned char)(i * 7), out + i);
  ack[i] = ackermann(i % 3, i % 4);
}

__global__ void callPointers(int* out) { out[threadIdx.x] = kOperations[threadIdx.x % 3](int(threadIdx.x)); }

static unsigned hostAckermann(unsigned m, unsigned n) {
  if (m == 0) return n + 1;
  return n == 0 ? hostAckermann(m - 1, 1) : hostAckermann(m - 1, hostAckermann(m, n - 1));
}

int main() {
  const int size = 64;
  DeviceArray<int> out(size);
  DeviceArray<Pair> pairs(size);
  DeviceArray<long long> sums(size);
  DeviceArray<unsigned> ack(size);
  callAll<<<1, size>>>(out, pairs, sums, ack);
  CHECK_LAUNCH();
  const auto outs = out.host();
  const auto pairValues = pairs.host();
  const auto sumValues = sums.host();
  const auto ackValues = ack.host();
  for (int i = 0; i < size; ++i) {
    EXPECT(outs[i] == (i % 2 ? i + (i + 1) * 2 + (i + 2) * 3 : -(1 + i * 2 + 9)));
    EXPECT(pairValues[i].first == i * 0.5 && pairValues[i].second == i - 3);
    const long long sum =
        char(i) + short(i * 2) + i * 3 + (1ll << 40) * i + i * 5 + i * 6 + (unsigned char)(i * 7) + outs[i];
    EXPECT(sumValues[i] == sum);
    EXPECT(ackValues[i] == hostAckermann(i % 3, i % 4));
  }
  callPointers<<<1, size>>>(out);
  CHECK_LAUNCH();
  const auto results = out.host();
  for (int i = 0; i < size; ++i) EXPECT(results[i] == (i % 3 == 0 ? i * i : i % 3 == 1 ? -i : i + 7));
  return passed();
}
