// The compilers that compile() may use. Each says whether it is there; none is looked for before it is needed.
#pragma once

#include <string>
#include <vector>

#include "cubin/compile_request.h"

namespace vg::cubin {

// What became of a request at one compiler.
enum class Outcome : uint8_t { Made, Refused, NotThere };

Outcome compileWithNvJitLink(const Request& request, std::string& made, const Logs& logs);
Outcome compileWithPrograms(const Request& request, std::string& made, const Logs& logs);

// Folders where toolkits and Python packages keep libraries or programs, likeliest first.
std::vector<std::string> compilerLibraryFolders();
std::vector<std::string> compilerProgramFolders();

}  // namespace vg::cubin
