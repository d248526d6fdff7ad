// `verdigris explain`: from the name of a rule, an entry point, an error, a setting, or a function or file of the
// source to everything that the project knows of it.
#pragma once

#include <string>
#include <vector>

namespace vg::tools {

struct ExplainOptions {
  std::vector<std::string> names;
  bool list = false;  // print all names that there are
};

// 0; 2: there is no such name, and the nearest ones are printed; or none was given.
int explain(const ExplainOptions& options);

}  // namespace vg::tools
