// Functions: their attributes, occupancy and launches.
#include "launches.h"

#include <cstring>

#include "families.h"

namespace calls {
namespace {

constexpr unsigned kMostBlocks = 300000;  // of a launch that is possible

unsigned gridExtent() {
  return chance(88) ? 1 + static_cast<unsigned>(below(4)) : oneOf({0u, 65535u, 65536u, 0x80000000u, 0xffffffffu});
}
unsigned blockExtent() {
  return chance(60) ? oneOf({1u, 2u, 32u, 64u, 128u, 4u}) : oneOf({0u, 1024u, 1025u, 65u, 7u, 33u, 0xffffffffu});
}

// A function, or a kernel, which launches take too.
struct Launched {
  CUfunction function = nullptr;
  std::string kernel, name;

  explicit operator bool() const { return function; }
};
Launched anyLaunched() {
  const Named<CUfunction> function = functions.any();
  const Named<CUkernel> kernel = kernels.any();
  if (kernel && chance(25))
    return {reinterpret_cast<CUfunction>(kernel.object), nameOf(kernel), "kernel " + nameOf(kernel)};
  return function ? Launched{function.object, nameOf(function), nameOf(function)} : Launched{};
}

constexpr unsigned kMostAttributes = 3;
unsigned drawAttributes(CUlaunchAttribute* attributes) {
  const auto count = static_cast<unsigned>(below(kMostAttributes + 1));
  std::string drawn;
  for (unsigned i = 0; i < count; ++i) {
    std::string value;
    const int id = mostly(95, {0, 2, 3, 4, 5, 6, 8, 9, 10, 14, 4, 2, 11, 16, 15}, {17, 18, 100});
    attributes[i].id = static_cast<CUlaunchAttributeID>(id);
    drawAttribute(id, attributes[i].value, value);
    drawn += text(id) + ":" + value + ";";
  }
  describe("attributes", drawn);
  return count;
}

CUlaunchConfig drawConfig(const Shape& shape, CUlaunchAttribute* attributes) {
  const Named<CUstream> stream = anyStream();
  const unsigned count = drawAttributes(attributes);
  describe("stream", stream.name);
  return {shape.grid[0],  shape.grid[1],  shape.grid[2],
          shape.block[0], shape.block[1], shape.block[2],
          shape.shared,   stream.object,  count ? attributes : nullptr,
          count};
}

void launch() {
  const Launched launched = anyLaunched();
  if (!launched) return;
  const Shape shape = anyShape();
  const auto& [grid, block, shared] = shape;
  KernelArguments arguments(launched.kernel);
  if (!arguments.possible()) return;
  describe("function", launched.name);
  describe("shape", text(shape));
  CUlaunchAttribute attributes[kMostAttributes];
  switch (below(10)) {
    case 0:
      RECORD(cuLaunchCooperativeKernel, launched.function, grid[0], grid[1], grid[2], block[0], block[1], block[2],
             shared, given("stream", anyStream()), arguments.list());
      break;
    case 1:
    case 2:
    case 3: {
      const CUlaunchConfig config = drawConfig(shape, attributes);
      RECORD(cuLaunchKernelEx, &config, launched.function, arguments.list(), nullptr);
      break;
    }
    default: {
      const bool packed = launched.kernel == "store" && chance(25);
      void** list = packed ? nullptr : arguments.list();
      size_t bytes = 12;
      if (packed && wrong("size of arguments", 20)) bytes = oneOf<size_t>({8, 16, 13});
      if (!packed && !arguments.stores() && wrong("no arguments", 4)) list = nullptr;
      if (packed && wrong("arguments twice", 4)) list = arguments.list();
      RECORD(cuLaunchKernel, launched.function, grid[0], grid[1], grid[2], block[0], block[1], block[2], shared,
             given("stream", anyStream()), list, packed ? arguments.packed(&bytes) : nullptr);
    }
  }
  settle();
}

void askClusters() {
  const Launched launched = anyLaunched();
  if (!launched) return;
  const Shape shape = anyShape();
  describe("function", launched.name);
  describe("shape", text(shape));
  CUlaunchAttribute attributes[kMostAttributes];
  const CUlaunchConfig config = drawConfig(shape, attributes);
  int count = 0;
  if (chance(50))
    RECORD(cuOccupancyMaxActiveClusters, &count, launched.function, &config);
  else
    RECORD(cuOccupancyMaxPotentialClusterSize, &count, launched.function, &config);
  output("count", count);
}

// --- functions

CUfunction givenFunction(const Named<CUfunction>& function) {
  describe("function", nameOf(function));
  return function.object;
}

void askAttribute(const Named<CUfunction>& function) {
  const int attribute = anyFunctionAttribute();
  int value = 0;
  RECORD(cuFuncGetAttribute, &value, givenAs<CUfunction_attribute>("attribute", attribute), givenFunction(function));
  if (comparable(attribute)) output("value", value);
}

void setAttribute(const Named<CUfunction>& function) {
  const int attribute = chance(95) ? oneOf({8, 9, 10, 11, 12, 13, 14, 15, 8, 9}) : belowInt(18);
  if (RECORD(cuFuncSetAttribute, givenFunction(function), givenAs<CUfunction_attribute>("attribute", attribute),
             given("value", anyFunctionValue())))
    return;
  int now = 0;
  CALL(cuFuncGetAttribute, &now, static_cast<CUfunction_attribute>(attribute), function.object);
  output("now", now);
}

void setConfig(const Named<CUfunction>& function) {
  if (chance(50))
    RECORD(cuFuncSetCacheConfig, givenFunction(function), givenAs<CUfunc_cache>("config", belowInt(6)));
  else
    RECORD(cuFuncSetSharedMemConfig, givenFunction(function), givenAs<CUsharedconfig>("config", belowInt(6)));
}

void askFunction(const Named<CUfunction>& function) {
  switch (below(3)) {
    case 0: {
      size_t offset = 0, bytes = 0;
      RECORD(cuFuncGetParamInfo, givenFunction(function), given("index", below(5)), &offset, out("size", &bytes, 15));
      return output("parameter", list(offset, bytes));
    }
    case 1: {
      const char* name = nullptr;
      RECORD(cuFuncGetName, &name, givenFunction(function));
      return output("name", name ? name : "none");
    }
    default: {
      CUmodule module = nullptr;
      RECORD(cuFuncGetModule, &module, givenFunction(function));
      return output("some", module != nullptr);
    }
  }
}

void askOccupancy(const Named<CUfunction>& function) {
  int blocks = 0, grid = 0;
  size_t bytes = 0;
  switch (below(3)) {
    case 0:
      RECORD(
          cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, &blocks, givenFunction(function),
          given("block", mostly(85, {1, 32, 64, 96, 100, 128, 256, 512, 1024}, {0, -1, 1025, 2000})),
          given("shared", mostly<size_t>(80, {0, 1, 1024, 10000, 49152}, {49153, 100000, 232448, 232449, ~size_t{0}})),
          given("flags", mostly(80, {0u}, {1u, 2u, 3u})));
      return output("blocks", blocks);
    case 1:
      RECORD(cuOccupancyMaxPotentialBlockSize, &grid, &blocks, givenFunction(function), nullptr,
             given("shared", oneOf<size_t>({0, 1000, 49152, 60000, 300000})),
             given("limit", mostly(60, {0}, {1, 64, 100, 1024, 5000, -1})));
      return output("size", list(grid, blocks));
    default:
      RECORD(cuOccupancyAvailableDynamicSMemPerBlock, &bytes, givenFunction(function),
             given("blocks", mostly(90, {1, 2, 4, 8, 16, 32}, {0, -1, 33, 100})),
             given("block", mostly(90, {32, 64, 128, 256, 1024}, {0, -1, 1025})));
      return output("bytes", bytes);
  }
}

}  // namespace

Shape anyShape() {
  Shape shape;
  auto& [grid, block, shared] = shape;
  grid[0] = gridExtent();
  grid[1] = chance(80) ? 1 : gridExtent();
  grid[2] = chance(85) ? 1 : gridExtent();
  const bool possible = grid[0] <= 0x7fffffff && grid[1] <= 65535 && grid[2] <= 65535;
  if (possible && uint64_t{grid[0]} * grid[1] * grid[2] > kMostBlocks) grid[1] = grid[2] = 1;
  block[0] = blockExtent();
  block[1] = chance(75) ? 1 : blockExtent();
  block[2] = chance(80) ? 1 : blockExtent();
  shared = chance(75) ? 0
                      : mostly(80, {16u, 1024u, 40000u, 48u * 1024},
                               {48u * 1024 + 1, 100000u, 227u * 1024, 227u * 1024 + 1, 1u << 20});
  return shape;
}

std::string text(const Shape& shape) {
  return list(shape.grid[0], shape.grid[1], shape.grid[2]) + "/" +
         list(shape.block[0], shape.block[1], shape.block[2]) + "/" + text(shape.shared);
}

KernelArguments::KernelArguments(const std::string& kernel) : stores_(kernel == "store" || kernel == "shared") {
  for (const Memory& memory : memories)
    if (memory.live && memory.kind == Kind::Device && memory.bytes >= 8) target_ = memory.address;
  if (stores_) {
    possible_ = target_ != 0;
    list_[0] = &target_;
    list_[1] = &value_;
  } else if (kernel == "big") {
    list_[0] = big_;
    list_[1] = &small_;
    list_[2] = &real_;
  } else {
    list_[0] = &value_;
  }
}

void** KernelArguments::packed(size_t* bytes) {
  std::memset(buffer_, 0, sizeof buffer_);
  std::memcpy(buffer_, &target_, sizeof target_);
  std::memcpy(buffer_ + sizeof target_, &value_, sizeof value_);
  void* const parts[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, buffer_, CU_LAUNCH_PARAM_BUFFER_SIZE, bytes,
                         CU_LAUNCH_PARAM_END};
  std::copy(std::begin(parts), std::end(parts), extra_);
  return extra_;
}

void callFunctions() {
  const Named<CUfunction> function = functions.any();
  if (!function) return;
  switch (below(10)) {
    case 0:
    case 1:
      return askAttribute(function);
    case 2:
    case 3:
      return setAttribute(function);
    case 4:
      return setConfig(function);
    case 5:
    case 6:
      return askFunction(function);
    default:
      return askOccupancy(function);
  }
}

void callLaunches() { pickOf({{9, launch}, {1, askClusters}}); }

}  // namespace calls
