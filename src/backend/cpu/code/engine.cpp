#include "backend/cpu/code/engine.h"

#include <dlfcn.h>
#include <sys/stat.h>

#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

#include <memory>
#include <new>
#include <utility>

#include "backend/cpu/code/coverage.h"
#include "backend/cpu/debug/debugger.h"
#include "backend/cpu/faults/faults.h"
#include "backend/launches/fault_scene.h"
#include "base/float_environment.h"
#include "base/log.h"
#include "base/memory/own_memory.h"
#include "base/memory/shortage.h"
#include "base/settings.h"
#include "base/sync/once.h"
#include "base/undying.h"
#include "check/tools.h"
#include "ptx/facts/compile_facts.h"

namespace vg::backend::cpu::engine {

bool keepsRegisters() { return debugger::on() || registersWanted.load(std::memory_order_relaxed); }

namespace {

// The library opened, or the reason why not. Never closed.
struct Engine {
  ptx::EngineCompileTold compile = nullptr;
  ptx::EngineRelease release = nullptr;
  std::string reason;
};

// The engine lies beside the object that this code is in.
std::string enginePath() {
  Dl_info info;
  if (!dladdr(reinterpret_cast<void*>(&enginePath), &info) || !info.dli_fname) return ptx::kEngineLibrary;
  const std::string own = info.dli_fname;
  const size_t slash = own.rfind('/');
  return slash == std::string::npos ? ptx::kEngineLibrary : own.substr(0, slash + 1) + ptx::kEngineLibrary;
}

Engine openEngine() {
  Engine engine;
  const std::string path = enginePath();
  const DefaultFloatEnvironment forItsConstructors;
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* const why = dlerror();
    engine.reason = why ? why : path;
    return engine;
  }
  const auto version = reinterpret_cast<ptx::EngineVersion>(dlsym(library, ptx::kEngineVersionSymbol));
  if (!version || version() != ptx::kEngineVersion) {
    engine.reason = path + " is of version " + (version ? std::to_string(version()) : "?") + ", not " +
                    std::to_string(ptx::kEngineVersion);
    return engine;
  }
  engine.compile = reinterpret_cast<ptx::EngineCompileTold>(dlsym(library, ptx::kEngineCompileToldSymbol));
  engine.release = reinterpret_cast<ptx::EngineRelease>(dlsym(library, ptx::kEngineReleaseSymbol));
  if (!engine.compile || !engine.release) {
    engine.compile = nullptr;
    engine.reason = path + " lacks its functions";
    return engine;
  }
  if (const auto abandon = reinterpret_cast<ptx::EngineAbandon>(dlsym(library, ptx::kEngineAbandonSymbol)))
    faults::abandonWith(abandon);
  own_memory::adoptVariablesOf(reinterpret_cast<const void*>(engine.compile));
  if (const auto lend = reinterpret_cast<ptx::EngineLend>(dlsym(library, ptx::kEngineLendSymbol)))
    if (std::byte* const heap = own_memory::take(ptx::kEngineHeap)) lend(heap, ptx::kEngineHeap);
  return engine;
}

// What the dynamic loader says where a library is there and could be opened another time.
bool lacksMemory(const std::string& reason) {
  for (const char* const word : {"annot allocate", "out of memory", "failed to map", "Too many open files"})
    if (reason.find(word) != std::string::npos) return true;
  return false;
}

// Null, said in the log, when there is no memory for it now. What is tried belongs to the thread that tries until it
// stays: another one may try next, while this one still says why it could not.
const Engine* theEngine() {
  Engine* const engine = &undying<Engine, Engine>();
  static constinit Once once;
  Engine tried;
  try {
    once.call([&] {
      tried = openEngine();
      if (!tried.compile && lacksMemory(tried.reason)) throw std::bad_alloc();
      if (!tried.compile) VG_LOG(Warn, "no code generator, kernels are interpreted: %s", tried.reason.c_str());
      *engine = std::move(tried);
    });
  } catch (const std::bad_alloc&) {
    shortage::tell(Shortage::HostMemory, "the code generator cannot be opened: %s", tried.reason.c_str());
    return nullptr;
  }
  return engine;
}

class Hasher {
 public:
  Hasher() { XXH3_128bits_reset(&state_); }
  void add(const void* bytes, size_t size) { XXH3_128bits_update(&state_, bytes, size); }
  void add(const std::string& text) {
    add(uint64_t{text.size()});
    add(text.data(), text.size());
  }
  void add(uint64_t value) { add(&value, sizeof value); }
  KernelCache::Key finish() {
    const XXH128_hash_t hash = XXH3_128bits_digest(&state_);
    return {hash.high64, hash.low64};
  }

 private:
  XXH3_state_t state_;
};

bool testsOwn() { return settings().pageable != "unguarded"; }
bool approximatesExactly() { return settings().approximate == "exact"; }

uint32_t flagsFor(Effort effort) {
  return effort == Effort::Quick ? ptx::kMayBeQuick : effort == Effort::Background ? ptx::kInBackground : 0;
}

}  // namespace

KernelCache::Key hashOf(const std::vector<std::string>& texts) {
  Hasher hasher;
  for (const std::string& text : texts) hasher.add(text);
  return hasher.finish();
}

// What checked mode has to be told.
static uint32_t checkFlags(const CodeVariant& variant) {
  using check::Tool;
  const bool tells = check::wants(Tool::Race) || check::wants(Tool::Init);
  const bool meets = check::wants(Tool::Race) || check::wants(Tool::Sync) || check::wants(Tool::Exits);
  const uint32_t accesses = tells                        ? ptx::kChecksAccesses | ptx::kTellsAccesses
                            : check::wants(Tool::Memory) ? ptx::kChecksAccesses
                            : variant.testsReach         ? ptx::kTestsReach
                                                         : 0;
  return accesses | (meets ? ptx::kTellsMeetings : 0);
}

// Which addresses the code tests.
uint32_t reachFlag(const CodeVariant& variant) {
  if (check::any()) return checkFlags(variant);
  return variant.testsReach ? ptx::kTestsReach : testsOwn() ? ptx::kTestsOwn : 0;
}

// What other code has besides.
uint32_t extraFlags() {
  return (coverage::on() ? ptx::kCounts : 0) | (debugger::on() ? ptx::kDescribes : 0) |
         (keepsRegisters() ? ptx::kKeepsRegisters : 0);
}

KernelCache::Key keyOf(const Request& request, bool quick) {
  Hasher hasher;
  hasher.add(request.textsHash.high);
  hasher.add(request.textsHash.low);
  hasher.add(*request.entry);
  if (request.function) hasher.add(uint64_t{request.function});
  hasher.add(static_cast<uint64_t>(request.variant.shape));
  hasher.add(request.variant.fullWarps);
  hasher.add(request.variant.testsParameters);
  hasher.add(uint64_t{reachFlag(request.variant)});
  for (const ptx::TextureHint& hint : request.variant.textures)
    if (hint.kind) hasher.add(uint64_t{hint.parameter} << 16 | hint.kind);
  hasher.add(quick);
  hasher.add(approximatesExactly());
  if (const uint32_t extras = extraFlags()) hasher.add(uint64_t{extras});
  hasher.add(hostCpu().name);
  hasher.add(hostCpu().features);
  hasher.add(ptx::kKernelAbiVersion);
  hasher.add(ptx::kEngineVersion);
  // Another build of the engine makes other code.
  struct stat status {};
  if (!stat(enginePath().c_str(), &status)) {
    hasher.add(static_cast<uint64_t>(status.st_size));
    hasher.add(static_cast<uint64_t>(status.st_mtim.tv_sec));
    hasher.add(static_cast<uint64_t>(status.st_mtim.tv_nsec));
  }
  return hasher.finish();
}

Result<Made> compile(const Request& request, Effort effort) {
  const Engine* const opened = theEngine();
  if (!opened) return CUDA_ERROR_OUT_OF_MEMORY;
  const Engine& engine = *opened;
  if (!engine.compile) return CUDA_ERROR_NOT_SUPPORTED;
  std::vector<ptx::EngineText> texts;
  for (const std::string& text : *request.texts) texts.push_back({text.data(), text.size()});
  ptx::CompileRequest wanted{};
  wanted.texts = texts.data();
  wanted.textCount = texts.size();
  wanted.entry = request.entry->c_str();
  wanted.function = request.function;
  wanted.shape = request.variant.shape;
  wanted.fullWarps = request.variant.fullWarps;
  wanted.flags = (request.variant.testsParameters ? ptx::kTestsParameters : 0) | reachFlag(request.variant) |
                 (approximatesExactly() ? ptx::kApproximatesExactly : 0) | extraFlags() | flagsFor(effort);
  wanted.textures = request.variant.textures;
  wanted.cpu = hostCpu().name.c_str();
  wanted.features = hostCpu().features.c_str();
  wanted.dumpDirectory = settings().dump.empty() ? nullptr : settings().dump.c_str();
  ptx::CompileResult result{};
  ptx::CompileFacts facts{};
  const DefaultFloatEnvironment ofConstants;
  faults::arm();
  const int status = engine.compile(&wanted, &result, &facts);
  const std::unique_ptr<ptx::CompileResult, ptx::EngineRelease> releaser(&result, engine.release);
  if (facts.broke)
    VG_LOG(Warn,
           "kernel %s: LLVM met a fault of its own; the kernel %s. Please report it, with what VERDIGRIS_DUMP writes",
           request.entry->c_str(), status == CUDA_SUCCESS ? "runs as quick code, which is slower" : "is interpreted");
  if (status != CUDA_SUCCESS)
    return fail(static_cast<CUresult>(status), "kernel %s cannot be compiled: %s", request.entry->c_str(),
                result.log ? result.log : "no reason given");
  if (result.log && *result.log) VG_LOG(Info, "kernel %s: %s", request.entry->c_str(), result.log);
  Made made;
  made.bytes.assign(result.blob, result.blob + result.blobSize);
  made.quick = facts.quick;
  Result<ptx::KernelBlob> blob = ptx::decode(made.bytes.data(), made.bytes.size());
  if (blob.ok()) {
    made.blob = std::move(blob).value();
    return made;
  }
  VG_LOG(Error, "the code generator is not of the same build as this library: kernel %s", request.entry->c_str());
  return CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace vg::backend::cpu::engine
