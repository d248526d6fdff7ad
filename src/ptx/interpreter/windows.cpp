#include "ptx/interpreter/windows.h"

namespace vg::ptx::interpreter {
namespace {

// The address with these low bits that is next to `base`.
uint64_t beside(uint64_t base, uint64_t low) {
  return base + static_cast<uint64_t>(int64_t{static_cast<int32_t>(static_cast<uint32_t>(low - base))});
}

// Where the memory of a space begins that holds the address, or else anywhere in that space; 0 when there is none.
class Window {
 public:
  explicit Window(uint64_t low) : low_(low) {}
  void add(uint64_t begin, uint64_t bytes) {
    const bool holds = beside(begin, low_) - begin < bytes;
    if (!found_ || holds) found_ = begin;
  }
  uint64_t address() const { return found_ ? beside(found_, low_) : low_; }

 private:
  const uint64_t low_;
  uint64_t found_ = 0;
};

}  // namespace

uint64_t wholeAddress(const Warp& w, uint32_t lane, Space space, uint64_t at) {
  if (at >> 32) return at;
  Window window(at);
  if (space == Space::Local) {
    const Warp::Lane& l = w.lanes[lane];
    for (size_t k = 0; k < l.chunks.size(); ++k)
      window.add(reinterpret_cast<uint64_t>(l.chunks[k].get()), l.chunkSizes[k]);
  } else if (space == Space::Const) {
    for (size_t k = 0; k < w.program->uses.globals.size(); ++k) {
      const Variable& v = w.program->module->variables[w.program->uses.globals[k]];
      if (v.space == Space::Const) window.add(w.block->launch->globals[k], v.size);
    }
  } else if (space == Space::Param) {
    window.add(reinterpret_cast<uint64_t>(w.block->launch->parameters), 1);
  }
  return window.address();
}

}  // namespace vg::ptx::interpreter
