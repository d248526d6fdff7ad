// Names of C++ functions as their sources have them.
#pragma once

#include <string>
#include <string_view>

namespace vg {

// "_Z4spinPi" -> "spin(int*)"; what is no such name stays as it is.
std::string plainName(const std::string& name);
// The same of every name in a text. Names longer than `longest` lose their middle: those of templates may be pages
// long, and what is said of them would be lost behind them.
std::string plainNames(std::string_view text, size_t longest);

}  // namespace vg
