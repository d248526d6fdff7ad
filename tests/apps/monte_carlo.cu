// Random numbers in kernels by the device headers of cuRAND: pi, the price of an option, and the moments of four
// generators and three distributions.
#include <curand_kernel.h>

#include "check.h"

constexpr int kThreads = 256, kBlocks = 16, kEach = 400;
constexpr double kCount = double(kThreads) * kBlocks * kEach;

__device__ int thread() { return blockIdx.x * blockDim.x + threadIdx.x; }

__global__ void pointsInCircle(unsigned long long* inside) {
  curandState state;
  curand_init(1234, thread(), 0, &state);
  unsigned hits = 0;
  for (int i = 0; i < kEach; ++i) {
    const float x = curand_uniform(&state), y = curand_uniform(&state);
    hits += x * x + y * y <= 1;
  }
  atomicAdd(inside, hits);
}

// A European call: geometric Brownian motion to its end in one step.
__global__ void callPrice(double* sum) {
  curandStatePhilox4_32_10_t state;
  curand_init(99, thread(), 0, &state);
  double total = 0;
  for (int i = 0; i < kEach; i += 4) {
    const float4 z = curand_normal4(&state);
    for (float normal : {z.x, z.y, z.z, z.w}) {
      const double price = 100 * exp((0.05 - 0.5 * 0.2 * 0.2) + 0.2 * double(normal));
      total += price > 100 ? price - 100 : 0;
    }
  }
  atomicAdd(sum, total * exp(-0.05));
}

// Sums of value and square of uniform, normal and Poisson numbers.
template <class State>
__global__ void moments(double* sums) {
  State state;
  curand_init(7, thread(), 0, &state);
  double local[6] = {};
  for (int i = 0; i < kEach; ++i) {
    const double values[3] = {curand_uniform_double(&state), double(curand_normal(&state)),
                              double(curand_poisson(&state, 4.0))};
    for (int k = 0; k < 3; ++k) {
      local[2 * k] += values[k];
      local[2 * k + 1] += values[k] * values[k];
    }
  }
  for (int k = 0; k < 6; ++k) atomicAdd(&sums[k], local[k]);
}

template <class State>
void checkMoments(const char* name) {
  DeviceArray<double> sums(6);
  sums.clear();
  moments<State><<<kBlocks, kThreads>>>(sums);
  CHECK_LAUNCH();
  const std::vector<double> got = sums.host();
  const double means[3] = {0.5, 0, 4}, variances[3] = {1.0 / 12, 1, 4};
  for (int k = 0; k < 3; ++k) {
    const double mean = got[2 * k] / kCount, variance = got[2 * k + 1] / kCount - mean * mean;
    const double deviation = std::sqrt(variances[k] / kCount);  // of the mean
    if (std::fabs(mean - means[k]) < 5 * deviation && std::fabs(variance / variances[k] - 1) < 0.02) continue;
    std::fprintf(stderr, "%s, distribution %d: mean %g, variance %g\n", name, k, mean, variance);
    std::_Exit(1);
  }
}

// Two sequences of one seed: equal when begun alike, and one skipped ahead goes on where the other is.
__global__ void sequences(int* equal) {
  curandState a, b, c;
  curand_init(5, 3, 0, &a);
  curand_init(5, 3, 0, &b);
  curand_init(5, 3, 1000, &c);
  bool same = true;
  for (int i = 0; i < 1000; ++i) same = same && curand(&a) == curand(&b);
  for (int i = 0; i < 10; ++i) same = same && curand(&a) == curand(&c);
  *equal = same;
}

int main() {
  DeviceArray<unsigned long long> inside(1);
  inside.clear();
  pointsInCircle<<<kBlocks, kThreads>>>(inside);
  CHECK_LAUNCH();
  const double pi = 4 * double(inside.host()[0]) / kCount;
  EXPECT(std::fabs(pi - 3.14159265) < 0.01);

  DeviceArray<double> sum(1);
  sum.clear();
  callPrice<<<kBlocks, kThreads>>>(sum);
  CHECK_LAUNCH();
  EXPECT(std::fabs(sum.host()[0] / kCount - 10.4506) < 0.1);  // Black and Scholes

  checkMoments<curandStateXORWOW_t>("XORWOW");
  checkMoments<curandStatePhilox4_32_10_t>("Philox");
  checkMoments<curandStateMRG32k3a_t>("MRG32k3a");

  DeviceArray<int> equal(1);
  sequences<<<1, 1>>>(equal);
  CHECK_LAUNCH();
  EXPECT(equal.host()[0] == 1);
  return passed();
}
