// The manual page and the completions of shells, made from the same description of the command that parses its
// arguments.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace vg::tools {

// Prints it on standard output: man, bash, zsh or fish. False when there is no such kind.
bool describe(const CLI::App& app, const std::string& kind);

}  // namespace vg::tools
