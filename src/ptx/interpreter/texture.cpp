// Texture and surface instructions: the operands of all lanes go to the runner in one call.
#include "ptx/facts/texture_form.h"
#include "ptx/interpreter/interpreter_impl.h"

namespace vg::ptx::interpreter {
namespace {

void access(Warp& w, const Step& s, uint32_t mask) {
  uint64_t lanes[kTextureSlots][kWarpSize];
  const TextureShape& shape = *s.texture;
  eachLane(mask, [&](uint32_t lane) {
    for (size_t k = 0; k < shape.slots.size(); ++k) lanes[shape.slots[k]][lane] = w.read(lane, s.vectorSources[k]);
  });
  w.calls().texture(w.block, w.index, mask, wordOf(shape.form), s.i->line, lanes[0]);
  eachLane(mask, [&](uint32_t lane) {
    for (size_t k = 0; k < shape.results.size(); ++k) w.write(lane, s.vectorTargets[k], lanes[shape.results[k]][lane]);
  });
}

}  // namespace

void selectTexture(const Instruction& i, const Function& f, Step& s) {
  if (const auto shape = describeTexture(i, f)) {
    s.texture = std::make_shared<const TextureShape>(*shape);
    s.execute = access;
  }
}

}  // namespace vg::ptx::interpreter
