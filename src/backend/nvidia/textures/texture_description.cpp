#include "backend/nvidia/textures/texture_description.h"

namespace vg::backend::nvidia {
namespace {

// Places of the words as ptxas compiles queries.
enum SurfaceWord { kSurfaceDataType = 3, kSurfaceOrder = 4, kSurfaceLayers = 7 };
enum TextureWord { kAddressing = 3, kFilter = 6, kNormalized, kDataType, kOrder, kLayers, kLevels, kSamples };

}  // namespace

TextureDescription descriptionOf(const arrays::TextureView& view) {
  TextureDescription words{};
  const auto format = static_cast<uint32_t>(view.format);
  const uint32_t layers = arrays::layered(view.kind) ? static_cast<uint32_t>(view.layers) : 0;
  if (view.surface) {
    words[kSurfaceDataType] = words[kSurfaceOrder] = format;
    words[kSurfaceLayers] = layers;
    return words;
  }
  for (unsigned axis = 0; axis < 3; ++axis) words[kAddressing + axis] = arrays::numberOf(view.sampler.addressing[axis]);
  words[kFilter] = view.sampler.linear;
  words[kNormalized] = view.sampler.normalized;
  words[kDataType] = words[kOrder] = format;
  words[kLayers] = layers;
  words[kLevels] = static_cast<uint32_t>(view.levels.size());
  words[kSamples] = 1;
  return words;
}

}  // namespace vg::backend::nvidia
