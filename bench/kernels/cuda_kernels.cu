// The kernels in CUDA, through the runtime API: on Verdigris by way of whatever libcuda.so.1 is found.
#include <cuda_runtime.h>

#include "kernels.h"

using namespace kernels;

#define CHECK(call)                                                                      \
  do {                                                                                   \
    if ((call) != cudaSuccess) giveUp(cudaGetErrorString(cudaGetLastError()), __LINE__); \
  } while (0)

__global__ void vectorAdd(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

__global__ void saxpyPositive(const float* x, float* y, float a, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && x[i] > 0) y[i] = a * x[i] + y[i];
}

__global__ void stencil(const float* in, float* out, int n) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1) return;
  const int i = y * n + x;
  out[i] = 0.2f * (in[i] + in[i - 1] + in[i + 1] + in[i - n] + in[i + n]);
}

template <int kTile>
__global__ void sgemm(const float* a, const float* b, float* c, int n) {
  __shared__ float tileA[kTile][kTile], tileB[kTile][kTile];
  const int row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0;
  for (int start = 0; start < n; start += kTile) {
    tileA[threadIdx.y][threadIdx.x] = a[row * n + start + threadIdx.x];
    tileB[threadIdx.y][threadIdx.x] = b[(start + threadIdx.y) * n + column];
    __syncthreads();
    for (int k = 0; k < kTile; ++k) sum += tileA[threadIdx.y][k] * tileB[k][threadIdx.x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

__global__ void transpose(const float* in, float* out, int n) {
  __shared__ float tile[16][17];
  const int x = blockIdx.x * 16, y = blockIdx.y * 16;
  tile[threadIdx.y][threadIdx.x] = in[(y + threadIdx.y) * n + x + threadIdx.x];
  __syncthreads();
  out[(x + threadIdx.y) * n + y + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}

__global__ void turn(cudaTextureObject_t picture, float* out, float c, float s) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  const float u = (x + 0.5f) / kPictureSide - 0.5f, v = (y + 0.5f) / kPictureSide - 0.5f;
  out[y * kPictureSide + x] = tex2D<float>(picture, u * c - v * s + 0.5f, v * c + u * s + 0.5f);
}

__inline__ __device__ float warpSum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffff, value, offset);
  return value;
}

__global__ void blockReduce(const float* in, float* out) {
  __shared__ float partial[kReduceBlock / 32];
  float sum = warpSum(in[blockIdx.x * kReduceBlock + threadIdx.x]);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = warpSum(threadIdx.x < kReduceBlock / 32 ? partial[threadIdx.x] : 0);
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
  }
}

__global__ void histogramShared(const unsigned* in, unsigned* bins, int n) {
  __shared__ unsigned local[kBins];
  for (int bin = threadIdx.x; bin < kBins; bin += blockDim.x) local[bin] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&local[in[i]], 1u);
  __syncthreads();
  for (int bin = threadIdx.x; bin < kBins; bin += blockDim.x) atomicAdd(&bins[bin], local[bin]);
}

__global__ void histogramGlobal(const unsigned* in, unsigned* bins, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&bins[in[i]], 1u);
}

__global__ void gather(const float* table, const unsigned* index, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = table[index[i]];
}

__global__ void mandelbrot(int* out, int side, int limit) {
  const int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
  if (px >= side || py >= side) return;
  const float cx = -2.0f + px * (3.0f / side), cy = -1.5f + py * (3.0f / side);
  float x = 0, y = 0;
  int round = 0;
  for (; round < limit && x * x + y * y <= 4; ++round) {
    const float next = x * x - y * y + cx;
    y = 2 * x * y + cy;
    x = next;
  }
  out[py * side + px] = round;
}

template <class T>
struct Array {
  T* data = nullptr;
  size_t size;
  explicit Array(size_t n) : size(n) {
    CHECK(cudaMalloc(&data, n * sizeof(T)));
    CHECK(cudaMemset(data, 0, n * sizeof(T)));
  }
  explicit Array(const std::vector<T>& values) : Array(values.size()) {
    CHECK(cudaMemcpy(data, values.data(), size * sizeof(T), cudaMemcpyHostToDevice));
  }
  ~Array() { cudaFree(data); }
  std::vector<T> host() const {
    std::vector<T> values(size);
    CHECK(cudaMemcpy(values.data(), data, size * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }
};

// A square picture that repeats itself, read by coordinates from 0 to 1 and mixed between elements.
class Picture {
 public:
  explicit Picture(const std::vector<float>& values) {
    const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    CHECK(cudaMallocArray(&array_, &format, kPictureSide, kPictureSide));
    const size_t row = kPictureSide * sizeof(float);
    CHECK(cudaMemcpy2DToArray(array_, 0, 0, values.data(), row, row, kPictureSide, cudaMemcpyHostToDevice));
    cudaResourceDesc memory{};
    memory.resType = cudaResourceTypeArray;
    memory.res.array.array = array_;
    cudaTextureDesc reads{};
    reads.addressMode[0] = reads.addressMode[1] = cudaAddressModeWrap;
    reads.filterMode = cudaFilterModeLinear;
    reads.normalizedCoords = 1;
    CHECK(cudaCreateTextureObject(&texture, &memory, &reads, nullptr));
  }
  ~Picture() {
    cudaDestroyTextureObject(texture);
    cudaFreeArray(array_);
  }
  cudaTextureObject_t texture = 0;

 private:
  cudaArray_t array_ = nullptr;
};

static void finish() {
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
}

static void timeVectorAdd() {
  const auto a = floats(kAddSize, 1), b = floats(kAddSize, 2);
  Array<float> deviceA(a), deviceB(b), c(kAddSize);
  const auto run = [&] {
    vectorAdd<<<kAddSize / 256, 256>>>(deviceA.data, deviceB.data, c.data, kAddSize);
    finish();
  };
  run();
  std::vector<float> expected(kAddSize);
  for (int i = 0; i < kAddSize; ++i) expected[i] = a[i] + b[i];
  expectNear("vectorAdd", c.host(), expected, 0);
  report("vectorAdd", kAddBytes, "GB/s", run);
}

static void timeDivergentSaxpy() {
  const auto x = floats(kSaxpySize, 3), y = floats(kSaxpySize, 4);
  Array<float> deviceX(x), deviceY(y);
  const auto run = [&] {
    saxpyPositive<<<kSaxpySize / 256, 256>>>(deviceX.data, deviceY.data, kSaxpyFactor, kSaxpySize);
    finish();
  };
  run();
  auto expected = y;
  for (int i = 0; i < kSaxpySize; ++i)
    if (x[i] > 0) expected[i] += kSaxpyFactor * x[i];
  expectNear("divergentSaxpy", deviceY.host(), expected, 1e-6);
  report("divergentSaxpy", kSaxpySize, "Gelem/s", run);
}

static void timeStencil() {
  for (const dim3 block : {dim3(32, 8), dim3(16, 16)}) {
    const char* const name = block.x == 32 ? "stencil" : "stencil16";
    const auto in = floats(kStencilSide * kStencilSide, 5);
    Array<float> deviceIn(in), out(in.size());
    const auto run = [&] {
      stencil<<<dim3(kStencilSide / block.x, kStencilSide / block.y), block>>>(deviceIn.data, out.data, kStencilSide);
      finish();
    };
    run();
    expectNear(name, out.host(), stencilOf(in), 1e-6);
    report(name, kStencilFlops, "GFLOP/s", run);
  }
}

static void timeSgemm() {
  for (const unsigned side : {32u, 16u}) {
    const char* const name = side == 32 ? "sgemm" : "sgemm16";
    const auto a = floats(kGemmSide * kGemmSide, 6), b = floats(kGemmSide * kGemmSide, 7);
    Array<float> deviceA(a), deviceB(b), c(a.size());
    const auto run = [&] {
      const dim3 grid(kGemmSide / side, kGemmSide / side), block(side, side);
      (side == 32 ? sgemm<32> : sgemm<16>)<<<grid, block>>>(deviceA.data, deviceB.data, c.data, kGemmSide);
      finish();
    };
    run();
    expectNear(name, c.host(), productOf(a, b), 1e-3);
    report(name, kGemmFlops, "GFLOP/s", run);
  }
}

static void timeTransposition() {
  const auto in = floats(kStencilSide * kStencilSide, 13);
  Array<float> deviceIn(in), out(in.size());
  const auto run = [&] {
    transpose<<<dim3(kStencilSide / 16, kStencilSide / 16), dim3(16, 16)>>>(deviceIn.data, out.data, kStencilSide);
    finish();
  };
  run();
  expectNear("transpose16", out.host(), transposed(in), 0);
  report("transpose16", kTransposeBytes, "GB/s", run);
}

static void timeBlockReduction() {
  const auto in = floats(kReduceSize, 8);
  Array<float> deviceIn(in), out(kReduceSize / kReduceBlock);
  const auto run = [&] {
    blockReduce<<<kReduceSize / kReduceBlock, kReduceBlock>>>(deviceIn.data, out.data);
    finish();
  };
  run();
  expectNear("blockReduction", out.host(), blockSums(in), 1e-3);
  report("blockReduction", kReduceBytes, "GB/s", run);
}

static void timeHistogram() {
  for (bool shared : {true, false}) {
    const auto in = words(kHistogramSize, kBins, 9);
    Array<unsigned> deviceIn(in), bins(kBins);
    const auto run = [&] {
      if (shared) {
        histogramShared<<<64, 256>>>(deviceIn.data, bins.data, kHistogramSize);
      } else {
        histogramGlobal<<<kHistogramSize / 256, 256>>>(deviceIn.data, bins.data, kHistogramSize);
      }
      finish();
    };
    run();
    expectNear("histogram", bins.host(), histogramOf(in), 0);
    report(shared ? "histogramShared" : "histogramGlobal", kHistogramSize, "Gelem/s", run);
  }
}

static void timeGather() {
  const auto table = floats(kGatherSize, 10);
  const auto index = words(kGatherSize, kGatherSize, 11);
  Array<float> deviceTable(table), out(kGatherSize);
  Array<unsigned> deviceIndex(index);
  const auto run = [&] {
    gather<<<kGatherSize / 256, 256>>>(deviceTable.data, deviceIndex.data, out.data, kGatherSize);
    finish();
  };
  run();
  std::vector<float> expected(kGatherSize);
  for (int i = 0; i < kGatherSize; ++i) expected[i] = table[index[i]];
  expectNear("gather", out.host(), expected, 0);
  report("gather", kGatherSize, "Gelem/s", run);
}

static void timeMandelbrot() {
  Array<int> out(kMandelbrotSide * kMandelbrotSide);
  const auto run = [&] {
    mandelbrot<<<dim3(kMandelbrotSide / 32, kMandelbrotSide / 8), dim3(32, 8)>>>(out.data, kMandelbrotSide,
                                                                                 kMandelbrotRounds);
    finish();
  };
  run();
  const auto picture = out.host();
  expectMandelbrot(picture);
  report("mandelbrot", roundsOf(picture), "Giter/s", run);
}

static void timeTexture() {
  const auto in = floats(kPictureSide * kPictureSide, 12);
  const Picture picture(in);
  Array<float> out(in.size());
  const auto run = [&] {
    turn<<<dim3(kPictureSide / 32, kPictureSide / 8), dim3(32, 8)>>>(picture.texture, out.data, std::cos(kPictureAngle),
                                                                     std::sin(kPictureAngle));
    finish();
  };
  run();
  expectNear("textureLinear", out.host(), turned(in), 4.0 / 256);  // texture units mix by 256ths
  report("textureLinear", kPictureSide * kPictureSide, "Gelem/s", run);
}

int main() {
  timeVectorAdd();
  timeDivergentSaxpy();
  timeStencil();
  timeSgemm();
  timeTransposition();
  timeBlockReduction();
  timeHistogram();
  timeGather();
  timeMandelbrot();
  timeTexture();
  return 0;
}
