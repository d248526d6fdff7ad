// The matrix instructions: every documented product has a form, and the vectors answer as the plain loops do.
#include "ptx/operations/matrix.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "ptx/text/parser.h"
#include "unit/ptx/matrix_products.h"

namespace vg::ptx {
namespace {

using matrix::MatrixProduct;

std::string kernelOf(const MatrixProduct& p, int selector) {
  const bool isWide = std::string(p.aType) == "f64";
  const std::string type = isWide ? ".f64" : ".b32";
  const std::string cType = isWide ? ".f64" : std::string(p.cType) == "f32" ? ".f32" : ".b32";
  const std::string dType = isWide ? ".f64" : std::string(p.dType) == "f32" ? ".f32" : ".b32";
  return ".version 8.7\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n.reg " + type + " a<8>, b<8>;\n.reg " +
         cType + " c<8>;\n.reg " + dType + " d<8>;\n.reg .b32 e;\n" +
         matrix::productText(p, "d", "a", "b", "c", selector) + "\nret;\n}\n";
}

std::optional<MatrixShape> shapeOf(const MatrixProduct& p, int selector) {
  const auto module = parse(kernelOf(p, selector));
  if (!module.ok()) return {};
  const Function& f = module.value().functions[0];
  return describeMatrix(f.body[0], f);
}

struct alignas(64) Buffers {
  std::byte operands[kMatrixOperandBytes] = {}, results[kMatrixResultBytes] = {}, expected[kMatrixResultBytes] = {};
};

// Random bits, in part small numbers of few bits so that sums are not all NaN or huge.
void fill(std::mt19937& random, Buffers& x, bool small) {
  for (size_t at = 0; at < sizeof x.operands; at += 4) {
    uint32_t word = random();
    if (small) word &= 0xbf40bf40;
    std::memcpy(x.operands + at, &word, sizeof word);
  }
}

// Metadata that names two different elements of four, or one of two.
void fillMetadata(std::mt19937& random, const MatrixForm& form, std::byte* at) {
  static constexpr uint32_t kPairs[] = {0x4, 0x8, 0xc, 0x9, 0xd, 0xe};
  for (uint32_t lane = 0; lane < 32; ++lane) {
    uint32_t word = 0;
    for (int group = 0; group < 8; ++group)
      word |= (form.a == MatrixType::TF32 ? (random() & 1 ? 0x4u : 0xeu) : kPairs[random() % 6]) << (4 * group);
    std::memcpy(at + 4 * lane, &word, sizeof word);
  }
}

TEST(Matrix, EveryProductHasAForm) {
  for (const MatrixProduct& p : matrix::allProducts()) EXPECT_TRUE(shapeOf(p, 0)) << p.mnemonic;
}

TEST(Matrix, ProductsThatDoNotExistHaveNone) {
  const MatrixProduct wrong[] = {
      {"mma.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32", 4, 2, 4, 4, "tf32", "tf32", "f32", "f32", 0},
      {"mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32", 4, 2, 4, 4, "f16", "bf16", "f32", "f32", 0},
      {"mma.sync.aligned.m16n8k16.row.col.bf16.bf16.bf16.bf16", 4, 2, 4, 4, "bf16", "bf16", "bf16", "bf16", 0},
      {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 4, 1, 4, 4, "f16", "f16", "f32", "f32", 0},
      {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 4, 2, 4, 2, "f16", "f16", "f32", "f32", 0},
      {"wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32", 4, 2, 8, 8, "s8", "s8", "s32", "s32", 0}};
  for (const MatrixProduct& p : wrong) EXPECT_FALSE(shapeOf(p, 0)) << p.mnemonic;
}

TEST(Matrix, OperandsInWrongPlacesHaveNoForm) {
  const char* const wrong[] = {
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {a0, a1, a2, a3}|{a0, a1, a2, a3}, "
      "{a0, a1}, {c0, c1, c2, c3};",
      "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {c0, c1, c2, c3}, {a0, a1}, {a0, "
      "a1}, {c0, c1, c2, c3}, a0, a1;",
      "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {a0}, [a1];",
      "stmatrix.sync.aligned.m8n8.x1.shared.b16 [a1], {};",
      "wmma.load.a.sync.aligned.row.m16n16k16.f16 {a0, a1}, [a2];",
      "wmma.store.d.sync.aligned.row.m16n16k16.f32 [a2];"};
  for (const char* text : wrong) {
    const auto module = parse(std::string(".version 8.7\n.target sm_90\n.address_size 64\n.visible .entry k()\n{\n"
                                          ".reg .b32 a<4>;\n.reg .f32 c<4>;\n") +
                              text + "\nret;\n}\n");
    if (!module.ok()) continue;  // the parser knows already
    const Function& f = module.value().functions[0];
    EXPECT_FALSE(describeMatrix(f.body[0], f)) << text;
  }
}

// Where the element of a fragment lies in its registers, as matrix_form.h lays tiles out.
size_t placeInRegisters(const MatrixForm& form, uint32_t row, uint32_t column) {
  const uint32_t bytes = bitsOf(form.a) / 8, registerSize = 32 * registerBytes(form.a);
  if (form.role() == MatrixRole::C) {
    const uint32_t tile = tileOfC(form, row / 8, column / 8) * registersOfC(form.a),
                   lane = row % 8 * 4 + column % 8 / 2;
    return bytes == 2 ? tile * registerSize + lane * 4 + column % 2 * 2
                      : (tile + column % 2) * registerSize + size_t{lane} * bytes;
  }
  const bool isA = form.role() == MatrixRole::A;
  const uint32_t k = isA ? column : row, other = isA ? row : column, width = tileWidth(form.a);
  const uint32_t tile = isA ? tileOfA(form, other / 8, k / width) : tileOfB(form, other / 8, k / width);
  return tile * registerSize + other % 8 * 4 * registerBytes(form.a) + k % width * bytes;
}

struct FragmentCase {
  MatrixType type;
  uint8_t m, n, logOfK;
};

TEST(Matrix, FragmentsLieWhereTheirTilesAre) {
  constexpr FragmentCase kCases[] = {{MatrixType::F16, 16, 16, 4}, {MatrixType::F16, 32, 8, 4},
                                     {MatrixType::BF16, 8, 32, 4}, {MatrixType::TF32, 16, 16, 3},
                                     {MatrixType::F32, 16, 16, 4}, {MatrixType::F32, 8, 32, 4},
                                     {MatrixType::S8, 16, 16, 4},  {MatrixType::S8, 32, 8, 4},
                                     {MatrixType::S32, 32, 8, 4},  {MatrixType::F64, 8, 8, 2}};
  constexpr uint64_t kStride = 48;
  std::mt19937 random(5);
  const auto buffers = std::make_unique<Buffers>();
  Buffers& x = *buffers;
  alignas(64) std::byte memory[kStride * 48 * 8];
  for (const FragmentCase& c : kCases)
    for (const MatrixRole role : {MatrixRole::A, MatrixRole::B, MatrixRole::C})
      for (const bool columns : {false, true})
        for (const bool stores : {false, true}) {
          const bool accumulates = c.type == MatrixType::F32 || c.type == MatrixType::S32;
          if ((role == MatrixRole::C) != accumulates && c.type != MatrixType::F16 && c.type != MatrixType::F64)
            continue;
          if (role != MatrixRole::C && (accumulates || stores)) continue;
          MatrixForm form;
          form.operation = stores ? MatrixOperation::StoreFragment : MatrixOperation::LoadFragment;
          form.a = form.b = c.type;
          form.m = c.m, form.n = c.n;
          form.detail = static_cast<uint8_t>(c.logOfK | static_cast<uint8_t>(role) << 4);
          form.flags = static_cast<uint8_t>(kMatrixWarp | (columns ? kMatrixColumnsA : 0));
          fill(random, x, false);
          for (std::byte& b : memory) b = static_cast<std::byte>(random());
          const uint64_t address = reinterpret_cast<uint64_t>(memory);
          const uint32_t stride = kStride;
          std::memcpy(x.operands, &address, sizeof address);
          std::memcpy(x.operands + 8 * 32, &stride, sizeof stride);
          const std::byte* const registers = stores ? x.operands + 12 * 32 : x.results;
          ASSERT_EQ(runMatrix(form, ~0u, x.operands, x.results), MatrixFault::None);
          const uint32_t rows = role == MatrixRole::B ? form.k() : c.m, width = role == MatrixRole::A ? form.k() : c.n;
          const uint32_t bytes = bitsOf(c.type) / 8;
          for (uint32_t row = 0; row < rows; ++row)
            for (uint32_t column = 0; column < width; ++column) {
              const size_t at = columns ? column * kStride + row : row * kStride + column;
              ASSERT_EQ(std::memcmp(memory + at * bytes, registers + placeInRegisters(form, row, column), bytes), 0)
                  << "type " << int(c.type) << " role " << int(role) << (columns ? " columns " : " rows ")
                  << (stores ? "stored " : "loaded ") << row << " " << column;
            }
        }
}

TEST(Matrix, EveryEngineAnswersAsThePlainLoops) {
  std::mt19937 random(7);
  const auto buffers = std::make_unique<Buffers>();
  Buffers& x = *buffers;
  for (const MatrixEngine* engine : kAllMatrixEngines) {
    if (!engine->supported()) continue;
    for (const MatrixProduct& p : matrix::allProducts())
      for (int round = 0; round < 12; ++round) {
        const auto shape = shapeOf(p, p.selectors ? round % p.selectors : 0);
        ASSERT_TRUE(shape) << p.mnemonic;
        const MatrixForm& form = shape->form;
        if (form.has(kMatrixQuads)) continue;  // one way only
        fill(random, x, round % 3 != 0);
        if (form.has(kMatrixSparse)) fillMetadata(random, form, x.operands + 128 * (p.a + p.b + p.c));
        multiplyPlainly(form, x.operands, x.expected);
        engine->multiply(form, x.operands, x.results);
        const size_t bytes = size_t{32} * p.d * shape->resultBytes;
        ASSERT_EQ(std::memcmp(x.results, x.expected, bytes), 0) << engine->name << " " << p.mnemonic << " " << round;
      }
  }
}

}  // namespace
}  // namespace vg::ptx
