// What the system says of the mappings of this process.
#pragma once

#include <cstddef>
#include <optional>

namespace vg::host_register {

// What holds for every byte of a range.
struct Mapped {
  bool everywhere;  // there is no hole
  bool accessible;  // processors that let a program write let it read too
  bool writable;
  bool lasting;  // no part is a shared mapping of a file that the system writes back to a disk: what a device stores
                 // there while the pages are clean would be lost
};

// Reads /proc/self/maps: tens of microseconds, more in a process of many mappings. Nothing when it cannot be read.
std::optional<Mapped> mappedAs(const void* start, size_t bytes);

}  // namespace vg::host_register
