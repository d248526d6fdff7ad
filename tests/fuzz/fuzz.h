// A fuzz target is a file <name>_fuzz.cpp that defines these three. fuzz_main.cpp runs it with deterministic mutations
// of the seeds (ctest does so for a few seconds); with -DVERDIGRIS_LIBFUZZER=ON and clang it becomes a libFuzzer
// program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace vg::fuzz {

std::vector<std::string> seeds();
std::vector<std::string> dictionary();  // pieces worth inserting
}  // namespace vg::fuzz

// Must return 0 and never crash, hang or leak, whatever the bytes are.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
