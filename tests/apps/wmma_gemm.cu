// Matrix products by warps (nvcuda::wmma): halves, bfloat16, tf32, bytes and doubles, in every shape and with every
// layout in memory. Inputs are small whole numbers, so that every sum is exact whatever its order.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include <type_traits>

#include "check.h"

using namespace nvcuda;

// D = A * B + C for a matrix of tiles; each warp makes one tile. A is rows x depth, B depth x columns.
template <int M, int N, int K, class Element, class Sum, class LayoutA, class LayoutB, class Stored>
__global__ void product(const Stored* a, const Stored* b, const Sum* c, Sum* d, int columns, int depth, int rows) {
  const int row = blockIdx.y * M, column = blockIdx.x * N;
  constexpr bool rowsA = std::is_same<LayoutA, wmma::row_major>::value;
  constexpr bool rowsB = std::is_same<LayoutB, wmma::row_major>::value;
  const int strideA = rowsA ? depth : rows, strideB = rowsB ? columns : depth;
  wmma::fragment<wmma::accumulator, M, N, K, Sum> sum;
  wmma::load_matrix_sync(sum, c + row * columns + column, columns, wmma::mem_row_major);
  for (int k = 0; k < depth; k += K) {
    wmma::fragment<wmma::matrix_a, M, N, K, Element, LayoutA> left;
    wmma::fragment<wmma::matrix_b, M, N, K, Element, LayoutB> right;
    wmma::load_matrix_sync(left, a + (rowsA ? row * depth + k : k * rows + row), strideA);
    wmma::load_matrix_sync(right, b + (rowsB ? k * columns + column : column * depth + k), strideB);
    wmma::mma_sync(sum, left, right, sum);
  }
  wmma::store_matrix_sync(d + row * columns + column, sum, columns, wmma::mem_row_major);
}

template <class T>
static T converted(int value) {
  return T(float(value));
}

template <int M, int N, int K, class Element, class Sum, class LayoutA, class LayoutB, class Stored>
static void check(const char* what, bool isSigned) {
  const int rows = 2 * M, columns = 3 * N, depth = 4 * K;
  const auto noise = randomWords(rows * depth + depth * columns + rows * columns, 7);
  const auto at = [&](int index) { return int(noise[index]) - (isSigned ? 3 : 0); };
  std::vector<Stored> a(rows * depth), b(depth * columns);
  std::vector<Sum> c(rows * columns), expected(rows * columns);
  const bool rowsA = std::is_same<LayoutA, wmma::row_major>::value;
  const bool rowsB = std::is_same<LayoutB, wmma::row_major>::value;
  for (int i = 0; i < rows; ++i)
    for (int k = 0; k < depth; ++k) a[rowsA ? i * depth + k : k * rows + i] = converted<Stored>(at(i * depth + k));
  for (int k = 0; k < depth; ++k)
    for (int j = 0; j < columns; ++j)
      b[rowsB ? k * columns + j : j * depth + k] = converted<Stored>(at(rows * depth + k * columns + j));
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) {
      int sum = at(rows * depth + depth * columns + i * columns + j);
      c[i * columns + j] = converted<Sum>(sum);
      for (int k = 0; k < depth; ++k) sum += at(i * depth + k) * at(rows * depth + k * columns + j);
      expected[i * columns + j] = converted<Sum>(sum);
    }
  DeviceArray<Stored> left(a), right(b);
  DeviceArray<Sum> start(c), result(c.size());
  product<M, N, K, Element, Sum, LayoutA, LayoutB, Stored>
      <<<dim3(columns / N, rows / M), 32>>>(left, right, start, result, columns, depth, rows);
  CHECK_LAUNCH();
  expectEqual(result.host(), expected, what);
}

template <int M, int N, int K, class Element, class Sum, class Stored = Element>
static void everyLayout(const char* what, bool isSigned = true) {
  check<M, N, K, Element, Sum, wmma::row_major, wmma::row_major, Stored>(what, isSigned);
  check<M, N, K, Element, Sum, wmma::row_major, wmma::col_major, Stored>(what, isSigned);
  check<M, N, K, Element, Sum, wmma::col_major, wmma::row_major, Stored>(what, isSigned);
  check<M, N, K, Element, Sum, wmma::col_major, wmma::col_major, Stored>(what, isSigned);
}

template <class Element, class Sum>
static void everyShape(const char* what, bool isSigned = true) {
  everyLayout<16, 16, 16, Element, Sum>(what, isSigned);
  everyLayout<32, 8, 16, Element, Sum>(what, isSigned);
  everyLayout<8, 32, 16, Element, Sum>(what, isSigned);
}

// Elements of fragments may be changed one by one; accumulators move through shared memory by columns.
__global__ void scaled(const __half* a, const __half* b, float* out) {
  __shared__ float staged[256];
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> right;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 1.0f);
  wmma::load_matrix_sync(left, a, 16);
  wmma::load_matrix_sync(right, b, 16);
  for (int i = 0; i < left.num_elements; ++i) left.x[i] = __hmul(left.x[i], __float2half(2.0f));
  wmma::mma_sync(sum, left, right, sum);
  for (int i = 0; i < sum.num_elements; ++i) sum.x[i] = sum.x[i] * 0.5f + 1.0f;
  wmma::store_matrix_sync(staged, sum, 16, wmma::mem_col_major);
  __syncwarp();
  for (int i = threadIdx.x; i < 256; i += 32) out[i] = staged[i % 16 * 16 + i / 16];
}

static void checkElements() {
  const auto noise = randomWords(512, 9, 5);
  std::vector<__half> a(256), b(256);
  std::vector<float> expected(256);
  for (int i = 0; i < 256; ++i) a[i] = __float2half(float(noise[i])), b[i] = __float2half(float(noise[256 + i]));
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 16; ++j) {
      int sum = 0;
      for (int k = 0; k < 16; ++k) sum += int(noise[i * 16 + k] * noise[256 + j * 16 + k]);
      expected[i * 16 + j] = float(2 * sum + 1) * 0.5f + 1.0f;
    }
  DeviceArray<__half> left(a), right(b);
  DeviceArray<float> result(256);
  scaled<<<1, 32>>>(left, right, result);
  CHECK_LAUNCH();
  expectEqual(result.host(), expected, "changed elements");
}

// Bits and halves of bytes, of which only some layouts exist.
__global__ void bits(const unsigned* a, const unsigned* b, int* out) {
  using namespace wmma::experimental;
  wmma::fragment<wmma::matrix_a, 8, 8, 128, precision::b1, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, 8, 8, 128, precision::b1, wmma::col_major> right;
  wmma::fragment<wmma::accumulator, 8, 8, 128, int> sum;
  wmma::fill_fragment(sum, 5);
  wmma::load_matrix_sync(left, a, 128);
  wmma::load_matrix_sync(right, b, 128);
  wmma::bmma_sync(sum, left, right, sum, bmmaBitOpAND);
  wmma::store_matrix_sync(out, sum, 8, wmma::mem_row_major);
}

static void checkBits() {
  const auto a = randomWords(32, 0, 8), b = randomWords(32, 0, 9);
  std::vector<int> expected(64);
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j) {
      expected[i * 8 + j] = 5;
      for (int k = 0; k < 4; ++k) expected[i * 8 + j] += __builtin_popcount(a[i * 4 + k] & b[j * 4 + k]);
    }
  DeviceArray<unsigned> left(a), right(b);
  DeviceArray<int> result(64);
  bits<<<1, 32>>>(left, right, result);
  CHECK_LAUNCH();
  expectEqual(result.host(), expected, "bits");
}

int main() {
  everyShape<__half, float>("halves");
  everyShape<__half, __half>("halves summed in halves");
  everyShape<__nv_bfloat16, float>("bfloat16");
  everyShape<signed char, int>("signed bytes");
  everyShape<unsigned char, int>("bytes", false);
  everyLayout<16, 16, 8, wmma::precision::tf32, float, float>("tf32");
  everyLayout<8, 8, 4, double, double>("doubles");
  checkElements();
  checkBits();
  return passed();
}
