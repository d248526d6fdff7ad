#include "backend/device_side/device_runtime.h"

#include <algorithm>
#include <new>

#include "backend/device_side/device_copies.h"
#include "base/log.h"
#include "base/text/inline_text.h"
#include "copy/copy.h"

namespace vg::backend {
namespace {

using ptx::DeviceCall;
using Arguments = DeviceArguments;
using Error = RuntimeError;

constexpr int kVersion = 6000;  // that cudaRuntimeGetVersion answers kernels

struct Dim3 {
  uint32_t x, y, z;
};
struct FunctionAttributes {  // cudaFuncAttributes, as far as all versions of it go
  uint64_t sharedBytes, constantBytes, localBytes;
  int maxThreads, registers, ptxVersion, binaryVersion, cacheModeCA, maxDynamicShared, carveout;
};

struct ErrorText {
  uint32_t number;
  InlineText<40> name;
  InlineText<130> text;
};
constexpr ErrorText kErrors[] = {
#define VG_RUNTIME_ERROR(number, name, text) {number, #name, text},
#include "backend/device_side/runtime_errors.inc"
#undef VG_RUNTIME_ERROR
};
constexpr ErrorText kNoError = {0, "unrecognized error code", "unrecognized error code"};

const ErrorText& textOf(uint32_t number) {
  const ErrorText* const found = std::ranges::lower_bound(kErrors, number, {}, &ErrorText::number);
  return found != std::end(kErrors) && found->number == number ? *found : kNoError;
}

LaunchShape shapeOf(const Dim3& grid, const Dim3& block, uint32_t dynamicShared) {
  LaunchShape shape;
  shape.grid[0] = grid.x, shape.grid[1] = grid.y, shape.grid[2] = grid.z;
  shape.block[0] = block.x, shape.block[1] = block.y, shape.block[2] = block.z;
  shape.dynamicShared = dynamicShared;
  return shape;
}

}  // namespace

template <class Act>
auto DeviceRuntimeCaller::critical(Act act) {
  const Critical guard(*this);
  return act(children());
}

Error DeviceRuntimeCaller::note(Error error) {
  if (error != Error::Success) critical([&](ChildGrids& grids) { return grids.noteError(thread(), error), 0; });
  return error;
}

// --- Launches --------------------------------------------------------------------------------------------------------

Error DeviceRuntimeCaller::prepare(Kernel* kernel, const LaunchShape& shape) {
  if (!kernel) return Error::InvalidDeviceFunction;
  switch (critical([&](ChildGrids&) { return permits(*kernel, shape); })) {
    case CUDA_SUCCESS:
      return Error::Success;
    case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
      return Error::LaunchOutOfResources;
    default:
      return Error::InvalidConfiguration;
  }
}

uint64_t DeviceRuntimeCaller::parameterBuffer(Arguments& arguments) {
  Kernel* const kernel = kernelAt(arguments.take<uint64_t>());
  const auto grid = arguments.take<Dim3>(), block = arguments.take<Dim3>();
  const LaunchShape shape = shapeOf(grid, block, arguments.take<uint32_t>());
  if (note(prepare(kernel, shape)) != Error::Success) return 0;
  std::byte* const buffer =
      critical([&](ChildGrids& grids) { return grids.makeBuffer(kernel, shape, kernel->parameterBytes()); });
  if (!buffer) note(Error::MemoryAllocation);
  return reinterpret_cast<uint64_t>(buffer);
}

uint64_t DeviceRuntimeCaller::plainBuffer(Arguments& arguments) {
  (void)arguments.take<uint64_t>();  // alignment: buffers have the largest
  const auto bytes = arguments.take<uint64_t>();
  std::byte* const buffer = critical([&](ChildGrids& grids) { return grids.makeBuffer(nullptr, {}, bytes); });
  if (!buffer) note(Error::MemoryAllocation);
  return reinterpret_cast<uint64_t>(buffer);
}

Error DeviceRuntimeCaller::launchBuffer(uint64_t buffer, uint64_t stream) {
  awaitRoom(stream);
  return critical(
      [&](ChildGrids& grids) { return grids.launch(reinterpret_cast<const std::byte*>(buffer), stream, block()); });
}

Error DeviceRuntimeCaller::launchOld(Arguments& arguments) {
  Kernel* const kernel = kernelAt(arguments.take<uint64_t>());
  const auto buffer = arguments.take<uint64_t>();
  const auto grid = arguments.take<Dim3>(), block = arguments.take<Dim3>();
  const LaunchShape shape = shapeOf(grid, block, arguments.take<uint32_t>());
  const auto stream = arguments.take<uint64_t>();
  if (const Error error = prepare(kernel, shape); error != Error::Success) return error;
  const uint32_t bytes = kernel->parameterBytes();
  if (const std::byte* const outside = parametersAt(buffer, bytes); outside || (!buffer && !bytes)) {
    awaitRoom(stream);
    return critical(
        [&](ChildGrids& grids) { return grids.launchCopy(*kernel, shape, outside, stream, this->block()); });
  }
  const bool known = critical(
      [&](ChildGrids& grids) { return grids.describe(reinterpret_cast<const std::byte*>(buffer), *kernel, shape); });
  return known ? launchBuffer(buffer, stream) : Error::InvalidValue;
}

// --- Streams and events ----------------------------------------------------------------------------------------------

Error DeviceRuntimeCaller::createStream(Arguments& arguments) {
  const auto result = arguments.take<uint64_t>();
  if (arguments.take<uint32_t>() > 1) return Error::InvalidValue;  // cudaStreamDefault, cudaStreamNonBlocking
  return give(result, critical([](ChildGrids& grids) { return grids.createStream(); }));
}

// Events order streams and nothing else: cudaEventDisableTiming, with cudaEventBlockingSync or without.
Error DeviceRuntimeCaller::createEvent(Arguments& arguments) {
  const auto result = arguments.take<uint64_t>();
  const auto flags = arguments.take<uint32_t>();
  if (flags != 2 && flags != 3) return Error::InvalidValue;
  return give(result, critical([](ChildGrids& grids) { return grids.createEvent(); }));
}

Error DeviceRuntimeCaller::waitEvent(Arguments& arguments) {
  const auto stream = arguments.take<uint64_t>(), event = arguments.take<uint64_t>();
  return critical([&](ChildGrids& grids) { return grids.wait(stream, event, block()); });
}

Error DeviceRuntimeCaller::recordEvent(Arguments& arguments) {
  const auto event = arguments.take<uint64_t>(), stream = arguments.take<uint64_t>();
  return critical([&](ChildGrids& grids) { return grids.record(event, stream, block()); });
}

// --- What device and kernels are -------------------------------------------------------------------------------------

// All of them are asked of the one device that there is for a kernel, whichever it names.
Error DeviceRuntimeCaller::deviceAttribute(Arguments& arguments) {
  const auto result = arguments.take<uint64_t>();
  const auto which = arguments.take<uint32_t>();
  if (!which) return give(result, 0);
  if (which >= static_cast<int>(Traits::kAttributes) || !traits().known[which]) return Error::InvalidValue;
  return give(result, traits().attributes[which]);
}

Error DeviceRuntimeCaller::deviceLimit(Arguments& arguments) {
  const auto result = arguments.take<uint64_t>();
  switch (arguments.take<uint32_t>()) {
    case CU_LIMIT_STACK_SIZE:
      return give(result, limits().stackBytes.load());
    case CU_LIMIT_PRINTF_FIFO_SIZE:
      return give(result, limits().printfBytes.load());
    case CU_LIMIT_MALLOC_HEAP_SIZE:
      return give(result, limits().heapBytes.load());
    case CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT:
      return give(result, limits().pendingLaunches.load());
    case CU_LIMIT_MAX_L2_FETCH_GRANULARITY:
      return give(result, limits().fetchGranularity.load());
    case CU_LIMIT_PERSISTING_L2_CACHE_SIZE:
      return give(result, limits().persistingCacheBytes.load());
    case CU_LIMIT_SHMEM_SIZE:
      return give(result,
                  static_cast<size_t>(traits().attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)));
    case CU_LIMIT_CIG_ENABLED:
      return give(result, size_t{0});
    default:
      give(result, SIZE_MAX);
      return Error::UnsupportedLimit;
  }
}

Error DeviceRuntimeCaller::functionAttributes(Arguments& arguments) {
  const auto result = arguments.take<uint64_t>();
  Kernel* const kernel = kernelAt(arguments.take<uint64_t>());
  if (!kernel) return Error::InvalidDeviceFunction;
  const auto ask = [&](CUfunction_attribute which) {
    return critical([&](ChildGrids&) {
      const Result<int> answer = kernel->attribute(which);
      return answer.ok() ? answer.value() : 0;
    });
  };
  FunctionAttributes all{};
  all.sharedBytes = static_cast<uint64_t>(ask(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
  all.constantBytes = static_cast<uint64_t>(ask(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES));
  all.localBytes = static_cast<uint64_t>(ask(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES));
  all.maxThreads = ask(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  all.registers = ask(CU_FUNC_ATTRIBUTE_NUM_REGS);
  all.ptxVersion = ask(CU_FUNC_ATTRIBUTE_PTX_VERSION);
  all.binaryVersion = ask(CU_FUNC_ATTRIBUTE_BINARY_VERSION);
  return give(result, all);
}

Error DeviceRuntimeCaller::occupancy(Arguments& arguments) {
  const auto result = arguments.take<uint64_t>();
  Kernel* const kernel = kernelAt(arguments.take<uint64_t>());
  const auto threads = arguments.take<int>();
  const auto dynamicShared = arguments.take<uint64_t>();
  if (!kernel) return Error::InvalidDeviceFunction;
  const int blocks = critical([&](ChildGrids&) {
    const Result<int> answer = kernel->occupancy(threads, dynamicShared);
    return answer.ok() ? answer.value() : -1;
  });
  return blocks < 0 ? Error::InvalidValue : give(result, blocks);
}

// --- Memory ----------------------------------------------------------------------------------------------------------

Error DeviceRuntimeCaller::allocate(Arguments& arguments) {
  const auto result = arguments.take<uint64_t>(), bytes = arguments.take<uint64_t>();
  if (!bytes) return Error::InvalidValue;
  const uint64_t memory = allocate(bytes);
  return memory ? give(result, memory) : Error::MemoryAllocation;
}

// What is out of reach is found when the copy runs, as a fault.
Error DeviceRuntimeCaller::copy(DeviceCall which, Arguments& arguments) {
  FaultSink* const faults = critical([](ChildGrids& grids) { return &grids.faults(); });
  DeviceCopy copy = describeCopy(which, arguments, *faults);
  for (; copy.error == Error::Success && copy.slices; copy.nextSlice()) {
    if (!reachable(copy.command)) {
      faults->report(CUDA_ERROR_ILLEGAL_ADDRESS, copy::kFault);
      break;
    }
    copy.error = critical([&](ChildGrids& grids) { return grids.queue(copy.command, copy.stream, block()); });
  }
  return copy.error;
}

// --- All of them -----------------------------------------------------------------------------------------------------

// What leaves the thread's last error alone, limits, occupancy and all that concerns graphs among it; nothing for other
// functions.
std::optional<uint64_t> DeviceRuntimeCaller::tell(DeviceCall which, Arguments arguments) {
  const auto answer = [](Error error) { return static_cast<uint64_t>(error); };
  switch (which) {
    case DeviceCall::GetParameterBuffer:
      return plainBuffer(arguments);
    case DeviceCall::GetParameterBufferV2:
      return parameterBuffer(arguments);
    case DeviceCall::GetLastError:
    case DeviceCall::PeekAtLastError:
      return answer(
          critical([&](ChildGrids& grids) { return grids.lastError(thread(), which == DeviceCall::GetLastError); }));
    case DeviceCall::GetErrorName:
      return addressOf(textOf(arguments.take<uint32_t>()).name.data());
    case DeviceCall::GetErrorString:
      return addressOf(textOf(arguments.take<uint32_t>()).text.data());
    case DeviceCall::GetDevice:
      return answer(give(arguments.take<uint64_t>(), limits().deviceNumber));
    case DeviceCall::GetDeviceCount:
      return answer(give(arguments.take<uint64_t>(), limits().deviceCount));
    case DeviceCall::RuntimeGetVersion:
      return answer(give(arguments.take<uint64_t>(), kVersion));
    case DeviceCall::DeviceGetCacheConfig:
      return answer(give(arguments.take<uint64_t>(), int{CU_FUNC_CACHE_PREFER_NONE}));
    case DeviceCall::DeviceGetSharedMemConfig:
      return answer(give(arguments.take<uint64_t>(), int{CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE}));
    case DeviceCall::DeviceGetLimit:
      return answer(deviceLimit(arguments));
    case DeviceCall::OccupancyMaxActiveBlocksPerMultiprocessor:
    case DeviceCall::OccupancyMaxActiveBlocksPerMultiprocessorWithFlags:
      return answer(occupancy(arguments));
    case DeviceCall::GraphLaunch:
    case DeviceCall::GraphKernelNodeSetParam:
    case DeviceCall::GraphKernelNodeSetEnabled:
    case DeviceCall::GraphKernelNodeSetGridDim:
    case DeviceCall::GraphKernelNodeUpdatesApply:
      return answer(callGraphs(which, arguments));
    default:
      return {};
  }
}

// All else: what fails becomes the thread's last error.
Error DeviceRuntimeCaller::act(DeviceCall which, Arguments arguments) {
  switch (which) {
    case DeviceCall::LaunchDevice:
      return launchOld(arguments);
    case DeviceCall::LaunchDeviceV2: {
      const auto buffer = arguments.take<uint64_t>(), stream = arguments.take<uint64_t>();
      return launchBuffer(buffer, stream);
    }
    case DeviceCall::DeviceGetAttribute:
      return deviceAttribute(arguments);
    case DeviceCall::FuncGetAttributes:
      return functionAttributes(arguments);
    case DeviceCall::StreamCreateWithFlags:
      return createStream(arguments);
    case DeviceCall::StreamDestroy: {
      const auto stream = arguments.take<uint64_t>();
      return critical([&](ChildGrids& grids) { return grids.destroyStream(stream); });
    }
    case DeviceCall::StreamWaitEvent:
      return waitEvent(arguments);
    case DeviceCall::EventCreateWithFlags:
      return createEvent(arguments);
    case DeviceCall::EventRecord:
    case DeviceCall::EventRecordWithFlags:
      return recordEvent(arguments);
    case DeviceCall::EventDestroy: {
      const auto event = arguments.take<uint64_t>();
      return critical([&](ChildGrids& grids) { return grids.destroyEvent(event); });
    }
    case DeviceCall::Malloc:
      return allocate(arguments);
    case DeviceCall::Free:
      return release(arguments.take<uint64_t>());
    case DeviceCall::MemcpyAsync:
    case DeviceCall::Memcpy2DAsync:
    case DeviceCall::Memcpy3DAsync:
    case DeviceCall::MemsetAsync:
    case DeviceCall::Memset2DAsync:
    case DeviceCall::Memset3DAsync:
      return copy(which, arguments);
    default:
      VG_LOG(Warn, "kernel %s calls function %u of the device runtime, which does not exist", kernelName(),
             static_cast<uint32_t>(which));
      return Error::NotSupported;
  }
}

uint64_t DeviceRuntimeCaller::perform(DeviceCall which, Arguments arguments) {
  if (const std::optional<uint64_t> told = tell(which, arguments)) return *told;
  return static_cast<uint64_t>(note(act(which, arguments)));
}

// Kernels cannot be unwound.
uint64_t DeviceRuntimeCaller::call(DeviceCall which, Arguments arguments) noexcept {
  try {
    return perform(which, arguments);
  } catch (const std::bad_alloc&) {
    const bool wantsBuffer = which == DeviceCall::GetParameterBuffer || which == DeviceCall::GetParameterBufferV2;
    return wantsBuffer ? 0 : static_cast<uint64_t>(Error::MemoryAllocation);
  }
}

}  // namespace vg::backend
