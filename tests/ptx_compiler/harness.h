// Compiles PTX with libverdigris_ptx.so and runs the blob, or the same kernel in the interpreter, one block after
// another on this thread. Blocks whose warps may wait run on fibres made of ucontext: slow, and independent of the real
// runner.
#pragma once

#include <cuda.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ptx/abi/engine.h"
#include "ptx/abi/kernel_blob.h"
#include "ptx/facts/compile_facts.h"
#include "ptx/interpreter/interpreter.h"
#include "ptx/text/parser.h"

namespace vg::ptx::test {

// What a compile is for.
struct Target {
  const char* name;
  const char* cpu;
  const char* features;
  uint32_t lanes;
  // Without it f64 fma is the interpreter's work.
  bool hasFma() const {
    return std::strstr(features, "+fma") || std::strstr(features, "+avx512f") || std::strstr(features, "+neon");
  }
};
const std::vector<Target>& allTargets();  // widest first
const std::vector<Target>& targets();     // as the library describes this machine, and the part of it with each

struct Shape3 {
  uint32_t x = 1, y = 1, z = 1;
  uint32_t count() const { return x * y * z; }
};

struct LaunchSpec {
  Shape3 grid, block;
  std::vector<uint8_t> parameters;
  std::vector<uint64_t> globals;
  uint32_t dynamicShared = 0;
  bool cluster = false;        // a grid of clusters of one block
  bool streams = false;        // a grid large enough for stores past the caches
  uint64_t* counts = nullptr;  // of a kernel that counts what it runs
};

// Code of a kernel in executable memory.
class CompiledKernel {
 public:
  CompiledKernel() = default;
  CompiledKernel(CompiledKernel&& other) noexcept {
    std::swap(memory_, other.memory_), std::swap(size_, other.size_), std::swap(blob, other.blob);
  }
  ~CompiledKernel();
  // The CUresult of the engine; `log` gets what it said.
  int compile(const std::string& text, const std::string& entry, const Target& target, const Shape3& block,
              std::string* log, const char* dumpDirectory = nullptr, uint32_t flags = 0);
  KernelEntry entry() const { return reinterpret_cast<KernelEntry>(static_cast<uint8_t*>(memory_) + blob.entryOffset); }
  KernelBlob blob;
  CompileFacts facts{};
  uint32_t microseconds[static_cast<uint32_t>(CompilePhase::Count)] = {};

 private:
  void* memory_ = nullptr;
  size_t size_ = 0;
};

// Has compiles use memory that is full of noise. Before the first compile.
void lendNoise(uint32_t seed);

// Runs a grid. `code` is null for compiled kernels. Returns false when the kernel trapped.
bool runGrid(KernelEntry entry, const void* code, const KernelTraits& traits, const LaunchSpec& spec);
// What vprintf printed during the last runGrid, as format addresses; traps' PTX lines.
extern std::vector<uint32_t> trapLines;

}  // namespace vg::ptx::test
