// Where the bodies of a text's kernels stand, so that a compile of one need not read those of hundreds of others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace vg::ptx {

// Looked for once in a text, which has to live as long. Constant afterwards.
class EntryBodies {
 public:
  explicit EntryBodies(std::string_view text);
  // The text in which no entry but `kept` does anything. Functions, variables, their order and all line numbers stay as
  // they are, so that the module is the same for whoever looks at what `kept` reaches by name.
  std::string withOnly(std::string_view kept) const;

  struct Body {
    std::string_view name;
    size_t begin, end;  // of the braces, in the text
    uint32_t lines;
  };
  const std::vector<Body>& bodies() const { return bodies_; }

 private:
  std::string_view text_;
  std::vector<Body> bodies_;
};

}  // namespace vg::ptx
