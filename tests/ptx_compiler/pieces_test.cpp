// Arguments and results of calls that are read in other pieces than they were written in, and written again in others:
// every width and vector by every other one, and at random, through calls of all kinds. What comes out is computed
// here, byte by byte.
#include <gtest/gtest.h>

#include <array>
#include <iterator>
#include <random>

#include "ptx_compiler/harness.h"

namespace vg::ptx::test {
namespace {

constexpr uint32_t kBytes = 16;  // of an argument

struct Access {
  uint32_t bits = 0, count = 1, offset = 0;  // count: elements of a vector
};
using Accesses = std::vector<Access>;

std::string number(uint64_t value) { return std::to_string(value); }

// One after the other, over the whole argument.
Accesses all(uint32_t bits, uint32_t count) {
  Accesses accesses;
  for (uint32_t at = 0; at < kBytes; at += bits / 8 * count) accesses.push_back({bits, count, at});
  return accesses;
}

Accesses atRandom(std::mt19937_64& random, size_t count) {
  Accesses accesses;
  for (size_t n = 0; n < count; ++n) {
    Access a{8u << random() % 4, 1u << random() % 3, 0};
    if (a.bits * a.count > 128) a.count = 1;
    const uint32_t bytes = a.bits / 8 * a.count;
    a.offset = static_cast<uint32_t>(random() % (kBytes / bytes)) * bytes;
    accesses.push_back(a);
  }
  return accesses;
}

std::string vectorOf(const Access& a) { return a.count > 1 ? ".v" + number(a.count) : ""; }
std::string registersOf(const Access& a) {
  std::string text;
  for (uint32_t k = 0; k < a.count; ++k) text += (k ? ", %v" : "%v") + number(k);
  return a.count > 1 ? "{" + text + "}" : text;
}

// Each element a step of a number in %h; the argument is written in full before anything is written again.
std::string written(const std::string& object, const Accesses& accesses) {
  std::string text;
  for (const Access& a : accesses) {
    for (uint32_t k = 0; k < a.count; ++k)
      text += "mad.lo.u64 %h, %h, 6364136223846793005, 1442695040888963407;\nshr.u64 %v" + number(k) + ", %h, 13;\n";
    text += "st.param" + vectorOf(a) + ".b" + number(a.bits) + " [" + object + "+" + number(a.offset) + "], " +
            registersOf(a) + ";\n";
  }
  return text;
}

std::string readAs(const std::string& object, const Accesses& accesses, bool isSigned) {
  std::string text;
  for (const Access& a : accesses) {
    text += "ld.param" + vectorOf(a) + (isSigned ? ".s" : ".u") + number(a.bits) + " " + registersOf(a) + ", [" +
            object + "+" + number(a.offset) + "];\n";
    for (uint32_t k = 0; k < a.count; ++k) text += "mad.lo.u64 %h, %h, 3935559000370003845, %v" + number(k) + ";\n";
  }
  return text;
}

// --- What comes out

using Bytes = std::array<uint8_t, kBytes>;

void write(Bytes& bytes, const Accesses& accesses, uint64_t& h) {
  for (const Access& a : accesses)
    for (uint32_t k = 0; k < a.count; ++k) {
      h = h * 6364136223846793005u + 1442695040888963407u;
      const uint64_t value = h >> 13;
      std::memcpy(&bytes[a.offset + k * a.bits / 8], &value, a.bits / 8);
    }
}

void readInto(const Bytes& bytes, const Accesses& accesses, bool isSigned, uint64_t& h) {
  for (const Access& a : accesses)
    for (uint32_t k = 0; k < a.count; ++k) {
      uint64_t value = 0;
      std::memcpy(&value, &bytes[a.offset + k * a.bits / 8], a.bits / 8);
      if (const uint32_t above = 64 - a.bits; isSigned && above)
        value = static_cast<uint64_t>(static_cast<int64_t>(value << above) >> above);
      h = h * 3935559000370003845u + value;
    }
}

// --- Kernels

const char* const kRegisters = ".reg .b64 %h, %v<4>, %rd<8>;\n.reg .b32 %r<8>;\n.reg .pred %p<2>;\n";
const std::string kObject = ".param .align 16 .b8 ", kSize = "[" + number(kBytes) + "]";

enum class Call { ByName, Again, ThroughRegister };

// How the argument is written by the caller and read by the function, and the same of the result.
struct Ways {
  Accesses argument, inFunction, result, inCaller;
  Call call = Call::ByName;
  bool isSigned = false;
};

// The function calls itself `depth` times.
std::string function(const Ways& ways) {
  std::string text = ".func (" + kObject + "out" + kSize + ") f(.param .u64 seed, .param .u32 depth, " + kObject +
                     "in" + kSize + ")\n{\n" + kRegisters + "ld.param.u64 %h, [seed];\n" +
                     readAs("in", ways.inFunction, ways.isSigned);
  if (ways.call == Call::Again)
    text +=
        "ld.param.u32 %r1, [depth];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra LAST;\nsub.u32 %r1, %r1, 1;\n{\n"
        ".param .u64 s;\n.param .u32 d;\n" +
        kObject + "a" + kSize + ";\n" + kObject + "r" + kSize + ";\nst.param.u64 [s], %h;\nst.param.u32 [d], %r1;\n" +
        written("a", ways.argument) + "call (r), f, (s, d, a);\n" + readAs("r", ways.inCaller, ways.isSigned) +
        "}\nLAST:\n";
  return text + written("out", ways.result) + "ret;\n}\n";
}

std::string moduleOf(const Ways& ways) {
  std::string text = ".version 8.3\n.target sm_80\n.address_size 64\n" + function(ways) +
                     ".visible .entry k(.param .u64 out)\n{\n" + kRegisters +
                     "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %h, %r1, 0x9e3779b9;\n"
                     "and.b32 %r2, %r1, 3;\n{\n.param .u64 s;\n.param .u32 d;\n" +
                     kObject + "a" + kSize + ";\n" + kObject + "r" + kSize +
                     ";\nst.param.u64 [s], %h;\nst.param.u32 [d], %r2;\n" + written("a", ways.argument);
  if (ways.call == Call::ThroughRegister)
    text += "mov.u64 %rd5, f;\nprototype: .callprototype (" + kObject + "_" + kSize +
            ") _ (.param .u64 _, .param .u32 _, " + kObject + "_" + kSize +
            ");\ncall (r), %rd5, (s, d, a), prototype;\n";
  else
    text += "call (r), f, (s, d, a);\n";
  return text + readAs("r", ways.inCaller, ways.isSigned) +
         "}\nmul.wide.u32 %rd5, %r1, 8;\nadd.s64 %rd6, %rd1, %rd5;\nst.global.u64 [%rd6], %h;\nret;\n}\n";
}

Bytes called(const Ways& ways, uint64_t h, uint32_t depth, const Bytes& in) {
  readInto(in, ways.inFunction, ways.isSigned, h);
  if (ways.call == Call::Again && depth) {
    const uint64_t seed = h;
    Bytes argument{};
    write(argument, ways.argument, h);
    readInto(called(ways, seed, depth - 1, argument), ways.inCaller, ways.isSigned, h);
  }
  Bytes out{};
  write(out, ways.result, h);
  return out;
}

uint64_t expected(const Ways& ways, uint32_t thread) {
  uint64_t h = uint64_t{thread} * 0x9e3779b9u;
  const uint64_t seed = h;
  Bytes argument{};
  write(argument, ways.argument, h);
  readInto(called(ways, seed, thread & 3, argument), ways.inCaller, ways.isSigned, h);
  return h;
}

constexpr uint32_t kThreads = 64;

void runBoth(const Ways& ways) {
  const std::string text = moduleOf(ways);
  std::vector<uint64_t> out(kThreads);
  const uint64_t* const place = out.data();
  LaunchSpec spec;
  spec.grid = {1};
  spec.block = {kThreads};
  spec.parameters.resize(sizeof place);
  std::memcpy(spec.parameters.data(), &place, sizeof place);
  const auto check = [&](const char* how) {
    for (uint32_t t = 0; t < kThreads; ++t)
      ASSERT_EQ(out[t], expected(ways, t)) << how << ", thread " << t << ":\n" << text;
    std::ranges::fill(out, 0);
  };
  CompiledKernel kernel;
  std::string log;
  ASSERT_EQ(kernel.compile(text, "k", targets().front(), spec.block, &log, nullptr, kMayBeQuick | kQuickAnyway),
            CUDA_SUCCESS)
      << log << text;
  ASSERT_TRUE(runGrid(kernel.entry(), nullptr, kernel.blob.traits, spec)) << text;
  check("compiled");
  auto module = parse(text, &log);
  ASSERT_TRUE(module) << log;
  auto program = prepare(*module, 1);
  ASSERT_TRUE(program);
  ASSERT_TRUE(runGrid(interpretWarps, (*program)->code(), (*program)->traits(), spec)) << text;
  check("interpreted");
}

struct Size {
  uint32_t bits, count;
};
constexpr Size kSizes[] = {{8, 1},  {8, 2},  {8, 4},  {16, 1}, {16, 2}, {16, 4},
                           {32, 1}, {32, 2}, {32, 4}, {64, 1}, {64, 2}};
Accesses whole(const Size& size) { return all(size.bits, size.count); }

TEST(Pieces, OfEverySizeAreReadInThoseOfEveryOther) {
  for (size_t a = 0; a < std::size(kSizes); ++a)
    for (size_t b = 0; b < a; ++b)
      runBoth({whole(kSizes[a]), whole(kSizes[b]), whole(kSizes[b]), whole(kSizes[a]), Call::ByName, (a ^ b) % 2 != 0});
}

TEST(Pieces, AreWrittenAgainInParts) {
  for (uint64_t seed = 1; seed <= 24; ++seed) {
    std::mt19937_64 random(seed);
    const auto writes = [&] {
      Accesses accesses = whole(kSizes[random() % std::size(kSizes)]);
      for (const Access& more : atRandom(random, 1 + random() % 5)) accesses.push_back(more);
      return accesses;
    };
    const auto reads = [&] { return atRandom(random, 1 + random() % 6); };
    runBoth({writes(), reads(), writes(), reads(), static_cast<Call>(seed % 3), random() % 2 != 0});
  }
}

}  // namespace
}  // namespace vg::ptx::test
