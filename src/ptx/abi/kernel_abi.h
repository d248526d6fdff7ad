// The contract between whoever runs a kernel (backend/cpu's kernel runner) and whoever made it (the code generator's
// native code or the reference interpreter). Plain C layouts: native code from the disk cache depends on every offset
// here; change kKernelAbiVersion with any of them.
//
// Addresses: global, const, local and param addresses are host virtual addresses. A shared address is the byte offset
// from BlockState::shared (it fits 32 bits); cvta.shared adds the base. Blocks of a cluster have their shared memory
// kSharedStride apart, in the order of their ranks, and in kernels with KernelTraits::clusterAddresses all of them
// count from the first one's, so that a shared::cluster address means the same to all of them. Local memory lives in
// the running function's own stack frame. Lanes are numbered by linear thread index within the block: warp w holds
// threads 32w .. 32w+31, the last warp may be partial.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vg::ptx {

inline constexpr uint32_t kKernelAbiVersion = 22;
inline constexpr uint32_t kWarpSize = 32;
inline constexpr uint32_t kSharedStrideBits = 19, kSharedStride = 1u << kSharedStrideBits;
inline constexpr uint32_t kMaxClusterBlocks = 16;
// KernelLaunch::flags.
inline constexpr uint32_t kExplicitCluster = 1;  // the kernel or its launch asks for clusters
inline constexpr uint32_t kReachesPageable = 2;  // the device reaches memory that nobody registered
inline constexpr uint32_t kStreams = 4;          // stores may go past the caches; the runner fences them

inline constexpr uint32_t kNoLane = ~0u;

struct BlockState;
struct CheckedRanges;
struct KernelLaunch;
struct TextureRows;

enum class TrapReason : uint32_t {
  Trap,                // trap instruction: CUDA_ERROR_LAUNCH_FAILED
  IllegalInstruction,  // reached an instruction we cannot run: CUDA_ERROR_ILLEGAL_INSTRUCTION, logged by name
  MisalignedAddress,   // CUDA_ERROR_MISALIGNED_ADDRESS
  SharedOutOfRange,    // CUDA_ERROR_ILLEGAL_ADDRESS
  StackOverflow,       // CUDA_ERROR_LAUNCH_FAILED
  NoTexture,           // CUDA_ERROR_ILLEGAL_ADDRESS: the handle of no living texture or surface
  SurfaceOutOfRange,   // CUDA_ERROR_ILLEGAL_ADDRESS: outside of a surface, with .trap
  OutOfReach,          // CUDA_ERROR_ILLEGAL_ADDRESS: memory that is none of the device's
};
enum class BarrierReduction : uint32_t { Popc, And, Or };

// Services of the runner. `warp` is the calling warp's index in its block, `mask` the lanes concerned. All may switch
// to another warp's fibre of the same worker unless said otherwise; none returns after trap or assertFail's fault.
struct RuntimeCalls {
  // bar.sync / barrier.sync: waits until `threads` threads (0: all live threads of the block) arrived at `id` (0..15).
  void (*barrier)(BlockState*, uint32_t warp, uint32_t id, uint32_t threads, uint32_t mask);
  // bar.arrive: counts, does not wait.
  void (*barrierArrive)(BlockState*, uint32_t warp, uint32_t id, uint32_t threads, uint32_t mask);
  // bar.red: as barrier, and combines the predicate bits of `predicates & mask` over all arriving threads.
  uint32_t (*barrierReduce)(BlockState*, uint32_t warp, uint32_t id, uint32_t threads, uint32_t mask,
                            BarrierReduction operation, uint32_t predicates);
  // Called on back edges of loops that poll memory, and by nanosleep: lets other warps and blocks run.
  void (*yield)(BlockState*, uint32_t warp);
  void (*nanosleep)(BlockState*, uint32_t warp, uint32_t nanoseconds);
  // vprintf for each lane of mask in lane order; formats[lane] and arguments[lane] are addresses; results[lane] gets
  // the number of arguments or -1. Does not switch.
  void (*print)(BlockState*, uint32_t warp, uint32_t mask, const uint64_t* formats, const uint64_t* arguments,
                int32_t* results);
  // __assertfail: prints CUDA's message for each lane, then ends the launch with CUDA_ERROR_ASSERT.
  void (*assertFail)(BlockState*, uint32_t warp, uint32_t mask, const uint64_t* messages, const uint64_t* files,
                     const uint32_t* lines, const uint64_t* functions);
  // Ends the launch with an error; does not return. `line` is the PTX line, 0 when unknown.
  void (*trap)(BlockState*, uint32_t warp, uint32_t mask, TrapReason reason, uint32_t line);
  // Device-side malloc and free for each lane of mask; a failed malloc gives 0. Do not switch.
  void (*allocate)(BlockState*, uint32_t warp, uint32_t mask, const uint64_t* sizes, uint64_t* results);
  void (*release)(BlockState*, uint32_t warp, uint32_t mask, const uint64_t* addresses);
  uint64_t (*clock)(BlockState*);        // at the reported clock rate; always advances
  uint64_t (*globalTimer)(BlockState*);  // nanoseconds
  // A texture or surface instruction (texture_form.h) for each lane of mask. `lanes` is kTextureSlots slots of 32
  // values; results take the place of operands. Does not switch; a handle that names nothing ends the launch.
  void (*texture)(BlockState*, uint32_t warp, uint32_t mask, uint64_t form, uint32_t line, uint64_t* lanes);
  // barrier.cluster.arrive and .wait: of all live warps of the cluster, once a warp. Arriving does not switch.
  void (*clusterArrive)(BlockState*, uint32_t warp);
  void (*clusterWait)(BlockState*, uint32_t warp);
  // A matrix instruction (matrix_form.h) of the lanes of mask. Does not switch; a misaligned address ends the launch.
  void (*matrix)(BlockState*, uint32_t warp, uint32_t mask, uint64_t form, uint32_t line, const void* operands,
                 void* results);
  // A barrier object's instruction, a bulk or tensor copy (async_form.h) for each lane of mask. `lanes` is kAsyncSlots
  // slots of 32 values; the result takes the place of the first. Switches only where it ends a phase of an object.
  void (*asynchronous)(BlockState*, uint32_t warp, uint32_t mask, uint64_t form, uint32_t line, uint64_t* lanes);
  // cudaGraphSetConditional for each lane of mask. Does not switch.
  void (*setConditional)(BlockState*, uint32_t warp, uint32_t mask, const uint64_t* handles, const uint32_t* values);
  // A function of the device runtime (device_runtime.h) for each lane of mask in lane order: arguments[lane] is the
  // address of its arguments. Does not switch.
  void (*deviceRuntime)(BlockState*, uint32_t warp, uint32_t mask, const uint32_t* functions, const uint64_t* arguments,
                        uint64_t* results);
  // Lets the other warps of the block come as far as they can, or to a pause of their own, before this one goes on.
  void (*pause)(BlockState*, uint32_t warp);
  // a * b + c in f64, rounded once, for processors without such an instruction: `count` of each, one kind after the
  // other. `rounding` as in MXCSR: 0 to nearest, 1 down, 2 up, 3 to zero. Does not switch.
  void (*fusedMultiplyAdd)(uint32_t count, uint32_t rounding, const double* operands, double* results);
  // Runs for each lane of mask the function without arguments whose address (layout.h) is addresses[lane], in code of
  // its own that is made when it is called first. Ends the launch where an address is no such function's.
  void (*callApart)(BlockState*, uint32_t warp, uint32_t mask, const uint64_t* addresses, uint32_t line);
  // How compiled code reads the texture of that handle by itself (texture_abi.h), for as long as the launch runs; of
  // kind 0 where it does not, and for what is no texture. Does not switch.
  const TextureRows* (*textureRows)(BlockState*, uint64_t handle);
};

// One a launch, shared by all workers, constant while it runs.
struct KernelLaunch {
  const std::byte* parameters;  // the parameter buffer, C layout (layout.h), 256-byte aligned
  const uint64_t* globals;      // addresses, in the order of KernelReferences::globals
  uint32_t gridSize[3];         // blocks
  uint32_t blockSize[3];        // threads
  uint32_t threadsPerBlock;
  uint32_t warpsPerBlock;
  uint32_t staticShared;         // bytes
  uint32_t dynamicShared;        // bytes
  uint32_t dynamicSharedOffset;  // bytes from BlockState::shared
  uint32_t workers;              // %nsmid
  uint64_t gridId;
  uint64_t graphExec;             // %current_graph_exec; 0 outside of graphs that kernels may launch
  uint64_t cooperativeWorkspace;  // %envreg1:%envreg2; 0 unless cooperative
  uint32_t clusterSize[3];        // blocks; 1,1,1 without clusters
  uint32_t flags;                 // kExplicitCluster, kReachesPageable, kStreams
  uint32_t stackPerThread;        // bytes that alloca may take of a lane, a multiple of 64
  const RuntimeCalls* calls;
  // The interpreter's program; of native code check::CompiledKernel where it checks accesses, or unused.
  const void* code;
  uint64_t* const* counters;  // by worker, each its own, of kernels that count what they run; or null
  void* owner;                // the runner's own
};

// One a running block; belongs to one worker thread.
struct BlockState {
  const KernelLaunch* launch;
  uint32_t blockIndex[3];
  uint32_t worker;           // %smid
  std::byte* shared;         // what shared addresses count from, 1 KiB aligned
  uint64_t blockNumber;      // linear
  uint32_t sharedLimit;      // bytes of the block's own shared memory
  uint32_t sharedOffset;     // where that begins: 0, or clusterRank * kSharedStride with KernelTraits::clusterAddresses
  void* owner;               // the runner's own
  std::byte* clusterShared;  // shared memory of the cluster's first block
  uint32_t clusterRank;      // of the block in its cluster
  uint32_t blocks;           // run by one call, this one and those that follow along x; above 1 only with traits.spans
  // For whoever tells of a fault or a wait. Compiled code keeps `warp` where one call runs several; the interpreter
  // keeps all three before each access of memory and each wait. kNoLane, 0: not known.
  uint32_t warp, lane, line;
  std::byte* frames;       // frameMemory() bytes, aligned to 64: what warps keep at barriers; null without frames
  CheckedRanges* checked;  // check_abi.h; null unless kernels check their accesses
  std::byte* kept;         // registers of each warp (facts/kept_registers.h), KernelTraits::keptBytes; null for none
};

// Runs warps firstWarp .. endWarp-1 of the block to their end, one after another. Kernels that may wait inside a block
// (KernelTraits::waits) are only called with endWarp == firstWarp + 1, each warp on a fibre of its own; all others with
// all warps. A call of several blocks leaves blockIndex[0] anywhere among them, and may interleave their warps.
//
// The code of a function that is called apart (RuntimeCalls::callApart) has the same form: it runs the lanes of the
// warp `firstWarp` that the bits of the last argument name.
using KernelEntry = void (*)(BlockState* block, uint32_t firstWarp, uint32_t endWarp);

// What the runner must know of a kernel beyond its code; made by the code generator, kept in the disk cache.
struct KernelTraits {
  uint32_t staticShared = 0;         // bytes
  uint32_t dynamicSharedOffset = 0;  // bytes
  uint32_t localPerThread = 0;       // bytes of .local per thread (cuFuncGetAttribute LOCAL_SIZE_BYTES)
  uint32_t localStride = 0;          // bytes from a lane's .local to the next lane's, in native code
  uint32_t stackPerWarp = 0;         // bytes of stack that a warp needs, locals of all lanes included
  uint32_t frameBytes = 0;           // that a warp keeps in BlockState::frames at barriers, 0: none wait that way
  uint32_t streamedPerThread = 0;    // bytes of results that may go past the caches (kStreams), 0: none
  uint32_t stackOfCalls = 0;         // bytes of a lane's stack that calls take, beside what alloca may take
  uint32_t registers = 0;            // estimate for CU_FUNC_ATTRIBUTE_NUM_REGS
  uint32_t keptBytes = 0;            // of what a warp keeps of its registers (BlockState::kept), 0: nothing
  bool waits = false;                // barriers or yields: warps need fibres when a block has several
  bool polls = false;  // a loop waits for memory, or clusters are cancelled: blocks come by tickets, never inline
  bool loops = false;  // has any loop: run time not bounded by its size
  bool usesDynamicShared = false;
  bool clusterAddresses = false;  // has shared::cluster addresses: BlockState::shared is the cluster's
  bool spans = false;             // one call may run several blocks
  bool allocates = false;         // has alloca: takes up to KernelLaunch::stackPerThread a lane of its stack
  bool recurses = false;          // and keeps there what functions need that call themselves
  bool atomics = false;           // on memory that other blocks see: threads of the machine may get in each other's way
  bool samples = false;           // textures that it is given: there may be code for their kind (texture_abi.h)
  bool callsApart = false;        // functions in code of their own (RuntimeCalls::callApart), of which nothing is known
};

// Bytes of BlockState::frames: the place where each warp goes on, 4 bytes for up to 32 of them, then their frames.
inline constexpr uint32_t kFrameHeader = 4 * kWarpSize;
inline constexpr size_t frameMemory(const KernelTraits& traits, uint32_t warps) {
  return traits.frameBytes ? kFrameHeader + size_t{traits.frameBytes} * warps : 0;
}

inline constexpr uint32_t kLocalAlignment = 64;  // of a lane's local memory, unless a variable wants more

// Bytes between the local memory of neighbouring lanes, of so many bytes each.
inline uint32_t localLaneStride(uint32_t localSize, uint32_t alignment) {
  // An odd multiple of 64 bytes or of the alignment, so that lanes do not share cache sets.
  const uint32_t lines = (localSize + alignment - 1) / alignment;
  return alignment * (lines | 1);
}

// Which blocks a variant of the native code is valid for.
enum class BlockShape : uint32_t {
  RowsOf32,  // blockDim.x is a multiple of 32: a warp is 32 consecutive x of one row
  Line,      // blockDim.y and .z are 1: a warp is up to 32 consecutive x; none of those at the end
  Other,
  RowsOf16,  // blockDim.x is 16 and y even: a warp is two whole rows of one plane
  RowsOf8,   // blockDim.x is 8 and y a multiple of 4: a warp is four
  // blockDim.x is another multiple of 16, 8 or 4: a warp is parts of so many lanes, each of one row.
  PartsOf16,
  PartsOf8,
  PartsOf4,
  // A line of at most 16 threads, and of at most 32: the block is one warp, which waits for no other.
  HalfWarp,
  LoneWarp,
};
inline constexpr uint32_t kBlockShapes = 10;
BlockShape blockShapeOf(uint32_t x, uint32_t y, uint32_t z);
// Whether blocks of that shape have all threads of their warps, HalfWarp those of half a warp.
bool hasFullWarps(BlockShape shape, uint32_t threads);

}  // namespace vg::ptx
