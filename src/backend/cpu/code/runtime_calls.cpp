#include "backend/cpu/code/runtime_calls.h"

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <new>
#include <string>

#include "backend/cpu/code/check_calls.h"
#include "backend/cpu/code/kernel_code.h"
#include "backend/cpu/code/places.h"
#include "backend/cpu/device_runtime.h"
#include "backend/cpu/run/block.h"
#include "backend/cpu/run/give_up.h"
#include "backend/cpu/run/kernel_context.h"
#include "backend/cpu/run/residents.h"
#include "backend/cpu/run/thread.h"
#include "backend/cpu/textures/textures.h"
#include "backend/device_side/condition_table.h"
#include "backend/device_side/kernel_print.h"
#include "backend/queues/interleaving.h"
#include "base/memory/shortage.h"
#include "check/memory/heap_leaks.h"
#include "check/tools.h"
#include "ptx/facts/reach.h"
#include "ptx/operations/async_operation.h"
#include "ptx/operations/matrix.h"

namespace vg::backend::cpu {
namespace {

using ptx::BlockState;

// Bytes: of what a function may call, and between the stacks of lanes.
constexpr size_t kStackOfCalls = 64 * 1024, kLaneLine = 64;
constexpr uint64_t kNanosecondsPerSecond = 1'000'000'000, kNanosecondsPerMillisecond = 1'000'000;

uint64_t nanoseconds(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * kNanosecondsPerSecond + static_cast<uint64_t>(now.tv_nsec);
}

[[noreturn]] void trapAt(BlockState* state, uint32_t warp, uint32_t mask, ptx::TrapReason reason, uint32_t line,
                         const void* from);

// Barriers count whole warps. `from`: what the call returns to.
void testCount(BlockState* state, uint32_t warp, uint32_t threads, uint32_t mask, const void* from) {
  if (threads % ptx::kWarpSize) [[unlikely]]
    trapAt(state, warp, mask, ptx::TrapReason::IllegalInstruction, 0, from);
}

void barrier(BlockState* state, uint32_t warp, uint32_t id, uint32_t threads, uint32_t mask) {
  ResidentBlock& block = ResidentBlock::of(state);
  testCount(state, warp, threads, mask, __builtin_return_address(0));
  stopIfEnded(block, __builtin_return_address(0));
  block.noteWait(warp, __builtin_return_address(0));
  block.barrier(warp, id, threads);
}

void barrierArrive(BlockState* state, uint32_t warp, uint32_t id, uint32_t threads, uint32_t mask) {
  testCount(state, warp, threads, mask, __builtin_return_address(0));
  ResidentBlock::of(state).barrierArrive(id, threads);
}

uint32_t barrierReduce(BlockState* state, uint32_t warp, uint32_t id, uint32_t threads, uint32_t mask,
                       ptx::BarrierReduction operation, uint32_t predicates) {
  ResidentBlock& block = ResidentBlock::of(state);
  testCount(state, warp, threads, mask, __builtin_return_address(0));
  stopIfEnded(block, __builtin_return_address(0));
  block.noteWait(warp, __builtin_return_address(0));
  return block.barrierReduce(warp, id, threads, mask, operation, predicates);
}

void yieldAt(BlockState* state, uint32_t warp, const void* codeAddress) {
  ResidentBlock& block = ResidentBlock::of(state);
  stopIfEnded(block, codeAddress);
  block.noteWait(warp, codeAddress);
  block.yield();
}

void yield(BlockState* state, uint32_t warp) { yieldAt(state, warp, __builtin_return_address(0)); }

void pause(BlockState* state, uint32_t) { ResidentBlock::of(state).pause(); }

// The C library's fma is exact in every rounding, with the processor's help or without.
void fusedMultiplyAdd(uint32_t count, uint32_t rounding, const double* operands, double* results) {
  constexpr uint32_t kModes[] = {FE_TONEAREST, FE_DOWNWARD, FE_UPWARD, FE_TOWARDZERO};
  const int before = fegetround();
  fesetround(static_cast<int>(kModes[rounding & 3]));
  for (uint32_t n = 0; n < count; ++n) results[n] = std::fma(operands[n], operands[count + n], operands[2 * count + n]);
  fesetround(before);
}

void clusterArrive(BlockState* state, uint32_t warp) { ResidentBlock::of(state).clusterArrive(warp); }

void clusterWait(BlockState* state, uint32_t warp) {
  ResidentBlock& block = ResidentBlock::of(state);
  stopIfEnded(block, __builtin_return_address(0));
  block.noteWait(warp, __builtin_return_address(0));
  block.clusterWait(warp);
}

// Each lane's request, before performAsync says how it ended.
void cancelClusters(BlockState* state, uint32_t mask, uint64_t* lanes) {
  for (; mask; mask &= mask - 1) {
    const ptx::CancelledCluster answer = cancelCluster(ResidentBlock::of(state).launch());
    uint64_t* const first = lanes + ptx::kAsyncValues * ptx::kWarpSize + std::countr_zero(mask);
    first[0] = answer.low;
    first[ptx::kWarpSize] = answer.high;
  }
}

// mbarrier.try_wait that no loop repeats: others run before the answer of a lane is that the phase goes on.
void tryWait(BlockState* state, uint32_t warp, uint32_t mask, ptx::AsyncForm form, uint32_t line, uint64_t* lanes,
             const void* from) {
  constexpr uint32_t kTurns = 64;  // in each of which every other warp of the block runs until it stops
  ResidentBlock& block = ResidentBlock::of(state);
  uint64_t objects[ptx::kWarpSize];  // the answers take their places
  std::copy_n(lanes + ptx::kAsyncTo * ptx::kWarpSize, ptx::kWarpSize, objects);
  for (uint32_t turn = 0;; ++turn) {
    ptx::performAsync(state, warp, mask, form, line, lanes, block.objects().watch());
    for (uint32_t left = mask; left; left &= left - 1) {
      const auto lane = static_cast<uint32_t>(std::countr_zero(left));
      if (lanes[ptx::kAsyncResult * ptx::kWarpSize + lane]) mask &= ~(1u << lane);
    }
    if (!mask || turn == kTurns) return;
    for (uint32_t left = mask; left; left &= left - 1) {
      const auto lane = static_cast<uint32_t>(std::countr_zero(left));
      lanes[ptx::kAsyncTo * ptx::kWarpSize + lane] = objects[lane];
    }
    stopIfEnded(block, from);
    block.noteWait(warp, from);
    block.yield();
  }
}

void performAsynchronous(BlockState* state, uint32_t warp, uint32_t mask, uint64_t form, uint32_t line, uint64_t* lanes,
                         const void* from) {
  const ptx::AsyncForm what = ptx::asyncFormOf(form);
  if (what.operation == ptx::AsyncOperation::CancelCluster) cancelClusters(state, mask, lanes);
  if (what.operation == ptx::AsyncOperation::BarrierTest && what.has(ptx::kHolds))
    return tryWait(state, warp, mask, what, line, lanes, from);
  ResidentBlock& block = ResidentBlock::of(state);
  if (ptx::performAsync(state, warp, mask, what, line, lanes, block.objects().watch())) block.thread().noteProgress();
}

void asynchronous(BlockState* state, uint32_t warp, uint32_t mask, uint64_t form, uint32_t line, uint64_t* lanes) {
  const void* const from = __builtin_return_address(0);
  try {
    return performAsynchronous(state, warp, mask, form, line, lanes, from);
  } catch (const std::bad_alloc&) {
  }
  ResidentBlock::of(state).lackMemory(warp, callBefore(from));
}

void setConditional(BlockState*, uint32_t, uint32_t mask, const uint64_t* handles, const uint32_t* values) {
  for (; mask; mask &= mask - 1) {
    const int lane = std::countr_zero(mask);
    conditions::set(handles[lane], values[lane]);
  }
}

void nanosleep(BlockState* state, uint32_t warp, uint32_t) { yieldAt(state, warp, __builtin_return_address(0)); }

// The text is made before any lock is taken: making it reads the kernel's memory, which may fault.
void printText(ResidentBlock& block, uint32_t mask, const uint64_t* formats, const uint64_t* arguments,
               int32_t* results) {
  std::string* const text = new std::string;  // lost if reading the kernel's memory faults
  for (uint32_t left = mask; left; left &= left - 1) {
    const int lane = std::countr_zero(left);
    results[lane] = print::format(reinterpret_cast<const char*>(formats[lane]),
                                  reinterpret_cast<const std::byte*>(arguments[lane]), *text);
  }
  const KernelThread::Critical critical(block.thread());
  print::queue(*text, block.launch().context->limits().printfBytes.load(std::memory_order_relaxed));
  delete text;
}

// As printf() does it, a line that there is no memory for is an answer, not the end.
void printLanes(BlockState* state, uint32_t, uint32_t mask, const uint64_t* formats, const uint64_t* arguments,
                int32_t* results) {
  ResidentBlock& block = ResidentBlock::of(state);
  stopIfEnded(block, __builtin_return_address(0));
  try {
    return printText(block, mask, formats, arguments, results);
  } catch (const std::bad_alloc&) {
  }
  const KernelThread::Critical critical(block.thread());
  shortage::tell(Shortage::HostMemory, "what kernel %s prints", block.launch().kernelName);
  for (uint32_t left = mask; left; left &= left - 1) results[std::countr_zero(left)] = -1;
}

void assertFail(BlockState* state, uint32_t warp, uint32_t mask, const uint64_t* messages, const uint64_t* files,
                const uint32_t* lines, const uint64_t* functions) {
  ResidentBlock& block = ResidentBlock::of(state);
  const auto text = [](uint64_t address) { return reinterpret_cast<const char*>(address); };
  const uint32_t(&index)[3] = state->blockIndex;
  for (uint32_t left = mask; left; left &= left - 1) {
    const uint32_t lane = std::countr_zero(left);
    const ThreadIndex thread = threadOf(*state->launch, warp, lane);
    try {
      // Lost if reading the kernel's memory faults.
      const std::string* const line = new std::string(print::textOf({text(messages[lane]),
                                                                     text(files[lane]),
                                                                     text(functions[lane]),
                                                                     lines[lane],
                                                                     {index[0], index[1], index[2]},
                                                                     {thread.x, thread.y, thread.z}}));
      const KernelThread::Critical critical(block.thread());
      std::fputs(line->c_str(), stderr);
      delete line;
    } catch (const std::bad_alloc&) {  // the assertion fails all the same
    }
  }
  KernelFault fault;
  fault.error = CUDA_ERROR_ASSERT;
  fault.what = "an assertion failed";
  fault.warp = warp;
  fault.lanes = mask;
  fault.codeAddress = callBefore(__builtin_return_address(0));
  giveUp(block, fault);
}

void trapAt(BlockState* state, uint32_t warp, uint32_t mask, ptx::TrapReason reason, uint32_t line, const void* from) {
  KernelFault fault;
  fault.line = line;
  fault.codeAddress = callBefore(from);
  fault.warp = warp;
  fault.lanes = mask;
  switch (reason) {
    case ptx::TrapReason::Trap:
      fault.error = CUDA_ERROR_LAUNCH_FAILED, fault.what = "trap instruction";
      break;
    case ptx::TrapReason::IllegalInstruction:
      fault.error = CUDA_ERROR_ILLEGAL_INSTRUCTION, fault.what = "an instruction that this device cannot run";
      break;
    case ptx::TrapReason::MisalignedAddress:
      fault.error = CUDA_ERROR_MISALIGNED_ADDRESS, fault.what = "misaligned address";
      break;
    case ptx::TrapReason::SharedOutOfRange:
      fault.error = CUDA_ERROR_ILLEGAL_ADDRESS, fault.what = "access outside of the block's shared memory";
      break;
    case ptx::TrapReason::StackOverflow:
      fault.error = CUDA_ERROR_LAUNCH_FAILED, fault.what = "stack overflow";
      fault.stackOverflow = true;
      break;
    case ptx::TrapReason::NoTexture:
      fault.error = CUDA_ERROR_ILLEGAL_ADDRESS, fault.what = "a handle that is no living texture or surface";
      break;
    case ptx::TrapReason::SurfaceOutOfRange:
      fault.error = CUDA_ERROR_ILLEGAL_ADDRESS, fault.what = "access outside of a surface";
      break;
    case ptx::TrapReason::OutOfReach:
      fault.error = CUDA_ERROR_ILLEGAL_ADDRESS, fault.what = "access to memory that the device does not reach";
      break;
  }
  giveUp(ResidentBlock::of(state), fault);
}

void trap(BlockState* state, uint32_t warp, uint32_t mask, ptx::TrapReason reason, uint32_t line) {
  trapAt(state, warp, mask, reason, line, __builtin_return_address(0));
}

void trapBeyond(BlockState* state, uint32_t warp, uint32_t lanes, const uint64_t* addresses, uint32_t line) {
  KernelFault fault;
  fault.error = CUDA_ERROR_ILLEGAL_ADDRESS;
  fault.what = "access to memory that the device does not reach";
  fault.address = reinterpret_cast<const void*>(addresses[std::countr_zero(lanes)]);
  fault.line = line;
  fault.warp = warp;
  fault.lanes = lanes;
  giveUp(ResidentBlock::of(state), fault);
}

// The kernel's local memory lies in its frame, just above this one.
void reach(BlockState* state, uint32_t warp, uint32_t mask, const uint64_t* addresses, uint32_t bytes, uint32_t line,
           const void* frameEnd) {
  const auto frame = reinterpret_cast<uint64_t>(__builtin_frame_address(0)), end = reinterpret_cast<uint64_t>(frameEnd);
  uint32_t beyond = 0;
  {
    const KernelThread::Critical critical(ResidentBlock::of(state).thread());
    for (uint32_t left = mask; left; left &= left - 1) {
      const int lane = std::countr_zero(left);
      const uint64_t address = addresses[lane];
      const bool own = address - frame < end - frame && bytes <= end - address;
      if (!own && !ptx::mayReach(*state, address, bytes)) beyond |= 1u << lane;
    }
  }
  if (beyond) trapBeyond(state, warp, beyond, addresses, line);
}

// Ends the launch: a lane calls what cannot be called.
[[noreturn]] void refuseCall(ResidentBlock& block, uint32_t warp, uint32_t mask, uint32_t line, const char* what) {
  KernelFault fault;
  fault.error = CUDA_ERROR_ILLEGAL_INSTRUCTION;
  fault.what = what;
  fault.line = line;
  fault.warp = warp;
  fault.lanes = mask;
  giveUp(block, fault);
}

// What its code takes of the warp's stack, which nobody knew when that was chosen.
bool fitsStack(ResidentBlock& block, const LoadedKernel& code) {
  size_t needed = code.traits.stackPerWarp + kStackOfCalls;
  if (code.traits.allocates) needed += ptx::kWarpSize * (block.launch().abi.stackPerThread + kLaneLine);
  return needed <= block.stackLeft(__builtin_frame_address(0));
}

// Does not count as time that the kernel runs.
const LoadedKernel* madeFor(RunningLaunch& launch, CalledFunctions& functions, uint32_t number) {
  launch.waitForCode.fetch_add(1, std::memory_order_relaxed);
  const uint64_t begin = nanoseconds(CLOCK_MONOTONIC);
  const LoadedKernel* const code = functions.code(number);
  launch.waitedForCode.fetch_add(nanoseconds(CLOCK_MONOTONIC) - begin, std::memory_order_relaxed);
  launch.waitForCode.fetch_sub(1, std::memory_order_relaxed);
  return code;
}

void callOne(BlockState* state, uint32_t warp, uint32_t lanes, uint64_t address, uint32_t line) {
  ResidentBlock& block = ResidentBlock::of(state);
  CalledFunctions& functions = *block.launch().code->apart;
  uint32_t number = 0;
  if (!functions.isFunction(address, number)) refuseCall(block, warp, lanes, line, "a call of what is no function");
  const LoadedKernel* code = functions.ready(number);
  {
    const KernelThread::Critical critical(block.thread());
    if (!code) code = madeFor(block.launch(), functions, number);
    if (code && warp == 0 && code->asksForBetter() && !interleaving::on()) functions.upgradeLater(number);
  }
  if (!code)
    refuseCall(block, warp, lanes, line,
               "a call of a function that cannot be compiled: VERDIGRIS_KERNELS=interpret runs the kernel, slowly");
  if (!fitsStack(block, *code)) trap(state, warp, lanes, ptx::TrapReason::StackOverflow, line);
  code->entry(state, warp, lanes);
}

// Lanes that call different functions do so one after the other.
void callApart(BlockState* state, uint32_t warp, uint32_t mask, const uint64_t* addresses, uint32_t line) {
  uint64_t called[ptx::kWarpSize];
  std::copy(addresses, addresses + ptx::kWarpSize, called);  // the warp's, while the functions run
  while (mask) {
    const uint64_t address = called[std::countr_zero(mask)];
    uint32_t lanes = 0;
    for (uint32_t left = mask; left; left &= left - 1)
      if (const int lane = std::countr_zero(left); called[lane] == address) lanes |= 1u << lane;
    callOne(state, warp, lanes, address, line);
    mask &= ~lanes;
  }
}

void tellAllocated(const ResidentBlock& block, const void* from, uint64_t piece, uint64_t bytes) {
  const RunningLaunch& launch = block.launch();
  check::heap_leaks::allocated(piece, bytes, {launch.kernelName, launch.module, lineOfCall(block, from)});
}

void allocateFrom(BlockState* state, uint32_t mask, const uint64_t* sizes, uint64_t* results, const void* from) {
  ResidentBlock& block = ResidentBlock::of(state);
  KernelContext& context = *block.launch().context;
  const size_t limit = context.limits().heapBytes.load(std::memory_order_relaxed);
  const KernelThread::Critical critical(block.thread());
  for (uint32_t left = mask; left; left &= left - 1) {
    const int lane = std::countr_zero(left);
    results[lane] = reinterpret_cast<uint64_t>(context.heap().allocate(sizes[lane], limit));
    if (check::heap_leaks::on()) tellAllocated(block, from, results[lane], sizes[lane]);
  }
}

// Compiled code cannot be unwound: a call that gets no memory of the host ends the kernel as a fault does.
void allocate(BlockState* state, uint32_t warp, uint32_t mask, const uint64_t* sizes, uint64_t* results) {
  const void* const from = __builtin_return_address(0);
  try {
    return allocateFrom(state, mask, sizes, results, from);
  } catch (const std::bad_alloc&) {
  }
  ResidentBlock::of(state).lackMemory(warp, callBefore(from));
}

void tellWrongFree(const ResidentBlock& block, const void* from, uint64_t address) {
  if (!check::any()) return;
  const RunningLaunch& launch = block.launch();
  const KernelThread::Critical critical(block.thread());
  try {
    check::heap_leaks::freedWrongly(address, {launch.kernelName, launch.module, lineOfCall(block, from)});
  } catch (const std::bad_alloc&) {  // then the log says it alone
  }
}

void release(BlockState* state, uint32_t warp, uint32_t mask, const uint64_t* addresses) {
  ResidentBlock& block = ResidentBlock::of(state);
  uint32_t unknown = 0;
  {
    const KernelThread::Critical critical(block.thread());
    for (uint32_t left = mask; left; left &= left - 1) {
      const int lane = std::countr_zero(left);
      if (!block.launch().context->heap().release(reinterpret_cast<void*>(addresses[lane]))) unknown |= 1u << lane;
    }
  }
  if (!unknown) return;
  tellWrongFree(block, __builtin_return_address(0), addresses[std::countr_zero(unknown)]);
  KernelFault fault;
  fault.warp = warp;
  fault.lanes = unknown;
  fault.codeAddress = callBefore(__builtin_return_address(0));
  fault.error = CUDA_ERROR_LAUNCH_FAILED;
  fault.what = "free of an address that malloc did not return";
  giveUp(block, fault);
}

void multiplyGroup(BlockState& state, uint32_t warp, uint32_t mask, const ptx::MatrixForm& form, uint32_t line,
                   const void* operands, void* results) {
  if (check::any() && !checkGroup(&state, warp, mask, form, line, operands)) {
    std::memset(results, 0, ptx::kGroupResultBytes);
    return;
  }
  const ptx::GroupMemory memory{state.shared + state.sharedOffset, state.sharedLimit};
  const ptx::MatrixFault fault =
      ptx::runGroup(form, warp, memory, static_cast<const std::byte*>(operands), static_cast<std::byte*>(results));
  if (fault != ptx::MatrixFault::None) trap(&state, warp, mask, ptx::TrapReason::SharedOutOfRange, line);
}

void deviceRuntime(BlockState* state, uint32_t warp, uint32_t mask, const uint32_t* functions,
                   const uint64_t* arguments, uint64_t* results) {
  const void* const from = __builtin_return_address(0);
  try {
    return callDeviceRuntime(state, warp, mask, functions, arguments, results, from);
  } catch (const std::bad_alloc&) {
  }
  ResidentBlock::of(state).lackMemory(warp, callBefore(from));
}

void matrix(BlockState* state, uint32_t warp, uint32_t mask, uint64_t form, uint32_t line, const void* operands,
            void* results) {
  const ptx::MatrixForm what = ptx::matrixFormOf(form);
  if (what.operation == ptx::MatrixOperation::MultiplyGroup)
    return multiplyGroup(*state, warp, mask, what, line, operands, results);
  alignas(16) std::byte nowhere[16] = {};
  if (check::any() && !checkMatrix(state, warp, mask, what, line, const_cast<void*>(operands), nowhere)) {
    std::memset(results, 0, ptx::kMatrixResultBytes);
    return;
  }
  if (mask &&
      (what.operation == ptx::MatrixOperation::LoadFragment || what.operation == ptx::MatrixOperation::StoreFragment)) {
    uint64_t address;  // of the lowest lane, which counts for all
    std::memcpy(&address, static_cast<const std::byte*>(operands) + sizeof address * std::countr_zero(mask),
                sizeof address);
    if (!ptx::mayReach(*state, address, 1)) trap(state, warp, mask, ptx::TrapReason::OutOfReach, line);
  }
  const ptx::MatrixFault fault =
      ptx::runMatrix(what, mask, static_cast<const std::byte*>(operands), static_cast<std::byte*>(results));
  if (fault == ptx::MatrixFault::Misaligned) trap(state, warp, mask, ptx::TrapReason::MisalignedAddress, line);
}

uint64_t clock(BlockState* state) {
  const uint64_t kiloHertz = ResidentBlock::of(state).launch().clockKiloHertz;
  const uint64_t now = nanoseconds(CLOCK_MONOTONIC);
  return now / kNanosecondsPerMillisecond * kiloHertz +
         now % kNanosecondsPerMillisecond * kiloHertz / kNanosecondsPerMillisecond;
}

uint64_t globalTimer(BlockState*) { return nanoseconds(CLOCK_REALTIME); }

}  // namespace

// The same for other calls.
template <auto kCall>
struct Guarded;
template <class... Rest, void (*kCall)(BlockState*, uint32_t, Rest...)>
struct Guarded<kCall> {
  static void call(BlockState* state, uint32_t warp, Rest... rest) {
    try {
      return kCall(state, warp, rest...);
    } catch (const std::bad_alloc&) {
    }
    ResidentBlock::of(state).lackMemory(warp, callBefore(__builtin_return_address(0)));
  }
};

static constinit ptx::ReachCalls reachCalls = {
    .calls =
        {
            .barrier = barrier,
            .barrierArrive = barrierArrive,
            .barrierReduce = barrierReduce,
            .yield = yield,
            .nanosleep = nanosleep,
            .print = printLanes,
            .assertFail = assertFail,
            .trap = trap,
            .allocate = allocate,
            .release = release,
            .clock = clock,
            .globalTimer = globalTimer,
            .texture = Guarded<accessTexture>::call,
            .clusterArrive = clusterArrive,
            .clusterWait = clusterWait,
            .matrix = Guarded<matrix>::call,
            .asynchronous = asynchronous,
            .setConditional = Guarded<setConditional>::call,
            .deviceRuntime = deviceRuntime,
            .pause = pause,
            .fusedMultiplyAdd = fusedMultiplyAdd,
            .callApart = callApart,
            .textureRows = textureRows,
        },
    .window = 0,
    .windowBytes = 0,
    .reach = reach,
    .own = 0,
    .ownBytes = 0,
    .ownBit = 0,
    .check = checkAccess,
    .meet = tellMeeting,
};

// Where nothing of the library's own is known every address is elsewhere.
static void tellOwnRange() {
  const own_memory::Bounds own = own_memory::vastBounds();
  const uint64_t slack = std::min<uint64_t>(ptx::kOwnSlack, own.lowest);
  const uint64_t start = own.lowest - slack, end = own.highest ? own.highest + ptx::kOwnSlack : 0;
  reachCalls.own.store(start, std::memory_order_relaxed);
  reachCalls.ownBytes.store(end - start, std::memory_order_relaxed);
  reachCalls.ownBit.store(end <= own_memory::kElsewhere ? own_memory::kElsewhere : 0, std::memory_order_relaxed);
}

const ptx::RuntimeCalls& runtimeCalls() {
  if (!reachCalls.windowBytes.load(std::memory_order_acquire)) {
    const ptx::KnownWindow known = ptx::knownWindow();
    tellOwnRange();
    reachCalls.window.store(known.start, std::memory_order_relaxed);
    reachCalls.windowBytes.store(known.bytes, std::memory_order_release);
  }
  return reachCalls.calls;
}

}  // namespace vg::backend::cpu
