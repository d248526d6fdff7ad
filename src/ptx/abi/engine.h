// The C interface of libverdigris_ptx.so, the only way into the code generator. The library is opened with RTLD_LOCAL
// on the first kernel that the disk cache does not hold. Callable from several threads at once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ptx/abi/kernel_abi.h"
#include "ptx/abi/texture_abi.h"

namespace vg::ptx {

inline constexpr uint32_t kEngineVersion = 11;  // of this interface and of the blobs

struct EngineText {
  const char* text;
  size_t size;
};

// CompileRequest::flags: pointers among the parameters may be misaligned; the code tests what it makes of them, and the
// blob has no rules about them.
inline constexpr uint32_t kTestsParameters = 1;

struct CompileRequest {
  const EngineText* texts;  // one module, or several relocatable ones to link
  size_t textCount;
  const char* entry;  // mangled kernel name
  uint32_t function;  // 0, or one more than the index of a function whose code is wanted, which the kernel calls apart
  BlockShape shape;
  bool fullWarps;   // as hasFullWarps says
  const char* cpu;  // LLVM CPU name and features ("+avx2,-avx512f"), explicit; from hostCpu()
  const char* features;
  uint32_t lanesPerVector;    // W: 32-bit lanes of a native vector; 0 = the generator's choice for the features
  const char* dumpDirectory;  // null, or where PTX, LLVM IR and assembly go
  uint32_t flags;
  TextureHints textures;  // that the launch is likely to be given; other ones are read as well, only more slowly
};

// The stages of a compile, in their order.
enum class CompilePhase : uint32_t { Parse, Analyse, Emit, Optimise, Generate, Link, Count };

struct CompileResult {
  uint8_t* blob;  // native code in the format of kernel_blob.h; released with vgPtxRelease
  size_t blobSize;
  char* log;                                                          // null, or NUL-terminated text for humans
  int status;                                                         // CUresult
  uint32_t microseconds[static_cast<uint32_t>(CompilePhase::Count)];  // what each stage took
};

using EngineVersion = uint32_t (*)();
using EngineCompile = int (*)(const CompileRequest*, CompileResult*);  // returns the CUresult also in result->status
using EngineRelease = void (*)(CompileResult*);
// Zero pages that compiles may use from then on, for ever; at most once, before the first compile. Without it the
// engine takes its own.
using EngineLend = void (*)(std::byte* memory, size_t bytes);
// For handlers of signals: does not return in a thread that compiles, whose compile ends there. Its memory, a heap and
// the thread are lost.
using EngineAbandon = void (*)();
inline constexpr size_t kEngineHeap = size_t{32} << 20;  // several times what an ordinary kernel needs

inline constexpr const char* kEngineVersionSymbol = "vgPtxEngineVersion";
inline constexpr const char* kEngineCompileSymbol = "vgPtxCompile";
inline constexpr const char* kEngineReleaseSymbol = "vgPtxRelease";
inline constexpr const char* kEngineLendSymbol = "vgPtxLend";
inline constexpr const char* kEngineAbandonSymbol = "vgPtxAbandon";
inline constexpr const char* kEngineLibrary = "libverdigris_ptx.so";

}  // namespace vg::ptx
