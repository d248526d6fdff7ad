#include "cubin/cubin.h"

#include <algorithm>

namespace vg::cubin {
namespace {

template <class T>
const T* named(const std::vector<T>& all, std::string_view name) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const T& one) { return one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

const Kernel* Cubin::kernel(std::string_view name) const { return named(kernels, name); }
const Function* Cubin::function(std::string_view name) const { return named(functions, name); }
const Variable* Cubin::variable(std::string_view name) const { return named(variables, name); }

std::string_view Cubin::contents(uint32_t section) const {
  if (sections[section].kind == Kind::Zeroes) return {};
  return std::string_view(bytes).substr(fileOffsets[section], sections[section].size);
}

Layout layOut(const Cubin& cubin, Kind kind) {
  Layout layout;
  layout.offsets.assign(cubin.sections.size(), 0);
  for (size_t i = 0; i < cubin.sections.size(); ++i) {
    const Section& section = cubin.sections[i];
    if (section.kind != kind) continue;
    layout.offsets[i] = (layout.bytes + section.alignment - 1) & ~(section.alignment - 1);
    layout.bytes = layout.offsets[i] + section.size;
    layout.alignment = std::max(layout.alignment, section.alignment);
  }
  return layout;
}

}  // namespace vg::cubin
