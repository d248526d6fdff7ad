// Which lines of a program's source the lines of a PTX text were made from, as its .loc directives say.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace vg::tools::cover {

struct Place {
  uint32_t ptxLine = 0;  // of the directive
  uint32_t file = 0, line = 0, column = 0;
  uint32_t callerFile = 0, callerLine = 0;  // where the function that it is in was inlined; 0: it was not
  std::string function;                     // that one's name; "" otherwise
};

class Places {
 public:
  explicit Places(std::string_view text);
  // Of an instruction at a line of the text, in a function that begins at another one; null where none is known.
  const Place* at(uint32_t ptxLine, uint32_t functionLine) const;
  // The name that a number stands for, as the compiler was given it.
  const std::string& file(uint32_t number) const;

 private:
  void readLine(std::string_view line, uint32_t number);
  void readLocation(std::string_view line, uint32_t number);
  void readBytes(std::string_view line);

  std::vector<Place> places_;  // by line
  std::vector<std::string> files_;
  std::unordered_map<std::string, std::string> strings_;  // by label
  std::string label_;                                     // of the string that is being read
};

}  // namespace vg::tools::cover
