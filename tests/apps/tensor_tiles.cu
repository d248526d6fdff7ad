// Tiles of tensors, copied by tensor maps: one to five dimensions, edges outside of the tensor, swizzles, strides of
// elements, fills, stores, reductions, columns of images, maps that kernels change.
#include <cuda.h>

#include <algorithm>

#include "check.h"

__device__ unsigned sharedAddress(const void* pointer) { return unsigned(__cvta_generic_to_shared(pointer)); }

// Swizzles want 1024 bytes of alignment, which dynamic shared memory does not promise.
constexpr unsigned kSlack = 1024;
__device__ unsigned* aligned(unsigned* pointer) {
  return pointer + (kSlack - sharedAddress(pointer) % kSlack) % kSlack / 4;
}

__device__ void expectBytes(unsigned long long* barrier, unsigned bytes) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\nfence.proxy.async.shared::cta;" ::"r"(sharedAddress(barrier))
               : "memory");
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(sharedAddress(barrier)), "r"(bytes)
               : "memory");
}

__device__ void waitFor(unsigned long long* barrier) {
  unsigned done = 0;
  while (!done)
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : "r"(sharedAddress(barrier))
                 : "memory");
}

#define LOAD(dimensions, coordinates, ...)                                      \
  asm volatile("cp.async.bulk.tensor." dimensions                               \
               ".shared::cluster.global.tile.mbarrier::complete_tx::bytes "     \
               "[%0], [%1, " coordinates "], [%2];" ::"r"(sharedAddress(tile)), \
               "l"(&map), "r"(sharedAddress(&barrier)), __VA_ARGS__             \
               : "memory")

struct Corner {
  int at[5];
};

// Loads one piece of `bytes` bytes and writes it as it lies in shared memory.
__global__ void loadTile(const __grid_constant__ CUtensorMap map, int rank, Corner c, unsigned bytes, unsigned* out) {
  extern __shared__ unsigned room[];
  unsigned* const tile = aligned(room);
  __shared__ __align__(8) unsigned long long barrier;
  if (threadIdx.x == 0) {
    expectBytes(&barrier, bytes);
    if (rank == 1) LOAD("1d", "{%3}", "r"(c.at[0]));
    if (rank == 2) LOAD("2d", "{%3, %4}", "r"(c.at[0]), "r"(c.at[1]));
    if (rank == 3) LOAD("3d", "{%3, %4, %5}", "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[2]));
    if (rank == 4) LOAD("4d", "{%3, %4, %5, %6}", "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[2]), "r"(c.at[3]));
    if (rank == 5)
      LOAD("5d", "{%3, %4, %5, %6, %7}", "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[2]), "r"(c.at[3]), "r"(c.at[4]));
  }
  __syncthreads();
  waitFor(&barrier);
  for (unsigned i = threadIdx.x; i < bytes / 4; i += blockDim.x) out[i] = tile[i];
}

using Encode = decltype(&cuTensorMapEncodeTiled);
using EncodeIm2col = decltype(&cuTensorMapEncodeIm2col);
template <class Function>
static Function driverFunction(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  CHECK(cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found));
  EXPECT(found == cudaDriverEntryPointSuccess);
  return reinterpret_cast<Function>(function);
}

// A tensor of words whose values are their indices in memory.
struct Tensor {
  std::vector<cuuint64_t> sizes;
  std::vector<cuuint64_t> strides;  // bytes, from the second dimension
  std::vector<unsigned> words;

  explicit Tensor(std::vector<cuuint64_t> given) : sizes(std::move(given)) {
    cuuint64_t bytes = (sizes[0] * 4 + 15) / 16 * 16;
    for (size_t d = 1; d < sizes.size(); ++d) {
      strides.push_back(bytes);
      bytes *= sizes[d];
    }
    strides.resize(std::max(strides.size(), size_t{1}), 16);  // one dimension has none, but wants the array
    words.resize(bytes / 4);
    for (size_t i = 0; i < words.size(); ++i) words[i] = unsigned(i) + 1000;
  }
  int rank() const { return int(sizes.size()); }

  CUtensorMap map(void* data, const std::vector<cuuint32_t>& box, std::vector<cuuint32_t> steps,
                  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE,
                  CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_UINT32,
                  CUtensorMapFloatOOBfill fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) const {
    steps.resize(sizes.size(), 1);
    CUtensorMap map;
    const CUresult result = driverFunction<Encode>("cuTensorMapEncodeTiled")(
        &map, type, cuuint32_t(rank()), data, sizes.data(), strides.data(), box.data(), steps.data(),
        CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, fill);
    if (result != CUDA_SUCCESS) std::fprintf(stderr, "rank %d, box of %u: error %d\n", rank(), box[0], int(result));
    EXPECT(result == CUDA_SUCCESS);
    return map;
  }
  // The word at the coordinates, `outside` beyond the tensor.
  unsigned at(const int* c, unsigned outside) const {
    size_t index = size_t(c[0]);
    for (int d = 0; d < rank(); ++d) {
      if (c[d] < 0 || cuuint64_t(c[d]) >= sizes[d]) return outside;
      if (d) index += size_t(c[d]) * strides[d - 1] / 4;
    }
    return words[index];
  }
};

// The place of word i where pieces of 16 bytes are exchanged: `bits` bits of the row's number turn the column's.
static size_t swizzled(size_t word, int bits) {
  const size_t byte = word * 4, field = (size_t{1} << bits) - 1;
  return (byte ^ ((byte >> 7 & field) << 4)) / 4;
}

static void testTile(const Tensor& tensor, const std::vector<cuuint32_t>& box, std::vector<int> corner,
                     const std::vector<cuuint32_t>& steps = {}, CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE,
                     bool nan = false) {
  DeviceArray<unsigned> data(tensor.words);
  const CUtensorMap map =
      tensor.map(data, box, steps, swizzle, nan ? CU_TENSOR_MAP_DATA_TYPE_FLOAT32 : CU_TENSOR_MAP_DATA_TYPE_UINT32,
                 nan ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA : CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  int sizes[5] = {1, 1, 1, 1, 1}, step[5] = {1, 1, 1, 1, 1};
  corner.resize(5);
  size_t words = 1;
  for (size_t d = 0; d < box.size(); ++d) {
    if (d && d < steps.size()) step[d] = int(steps[d]);
    sizes[d] = (int(box[d]) + step[d] - 1) / step[d];
    words *= sizes[d];
  }
  const int bits = swizzle == CU_TENSOR_MAP_SWIZZLE_NONE ? 0 : int(swizzle);
  std::vector<unsigned> expected(words);
  for (size_t i = 0; i < words; ++i) {
    int c[5];
    size_t rest = i;
    for (int d = 0; d < 5; ++d) {
      c[d] = corner[d] + int(rest % sizes[d]) * step[d];
      rest /= sizes[d];
    }
    expected[swizzled(i, bits)] = tensor.at(c, nan ? 0xffffffffu : 0);
  }
  DeviceArray<unsigned> out(words);
  Corner where;
  std::copy(corner.begin(), corner.end(), where.at);
  loadTile<<<1, 64, words * 4 + kSlack>>>(map, tensor.rank(), where, unsigned(words * 4), out);
  CHECK_LAUNCH();
  std::vector<unsigned> got = out.host();
  if (nan)  // which NaN is the device's choice
    for (unsigned& word : got)
      if ((word & 0x7f800000) == 0x7f800000 && (word & 0x7fffff)) word = 0xffffffffu;
  expectEqual(got, expected, "tile");
}

static void testLoads() {
  testTile(Tensor({1000}), {64}, {100});
  testTile(Tensor({1000}), {64}, {-8});
  testTile(Tensor({1000}), {64}, {988});
  testTile(Tensor({50, 40}), {16, 8}, {4, 5});
  testTile(Tensor({50, 40}), {16, 8}, {-4, -2});
  testTile(Tensor({50, 40}), {16, 8}, {44, 37});
  testTile(Tensor({50, 40}), {16, 8}, {44, 37}, {}, CU_TENSOR_MAP_SWIZZLE_NONE, true);
  testTile(Tensor({20, 12, 9}), {8, 4, 3}, {16, 10, 7});
  testTile(Tensor({20, 12, 9}), {8, 6, 4}, {4, 1, 0}, {1, 2, 3});
  testTile(Tensor({12, 7, 5, 6}), {8, 3, 2, 2}, {8, 5, -1, 3});
  testTile(Tensor({12, 7, 5, 6, 3}), {4, 2, 2, 2, 2}, {4, 4, 2, 5, 2});
  testTile(Tensor({64, 40}), {8, 16}, {8, 3}, {}, CU_TENSOR_MAP_SWIZZLE_32B);
  testTile(Tensor({64, 40}), {16, 16}, {8, 30}, {}, CU_TENSOR_MAP_SWIZZLE_64B);
  testTile(Tensor({64, 40}), {32, 16}, {40, 3}, {}, CU_TENSOR_MAP_SWIZZLE_128B);
}

// Moves a tile, adding to where it goes.
__global__ void storeTile(const __grid_constant__ CUtensorMap map, int x, int y, int sum) {
  __shared__ __align__(128) unsigned tile[8][16];
  tile[threadIdx.x / 16][threadIdx.x % 16] = threadIdx.x + 1;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x) return;
  if (sum)
    asm volatile(
        "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map),
        "r"(x), "r"(y), "r"(sharedAddress(tile))
        : "memory");
  else
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map), "r"(x),
                 "r"(y), "r"(sharedAddress(tile))
                 : "memory");
  asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
}

static void testStores() {
  Tensor tensor({40, 30});
  DeviceArray<unsigned> data(tensor.words);
  const CUtensorMap map = tensor.map(data, {16, 8}, {});
  const int corners[][2] = {{4, 4}, {24, 22}, {20, 3}};
  for (int sum : {0, 1})
    for (const auto& corner : corners) {
      storeTile<<<1, 128>>>(map, corner[0], corner[1], sum);
      CHECK_LAUNCH();
      for (int i = 0; i < 128; ++i) {
        const int x = corner[0] + i % 16, y = corner[1] + i / 16;
        if (x < 0 || y < 0 || x >= 40 || y >= 30) continue;
        unsigned& word = tensor.words[y * 40 + x];
        word = (sum ? word : 0) + unsigned(i + 1);
      }
    }
  expectEqual(data.host(), tensor.words, "stored tiles");
}

// A column of pixels of images: channels, width, height, images.
__global__ void loadColumn(const __grid_constant__ CUtensorMap map, Corner c, unsigned short offsetX,
                           unsigned short offsetY, unsigned bytes, unsigned* out) {
  extern __shared__ unsigned room[];
  unsigned* const tile = aligned(room);
  __shared__ __align__(8) unsigned long long barrier;
  if (threadIdx.x == 0) {
    expectBytes(&barrier, bytes);
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, "
        "%6}], "
        "[%2], {%7, %8};" ::"r"(sharedAddress(tile)),
        "l"(&map), "r"(sharedAddress(&barrier)), "r"(c.at[0]), "r"(c.at[1]), "r"(c.at[2]), "r"(c.at[3]), "h"(offsetX),
        "h"(offsetY)
        : "memory");
  }
  __syncthreads();
  waitFor(&barrier);
  for (unsigned i = threadIdx.x; i < bytes / 4; i += blockDim.x) out[i] = tile[i];
}

// The pixels that a 3 x 3 filter with a border of one looks at, for each place of the filter.
static void testColumns() {
  const Tensor images({8, 7, 5, 3});
  DeviceArray<unsigned> data(images.words);
  const int lower[] = {-1, -1}, upper[] = {-1, -1};
  const cuuint32_t steps[] = {1, 1, 1, 1};
  const unsigned pixels = 32;
  CUtensorMap map;
  EXPECT(driverFunction<EncodeIm2col>("cuTensorMapEncodeIm2col")(
             &map, CU_TENSOR_MAP_DATA_TYPE_UINT32, 4, static_cast<unsigned*>(data), images.sizes.data(),
             images.strides.data(), lower, upper, 8, pixels, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
             CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
             CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS);
  DeviceArray<unsigned> out(size_t{8 * pixels});
  for (int fx = 0; fx < 3; ++fx)
    for (int fy = 0; fy < 3; ++fy) {
      const Corner start{{0, 3, 1, 1, 0}};
      loadColumn<<<1, 32, 8 * pixels * 4 + kSlack>>>(map, start, (unsigned short)fx, (unsigned short)fy, 8 * pixels * 4,
                                                     out);
      CHECK_LAUNCH();
      std::vector<unsigned> expected;
      int x = start.at[1], y = start.at[2], image = start.at[3];
      for (unsigned pixel = 0; pixel < pixels; ++pixel) {
        for (int channel = 0; channel < 8; ++channel) {
          const int c[] = {channel, x + fx, y + fy, image};
          expected.push_back(images.at(c, 0));
        }
        if (++x > 7 - 1 + upper[0]) {
          x = lower[0];
          if (++y > 5 - 1 + upper[1]) {
            y = lower[1];
            ++image;
          }
        }
      }
      expectEqual(out.host(), expected, "column of pixels");
    }
}

static void testErrors() {
  const Encode encode = driverFunction<Encode>("cuTensorMapEncodeTiled");
  DeviceArray<unsigned> data(1024);
  CUtensorMap map;
  const auto attempt = [&](cuuint32_t rank, size_t shift, cuuint64_t stride, cuuint32_t width, cuuint32_t step,
                           CUtensorMapSwizzle swizzle) {
    const cuuint64_t sizes[] = {32, 32}, strides[] = {stride};
    const cuuint32_t box[] = {width, 4}, steps[] = {1, step};
    return encode(&map, CU_TENSOR_MAP_DATA_TYPE_UINT32, rank,
                  reinterpret_cast<char*>(static_cast<unsigned*>(data)) + shift, sizes, strides, box, steps,
                  CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  };
  EXPECT(attempt(2, 0, 128, 16, 1, CU_TENSOR_MAP_SWIZZLE_NONE) == CUDA_SUCCESS);
  EXPECT(attempt(6, 0, 128, 16, 1, CU_TENSOR_MAP_SWIZZLE_NONE) == CUDA_ERROR_INVALID_VALUE);
  EXPECT(attempt(2, 8, 128, 16, 1, CU_TENSOR_MAP_SWIZZLE_NONE) == CUDA_ERROR_INVALID_VALUE);
  EXPECT(attempt(2, 0, 120, 16, 1, CU_TENSOR_MAP_SWIZZLE_NONE) == CUDA_ERROR_INVALID_VALUE);
  EXPECT(attempt(2, 0, 128, 5, 1, CU_TENSOR_MAP_SWIZZLE_NONE) == CUDA_ERROR_INVALID_VALUE);
  EXPECT(attempt(2, 0, 128, 300, 1, CU_TENSOR_MAP_SWIZZLE_NONE) == CUDA_ERROR_INVALID_VALUE);
  EXPECT(attempt(2, 0, 128, 16, 9, CU_TENSOR_MAP_SWIZZLE_NONE) == CUDA_ERROR_INVALID_VALUE);
  EXPECT(attempt(2, 0, 128, 16, 1, CU_TENSOR_MAP_SWIZZLE_32B) == CUDA_ERROR_INVALID_VALUE);
}

int main() {
  int major = 0;
  CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
  if (major < 9) return 77;
  testLoads();
  testStores();
  testColumns();
  testErrors();
  return passed();
}
