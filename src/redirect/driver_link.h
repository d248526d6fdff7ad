// What goes into a link, and how the driver makes one PTX text of several.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vg::redirect {

// nvJitLink's numbers.
enum class InputType : uint32_t {
  Cubin = 1,
  Ptx = 2,
  IntermediateCode = 3,
  FatBinary = 4,
  Object = 5,
  Library = 6,
  Any = 10
};

struct Input {
  InputType type;
  std::string content;
  std::string name;
};

bool isText(const Input& input);

// The PTX of these inputs as one text, by cuLink of the driver where something is in a container; empty when that
// cannot be had (no PTX in them, no driver, no current context). Native libraries are left out: what needs them fails
// when it is loaded.
std::string textOf(const std::vector<Input>& inputs);

}  // namespace vg::redirect
