// The code generator as this backend uses it: a shared object beside our own, opened on the first kernel that the disk
// cache does not hold.
#pragma once

#include <string>
#include <vector>

#include "backend/cpu/code/host_cpu.h"
#include "base/result.h"
#include "base/system/kernel_cache.h"
#include "ptx/abi/engine.h"
#include "ptx/abi/kernel_blob.h"

namespace vg::backend::cpu {

// What a piece of a kernel's code is good for.
struct CodeVariant {
  ptx::BlockShape shape = ptx::BlockShape::Other;
  bool fullWarps = false;        // as ptx::hasFullWarps says
  bool testsParameters = false;  // also for pointers that are not aligned as the kernel uses them
  bool testsReach = false;       // also where the device does not reach all memory
  ptx::TextureHints textures{};  // that it is fast for; none: of any kind
};

namespace engine {

// How much time good code may take.
enum class Effort : uint8_t {
  Quick,       // a launch waits: large kernels get code that is made soon
  Good,        // a launch waits for good code
  Background,  // nobody waits
};

struct Request {
  const std::vector<std::string>* texts;
  KernelCache::Key textsHash;
  const std::string* entry;
  CodeVariant variant;
  uint32_t function = 0;  // 0: the kernel's own code; else that of a function which it calls apart, by its index plus 1
};

struct Made {
  ptx::KernelBlob blob;
  std::vector<uint8_t> bytes;  // for the cache
  bool quick = false;          // runs slower than good code would
};

// Whether code that is made from now on keeps registers in memory, for a debugger or for core dumps.
bool keepsRegisters();
// What compiled code depends on: texts, kernel, variant, processor, versions, and the engine's own file. Quick code has
// a key of its own.
KernelCache::Key keyOf(const Request& request, bool quick);
// Hash of the texts, for Request.
KernelCache::Key hashOf(const std::vector<std::string>& texts);
// Compiles. CUDA_ERROR_NOT_SUPPORTED when there is no engine or it cannot do this kernel; the reason is in the log.
Result<Made> compile(const Request& request, Effort effort);

}  // namespace engine
}  // namespace vg::backend::cpu
