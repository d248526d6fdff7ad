// Source lines of the host's code, from the line tables of debugging information (DWARF 2 to 5) in programs and
// libraries.
#pragma once

#include <cstdint>
#include <string>

namespace vg::check {

// "main.cpp:12" for the code at an address of an ELF file, as its symbols count addresses; "" where that is not known:
// there is no such table, it is compressed, or the file cannot be read. Thread-safe; looks through the whole table.
std::string hostLine(const std::string& file, uint64_t address);

}  // namespace vg::check
