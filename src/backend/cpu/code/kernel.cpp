#include "backend/cpu/code/kernel.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "backend/cpu/run/thread.h"
#include "backend/cpu/textures/texture_table.h"
#include "backend/launches/occupancy.h"
#include "backend/queues/interleaving.h"
#include "base/log.h"
#include "base/memory/own_memory.h"
#include "base/system/os.h"
#include "check/reports/caller.h"
#include "images/provenance.h"
#include "ptx/facts/reach.h"

namespace vg::backend::cpu {
namespace {

constexpr int64_t kDefaultShared = 48 * 1024;  // bytes a block may have without asking for more
// A grid that is not worth handing to another thread: as known from earlier launches, or by its size.
// The calling thread is one of the grid's workers then, and all cores would be busy with the grid anyway; handing it
// over costs two wake-ups of some 25 us.
constexpr uint64_t kInlineNanoseconds = 250'000;
constexpr uint64_t kInlineAlone = 1'000'000;
constexpr uint64_t kInlineWarps = 16, kInlineInterpretedWarps = 2;
constexpr uint32_t kMostRegisters = 255, kStep = 8;  // of a thread; what their number is rounded up to

uint64_t product(const uint32_t (&size)[3]) { return uint64_t{size[0]} * size[1] * size[2]; }

bool given(const uint32_t (&size)[3]) { return size[0] != 0; }

CodeVariant variantFor(const LaunchShape& shape) {
  const ptx::BlockShape blocks = ptx::blockShapeOf(shape.block[0], shape.block[1], shape.block[2]);
  return {blocks, ptx::hasFullWarps(blocks, static_cast<uint32_t>(product(shape.block)))};
}

}  // namespace

PtxKernel::PtxKernel(const Device& device, ProgramKernel& program, const Family& family, KernelContext& context,
                     uint32_t target)
    : device_(device),
      program_(program),
      family_(family),
      context_(context),
      target_(target),
      rules_(device.traits(), std::to_array(program.function().clusterSize)) {}

uint32_t PtxKernel::threadsOf(const uint32_t (&size)[3]) const {
  const uint32_t most = device_.traits().attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  if (!given(size)) return most;
  const uint64_t threads = uint64_t{std::max(size[0], 1u)} * std::max(size[1], 1u) * std::max(size[2], 1u);
  return static_cast<uint32_t>(std::min<uint64_t>(threads, most));
}

// A size of blocks that the code demands is no bound, as recorded.
uint32_t PtxKernel::maxThreads() const { return threadsOf(program_.function().maxThreads); }

// The estimate, held where the largest block that the kernel allows can be launched: a GPU's compiler would spill.
uint32_t PtxKernel::estimateRegisters() const {
  const ptx::Function& function = program_.function();
  const auto all = static_cast<uint32_t>(device_.traits().attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK));
  const uint32_t threads = std::min(maxThreads(), threadsOf(function.requiredThreads));
  uint32_t most = kMostRegisters;
  while (most > kStep && occupancy::registersOfBlock({threads, most, 0}) > all) most = (most - 1) / kStep * kStep;
  if (function.maxRegisters) most = std::min(most, function.maxRegisters);
  return std::min((program_.facts().registers + kStep - 1) / kStep * kStep, std::max(most, 2 * kStep));
}

// Every launch asks. Whoever estimates at the same time comes to the same number.
uint32_t PtxKernel::registers() const {
  uint32_t known = registers_.load(std::memory_order_relaxed);
  if (!known) registers_.store(known = estimateRegisters(), std::memory_order_relaxed);
  return known;
}

KernelFacts PtxKernel::facts() const {
  const ptx::Function& function = program_.function();
  const ProgramKernel::Facts& known = program_.facts();
  KernelFacts facts;
  facts.name = function.name.c_str();
  facts.registers = registers();
  facts.staticShared = known.staticShared;
  facts.constantBytes = known.constantBytes;
  facts.localBytes = known.localBytes;
  facts.maxThreads = maxThreads();
  facts.requiredThreads = std::to_array(function.requiredThreads);
  facts.fixedCluster = given(function.clusterSize);
  facts.ptxVersion = static_cast<int>(target_);
  facts.binaryVersion = device_.traits().computeCapability;
  return facts;
}

const ptx::Module* PtxKernel::module() const { return &program_.module(); }

Result<int> PtxKernel::attribute(CUfunction_attribute attribute) { return rules_.attribute(facts(), attribute); }
CUresult PtxKernel::setAttribute(CUfunction_attribute attribute, int value) {
  return rules_.setAttribute(facts(), attribute, value);
}
Result<int> PtxKernel::occupancy(int blockSize, size_t dynamicShared) {
  return rules_.occupancy(facts(), blockSize, dynamicShared);
}

CUresult PtxKernel::prepare(const LaunchShape& shape) {
  VG_CHECK(rules_.check(facts(), shape, KernelThread::kMaxResident));
  VG_CHECK(program_.variant(variantOf(shape)));
  // Finding out what kernels are that it may launch takes more stack than it has.
  if (program_.facts().usesDeviceRuntime)
    for (ProgramKernel* const kernel : family_.launched) (void)kernel->facts();
  return CUDA_SUCCESS;
}

CUresult PtxKernel::permits(const LaunchShape& shape) {
  return rules_.check(facts(), shape, KernelThread::kMaxResident);
}

CodeVariant PtxKernel::variantOf(const LaunchShape& shape) const {
  CodeVariant variant = variantFor(shape);
  variant.testsReach = !device_.traits().attribute(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS);
  return variant;
}

// Whether a word of the parameters is the address of something of the library's own, as handles are; those of textures
// are meant to be there.
static bool namesOwnMemory(const std::byte* parameters, uint32_t bytes) {
  const own_memory::Bounds own = own_memory::bounds();
  for (uint32_t at = 0; at + sizeof(uint64_t) <= bytes; at += sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, parameters + at, sizeof word);
    if (word - own.lowest >= own.highest - own.lowest) continue;
    const ptx::KnownWindow window = ptx::knownWindow();
    if (word - window.start < window.bytes || !own_memory::overlaps(word, 1)) continue;
    if (!textures::find(word, textures::removals())) return true;
  }
  return false;
}

// Which textures are among the parameters, and how they are read. A number that is one by chance does no harm.
static ptx::TextureHints texturesAmong(const std::byte* parameters, uint32_t bytes) {
  ptx::TextureHints hints{};
  size_t count = 0;
  for (uint32_t at = 0; at + sizeof(uint64_t) <= bytes && count < hints.size(); at += sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, parameters + at, sizeof word);
    const textures::Texture* const texture = word ? textures::find(word, textures::removals()) : nullptr;
    if (texture && texture->rows.kind)
      hints[count++] = {static_cast<uint16_t>(at), static_cast<uint16_t>(texture->rows.kind)};
  }
  return hints;
}

Result<CpuKernel::Ready> PtxKernel::ready(const LaunchShape& shape, const std::byte* parameters) {
  CodeVariant variant = variantOf(shape);
  VG_TRY(const LoadedKernel* code, program_.variant(variant));
  if (!variant.testsReach && !code->interpreted && namesOwnMemory(parameters, program_.parameterBytes())) [[unlikely]] {
    variant.testsReach = true;
    VG_TRY(code, program_.variant(variant));
  }
  if (!code->trusts(parameters)) [[unlikely]] {
    variant.testsParameters = true;
    VG_TRY(code, program_.variant(variant));
  }
  if (code->asksForBetter() && !interleaving::on()) [[unlikely]] {
    if (program_.upgradeLater(variant, true)) return ready(shape, parameters);
  }
  if (code->traits.samples && !code->interpreted && !interleaving::on()) {
    variant.textures = texturesAmong(parameters, program_.parameterBytes());
    const LoadedKernel* const special = variant.textures[0].kind ? program_.forTextures(variant) : nullptr;
    if (special && special->trusts(parameters)) code = special;
  }
  globalsOnce_.call([this] {
    globals_.clear();
    for (const uint32_t index : program_.facts().globals) globals_.push_back(family_.addresses[index]);
  });
  Ready ready{code,
              globals_.data(),
              &context_,
              std::max(1u, rules_.resident(facts(), static_cast<uint32_t>(product(shape.block)), shape.dynamicShared)),
              {1, 1, 1},
              program_.function().explicitCluster || given(program_.function().clusterSize)};
  for (int i = 0; i < 3; ++i) ready.cluster[i] = rules_.clusterSize(shape, i);
  ready.explicitCluster |= shape.clustered || product(ready.cluster) > 1;
  ready.kernels = &family_.kernels;
  ready.recording = program_.recording();
  return ready;
}

// Nanoseconds that a launch may keep the calling thread busy. On a sole core another thread would not get on faster.
static uint64_t inlineLimit() { return os::soleCore() ? kInlineAlone : kInlineNanoseconds; }

bool PtxKernel::inlineSafe(const LaunchShape& shape) const {
  const uint64_t threads = product(shape.block);
  const uint64_t warps = product(shape.grid) * ((threads + ptx::kWarpSize - 1) / ptx::kWarpSize);
  if (shape.cooperative || program_.facts().usesDeviceRuntime ||
      rules_.clusterSize(shape, 0) * rules_.clusterSize(shape, 1) * rules_.clusterSize(shape, 2) > 1)
    return false;
  const LoadedKernel* const code = program_.readyVariant(variantOf(shape));
  if (!code || code->traits.polls || code->traits.loops) return false;
  if (const uint64_t expected = code->expected(warps)) return expected <= inlineLimit();
  return warps <= (code->interpreted ? kInlineInterpretedWarps : kInlineWarps);
}

NativeOnlyKernel::NativeOnlyKernel(const Device& device, const cubin::Kernel& description)
    : device_(device), description_(description), maxDynamicShared_(kDefaultShared) {
  for (const cubin::Parameter& parameter : description.parameters)
    parameters_.push_back({parameter.offset, parameter.size});
}

// Programs may try kernel after kernel: the first one of each library is named aloud.
CUresult NativeOnlyKernel::refuse() const {
  const std::string library = check::Caller::here().library(), wayOut = images::wayOutOfNative(library);
  const std::string from = library.empty() ? "" : " of " + library;
  if (images::firstOf("kernels" + from))
    VG_LOG(Warn,
           "kernel %s%s exists only as native code, made for one kind of real GPU; %s. VERDIGRIS_LOG=info names the "
           "other ones",
           name().c_str(), from.c_str(), wayOut.c_str());
  return fail(CUDA_ERROR_NO_BINARY_FOR_GPU, "kernel %s%s exists only as native code of a real GPU; %s", name().c_str(),
              from.c_str(), wayOut.c_str());
}

Result<int> NativeOnlyKernel::attribute(CUfunction_attribute attribute) {
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return device_.traits().attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      return static_cast<int>(description_.sharedBytes);
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      return static_cast<int>(description_.registers);
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      return device_.traits().computeCapability;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      return maxDynamicShared_.load();
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      return -1;
    default:
      if (attribute < 0 || attribute >= CU_FUNC_ATTRIBUTE_MAX)
        return fail(CUDA_ERROR_INVALID_VALUE, "function attribute %d is not known", attribute);
      return 0;
  }
}

CUresult NativeOnlyKernel::setAttribute(CUfunction_attribute attribute, int value) {
  if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) maxDynamicShared_ = value;
  return CUDA_SUCCESS;
}

CUresult NativeOnlyKernel::prepare(const LaunchShape&) { return refuse(); }
Result<CpuKernel::Ready> NativeOnlyKernel::ready(const LaunchShape&, const std::byte*) { return refuse(); }

Result<int> NativeOnlyKernel::occupancy(int blockSize, size_t dynamicShared) {
  if (blockSize <= 0) return fail(CUDA_ERROR_INVALID_VALUE, "block of %d threads", blockSize);
  const occupancy::KernelUse use{static_cast<uint32_t>(blockSize), std::max(description_.registers, 16u),
                                 description_.sharedBytes + dynamicShared};
  return static_cast<int>(occupancy::blocksPerMultiprocessor(device_.traits(), use));
}

}  // namespace vg::backend::cpu
