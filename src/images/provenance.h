// What is said once, at the default log level, of code that no emulated device runs: where it came from, and the way
// out.
#pragma once

#include <string>

namespace vg::images {

// The file that an image in this process's memory belongs to, without its folders; empty where it is in none: a program
// that has unpacked it. `image` is only compared, never read.
std::string fileOf(const void* image);
// What helps those who need the kernels of such a file: which version holds PTX, what makes it, how it is built.
std::string wayOut(const std::string& file);
// The same for native code by itself, in which a library may hold some of its kernels.
std::string wayOutOfNative(const std::string& file);

// True for the first image without PTX of each file, of the first 64 files. Thread-safe.
bool firstOf(const std::string& file);

}  // namespace vg::images
