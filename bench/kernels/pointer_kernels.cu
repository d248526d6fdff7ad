// Kernels that take addresses from memory, or compute them of indices of 64 bits: what tests of such addresses cost
// (docs/speed.md).
// Each proves its result once and is then timed.
#include <cuda_runtime.h>

#include <cstdint>

#include "kernels.h"

using namespace kernels;

#define CHECK(call)                                                                      \
  do {                                                                                   \
    if ((call) != cudaSuccess) giveUp(cudaGetErrorString(cudaGetLastError()), __LINE__); \
  } while (0)

constexpr int kRows = 512, kRow = 512;
constexpr int kSize = kRows * kRow;
constexpr int kChain = 16, kChains = 1 << 14;
constexpr int kBatch = 64, kSide = 64;  // products of matrices
constexpr double kProductFlops = 2.0 * kBatch * kSide * kSide * kSide;

struct Arrays {
  const float *a, *b;
  float* c;
};
__constant__ Arrays held;

struct Node {
  const Node* next;
  float value;
};

__global__ void rowsByTable(const float* const* rows, float* const* out) {
  out[blockIdx.y][blockIdx.x * blockDim.x + threadIdx.x] +=
      0.5f * rows[blockIdx.y][blockIdx.x * blockDim.x + threadIdx.x];
}

__global__ void elementsByTable(const float* const* table, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = *table[i];
}

__global__ void elementsByIndex(const float* in, const int64_t* index, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[index[i]];
}

__global__ void addByIndex(const float* in, const int64_t* index, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&out[index[i]], in[i]);
}

// A block for each word of a text, as embeddings are looked up.
__global__ void rowsByIndex(const float* rows, const int64_t* words, float* out) {
  const int64_t from = words[blockIdx.x] * kRow, to = int64_t(blockIdx.x) * kRow;
  for (int i = threadIdx.x; i < kRow; i += blockDim.x) out[to + i] = rows[from + i];
}

// A sparse matrix by a vector, a thread for each row, with offsets of 64 bits.
__global__ void sparseProduct(const int64_t* offsets, const int64_t* columns, const float* values, const float* x,
                              float* y, int n) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n) return;
  float sum = 0;
  for (int64_t k = offsets[row]; k < offsets[row + 1]; ++k) sum += values[k] * x[columns[k]];
  y[row] = sum;
}

__global__ void lists(const Node* const* heads, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (const Node* at = heads[i]; at; at = at->next) sum += at->value;
  out[i] = sum;
}

__global__ void structure(const Arrays* arrays) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  arrays->c[i] = arrays->a[i] + arrays->b[i];
}

__global__ void constants() {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  held.c[i] = held.a[i] + held.b[i];
}

__global__ void products(const float* const* a, const float* const* b, float* const* c) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < kSide; ++k) sum += a[blockIdx.z][row * kSide + k] * b[blockIdx.z][k * kSide + column];
  c[blockIdx.z][row * kSide + column] = sum;
}

__global__ void productsOfTiles(const float* const* a, const float* const* b, float* const* c) {
  __shared__ float tileA[16][16], tileB[16][16];
  const float* const ours = a[blockIdx.z];
  const float* const theirs = b[blockIdx.z];
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  float sum = 0;
  for (int start = 0; start < kSide; start += 16) {
    tileA[threadIdx.y][threadIdx.x] = ours[row * kSide + start + threadIdx.x];
    tileB[threadIdx.y][threadIdx.x] = theirs[(start + threadIdx.y) * kSide + column];
    __syncthreads();
    for (int k = 0; k < 16; ++k) sum += tileA[threadIdx.y][k] * tileB[k][threadIdx.x];
    __syncthreads();
  }
  c[blockIdx.z][row * kSide + column] = sum;
}

// Indices of 64 bits that the kernel computes.
__global__ void wideSaxpy(const float* x, float* y, float a, size_t n) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x)
    y[i] = a * x[i] + 0.5f;
}

__global__ void wideStencil(const float* in, float* out, size_t pitch) {
  const size_t x = blockIdx.x * size_t(blockDim.x) + threadIdx.x, y = blockIdx.y * size_t(blockDim.y) + threadIdx.y;
  if (x < 1 || y < 1 || x >= kRow - 1 || y >= kRows - 1) return;
  const float* const at = in + y * pitch + x;
  out[y * pitch + x] = 0.2f * (at[0] + at[-1] + at[1] + *(at - pitch) + at[pitch]);
}

__global__ void wideProduct(const float* a, const float* b, float* c, size_t n) {
  const size_t row = blockIdx.y * size_t(blockDim.y) + threadIdx.y,
               column = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
  float sum = 0;
  for (size_t k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
  c[row * n + column] = sum;
}

// A pointer that moves on by rows.
__global__ void columnSums(const float* at, float* out, size_t pitch) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  at += column;
  float sum = 0;
  for (int row = 0; row < kRows; ++row, at += pitch) sum += *at;
  out[column] = sum;
}

// An array of each thread's own, at places that its data say.
__global__ void localCounts(const float* in, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  int counts[16] = {};
  for (int k = 0; k < 64; ++k) ++counts[int((in[(i + k * 37) % kSize] + 1) * 7.99f)];
  int most = 0;
  for (int k = 1; k < 16; ++k) most = counts[k] > counts[most] ? k : most;
  out[i] = most;
}

template <class T>
struct Array {
  T* data = nullptr;
  size_t size;
  explicit Array(size_t n) : size(n) {
    CHECK(cudaMalloc(&data, n * sizeof(T)));
    clear();
  }
  explicit Array(const std::vector<T>& values) : Array(values.size()) {
    CHECK(cudaMemcpy(data, values.data(), size * sizeof(T), cudaMemcpyHostToDevice));
  }
  ~Array() { cudaFree(data); }
  void clear() { CHECK(cudaMemset(data, 0, size * sizeof(T))); }
  std::vector<T> host() const {
    std::vector<T> values(size);
    CHECK(cudaMemcpy(values.data(), data, size * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }
};

// The addresses of parts of an array, one behind the other or mixed.
template <class T, class E>
static std::vector<T*> parts(E* start, size_t count, size_t step, unsigned seed = 0) {
  std::vector<T*> all(count);
  for (size_t i = 0; i < count; ++i) all[i] = start + i * step;
  if (seed) std::shuffle(all.begin(), all.end(), std::mt19937(seed));
  return all;
}

static std::vector<int64_t> indices(size_t size, unsigned below, unsigned seed) {
  const auto all = words(size, below, seed);
  return {all.begin(), all.end()};
}

// Runs once from zeroes, proves the result, and takes the time.
template <class Launch>
static void time(const char* name, double work, const char* unit, Array<float>& out, const std::vector<float>& expected,
                 double tolerance, Launch launch) {
  const auto run = [&] {
    launch();
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
  };
  out.clear();
  run();
  expectNear(name, out.host(), expected, tolerance);
  report(name, work, unit, run);
}

static void timeTables() {
  const auto in = floats(kSize, 1);
  Array<float> values(in), out(kSize);
  std::vector<float> halves(in);
  for (float& value : halves) value *= 0.5f;
  Array<const float*> rows(parts<const float>(values.data, kRows, kRow));
  Array<float*> outs(parts<float>(out.data, kRows, kRow));
  time("rowsByTable", kSize, "Gelem/s", out, halves, 1e-6,
       [&] { rowsByTable<<<dim3(kRow / 256, kRows), 256>>>(rows.data, outs.data); });
  const auto mixed = parts<const float>(values.data, kSize, 1, 2);
  Array<const float*> table(mixed);
  std::vector<float> expected(kSize);
  for (int i = 0; i < kSize; ++i) expected[i] = in[mixed[i] - values.data];
  time("elementsByTable", kSize, "Gelem/s", out, expected, 0,
       [&] { elementsByTable<<<kSize / 256, 256>>>(table.data, out.data, kSize); });
}

static void timeIndices() {
  const auto in = floats(kSize, 3);
  const auto index = indices(kSize, kSize, 4), rows = indices(kRows, kRows, 5);
  Array<float> values(in), out(kSize);
  Array<int64_t> places(index), texts(rows);
  std::vector<float> read(kSize), added(kSize, 0), looked(kSize);
  for (int i = 0; i < kSize; ++i) {
    read[i] = in[index[i]];
    added[index[i]] += in[i];
    looked[i] = in[rows[i / kRow] * kRow + i % kRow];
  }
  time("elementsByIndex", kSize, "Gelem/s", out, read, 0,
       [&] { elementsByIndex<<<kSize / 256, 256>>>(values.data, places.data, out.data, kSize); });
  time("addByIndex", kSize, "Gelem/s", out, added, 1e-4,
       [&] { addByIndex<<<kSize / 256, 256>>>(values.data, places.data, out.data, kSize); });
  time("rowsByIndex", kSize, "Gelem/s", out, looked, 0,
       [&] { rowsByIndex<<<kRows, 128>>>(values.data, texts.data, out.data); });
}

static void timeSparse() {
  constexpr int kEach = 16, kLong = kSize / kEach;
  std::vector<int64_t> offsets(kLong + 1);
  for (int i = 0; i <= kLong; ++i) offsets[i] = int64_t(i) * kEach;
  const auto columns = indices(kSize, kLong, 6);
  const auto values = floats(kSize, 7), x = floats(kLong, 8);
  std::vector<float> expected(kLong, 0);
  for (int i = 0; i < kSize; ++i) expected[i / kEach] += values[i] * x[columns[i]];
  Array<int64_t> deviceOffsets(offsets), deviceColumns(columns);
  Array<float> deviceValues(values), deviceX(x), y(kLong);
  time("sparseProduct", kSize, "Gelem/s", y, expected, 1e-4, [&] {
    sparseProduct<<<kLong / 256, 256>>>(deviceOffsets.data, deviceColumns.data, deviceValues.data, deviceX.data, y.data,
                                        kLong);
  });
}

static void timeLists() {
  const auto values = floats(kChains * kChain, 9);
  Array<Node> nodes(values.size());
  const auto order = parts<Node>(nodes.data, values.size(), 1, 10);
  std::vector<Node> made(values.size());
  std::vector<const Node*> heads(kChains);
  std::vector<float> sums(kChains, 0);
  for (int i = 0; i < kChains * kChain; ++i) {
    made[order[i] - nodes.data] = {i % kChain == kChain - 1 ? nullptr : order[i + 1], values[i]};
    if (i % kChain == 0) heads[i / kChain] = order[i];
    sums[i / kChain] += values[i];
  }
  CHECK(cudaMemcpy(nodes.data, made.data(), made.size() * sizeof(Node), cudaMemcpyHostToDevice));
  Array<const Node*> deviceHeads(heads);
  Array<float> out(kChains);
  time("lists", kChains * kChain, "Gelem/s", out, sums, 1e-4,
       [&] { lists<<<kChains / 256, 256>>>(deviceHeads.data, out.data); });
}

static void timeStructures() {
  const auto a = floats(kSize, 11), b = floats(kSize, 12);
  std::vector<float> sums(kSize);
  for (int i = 0; i < kSize; ++i) sums[i] = a[i] + b[i];
  Array<float> deviceA(a), deviceB(b), c(kSize);
  const Arrays arrays{deviceA.data, deviceB.data, c.data};
  Array<Arrays> kept(std::vector<Arrays>{arrays});
  CHECK(cudaMemcpyToSymbol(held, &arrays, sizeof arrays));
  time("structure", kSize, "Gelem/s", c, sums, 0, [&] { structure<<<kSize / 256, 256>>>(kept.data); });
  time("constants", kSize, "Gelem/s", c, sums, 0, [&] { constants<<<kSize / 256, 256>>>(); });
}

static void timeWide() {
  constexpr int kWide = 256;  // a product
  const auto in = floats(kSize, 15);
  Array<float> values(in), out(kSize), sums(kRow), products(kWide * kWide);
  std::vector<float> scaled(kSize), spread(kSize, 0), added(kRow, 0), expected(kWide * kWide, 0);
  for (int i = 0; i < kSize; ++i) {
    scaled[i] = 2 * in[i] + 0.5f;
    added[i % kRow] += in[i];
    if (i / kRow % (kRows - 1) && i % kRow % (kRow - 1))
      spread[i] = 0.2f * (in[i] + in[i - 1] + in[i + 1] + in[i - kRow] + in[i + kRow]);
  }
  for (int i = 0; i < kWide; ++i)
    for (int k = 0; k < kWide; ++k)
      for (int j = 0; j < kWide; ++j) expected[i * kWide + j] += in[i * kWide + k] * in[k * kWide + j];
  time("wideSaxpy", kSize, "Gelem/s", out, scaled, 1e-6,
       [&] { wideSaxpy<<<64, 256>>>(values.data, out.data, 2, kSize); });
  time("wideStencil", kSize, "Gelem/s", out, spread, 1e-6,
       [&] { wideStencil<<<dim3(kRow / 32, kRows / 8), dim3(32, 8)>>>(values.data, out.data, kRow); });
  time("wideProduct", 2.0 * kWide * kWide * kWide, "GFLOP/s", products, expected, 1e-3, [&] {
    wideProduct<<<dim3(kWide / 32, kWide / 8), dim3(32, 8)>>>(values.data, values.data, products.data, kWide);
  });
  time("columnSums", kSize, "Gelem/s", sums, added, 1e-3,
       [&] { columnSums<<<kRow / 128, 128>>>(values.data, sums.data, kRow); });
}

static void timeLocal() {
  constexpr int kThreads = 1 << 13;
  const auto in = floats(kSize, 16);
  std::vector<float> expected(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    int counts[16] = {}, most = 0;
    for (int k = 0; k < 64; ++k) ++counts[int((in[(i + k * 37) % kSize] + 1) * 7.99f)];
    for (int k = 1; k < 16; ++k) most = counts[k] > counts[most] ? k : most;
    expected[i] = most;
  }
  Array<float> values(in), out(kThreads);
  time("localCounts", 64.0 * kThreads, "Gelem/s", out, expected, 0,
       [&] { localCounts<<<kThreads / 128, 128>>>(values.data, out.data); });
}

static void timeProducts() {
  const size_t each = size_t(kSide) * kSide;
  const auto a = floats(kBatch * each, 13), b = floats(kBatch * each, 14);
  std::vector<float> expected(a.size(), 0);
  for (size_t m = 0; m < kBatch; ++m)
    for (int i = 0; i < kSide; ++i)
      for (int k = 0; k < kSide; ++k)
        for (int j = 0; j < kSide; ++j)
          expected[m * each + i * kSide + j] += a[m * each + i * kSide + k] * b[m * each + k * kSide + j];
  Array<float> deviceA(a), deviceB(b), c(a.size());
  Array<const float*> as(parts<const float>(deviceA.data, kBatch, each)),
      bs(parts<const float>(deviceB.data, kBatch, each));
  Array<float*> cs(parts<float>(c.data, kBatch, each));
  time("products", kProductFlops, "GFLOP/s", c, expected, 1e-3,
       [&] { products<<<dim3(kSide / 32, kSide / 8, kBatch), dim3(32, 8)>>>(as.data, bs.data, cs.data); });
  time("productsOfTiles", kProductFlops, "GFLOP/s", c, expected, 1e-3,
       [&] { productsOfTiles<<<dim3(kSide / 16, kSide / 16, kBatch), dim3(16, 16)>>>(as.data, bs.data, cs.data); });
}

int main() {
  timeTables();
  timeIndices();
  timeSparse();
  timeLists();
  timeStructures();
  timeWide();
  timeLocal();
  timeProducts();
  return 0;
}
