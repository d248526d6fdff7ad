#include "core/modules/module.h"

#include "base/memory/slab.h"
#include "base/settings.h"
#include "base/sync/mutex.h"
#include "core/contexts/context.h"
#include "core/memory/memory.h"
#include "core/modules/device_code.h"
#include "core/modules/image_preview.h"
#include "core/modules/variable_ranges.h"
#include "core/process/device.h"
#include "core/process/inside_host_function.h"

namespace vg::core {
namespace {

constinit Slab<Module, 1 << 18> slab;
constinit Mutex listMutex;  // guards first and the links of the modules
constinit Module* first VG_GUARDED_BY(listMutex) = nullptr;
constinit std::atomic<unsigned> loaded{0};

Result<CUdeviceptr> allocateVariables(void* owner, size_t bytes, size_t alignment) {
  return memory::allocateForModule(*static_cast<Context*>(owner), bytes, alignment);
}

void releaseVariables(void*, CUdeviceptr address) { (void)memory::releaseNow(address); }

std::string nextName() { return "module " + std::to_string(loaded.fetch_add(1) + 1); }

}  // namespace

Module::Module(Context& context, bool ofLibrary) : context_(&context), ofLibrary_(ofLibrary), managed_(&context) {}

Module::~Module() {
  variables::forget(*this);
  for (const auto& [name, function] : functions_) dropFunction(function);
}

Result<Function&> Module::function(const std::string& name) {
  const MutexLock lock(mutex_);
  if (const auto known = functions_.find(name); known != functions_.end()) return *known->second;
  VG_TRY(backend::Kernel * kernel, image_->kernel(name));
  Function* made = makeFunction(*context_, handle(), *kernel);
  functions_[name] = made;
  return *made;
}

Result<std::vector<Function*>> Module::functions() {
  std::vector<Function*> all;
  for (const std::string& name : image_->kernelNames()) {
    VG_TRY(Function & made, function(name));
    all.push_back(&made);
  }
  return all;
}

// The list of all modules, and the steps of a module's life that touch its insides.
struct ModuleList {
  static CUresult load(Module& module, ManagedVariables* managed, DeviceCode& code, const std::string& name,
                       const backend::LoadOptions& options) {
    backend::ImageSource& source = module.source_;
    backend::Device& device = module.context_->device().backend();
    source.name = name;
    VG_CHECK(code.provide(device.traits(), source, options));
    source.resolveManaged = ManagedVariables::resolve;
    source.resolveOwner = managed ? managed : &module.managed_;
    source.allocate = allocateVariables;
    source.release = releaseVariables;
    source.memoryOwner = module.context_;
    source.limits = &module.context_->kernelLimits();
    VG_TRY(module.image_, device.load(source, options));
    return CUDA_SUCCESS;
  }

  static void add(Module& module) {
    const MutexLock lock(listMutex);
    module.next_ = first;
    if (first) first->previous_ = &module;
    first = &module;
  }

  static void remove(Module& module) {
    const MutexLock lock(listMutex);
    (module.previous_ ? module.previous_->next_ : first) = module.next_;
    if (module.next_) module.next_->previous_ = module.previous_;
  }

  static std::vector<Module*> of(Context& context) {
    const MutexLock lock(listMutex);
    std::vector<Module*> found;
    for (Module* module = first; module; module = module->next_)
      if (module->context_ == &context) found.push_back(module);
    return found;
  }
};

namespace modules {

images::SelectOptions selectOptions(const backend::Device& device, std::string* log) {
  images::SelectOptions options;
  options.capability = static_cast<uint32_t>(device.traits().computeCapability);
  options.disablePtxJit = truthy(settings().disablePtxJit);
  options.log = log;
  options.native = device.traits().nativeCode;
  options.forcePtxJit = truthy(settings().forcePtxJit);
  return options;
}

Result<Module&> instantiate(Context& context, ManagedVariables* managed, DeviceCode& code, const std::string& name,
                            const backend::LoadOptions& options) {
  Module* module = slab.create(context, managed != nullptr);
  if (const CUresult result = ModuleList::load(*module, managed, code, name, options)) {
    slab.destroy(module);
    return result;
  }
  ModuleList::add(*module);
  return *module;
}

// What is wrong with the text is said before what is wrong with its target.
static CUresult checkTarget(Context& context, DeviceCode& code, JitOptions& options) {
  backend::Device& device = context.device().backend();
  if (options.isFor(device.traits().computeCapability)) return CUDA_SUCCESS;
  VG_CHECK(Blueprint::load(device, code, "module", nullptr, options.loadOptions()));
  return fail(CUDA_ERROR_INVALID_SOURCE, "code for another device than one of compute capability %d",
              device.traits().computeCapability);
}

// `name` of the module; null: the next of those that have none.
static Result<Module&> loadSelected(Context& context, images::Selected selected, const std::string* name,
                                    JitOptions& options) {
  for (std::string& text : selected.ptx) options.limitRegisters(text);
  const bool isText = !selected.ptx.empty();
  DeviceCode code(std::move(selected));
  if (isText) VG_CHECK(checkTarget(context, code, options));
  return instantiate(context, nullptr, code, name ? *name : nextName(), options.loadOptions());
}

Result<Module&> load(Context& context, const void* image, JitOptions& options) {
  VG_TRY(images::Selected selected,
         images::select(image, images::kUnknownSize, selectOptions(context.device().backend(), &options.errorLog())));
  return loadSelected(context, std::move(selected), nullptr, options);
}

Result<Module&> loadFile(Context& context, const std::string& path, JitOptions& options) {
  VG_TRY(images::Selected selected,
         images::selectFile(path, selectOptions(context.device().backend(), &options.errorLog())));
  return loadSelected(context, std::move(selected), &path, options);
}

Result<Module&> find(CUmodule handle) {
  if (Module* module = slab.find(handle)) return *module;
  return fail(CUDA_ERROR_INVALID_HANDLE, "%p is no module", static_cast<void*>(handle));
}

CUresult unload(Module& module) {
  if (insideHostFunction) return fail(CUDA_ERROR_NOT_PERMITTED, "host functions may not unload modules");
  if (module.ofLibrary()) return fail(CUDA_ERROR_NOT_PERMITTED, "the module belongs to a library and ends with it");
  (void)module.context().synchronize();  // a sticky error does not keep the module
  end(module);
  return CUDA_SUCCESS;
}

void end(Module& module) {
  if (!slab.retire(&module)) return;  // another thread unloads it
  module.context().device().backend().flushOutput();
  ModuleList::remove(module);
  modules::ends(module);
  slab.recycle(&module);
}

void releaseAll(Context& context) {
  for (Module* module : ModuleList::of(context)) end(*module);
}

}  // namespace modules
}  // namespace vg::core
