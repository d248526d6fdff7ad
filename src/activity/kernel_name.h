// Names of kernels as people write them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

namespace vg::activity {

// Remembers what it was asked, a bounded number of names. Of one thread.
class KernelNames {
 public:
  // "_Z3addPfi" is "add"; "_Z5scaleIfEvPT_" is "scale<float>". What is not mangled stays as it is.
  const std::string& shortName(std::string_view mangled);

 private:
  static constexpr size_t kMost = 4096;
  std::unordered_map<std::string, std::string> known_;
  std::string last_, lastShort_;  // asked last: programs launch the same kernel again and again
};

// The name with its parameters; what is not mangled stays as it is.
std::string demangled(const std::string& mangled);

}  // namespace vg::activity
