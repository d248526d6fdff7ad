#include "backend/nvidia/kernels/gpu_kernel.h"

#include <algorithm>
#include <cstring>

#include "backend/launches/occupancy.h"
#include "backend/nvidia/kernels/gpu_parts.h"

namespace vg::backend::nvidia {
namespace {

constexpr uint32_t kUserConstants = 3;  // the bank of __constant__ variables
constexpr uint32_t kWarp = 32;
constexpr unsigned kSharedBits = 20;  // that hold the bytes of a block, beside its threads in a word

bool isSampler(const cubin::Reference& reference) { return reference.kind == cubin::Reference::Kind::Sampler; }

// The largest block that the registers allow, within what the code says.
uint32_t maxThreads(const Traits& traits, const cubin::Kernel& kernel, uint32_t registers) {
  uint32_t most = static_cast<uint32_t>(traits.attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
  if (kernel.maxThreads) most = std::min(most, kernel.maxThreads);
  const auto all = static_cast<uint32_t>(traits.attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK));
  while (most > kWarp && occupancy::registersOfBlock({most, registers, 0}) > all) most -= kWarp;
  return most;
}

KernelFacts factsOf(const Traits& traits, const cubin::Cubin& cubin, const cubin::Kernel& kernel, uint32_t registers) {
  KernelFacts facts;
  facts.name = kernel.name.c_str();
  facts.registers = registers;
  facts.staticShared = kernel.sharedBytes;
  for (const cubin::Section& section : cubin.sections)
    if (section.kind == cubin::Kind::Constant && section.bank == kUserConstants) facts.constantBytes += section.size;
  facts.localBytes = kernel.frameBytes;
  facts.maxThreads = maxThreads(traits, kernel, registers);
  facts.requiredThreads = kernel.requiredThreads;
  facts.fixedCluster = kernel.cluster[0] != 0;
  facts.binaryVersion = static_cast<int>(cubin.architecture);
  facts.ptxVersion = cubin.ptxTarget ? static_cast<int>(cubin.ptxTarget) : facts.binaryVersion;
  return facts;
}

}  // namespace

GpuKernel::GpuKernel(const GpuParts& gpu, const cubin::Cubin& cubin, const cubin::Kernel& native,
                     const KernelCode& code, const KernelLimits& limits, CalledServices* services)
    : gpu_(gpu),
      native_(native),
      code_(code),
      limits_(limits),
      services_(services),
      samplersApart_(std::any_of(native.references.begin(), native.references.end(), isSampler)),
      facts_(factsOf(gpu.traits, cubin, native, code.registers)),
      rules_(gpu.traits, native.cluster) {
  for (const cubin::Parameter& parameter : native.parameters) parameters_.push_back({parameter.offset, parameter.size});
}

CUresult GpuKernel::prepare(const LaunchShape& shape) {
  VG_CHECK(permits(shape));
  return reserveLocal();
}

// More could only be had when all grids have ended, the parent too.
uint32_t GpuKernel::mostLocalBytes() const {
  uint32_t most = localBytes();
  if (launchable_)
    for (const auto& [address, kernel] : *launchable_) most = std::max(most, kernel->localBytes());
  return most;
}

CUresult GpuKernel::reserveLocal() {
  VG_TRY(ComputeEngine & engine, gpu_.engine.compute());
  return engine.reserveLocal(mostLocalBytes());
}

bool GpuKernel::hasLocal() {
  const Result<ComputeEngine&> engine = gpu_.engine.compute();
  return engine.ok() && engine.value().hasLocal(mostLocalBytes());
}

GpuKernel* GpuKernel::launchable(uint64_t address) const {
  if (!launchable_) return nullptr;
  const auto found = launchable_->find(address);
  return found != launchable_->end() ? found->second : nullptr;
}

// Where the compiler could not see how deep calls go, the limit of the context says how much there is.
uint32_t GpuKernel::localBytes() const {
  const uint32_t own = std::max(native_.stackBytes, native_.frameBytes);
  const uint32_t known = own + (services_ ? services_->stackBytes() : 0) + (requests_ ? requests_->stackBytes() : 0);
  if (!native_.unknownStack) return known;
  const size_t limit = limits_.stackBytes.load(std::memory_order_relaxed);
  return known + static_cast<uint32_t>(std::min<size_t>(limit, 512 * 1024));
}

KernelCode GpuKernel::code() const {
  KernelCode code = code_;
  code.localBytes = localBytes();
  return code;
}

// Of the memory that a multiprocessor has for shared memory and cache together: what the application prefers, or as
// much as the blocks that fit by all else can use, which is kept for the next launch of such blocks.
uint32_t GpuKernel::sharedPreferred(const LaunchShape& shape) const {
  const auto all =
      static_cast<uint32_t>(gpu_.traits.attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR));
  const int percent = rules_.preferredShared();
  if (percent >= 0) return all / 100 * static_cast<uint32_t>(percent);
  const uint32_t threads = shape.block[0] * shape.block[1] * shape.block[2];
  const uint32_t blocks = threads << kSharedBits | shape.dynamicShared;
  const uint64_t last = lastShared_.load(std::memory_order_relaxed);
  if (last >> 32 == blocks) return static_cast<uint32_t>(last);
  const uint64_t bytes = code_.sharedBytes + shape.dynamicShared;
  const auto shared =
      static_cast<uint32_t>(std::min<uint64_t>(all, rules_.resident(facts_, threads, shape.dynamicShared) * bytes));
  lastShared_.store(uint64_t{blocks} << 32 | shared, std::memory_order_relaxed);
  return shared;
}

std::vector<std::byte> GpuKernel::withTextures(const std::byte* parameters) const {
  std::vector<std::byte> bytes(code_.bank0Bytes - code_.parameterBase);
  if (parameterBytes()) std::memcpy(bytes.data(), parameters, parameterBytes());
  for (const NamedTextures::Word& word : textures_) {
    const auto number = static_cast<uint32_t>(*word.handle);
    std::memcpy(&bytes[word.offset - code_.parameterBase], &number, sizeof number);
  }
  return bytes;
}

Grid GpuKernel::grid(const LaunchShape& shape) const {
  Grid grid;
  grid.samplersApart = samplersApart_;
  for (int i = 0; i < 3; ++i) {
    grid.blocks[i] = shape.grid[i];
    grid.threads[i] = shape.block[i];
    grid.cluster[i] = rules_.clusterSize(shape, i);
    grid.clusters |= grid.cluster[i] > 1;
  }
  grid.clusters |= shape.clustered || native_.explicitCluster || native_.cluster[0];
  grid.dynamicShared = shape.dynamicShared;
  grid.sharedPreferred = sharedPreferred(shape);
  return grid;
}

}  // namespace vg::backend::nvidia
