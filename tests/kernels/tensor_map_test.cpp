// Tensor maps of the kinds that came after Hopper, for which there are no records: what is accepted, and a kernel that
// gathers rows of packed elements and scatters them.
#include <cstring>
#include <string>

#include "kernels/fixture.h"

namespace kernels {
namespace {

struct Packed {
  CUtensorMapDataType type = CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B;
  cuuint64_t sizes[2] = {256, 8}, stride = 192;
  cuuint32_t box[2] = {128, 1}, steps[2] = {1, 1};
  CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE;

  CUresult encode(CUtensorMap* map, CUdeviceptr tensor) const {
    return cuTensorMapEncodeTiled(map, type, 2, reinterpret_cast<void*>(tensor), sizes, &stride, box, steps,
                                  CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE,
                                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  }
};

class TensorMaps : public KernelTest {
 protected:
  template <class Change>
  CUresult with(Change change) {
    CUtensorMap map;
    Packed packed;
    change(packed);
    return packed.encode(&map, 4096);
  }
};

// As on a GPU, whose blocks get shared memory in pieces of 128 bytes.
TEST_F(TensorMaps, FieldsOfAMapAreReplacedInASmallVariable) {
  std::string zeros;  // what is no map cannot be changed
  for (int at = 0; at < 128; at += 8) zeros += "st.shared.u64 [small+" + std::to_string(at) + "], 0;\n";
  const CUfunction kernel = function(module(
      ".visible .entry kernel()\n{\n.shared .align 128 .b8 small[64];\n.reg .b64 %rd<2>;\nmov.u64 %rd1, 4096;\n" +
          zeros + "tensormap.replace.tile.global_address.shared::cta.b1024.b64 [small], %rd1;\nret;\n}\n",
      "sm_90a", "8.3"));
  ASSERT_EQ(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
}

TEST_F(TensorMaps, OfPackedElementsFollowTheManual) {
  EXPECT_EQ(with([](Packed&) {}), CUDA_SUCCESS);
  EXPECT_EQ(with([](Packed& p) { p.swizzle = CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B; }), CUDA_SUCCESS);
  EXPECT_EQ(with([](Packed& p) { p.box[0] = 64; }), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(with([](Packed& p) { p.sizes[0] = 192; }), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(with([](Packed& p) { p.stride = 208; }), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(with([](Packed& p) { p.swizzle = CU_TENSOR_MAP_SWIZZLE_64B; }), CUDA_ERROR_INVALID_VALUE);
  const auto dense = [](Packed& p) {
    p.type = CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B;
    p.box[0] = 64;
  };
  EXPECT_EQ(with(dense), CUDA_SUCCESS);
  EXPECT_EQ(with([&](Packed& p) { dense(p), p.box[0] = 16; }), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(with([&](Packed& p) { dense(p), p.sizes[0] = 255; }), CUDA_ERROR_INVALID_VALUE);
}

// p0: map to gather from, p1: map to scatter to.
constexpr const char* kMoveRows =
    ".shared .align 128 .b8 rows[512];\n.shared .align 8 .b64 barrier;\n"
    "ld.param.u64 %rd1, [p0];\nld.param.u64 %rd2, [p1];\nmov.u32 %r1, rows;\nmov.u32 %r2, barrier;\n"
    "mbarrier.init.shared.b64 [%r2], 1;\nmbarrier.arrive.expect_tx.shared.b64 %rd3, [%r2], 512;\n"
    "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes "
    "[%r1], [%rd1, {128, 6, 0, 9, 3}], [%r2];\n"
    "W: mbarrier.try_wait.parity.shared.b64 %p1, [%r2], 0;\n@!%p1 bra W;\n"
    "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [%rd2, {0, 1, 0, 3, 2}], [%r1];\n"
    "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n";

// An H200 encodes them too, though nothing before compute capability 10.0 reads them.
TEST_F(TensorMaps, OfWideColumnsMayBeInterleaved) {
  const cuuint64_t sizes[3] = {128, 97, 8}, strides[2] = {512, 0xc200};
  const cuuint32_t steps[3] = {2, 1, 1};
  CUtensorMap map;
  const auto encode = [&](uintptr_t address, int mode) {
    return cuTensorMapEncodeIm2colWide(&map, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ, 3, reinterpret_cast<void*>(address),
                                       sizes, strides, 1, 2, 8, 80, steps, CU_TENSOR_MAP_INTERLEAVE_32B,
                                       static_cast<CUtensorMapIm2ColWideMode>(mode), CU_TENSOR_MAP_SWIZZLE_32B,
                                       CU_TENSOR_MAP_L2_PROMOTION_L2_64B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  };
  EXPECT_EQ(encode(4096, CU_TENSOR_MAP_IM2COL_WIDE_MODE_W), CUDA_SUCCESS);
  EXPECT_EQ(encode(4096, CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128), CUDA_SUCCESS);
  EXPECT_EQ(encode(4096, 2), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(encode(4096 + 16, CU_TENSOR_MAP_IM2COL_WIDE_MODE_W), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(TensorMaps, RowsAreGatheredAndScattered) {
  const CUfunction kernel = function(module(entry("kernel", {".u64", ".u64"}, kMoveRows), "sm_100a", "8.7"));
  const CUdeviceptr from = allocate(8 * 192), to = allocate(4 * 96), maps = allocate(2 * sizeof(CUtensorMap));
  std::vector<uint32_t> words(8 * 48);
  for (size_t k = 0; k < words.size(); ++k)
    words[k] = static_cast<uint32_t>(0x01010101u * (k * 3 % 61));  // six bits a byte
  ASSERT_EQ(cuMemcpyHtoD(from, words.data(), words.size() * 4), CUDA_SUCCESS);
  CUtensorMap both[2];
  Packed source, target;
  source.type = CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B;
  source.sizes[0] = 384;
  target.type = CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B;
  target.sizes[0] = 128;
  target.sizes[1] = 4;
  target.stride = 96;
  ASSERT_EQ(source.encode(&both[0], from), CUDA_SUCCESS);
  ASSERT_EQ(target.encode(&both[1], to), CUDA_SUCCESS);
  ASSERT_EQ(cuMemcpyHtoD(maps, both, sizeof both), CUDA_SUCCESS);
  ASSERT_EQ(run(kernel, 1, 1, maps, maps + sizeof(CUtensorMap)), CUDA_SUCCESS);

  std::vector<uint8_t> bytes(words.size() * 4), expected(4 * 96);
  std::memcpy(bytes.data(), words.data(), bytes.size());
  const int fromRow[] = {6, 0, 9, 3}, toRow[] = {1, 0, 3, 2};
  for (int r = 0; r < 4; ++r)
    for (int k = 0; k < 128; ++k) {  // a byte of shared memory: eight of every sixteen hold elements
      const int at = fromRow[r] * 192 + 64 + k / 16 * 8 + k % 16;
      const uint32_t six = k % 16 < 8 && fromRow[r] < 8 ? bytes[static_cast<size_t>(at)] & 63u : 0;
      const int bit = (toRow[r] * 96 * 8) + k * 6;
      expected[static_cast<size_t>(bit / 8)] |= static_cast<uint8_t>(six << bit % 8);
      if (bit % 8 > 2) expected[static_cast<size_t>(bit / 8 + 1)] |= static_cast<uint8_t>(six >> (8 - bit % 8));
    }
  std::vector<uint8_t> got(4 * 96);
  ASSERT_EQ(cuMemcpyDtoH(got.data(), to, got.size()), CUDA_SUCCESS);
  EXPECT_EQ(got, expected);
}

}  // namespace
}  // namespace kernels
