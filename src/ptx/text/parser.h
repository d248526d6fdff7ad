// PTX text -> ptx::Module. Accepts ISA 5.0 to 9.x, both of nvcc's register styles, unknown directives and attributes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ptx/text/ast.h"
#include "ptx/text/parse_options.h"

namespace vg::ptx {

// Parses all of `text` (with or without a terminating NUL). On failure the code is CUDA_ERROR_INVALID_PTX or
// CUDA_ERROR_UNSUPPORTED_PTX_VERSION and `log`, when not null, receives lines of the form "line 12: what is wrong", as
// the JIT log of cuModuleLoadDataEx shows. An instruction with an unknown opcode parses to Op::Invalid with its line
// and text in the log, and only launching a kernel that contains it fails. Never crashes on hostile input; bounded
// recursion and memory.
Result<Module> parse(std::string_view text, std::string* log = nullptr, const ParseOptions& options = {});

// Links relocatable modules (nvcc -rdc=true) into one: externs bound to definitions, weak and common merged, equal
// names of internal symbols kept apart. Failure: CUDA_ERROR_INVALID_PTX for duplicate or unresolved symbols, in `log`.
Result<Module> link(std::vector<Module> modules, std::string* log = nullptr);
// Functions that something refers to, and nothing here or at run time provides.
std::vector<std::string_view> openFunctions(const Module& module);

}  // namespace vg::ptx
