#include "ptx_compiler/harness.h"

#include <dlfcn.h>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstdlib>

#include "backend/cpu/code/host_cpu.h"
#include "ptx/abi/reach_abi.h"
#include "ptx/facts/coverage.h"
#include "ptx/operations/async_operation.h"
#include "ptx/operations/matrix.h"

namespace vg::ptx::test {

std::vector<uint32_t> trapLines;

namespace {

struct Engine {
  EngineLend lend = nullptr;
  EngineCompileTold compile = nullptr;
  EngineRelease release = nullptr;
};

const Engine& engine() {
  static const Engine loaded = [] {
    Engine e;
    const char* const path = std::getenv("VERDIGRIS_PTX_LIBRARY");
    void* const library = dlopen(path ? path : VG_PTX_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
      std::fprintf(stderr, "%s\n", dlerror());
      std::exit(2);
    }
    e.lend = reinterpret_cast<EngineLend>(dlsym(library, kEngineLendSymbol));
    e.compile = reinterpret_cast<EngineCompileTold>(dlsym(library, kEngineCompileToldSymbol));
    e.release = reinterpret_cast<EngineRelease>(dlsym(library, kEngineReleaseSymbol));
    return e;
  }();
  return loaded;
}

// --- A runner -----------------------------------------------------------------------------------------------------

struct Barrier {
  uint32_t arrived = 0, generation = 0, popc = 0, last = 0;
  bool all = true, any = false;
};

struct Warp {
  ucontext_t context;
  std::vector<uint8_t> stack;
  bool done = false;
};

struct Block {
  BlockState state{};
  KernelEntry entry = nullptr;
  std::vector<Warp> warps;
  ucontext_t scheduler;
  Barrier barriers[16];
  uint32_t present = 0, live = 0;  // threads that have not ended
  bool trapped = false;
};

Block* running = nullptr;  // single-threaded by contract

Block& blockOf(BlockState* state) { return *static_cast<Block*>(state->owner); }

void leaveWarp(Block& block) { swapcontext(&block.warps[block.present].context, &block.scheduler); }

uint32_t popcount(uint32_t v) { return static_cast<uint32_t>(__builtin_popcount(v)); }

uint32_t arrive(Block& block, uint32_t id, uint32_t threads, uint32_t mask, uint32_t predicates, bool wait,
                BarrierReduction operation) {
  Barrier& b = block.barriers[id & 15];
  const uint32_t generation = b.generation;
  b.arrived += popcount(mask);
  b.popc += popcount(predicates & mask);
  b.all &= (predicates & mask) == mask;
  b.any |= (predicates & mask) != 0;
  for (;;) {
    const uint32_t expected = threads ? threads : block.live;
    if (b.generation == generation && b.arrived >= expected) {
      b.last = operation == BarrierReduction::Popc ? b.popc : operation == BarrierReduction::And ? b.all : b.any;
      const uint32_t next = b.generation + 1, last = b.last;
      b = {};
      b.generation = next;
      b.last = last;
    }
    if (b.generation != generation || !wait) return b.last;
    leaveWarp(block);
  }
}

void callBarrier(BlockState* s, uint32_t, uint32_t id, uint32_t threads, uint32_t mask) {
  arrive(blockOf(s), id, threads, mask, 0, true, BarrierReduction::Popc);
}
void callArrive(BlockState* s, uint32_t, uint32_t id, uint32_t threads, uint32_t mask) {
  arrive(blockOf(s), id, threads, mask, 0, false, BarrierReduction::Popc);
}
uint32_t callReduce(BlockState* s, uint32_t, uint32_t id, uint32_t threads, uint32_t mask, BarrierReduction operation,
                    uint32_t predicates) {
  return arrive(blockOf(s), id, threads, mask, predicates, true, operation);
}
void callYield(BlockState* s, uint32_t) {
  if (blockOf(s).warps.size() > 1) leaveWarp(blockOf(s));
}
void callSleep(BlockState* s, uint32_t warp, uint32_t) { callYield(s, warp); }
void callPrint(BlockState*, uint32_t, uint32_t mask, const uint64_t*, const uint64_t*, int32_t* results) {
  for (uint32_t l = 0; l < 32; ++l)
    if (mask >> l & 1) results[l] = static_cast<int32_t>(l);
}
void callAssert(BlockState* s, uint32_t, uint32_t, const uint64_t*, const uint64_t*, const uint32_t*, const uint64_t*) {
  blockOf(s).trapped = true;
  setcontext(&blockOf(s).scheduler);
}
void callTrap(BlockState* s, uint32_t, uint32_t, TrapReason, uint32_t line) {
  trapLines.push_back(line);
  blockOf(s).trapped = true;
  setcontext(&blockOf(s).scheduler);
}
void callAllocate(BlockState*, uint32_t, uint32_t mask, const uint64_t* sizes, uint64_t* results) {
  for (uint32_t l = 0; l < 32; ++l)
    if (mask >> l & 1) results[l] = reinterpret_cast<uint64_t>(std::malloc(sizes[l]));
}
void callRelease(BlockState*, uint32_t, uint32_t mask, const uint64_t* addresses) {
  for (uint32_t l = 0; l < 32; ++l)
    if (mask >> l & 1) std::free(reinterpret_cast<void*>(addresses[l]));
}
uint64_t callClock(BlockState*) {
  static uint64_t now = 0;
  return now += 100;
}

void callMatrix(BlockState* s, uint32_t warp, uint32_t mask, uint64_t form, uint32_t line, const void* operands,
                void* results) {
  if (runMatrix(matrixFormOf(form), mask, static_cast<const std::byte*>(operands), static_cast<std::byte*>(results)) ==
      MatrixFault::Misaligned)
    callTrap(s, warp, mask, TrapReason::MisalignedAddress, line);
}

// Clusters of one block: the last barrier of all warps.
void callClusterArrive(BlockState*, uint32_t) {}
void callClusterWait(BlockState* s, uint32_t warp) {
  const uint32_t threads = s->launch->threadsPerBlock - warp * kWarpSize;
  callBarrier(s, warp, 15, 0, threads < 32 ? (1u << threads) - 1 : ~0u);
}
void callAsynchronous(BlockState* s, uint32_t warp, uint32_t mask, uint64_t form, uint32_t line, uint64_t* lanes) {
  performAsync(s, warp, mask, asyncFormOf(form), line, lanes);
}

void callPause(BlockState* s, uint32_t warp) { callYield(s, warp); }
void callMultiplyAdd(uint32_t count, uint32_t rounding, const double* operands, double* results) {
  constexpr int kModes[] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
  std::fesetround(kModes[rounding & 3]);
  for (uint32_t n = 0; n < count; ++n) results[n] = std::fma(operands[n], operands[count + n], operands[2 * count + n]);
  std::fesetround(FE_TONEAREST);
}

void callReach(BlockState*, uint32_t, uint32_t, const uint64_t*, uint32_t, uint32_t, const void*) {}

// Of the library's own there is nothing, which code that asks finds by a bit for every other page, and by the range
// for the rest.
constexpr uint64_t kEveryOtherPage = 4096;
constinit ReachCalls calls = {
    .calls = {callBarrier,     callArrive,   callReduce,       callYield, callSleep, callPrint, callAssert,
              callTrap,        callAllocate, callRelease,      callClock, callClock, nullptr,   callClusterArrive,
              callClusterWait, callMatrix,   callAsynchronous, nullptr,   nullptr,   callPause, callMultiplyAdd},
    .window = 0,
    .windowBytes = 0,
    .reach = callReach,
    .own = 0,
    .ownBytes = 0,
    .ownBit = kEveryOtherPage,
};

void warpMain() {
  Block& block = *running;
  const uint32_t warp = block.present;
  block.entry(&block.state, warp, warp + 1);
  block.warps[warp].done = true;
  const uint32_t threads = block.state.launch->threadsPerBlock;
  block.live -= std::min(32u, threads - 32 * warp);
  setcontext(&block.scheduler);
}

bool runBlock(Block& block, const KernelTraits& traits) {
  const KernelLaunch& launch = *block.state.launch;
  running = &block;
  block.live = launch.threadsPerBlock;
  block.warps.resize(launch.warpsPerBlock);
  if (!traits.waits) {
    // One stack for all; a trap comes back here.
    block.warps.resize(1);
    volatile bool started = false;
    getcontext(&block.scheduler);
    if (block.trapped) return false;
    if (!started) {
      started = true;
      block.entry(&block.state, 0, launch.warpsPerBlock);
    }
    return true;
  }
  for (Warp& w : block.warps) {
    w.stack.resize(size_t{1} << 20);
    getcontext(&w.context);
    w.context.uc_stack.ss_sp = w.stack.data();
    w.context.uc_stack.ss_size = w.stack.size();
    w.context.uc_link = nullptr;
    makecontext(&w.context, warpMain, 0);
  }
  for (uint64_t round = 0; round < 1000000; ++round) {
    bool some = false;
    for (uint32_t n = 0; n < block.warps.size(); ++n) {
      if (block.warps[n].done) continue;
      some = true;
      block.present = n;
      swapcontext(&block.scheduler, &block.warps[n].context);
      if (block.trapped) return false;
    }
    if (!some) return true;
  }
  std::fprintf(stderr, "kernel does not end\n");
  return false;
}

}  // namespace

const std::vector<Target>& allTargets() {
#if defined(__aarch64__)
  static const std::vector<Target> list = {{"neon", "generic", "+neon,+lse", 4}};
#else
  static const std::vector<Target> list = {
      {"avx512", "x86-64-v4",
       "+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx512cd,+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+popcnt", 16},
      {"avx2", "x86-64-v3", "+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+popcnt,+movbe", 8},
      {"baseline", "x86-64-v2", "+sse4.2,+popcnt", 4}};
#endif
  return list;
}

const std::vector<Target>& targets() {
  static const std::vector<Target> list = [] {
    static const auto sets = backend::cpu::instructionSets();
    std::vector<Target> out;
    for (const auto& set : sets) out.push_back({set.name, set.cpu.name.c_str(), set.cpu.features.c_str(), set.lanes});
    if (const char* only = std::getenv("VERDIGRIS_TEST_TARGET"))
      std::erase_if(out, [&](const Target& t) { return std::strcmp(t.name, only); });
    return out;
  }();
  return list;
}

CompiledKernel::~CompiledKernel() {
  if (memory_) munmap(memory_, size_);
}

int CompiledKernel::compile(const std::string& text, const std::string& entry, const Target& target,
                            const Shape3& block, std::string* log, const char* dumpDirectory, uint32_t flags) {
  const EngineText source{text.data(), text.size()};
  CompileRequest request{};
  request.texts = &source;
  request.textCount = 1;
  request.entry = entry.c_str();
  request.shape = blockShapeOf(block.x, block.y, block.z);
  request.fullWarps = hasFullWarps(request.shape, block.count());
  request.cpu = target.cpu;
  request.features = target.features;
  request.lanesPerVector = target.lanes;
  request.flags = flags;
  request.dumpDirectory = dumpDirectory ? dumpDirectory : std::getenv("VERDIGRIS_DUMP");
  CompileResult result{};
  const int status = engine().compile(&request, &result, &facts);
  if (log) *log = result.log ? result.log : "";
  if (status == CUDA_SUCCESS && !(flags & kOnlyTried)) {
    Result<KernelBlob> decoded = decode(result.blob, result.blobSize);
    if (!decoded.ok()) {
      if (log) *log += "blob does not decode";
      engine().release(&result);
      return decoded.error();
    }
    blob = std::move(decoded).value();
    std::copy(std::begin(result.microseconds), std::end(result.microseconds), microseconds);
    size_ = (blob.code.size() + 4095) & ~size_t{4095};
    memory_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::memcpy(memory_, blob.code.data(), blob.code.size());
    mprotect(memory_, size_, PROT_READ | PROT_EXEC);
    __builtin___clear_cache(static_cast<char*>(memory_), static_cast<char*>(memory_) + blob.code.size());
  }
  engine().release(&result);
  return status;
}

void lendNoise(uint32_t seed) {
  static auto* const memory = static_cast<std::byte*>(std::aligned_alloc(4096, kEngineHeap));  // stays the engine's
  if (!memory) return;
  for (size_t at = 0; at < kEngineHeap; ++at) {
    seed = seed * 1664525 + 1013904223;
    memory[at] = static_cast<std::byte>(seed >> 24);
  }
  engine().lend(memory, kEngineHeap);
}

bool runGrid(KernelEntry entry, const void* code, const KernelTraits& traits, const LaunchSpec& spec) {
  alignas(256) static std::byte parameters[32768];
  std::memcpy(parameters, spec.parameters.data(), spec.parameters.size());
  std::vector<std::byte> shared(traits.dynamicSharedOffset + traits.staticShared + spec.dynamicShared + 8192);
  std::byte* const base =
      reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(shared.data()) + 1023) & ~uintptr_t{1023});
  KernelLaunch launch{};
  launch.parameters = parameters;
  launch.globals = spec.globals.data();
  const uint32_t grid[3] = {spec.grid.x, spec.grid.y, spec.grid.z},
                 size[3] = {spec.block.x, spec.block.y, spec.block.z};
  std::memcpy(launch.gridSize, grid, sizeof grid);
  std::memcpy(launch.blockSize, size, sizeof size);
  launch.threadsPerBlock = spec.block.count();
  launch.warpsPerBlock = (launch.threadsPerBlock + 31) / 32;
  launch.staticShared = traits.staticShared;
  launch.dynamicShared = spec.dynamicShared;
  launch.dynamicSharedOffset = traits.dynamicSharedOffset;
  launch.workers = 1;
  launch.stackPerThread = traits.stackOfCalls + (traits.recurses ? 8192 : 1024);
  launch.flags = (spec.cluster ? kExplicitCluster : 0) | (spec.streams ? kStreams : 0);
  launch.clusterSize[0] = launch.clusterSize[1] = launch.clusterSize[2] = 1;
  launch.calls = &calls.calls;
  uint64_t* counters[] = {spec.counts};
  launch.code = code;
  launch.counters = counters;
  // Several blocks in one call where that is possible; shared memory is to start from zero in each.
  const bool spans = traits.spans && traits.staticShared + spec.dynamicShared == 0;
  const uint32_t step = spans ? spec.grid.x : 1;
  std::vector<std::byte> frames(frameMemory(traits, launch.warpsPerBlock) + 64, std::byte{0xA5});
  uint64_t number = 0;
  for (uint32_t z = 0; z < spec.grid.z; ++z)
    for (uint32_t y = 0; y < spec.grid.y; ++y)
      for (uint32_t x = 0; x < spec.grid.x; x += step) {
        Block block;
        block.entry = entry;
        block.state.launch = &launch;
        block.state.blockIndex[0] = x;
        block.state.blockIndex[1] = y;
        block.state.blockIndex[2] = z;
        block.state.shared = base;
        block.state.clusterShared = base;
        block.state.blockNumber = number;
        number += step;
        block.state.blocks = step;
        block.state.frames =
            reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(frames.data()) + 63) & ~uintptr_t{63});
        block.state.sharedLimit =
            static_cast<uint32_t>(traits.dynamicSharedOffset + traits.staticShared + spec.dynamicShared);
        block.state.owner = &block;
        std::memset(base, 0, block.state.sharedLimit);
        if (!runBlock(block, traits)) return false;
      }
  return true;
}

}  // namespace vg::ptx::test
