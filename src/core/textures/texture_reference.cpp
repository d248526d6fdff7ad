#include "core/textures/texture_reference.h"

#include <cstring>
#include <map>
#include <string>

#include "base/memory/slab.h"
#include "base/sync/mutex.h"
#include "base/undying.h"
#include "core/arrays/array.h"
#include "core/contexts/context.h"
#include "core/memory/memory.h"
#include "core/modules/module.h"
#include "core/process/device.h"
#include "core/textures/texture_view.h"

namespace vg::core::references {
namespace {

struct Reference {
  Reference(Context& where, const Module* of, bool isSurface, uint64_t* place)
      : context(where), module(of), surface(isSurface), variable(place) {}
  Context& context;
  const Module* const module;  // null: of none
  const bool surface;
  uint64_t* const variable;  // what kernels read, in the module's memory; null: of no module
  TextureState state;
  uint64_t published = 0;  // the texture that the variable names
};

constinit Slab<Reference, 1 << 16> slab;

// Guards the states and the names. Held while a context is waited for, so that no two threads bind at once.
Mutex& mutex() { return undying<Mutex, struct ReferenceMutex>(); }
using Names = std::map<std::pair<const Module*, std::string>, Reference*>;
Names& names() VG_REQUIRES(mutex()) { return undying<Names, Names>(); }

template <class Handle>
Result<Reference&> find(Handle handle, bool surface) {
  Reference* reference = slab.find(handle);
  if (reference && reference->surface == surface) return *reference;
  return fail(CUDA_ERROR_INVALID_HANDLE, "%p is no %s reference", static_cast<const void*>(handle),
              surface ? "surface" : "texture");
}

Result<Reference&> named(Module& module, const char* name, bool surface) {
  const auto kind = surface ? backend::Image::Reference::Surface : backend::Image::Reference::Texture;
  VG_TRY(const backend::Global global, module.image().reference(kind, name));
  const MutexLock lock(mutex());
  Reference*& known = names()[{&module, name}];
  if (!known) known = slab.create(module.context(), &module, surface, reinterpret_cast<uint64_t*>(global.address));
  return *known;
}

void withdraw(Reference& reference) {
  if (!reference.published) return;
  reference.context.device().backend().removeTexture(reference.published);
  reference.published = 0;
}

Result<arrays::TextureView> viewOf(const Reference& reference, const TextureState& state) {
  if (reference.surface) return surfaceView(state.resource);
  return textureView(reference.context, state.resource, state.sampling, nullptr);
}

// Makes what kernels see agree with a state.
CUresult publish(Reference& reference, const TextureState& state) VG_REQUIRES(mutex()) {
  if (!state.bound || !reference.variable) return CUDA_SUCCESS;
  VG_TRY(const arrays::TextureView view, viewOf(reference, state));
  VG_CHECK(memory::drain(&reference.context));
  VG_TRY(const uint64_t handle, reference.context.device().backend().addTexture(view, nullptr));
  withdraw(reference);
  reference.published = handle;
  std::memcpy(reference.variable, &handle, sizeof handle);
  return CUDA_SUCCESS;
}

void end(Reference& reference) {
  withdraw(reference);
  slab.destroy(&reference);
}

template <class Matches>
void releaseIf(Matches matches) {
  const MutexLock lock(mutex());
  std::erase_if(names(), [&](const auto& entry) { return matches(*entry.second); });
  slab.forEach([&](Reference& reference) {
    if (matches(reference)) end(reference);
  });
}

}  // namespace

Result<CUtexref> texture(Module& module, const char* name) {
  VG_TRY(Reference & reference, named(module, name, false));
  return reinterpret_cast<CUtexref>(&reference);
}

Result<CUsurfref> surface(Module& module, const char* name) {
  VG_TRY(Reference & reference, named(module, name, true));
  return reinterpret_cast<CUsurfref>(&reference);
}

Result<CUtexref> create(Context& context) {
  return reinterpret_cast<CUtexref>(slab.create(context, nullptr, false, nullptr));
}

CUresult destroy(CUtexref handle) {
  const MutexLock lock(mutex());
  VG_TRY(Reference & reference, find(handle, false));
  if (!reference.module) end(reference);
  return CUDA_SUCCESS;
}

Result<TextureState> state(CUtexref handle) {
  const MutexLock lock(mutex());
  VG_TRY(const Reference& reference, find(handle, false));
  return reference.state;
}

CUresult change(CUtexref handle, CUresult (*apply)(TextureState&, void*), void* arguments) {
  const MutexLock lock(mutex());
  VG_TRY(Reference & reference, find(handle, false));
  TextureState wanted = reference.state;
  VG_CHECK(apply(wanted, arguments));
  VG_CHECK(publish(reference, wanted));
  reference.state = wanted;
  return CUDA_SUCCESS;
}

CUresult setSurface(CUsurfref handle, CUarray array) {
  const MutexLock lock(mutex());
  VG_TRY(Reference & reference, find(handle, true));
  VG_TRY(const Array& found, findArray(array));
  if (!(found.descriptor.Flags & CUDA_ARRAY3D_SURFACE_LDST))
    return fail(CUDA_ERROR_INVALID_VALUE, "the array was made without CUDA_ARRAY3D_SURFACE_LDST");
  TextureState wanted;
  wanted.resource.resType = CU_RESOURCE_TYPE_ARRAY;
  wanted.resource.res.array.hArray = array;
  wanted.bound = true;
  VG_CHECK(publish(reference, wanted));
  reference.state = wanted;
  return CUDA_SUCCESS;
}

Result<CUarray> surfaceArray(CUsurfref handle) {
  const MutexLock lock(mutex());
  VG_TRY(const Reference& reference, find(handle, true));
  if (!reference.state.bound) return fail(CUDA_ERROR_INVALID_VALUE, "no array is bound to the surface reference");
  return reference.state.resource.res.array.hArray;
}

void releaseAll(const Module& module) {
  releaseIf([&](const Reference& reference) { return reference.module == &module; });
}

void releaseAll(Context& context) {
  releaseIf([&](const Reference& reference) { return &reference.context == &context; });
}

}  // namespace vg::core::references
