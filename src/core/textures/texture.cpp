#include "core/textures/texture.h"

#include "base/memory/slab.h"
#include "base/raw_enum.h"
#include "core/contexts/context.h"
#include "core/process/device.h"
#include "core/textures/texture_view.h"

namespace vg::core::textures {
namespace {

struct Entry {
  TextureObject object;
  uint64_t handle = 0;
};
constinit Slab<Entry> slab;

Result<CUtexObject> publish(const TextureObject& object, const arrays::TextureView& view) {
  Entry* entry = slab.create(Entry{object, 0});
  const Result<uint64_t> handle = object.context.device().backend().addTexture(view, entry);
  if (!handle.ok()) {
    slab.destroy(entry);
    return handle.error();
  }
  entry->handle = handle.value();
  return CUtexObject{entry->handle};
}

Entry* entryOn(Device& device, uint64_t handle, bool surface) {
  Entry* entry = slab.find(device.backend().textureOwner(handle));
  return entry && entry->object.surface == surface ? entry : nullptr;
}

// The object behind a number that may be anything, or null. Real GPUs count each for themselves: the current device's
// goes before others'.
Entry* entryOf(uint64_t handle, bool surface) {
  if (Context* const current = threadState.current)
    if (Entry* const entry = entryOn(current->device(), handle, surface)) return entry;
  for (int i = 0; i < deviceCount(); ++i)
    if (Entry* const entry = entryOn(deviceAt(i), handle, surface)) return entry;
  return nullptr;
}

Result<const TextureObject&> found(uint64_t handle, bool surface) {
  if (const Entry* entry = entryOf(handle, surface)) return entry->object;
  return fail(CUDA_ERROR_INVALID_VALUE, "%#llx is no %s object", static_cast<unsigned long long>(handle),
              surface ? "surface" : "texture");
}

void end(Entry& entry) {
  if (!slab.retire(&entry)) return;  // another thread destroys it
  entry.object.context.device().backend().removeTexture(entry.handle);
  slab.recycle(&entry);
}

CUresult endNamed(uint64_t handle, bool surface) {
  Entry* entry = entryOf(handle, surface);
  if (!entry) return found(handle, surface).error();
  end(*entry);
  return CUDA_SUCCESS;
}

}  // namespace

Result<CUtexObject> create(Context& context, const CUDA_RESOURCE_DESC& resource, const CUDA_TEXTURE_DESC& texture,
                           const CUDA_RESOURCE_VIEW_DESC* view) {
  VG_TRY(const arrays::TextureView shown, textureView(context, resource, texture, view));
  TextureObject object{context, false, resource, texture, {}};
  for (CUaddress_mode& mode : object.texture.addressMode)  // of axes that there are not; told as recorded
    if (rawValue(mode) > CU_TR_ADDRESS_MODE_BORDER) mode = CU_TR_ADDRESS_MODE_CLAMP;
  if (view && hasViews(resource)) object.view = *view;
  return publish(object, shown);
}

Result<CUsurfObject> createSurface(Context& context, const CUDA_RESOURCE_DESC& resource) {
  VG_TRY(const arrays::TextureView shown, surfaceView(resource));
  return publish({context, true, resource, {}, {}}, shown);
}

Result<const TextureObject&> find(CUtexObject handle) { return found(handle, false); }
Result<const TextureObject&> findSurface(CUsurfObject handle) { return found(handle, true); }
CUresult destroy(CUtexObject handle) { return endNamed(handle, false); }
CUresult destroySurface(CUsurfObject handle) { return endNamed(handle, true); }

void releaseAll(Context& context) {
  slab.forEach([&](Entry& entry) {
    if (&entry.object.context == &context) end(entry);
  });
}

}  // namespace vg::core::textures
