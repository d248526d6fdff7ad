#include "backend/cpu/code/program.h"

#include <algorithm>
#include <atomic>
#include <optional>

#include "backend/cpu/code/interpreted.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/undying.h"
#include "check/blocks/compiled.h"
#include "check/races/order.h"
#include "check/tools.h"
#include "images/container.h"
#include "ptx/abi/device_runtime.h"
#include "ptx/facts/layout.h"
#include "ptx/text/parser.h"

namespace vg::backend::cpu {
namespace {

constexpr size_t kMuchText = 100'000;  // bytes that take milliseconds to read

// One programme for equal texts while any image has it. Never destroyed.
struct Programs {
  Mutex mutex;
  std::map<std::pair<uint64_t, uint64_t>, std::weak_ptr<Program>> living VG_GUARDED_BY(mutex);
};
Programs& programs() { return undying<Programs, Programs>(); }

enum class Way : uint8_t { Compile, Optimize, Interpret };

Way readWay() {
  const std::string& wanted = settings().kernels;
  if (wanted == "interpret") return Way::Interpret;
  if (wanted == "optimize") return Way::Optimize;
  if (!wanted.empty() && wanted != "compile")
    VG_LOG(Warn, "VERDIGRIS_KERNELS=%s is none of compile, optimize and interpret: kernels are compiled",
           wanted.c_str());
  return Way::Compile;
}

Way way() {
  static const Way wanted = readWay();
  return wanted;
}

// The first of what is said of PTX that is refused: the caller's log may be nobody's, and there may be thousands of
// lines.
CUresult refused(CUresult code, const std::string& words) {
  const size_t end = words.find('\n');
  return fail(code, "the PTX is refused: %.*s", static_cast<int>(std::min<size_t>(end, 400)), words.c_str());
}

// PTX for one architecture, or one family of them, is run by any device here if it knows the instructions: users
// without the GPU can try it. A GPU takes it only if it is of that architecture.
void tellTarget(const ptx::Module& module, uint32_t capability) {
  if (images::targetFits(module.target, module.targetSuffix, capability)) return;
  static std::atomic<uint32_t> told{0};  // the last target that was told
  const uint32_t target = module.target << 8 | static_cast<uint8_t>(module.targetSuffix);
  if (told.exchange(target, std::memory_order_relaxed) == target) return;
  VG_LOG(Warn, "PTX for %s runs here, but a GPU of compute capability %u.%u refuses it",
         images::targetName(module.target, module.targetSuffix).c_str(), capability / 10, capability % 10);
}

Result<ptx::Module> readTexts(const std::vector<std::string>& texts, uint32_t capability, std::string* out) {
  std::string own;
  std::string* const log = out ? out : &own;
  ptx::ParseOptions options;
  options.maxTarget = capability;
  std::vector<ptx::Module> modules;
  for (const std::string& text : texts) {
    Result<ptx::Module> module = ptx::parse(text, log, options);
    if (!module) return refused(module.error(), *log);
    tellTarget(*module, capability);
    modules.push_back(std::move(*module));
  }
  if (modules.size() != 1) {
    Result<ptx::Module> linked = ptx::link(std::move(modules), log);
    if (!linked) return refused(linked.error(), *log);
    return linked;
  }
  // A text by itself may leave variables open, as recorded from the driver; using one is an illegal address.
  for (const std::string_view name : ptx::openFunctions(modules[0])) {
    *log = "unresolved function '" + std::string(name) + "'";
    return fail(CUDA_ERROR_INVALID_PTX, "unresolved function %.*s", static_cast<int>(name.size()), name.data());
  }
  return std::move(modules[0]);
}

uint32_t localBytesOf(const ptx::Function& function) {
  uint64_t bytes = 0;
  for (const ptx::Variable& variable : function.variables) {
    if (variable.space != ptx::Space::Local) continue;
    const uint64_t alignment = std::max(variable.alignment, 1u);
    bytes = (bytes + alignment - 1) / alignment * alignment + variable.size;
  }
  return static_cast<uint32_t>(std::min<uint64_t>(bytes, ~0u));
}

void note(const std::string& function, Kernel::Calls& calls) {
  switch (ptx::deviceCallNamed(function).value_or(ptx::DeviceCall::GetLastError)) {
    case ptx::DeviceCall::LaunchDevice:
    case ptx::DeviceCall::LaunchDeviceV2:
      calls.launchesKernels = true;
      return;
    case ptx::DeviceCall::GraphLaunch:
      calls.launchesGraphs = true;
      return;
    case ptx::DeviceCall::GraphKernelNodeSetParam:
    case ptx::DeviceCall::GraphKernelNodeSetEnabled:
    case ptx::DeviceCall::GraphKernelNodeSetGridDim:
    case ptx::DeviceCall::GraphKernelNodeUpdatesApply:
      calls.updatesNodes = true;
      return;
    default:
      return;
  }
}

// Checked mode follows some kernels in the interpreter only.
void tellInterpreted(const std::string& kernel) {
  constexpr const char* kWords =
      "kernel %s is interpreted, which is slow: it cannot be compiled (VERDIGRIS_LOG=info says why)";
  if (check::any())
    VG_LOG(Info, kWords, kernel.c_str());
  else
    VG_LOG(Warn, kWords, kernel.c_str());
}

// What the cache holds under a key, if it can be used.
std::optional<ptx::KernelBlob> cached(const KernelCache::Key& key) {
  const KernelCache& cache = KernelCache::shared();
  const std::vector<uint8_t> bytes = cache.read(key);
  if (bytes.empty()) return {};
  Result<ptx::KernelBlob> blob = ptx::decode(bytes.data(), bytes.size());
  if (blob.ok()) return std::move(blob).value();
  VG_LOG(Info, "kernel cache %s: a file is damaged and made anew", cache.folder().c_str());
  cache.remove(key);
  return {};
}

}  // namespace

ProgramKernel::ProgramKernel(const Program& program, uint32_t function) : program_(program), function_(function) {
  for (const ptx::ParameterSlot& slot : ptx::parameterLayout(this->function())) {
    parameters_.push_back({slot.offset, slot.size});
    parameterBytes_ = slot.offset + slot.size;
  }
}

const ptx::Function& ProgramKernel::function() const { return program_.module().functions[function_]; }

coverage::Recording* ProgramKernel::recording() const { return program_.recording(); }

const ProgramKernel::Facts& ProgramKernel::facts() {
  factsOnce_.call([this] {
    Facts facts;
    const ptx::Module& module = program_.module();
    auto [references, shared] = program_.reachOf(function_);
    facts.globals = std::move(references.globals);
    facts.staticShared = shared.staticSize - shared.reserved;
    facts.dynamicSharedOffset = shared.dynamicOffset;
    for (const uint32_t index : references.functions) {
      facts.usesDeviceRuntime |= module.functions[index].name == ptx::kDeviceRuntimeCall;
      note(module.functions[index].name, facts.calls);
      facts.localBytes += localBytesOf(module.functions[index]);
      facts.registers = std::max(facts.registers, program_.registersOf(index));
    }
    for (const ptx::Variable& variable : module.variables)
      if (variable.space == ptx::Space::Const) facts.constantBytes += static_cast<uint32_t>(variable.size);
    facts_ = std::move(facts);
  });
  return facts_;
}

const LoadedKernel* ProgramKernel::readyVariant(const CodeVariant& wanted) const {
  return variants_[indexOf(wanted)].ready.load(std::memory_order_acquire);
}

ProgramKernel::Variant& ProgramKernel::variantFor(const CodeVariant& wanted) {
  if (!wanted.textures[0].kind) return variants_[indexOf(wanted)];
  const MutexLock lock(texturesMutex_);
  return textures_[{indexOf(wanted), wanted.textures}];
}

const LoadedKernel* ProgramKernel::forTextures(const CodeVariant& wanted) {
  constexpr uint32_t kWorthIt = 1;  // launches before
  constexpr size_t kMost = 16;      // kinds of textures that a kernel has code for
  {
    const MutexLock lock(texturesMutex_);
    if (textures_.size() >= kMost && !textures_.count({indexOf(wanted), wanted.textures})) return nullptr;
  }
  Variant& variant = variantFor(wanted);
  if (const LoadedKernel* ready = variant.ready.load(std::memory_order_acquire)) [[likely]]
    return ready;
  if (way() == Way::Optimize) {
    auto made = madeOnce(variant, [&] { return makeNative(requestFor(wanted)); });
    return made.ok() ? *made : nullptr;
  }
  if (variant.asked.fetch_add(1, std::memory_order_relaxed) == kWorthIt) upgradeLater(wanted, false);
  return nullptr;
}

template <class Make>
Result<const LoadedKernel*> ProgramKernel::madeOnce(Variant& variant, Make make) {
  if (const LoadedKernel* ready = variant.ready.load(std::memory_order_acquire)) [[likely]]
    return ready;
  const MutexLock lock(variant.mutex);
  if (variant.failure != CUDA_SUCCESS) return variant.failure;
  if (!variant.kernel) {
    Result<Code> made = make();
    if (!made.ok()) {
      if (made.error() != CUDA_ERROR_OUT_OF_MEMORY) variant.failure = made.error();
      return made.error();
    }
    variant.kernel = std::move(*made);
    variant.ready.store(variant.kernel.get(), std::memory_order_release);
  }
  return variant.ready.load(std::memory_order_acquire);
}

bool ProgramKernel::upgradeLater(const CodeVariant& wanted, bool mayWait) {
  return upgrades::enqueue(program_.weak_from_this(), *this, wanted, mayWait);
}

KernelCache::Key ProgramKernel::keyOfGood(const CodeVariant& wanted) const {
  return engine::keyOf(requestFor(wanted), false);
}

// Code that takes the place of quick code.
Result<ProgramKernel::Code> ProgramKernel::makeGood(const engine::Request& request, engine::Effort effort) {
  const KernelCache::Key key = engine::keyOf(request, false);
  if (auto blob = cached(key)) return load(std::move(*blob), Maturity::Good, request);  // another process was faster
  VG_TRY(engine::Made made, compile(request, effort));
  KernelCache::shared().write(key, made.bytes);
  return load(std::move(made.blob), Maturity::Good, request);
}

CUresult ProgramKernel::upgrade(const CodeVariant& wanted, engine::Effort effort) {
  auto made = makeGood(requestFor(wanted), effort);
  if (!made.ok()) return made.error();  // the log says why; quick code goes on
  Variant& variant = variantFor(wanted);
  const MutexLock lock(variant.mutex);
  variant.better = std::move(made).value();
  variant.ready.store(variant.better.get(), std::memory_order_release);
  VG_LOG(Info,
         wanted.textures[0].kind ? "kernel %s now has code for the textures it is given"
                                 : "kernel %s has good code in place of quick code",
         function().name.c_str());
  return CUDA_SUCCESS;
}

FunctionMaker::Made ProgramKernel::makeFunction(const CodeVariant& wanted, uint32_t function) {
  return makeNative(requestFor(wanted, function + 1));
}

FunctionMaker::Made ProgramKernel::makeBetter(const CodeVariant& wanted, uint32_t function, engine::Effort effort) {
  return makeGood(requestFor(wanted, function + 1), effort);
}

KernelCache::Key ProgramKernel::keyOfBetter(const CodeVariant& wanted, uint32_t function) const {
  return engine::keyOf(requestFor(wanted, function + 1), false);
}

engine::Request ProgramKernel::requestFor(const CodeVariant& wanted, uint32_t function) const {
  return {&program_.texts(), program_.hash(), &this->function().name, wanted, function};
}

Result<engine::Made> ProgramKernel::compile(const engine::Request& request, engine::Effort effort) const {
  const std::vector<std::string> texts = program_.textsFor(function_);
  engine::Request shorter = request;
  shorter.texts = &texts;
  return engine::compile(shorter, effort);
}

Result<const LoadedKernel*> ProgramKernel::variant(const CodeVariant& wanted) {
  return madeOnce(variants_[indexOf(wanted)], [&] { return make(wanted); });
}

// Native code where it can be had; the interpreter runs everything else.
Result<ProgramKernel::Code> ProgramKernel::make(const CodeVariant& wanted) {
  if (way() != Way::Interpret) {
    auto native = makeNative(requestFor(wanted));
    if (native.ok() || (native.error() != CUDA_ERROR_NOT_SUPPORTED && native.error() != CUDA_ERROR_NOT_PERMITTED))
      return native;
    tellInterpreted(function().name);
  }
  return makeInterpreted();
}

const ptx::Module& ProgramKernel::module() const { return program_.module(); }

Result<ProgramKernel::Code> ProgramKernel::makeInterpreted() { return interpret(program_.module(), function_); }

// What code that checks its accesses is told of; null where none does.
const check::CompiledKernel* ProgramKernel::checks() {
  if (!check::any()) return nullptr;
  checksOnce_.call([this] {
    tellFirstFaults();
    const auto [references, shared] = program_.reachOf(function_);
    std::vector<const ptx::Function*> reached{&function()};
    for (const uint32_t index : references.functions) reached.push_back(&program_.module().functions[index]);
    checks_ = std::make_unique<check::CompiledKernel>(program_.module(), reached, shared.reserved);
  });
  return checks_.get();
}

Result<ProgramKernel::Code> ProgramKernel::makeNative(const engine::Request& request) {
  const bool mayBeQuick = way() == Way::Compile;
  if (auto blob = cached(engine::keyOf(request, false))) return load(std::move(*blob), Maturity::Good, request);
  if (mayBeQuick)
    if (auto blob = cached(engine::keyOf(request, true)))
      return load(std::move(*blob), Maturity::QuickSinceThen, request);
  VG_TRY(engine::Made made, compile(request, mayBeQuick ? engine::Effort::Quick : engine::Effort::Good));
  KernelCache::shared().write(engine::keyOf(request, made.quick), made.bytes);
  return load(std::move(made.blob), made.quick ? Maturity::Quick : Maturity::Good, request);
}

Result<ProgramKernel::Code> ProgramKernel::load(ptx::KernelBlob blob, Maturity maturity,
                                                const engine::Request& request) {
  std::shared_ptr<ApartFunctions> apart;
  if (blob.traits.callsApart && !request.function) apart = apartOf(request.variant);
  VG_TRY(Code code, LoadedKernel::load(std::move(blob), maturity, checks(), std::move(apart)));
  if (debugger::on()) program_.show(*code, request.function ? request.function - 1 : function_);
  return code;
}

// The functions of a variant are the same for its quick and its good code, and for one another.
std::shared_ptr<ApartFunctions> ProgramKernel::apartOf(const CodeVariant& wanted) {
  const MutexLock lock(apartMutex_);
  std::shared_ptr<ApartFunctions>& functions = apart_[indexOf(wanted)];
  if (!functions)
    functions = std::make_shared<ApartFunctions>(program_.weak_from_this(), program_.module(),
                                                 static_cast<FunctionMaker&>(*this), wanted);
  return functions;
}

Program::~Program() {
  if (check::order::on()) check::order::forget(module_);
}

Program::Program(std::vector<std::string> texts, KernelCache::Key hash, ptx::Module module)
    : texts_(std::move(texts)),
      hash_(hash),
      module_(std::move(module)),
      uses_(module_),
      registers_(module_.functions.size()) {
  for (uint32_t i = 0; i < module_.functions.size(); ++i) {
    const ptx::Function& function = module_.functions[i];
    if (function.isEntry && !function.isDeclaration)
      kernels_[function.name] = std::make_unique<ProgramKernel>(*this, i);
  }
}

void Program::count(uint32_t counters) { recording_ = std::make_unique<coverage::Recording>(texts_, hash_, counters); }

void Program::show(const LoadedKernel& code, uint32_t function) const {
  std::unique_ptr<debugger::Shown> shown = debugger::show(code, module_, function, texts_);
  const MutexLock lock(shownMutex_);
  if (shown) shown_.push_back(std::move(shown));
}

bool Program::usesDeviceRuntime() const {
  return std::ranges::any_of(module_.functions,
                             [](const ptx::Function& function) { return function.name == ptx::kDeviceRuntimeCall; });
}

// Calls through registers may reach what any kernel has taken the address of.
std::vector<std::string> Program::textsFor(uint32_t entry) const {
  if (recording_ || engine::keepsRegisters() || texts_.size() != 1 || texts_[0].size() < kMuchText ||
      reachOf(entry).first.addressTaken)
    return texts_;
  bodiesOnce_.call([this] { bodies_.emplace(texts_[0]); });
  return {bodies_->withOnly(module_.functions[entry].name)};
}

std::pair<ptx::KernelReferences, ptx::SharedLayout> Program::reachOf(uint32_t entry) const {
  const MutexLock lock(usesMutex_);
  return {ptx::references(uses_, entry), ptx::sharedLayout(uses_, entry)};
}

uint32_t Program::registersOf(uint32_t function) const {
  std::atomic<uint32_t>& known = registers_[function];
  if (!known.load(std::memory_order_relaxed))
    known.store(estimateRegisters(module_.functions[function]), std::memory_order_relaxed);
  return known.load(std::memory_order_relaxed);
}

ProgramKernel* Program::kernel(const std::string& name) const {
  const auto found = kernels_.find(name);
  return found == kernels_.end() ? nullptr : found->second.get();
}

Result<std::shared_ptr<Program>> Program::of(const std::vector<std::string>& texts, uint32_t capability,
                                             std::string* errorLog) {
  const KernelCache::Key hash = engine::hashOf(texts);
  // The capability takes part: it decides whether the texts are accepted.
  const std::pair<uint64_t, uint64_t> key(hash.high ^ capability, hash.low);
  {
    const MutexLock lock(programs().mutex);
    if (std::shared_ptr<Program> known = programs().living[key].lock()) return known;
  }
  std::vector<std::string> all = ptx::withDeviceRuntime(texts);
  VG_TRY(ptx::Module module, readTexts(all, capability, errorLog));
  const KernelCache::Key whole = all == texts ? hash : engine::hashOf(all);
  const uint32_t counters = coverage::on() ? coverage::instrument(module) : 0;
  auto made = std::make_shared<Program>(std::move(all), whole, std::move(module));
  if (counters) made->count(counters);
  const MutexLock lock(programs().mutex);
  std::weak_ptr<Program>& slot = programs().living[key];
  if (std::shared_ptr<Program> known = slot.lock()) return known;  // another thread was faster
  slot = made;
  return made;
}

}  // namespace vg::backend::cpu
