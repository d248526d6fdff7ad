// Double precision: exact operations bit by bit, conversions with their limits, a linear solver.
#include <random>

#include "check.h"

__global__ void operations(const double* a, const double* b, double* out, int size) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  out[i] = __dadd_rn(a[i], b[i]);
  out[size + i] = __dmul_rn(a[i], b[i]);
  out[2 * size + i] = a[i] / b[i];
  out[3 * size + i] = sqrt(fabs(a[i]));
  out[4 * size + i] = fma(a[i], b[i], 1.0);
  out[5 * size + i] = floor(a[i]) + ceil(b[i]) + trunc(a[i]) - rint(b[i]);
  out[6 * size + i] = fmin(a[i], b[i]) - fmax(a[i], b[i]);
  out[7 * size + i] = double(float(a[i]));
}

__global__ void toIntegers(const double* in, long long* out, int size) {
  const int i = threadIdx.x;
  if (i >= size) return;
  out[i] = (long long)in[i];
  out[size + i] = (int)in[i];
  out[2 * size + i] = (long long)(unsigned)in[i];
  out[3 * size + i] = __double2ll_rn(in[i]);
  out[4 * size + i] = __double2int_rd(in[i]);
  out[5 * size + i] = __double2int_ru(in[i]);
}

// Solves one tridiagonal system a thread (Thomas algorithm).
__global__ void solve(const double* right, double* x, int systems, int order) {
  const int system = blockIdx.x * blockDim.x + threadIdx.x;
  if (system >= systems) return;
  double upper[32], value[32];
  upper[0] = -1.0 / 4;
  value[0] = right[system * order] / 4;
  for (int i = 1; i < order; ++i) {
    const double pivot = 4 + upper[i - 1];
    upper[i] = -1 / pivot;
    value[i] = (right[system * order + i] + value[i - 1]) / pivot;
  }
  x[system * order + order - 1] = value[order - 1];
  for (int i = order - 2; i >= 0; --i) x[system * order + i] = value[i] - upper[i] * x[system * order + i + 1];
}

int main() {
  std::mt19937_64 random(23);
  std::uniform_real_distribution<double> distribution(-1000, 1000);
  const int size = 3001;
  std::vector<double> a(size), b(size), expected;
  for (int i = 0; i < size; ++i) {
    a[i] = distribution(random);
    b[i] = distribution(random);
  }
  for (int i = 0; i < size; ++i) expected.push_back(a[i] + b[i]);
  for (int i = 0; i < size; ++i) expected.push_back(a[i] * b[i]);
  for (int i = 0; i < size; ++i) expected.push_back(a[i] / b[i]);
  for (int i = 0; i < size; ++i) expected.push_back(std::sqrt(std::fabs(a[i])));
  for (int i = 0; i < size; ++i) expected.push_back(std::fma(a[i], b[i], 1.0));
  for (int i = 0; i < size; ++i)
    expected.push_back(std::floor(a[i]) + std::ceil(b[i]) + std::trunc(a[i]) - std::rint(b[i]));
  for (int i = 0; i < size; ++i) expected.push_back(std::fmin(a[i], b[i]) - std::fmax(a[i], b[i]));
  for (int i = 0; i < size; ++i) expected.push_back(double(float(a[i])));
  DeviceArray<double> deviceA(a), deviceB(b), out(8 * size);
  operations<<<(size + 255) / 256, 256>>>(deviceA, deviceB, out, size);
  CHECK_LAUNCH();
  expectEqual(out.host(), expected, "operations");

  const std::vector<double> special = {0.5, -0.5, 1.5, 2.5, -2.5, 1e10, -1e10, 123456789.75, 3e9, -0.0};
  const int count = int(special.size());
  DeviceArray<double> deviceSpecial(special);
  DeviceArray<long long> integers(6 * count);
  toIntegers<<<1, 32>>>(deviceSpecial, integers, count);
  CHECK_LAUNCH();
  const auto clampInt = [](double v) { return (long long)std::fmin(2147483647.0, std::fmax(-2147483648.0, v)); };
  std::vector<long long> expectedIntegers;
  for (double v : special) expectedIntegers.push_back((long long)v);
  for (double v : special) expectedIntegers.push_back(clampInt(std::trunc(v)));
  for (double v : special)
    expectedIntegers.push_back((long long)std::fmin(4294967295.0, std::fmax(0.0, std::trunc(v))));
  for (double v : special) expectedIntegers.push_back((long long)std::nearbyint(v));
  for (double v : special) expectedIntegers.push_back(clampInt(std::floor(v)));
  for (double v : special) expectedIntegers.push_back(clampInt(std::ceil(v)));
  expectEqual(integers.host(), expectedIntegers, "conversions");

  const int systems = 200, order = 32;
  std::vector<double> right(systems * order);
  for (double& value : right) value = distribution(random);
  DeviceArray<double> deviceRight(right), x(systems * order);
  solve<<<(systems + 31) / 32, 32>>>(deviceRight, x, systems, order);
  CHECK_LAUNCH();
  const auto solution = x.host();
  for (int system = 0; system < systems; ++system)
    for (int i = 0; i < order; ++i) {
      const double* row = &solution[system * order];
      const double product = 4 * row[i] - (i ? row[i - 1] : 0) - (i + 1 < order ? row[i + 1] : 0);
      EXPECT(std::fabs(product - right[system * order + i]) < 1e-9);
    }
  return passed();
}
