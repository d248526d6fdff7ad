// The names of what is kept by name.
#pragma once

#include <string>
#include <vector>

namespace vg::backend {

template <class Map>
std::vector<std::string> namesOf(const Map& byName) {
  std::vector<std::string> names;
  names.reserve(byName.size());
  for (const auto& entry : byName) names.push_back(entry.first);
  return names;
}

}  // namespace vg::backend
