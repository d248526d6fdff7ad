// Registers in core dumps of compiled kernels against those of the interpreter: kernels made at random, with a store to
// nowhere put at a random place, end in a dump each way. Whatever lanes stand there in both dumps have the same
// registers.
#include <cuda.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "check.h"
#include "dump_reader.h"
#include "in_process.h"
#include "ptx_compiler/random_kernel.h"

namespace {

constexpr uint32_t kIllegalAddress = 14;  // an exception of a lane
constexpr uint32_t kInputs = 1064;        // words that random kernels read

std::vector<std::string> linesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Instructions that set the registers of a declaration: what nothing has written yet may have any value.
void clear(const std::string& declaration, std::vector<std::string>& instructions) {
  std::istringstream in(declaration);
  std::string word, type;
  in >> word >> type;
  const auto add = [&](const std::string& name) {
    if (type == ".pred") return instructions.push_back("\tsetp.ne.u32 " + name + ", 0, 0;");
    instructions.push_back("\tmov" + type + " " + name + (type == ".f32" ? ", 0f00000000;" : ", 0;"));
  };
  while (in >> word) {
    word.pop_back();  // a comma or a semicolon
    const size_t many = word.find('<');
    if (many == std::string::npos) add(word);
    const int count = many == std::string::npos ? 0 : std::stoi(word.substr(many + 1));
    for (int k = 0; k < count; ++k) add(word.substr(0, many) + std::to_string(k));
  }
}

// A store to nowhere behind the first instructions and before the end.
std::string withFault(const std::string& text, std::mt19937_64& random) {
  std::vector<std::string> lines = linesOf(text), clears;
  size_t declared = 0;
  for (size_t k = 0; k < lines.size(); ++k)
    if (lines[k].find("\t.reg ") == 0) clear(lines[declared = k], clears);
  lines.insert(lines.begin() + static_cast<ptrdiff_t>(declared) + 1, clears.begin(), clears.end());
  size_t first = 0;
  while (lines[first].find("ld.global.u32") == std::string::npos) ++first;
  const size_t at = first + 1 + random() % (lines.size() - first - 3);
  lines.insert(lines.begin() + static_cast<ptrdiff_t>(at), "\tst.global.u32 [16], 1;");
  std::string changed;
  for (const std::string& line : lines) changed += line + "\n";
  return changed;
}

void runToTheFault(const std::string& text) {
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  OK(cuInit(0));
  OK(cuCtxCreate(&context, nullptr, CU_CTX_COREDUMP_ENABLE, 0));
  unsigned flags = CU_COREDUMP_SKIP_ABORT;
  size_t size = sizeof flags;
  OK(cuCoredumpSetAttribute(CU_COREDUMP_GENERATION_FLAGS, &flags, &size));
  CUdeviceptr in = 0, out = 0;
  OK(cuMemAlloc(&in, kInputs * 4));
  OK(cuMemAlloc(&out, 32 * 32));
  std::vector<uint32_t> words(kInputs);
  for (uint32_t k = 0; k < kInputs; ++k) words[k] = k * 2654435761u;
  OK(cuMemcpyHtoD(in, words.data(), kInputs * 4));
  OK(cuMemsetD32(out, 0, 256));
  OK(cuModuleLoadData(&module, text.c_str()));
  OK(cuModuleGetFunction(&function, module, "random"));
  uint32_t count = 32;
  void* arguments[] = {&in, &out, &count};
  OK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr));
  (void)cuCtxSynchronize();
}

// Addresses differ between processes: they are told as a number of the memory and the distance from its beginning.
void withoutAddresses(const DumpReader& dump, std::vector<uint32_t>& registers) {
  const DumpReader::Section* const parameters = dump.find(".cudbg.param.dev0.grid0");
  ASSERT_TRUE(parameters);
  for (uint32_t memory = 0; memory < 2; ++memory) {
    const auto begin = dump.value<uint64_t>(*parameters, 8 * memory);
    for (size_t k = 0; k + 1 < registers.size(); ++k) {
      const uint64_t distance = (registers[k] | uint64_t{registers[k + 1]} << 32) - begin;
      if (distance >= 4 * kInputs) continue;
      registers[k] = static_cast<uint32_t>(distance);
      registers[k + 1] = 0xadd2e550 + memory;
    }
  }
}

// By lane, of those that stand where one has faulted. The interpreter makes the access of one lane after the other, so
// that only the first one has: `all` takes those, too, that are about to.
std::map<uint32_t, std::vector<uint32_t>> registersIn(const std::string& path, bool all) {
  std::map<uint32_t, std::vector<uint32_t>> registers;
  const DumpReader dump(path);
  const DumpReader::Section* const lanes = dump.findLike(".cudbg.lntbl");
  if (!lanes) return registers;
  const auto hasFaulted = [&](size_t lane) { return dump.value<uint32_t>(*lanes, 32, lane) == kIllegalAddress; };
  const auto placeOf = [&](size_t lane) { return dump.value<uint64_t>(*lanes, 8, lane); };
  uint64_t place = 0;
  for (size_t lane = 0; lane < dump.rows(*lanes); ++lane)
    if (hasFaulted(lane)) place = placeOf(lane);
  for (uint32_t lane = 0; lane < dump.rows(*lanes); ++lane) {
    if (!hasFaulted(lane) && !(all && placeOf(lane) == place)) continue;
    const std::string name =
        ".cudbg.regs" + lanes->name.substr(std::string(".cudbg.lntbl").size()) + ".ln" + std::to_string(lane);
    const DumpReader::Section* const section = dump.find(name);
    EXPECT_TRUE(section) << name;
    if (!section) continue;
    for (size_t row = 0; row < section->header.sh_size / 4; ++row)
      registers[lane].push_back(dump.value<uint32_t>(*section, row * 4));
    withoutAddresses(dump, registers[lane]);
  }
  return registers;
}

struct Compared {
  size_t kernels = 0, lanes = 0, words = 0;
};

void compareOne(uint64_t seed, const std::string& folder, Compared& compared) {
  std::mt19937_64 random(seed);
  const std::string text = withFault(vg::ptx::test::randomKernel(seed), random);
  std::map<uint32_t, std::vector<uint32_t>> found[2];
  for (const bool interpreted : {false, true}) {
    const std::string path = folder + "/dump";
    EXPECT_EQ(inProcess({{"VERDIGRIS_KERNELS", interpreted ? "interpret" : "compile"}, {"CUDA_COREDUMP_FILE", path}},
                        [&] { runToTheFault(text); }),
              0)
        << text;
    if (access(path.c_str(), R_OK)) return;  // nobody came to the fault
    found[interpreted] = registersIn(path, interpreted);
    unlink(path.c_str());
  }
  ++compared.kernels;
  for (const auto& [lane, registers] : found[0]) {
    const auto other = found[1].find(lane);
    if (other == found[1].end()) continue;
    ++compared.lanes;
    ASSERT_EQ(registers.size(), other->second.size());
    for (size_t k = 0; k < registers.size(); ++k) {
      ASSERT_EQ(registers[k], other->second[k]) << "kernel " << seed << ", lane " << lane << ", word " << k << "\n"
                                                << text;
      ++compared.words;
    }
  }
}

// CORE_DUMP_KERNELS: how many; CORE_DUMP_FIRST: the first number.
TEST(CoreDumpRegisters, AreTheInterpretersAtRandomPlacesOfRandomKernels) {
  const char *const many = getenv("CORE_DUMP_KERNELS"), *const first = getenv("CORE_DUMP_FIRST");
  const uint64_t kernels = many ? strtoull(many, nullptr, 10) : 24, from = first ? strtoull(first, nullptr, 10) : 1;
  char folder[] = "/tmp/core-dump-registers-XXXXXX";
  ASSERT_TRUE(mkdtemp(folder));
  Compared compared;
  for (uint64_t seed = from; seed < from + kernels && !HasFatalFailure(); ++seed) compareOne(seed, folder, compared);
  rmdir(folder);
  printf("%zu kernels, %zu lanes, %zu words of registers are equal\n", compared.kernels, compared.lanes,
         compared.words);
  if (kernels < 12 || HasFailure()) return;
  EXPECT_GT(compared.lanes, kernels);
}

}  // namespace
