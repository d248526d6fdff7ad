// The four shuffles for every width, out-of-range lanes keeping their own value, wide and floating types.
#include "check.h"

__global__ void shuffle(const int* in, int* out, int width, int operand) {
  const unsigned all = 0xffffffff;
  const int value = in[threadIdx.x];
  out[threadIdx.x] = __shfl_sync(all, value, operand, width);
  out[threadIdx.x + 32] = __shfl_up_sync(all, value, operand, width);
  out[threadIdx.x + 64] = __shfl_down_sync(all, value, operand, width);
  out[threadIdx.x + 96] = __shfl_xor_sync(all, value, operand, width);
}

__global__ void wideTypes(const double* in, double* out, long long* longs) {
  out[threadIdx.x] = __shfl_sync(0xffffffff, in[threadIdx.x], 31 - int(threadIdx.x));
  longs[threadIdx.x] = __shfl_xor_sync(0xffffffff, (long long)(threadIdx.x) << 33, 5);
}

static int shuffled(const std::vector<int>& in, int kind, int lane, int width, int operand) {
  const int segment = lane / width * width, inside = lane % width;
  int source = lane;
  if (kind == 0) source = segment + ((operand % width) + width) % width;
  if (kind == 1 && inside - operand >= 0) source = lane - operand;
  if (kind == 2 && inside + operand < width) source = lane + operand;
  // Lanes of an earlier segment may be read, those of a later one may not.
  if (kind == 3 && (lane ^ operand) < segment + width) source = lane ^ operand;
  return in[source];
}

int main() {
  std::vector<int> in;
  for (unsigned word : randomWords(32, 0, 21)) in.push_back(int(word));
  DeviceArray<int> deviceIn(in), out(128);
  for (int width : {32, 16, 8, 4, 2, 1}) {
    for (int operand : {0, 1, 2, 3, 5, 8, 15, 16, 31}) {
      shuffle<<<1, 32>>>(deviceIn, out, width, operand);
      CHECK_LAUNCH();
      std::vector<int> expected;
      for (int kind = 0; kind < 4; ++kind)
        for (int lane = 0; lane < 32; ++lane) expected.push_back(shuffled(in, kind, lane, width, operand));
      expectEqual(out.host(), expected, "shuffle");
    }
  }
  std::vector<double> doubles;
  for (int i = 0; i < 32; ++i) doubles.push_back(i * 1.25 - 7);
  DeviceArray<double> deviceDoubles(doubles), outDoubles(32);
  DeviceArray<long long> longs(32);
  wideTypes<<<1, 32>>>(deviceDoubles, outDoubles, longs);
  CHECK_LAUNCH();
  const auto mirrored = outDoubles.host();
  const auto longValues = longs.host();
  for (int i = 0; i < 32; ++i) EXPECT(mirrored[i] == doubles[31 - i] && longValues[i] == (long long)(i ^ 5) << 33);
  return passed();
}
