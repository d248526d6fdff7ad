// The child's side of the suite: runs the tests that it is given and writes what happens, one line an event, to a pipe.
//
//   start TEST | rule ID | differs ID TEXT | failure TEXT | end TEST pass|fail|skip MILLISECONDS TEXT
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace suite {

// Words are separated by tabs; tabs and newlines inside a word become spaces. Nothing without an open pipe.
void writeEvent(std::string_view kind, std::string_view first = {}, std::string_view second = {},
                std::string_view third = {}, std::string_view fourth = {});

// Runs `tests` (Suite.Name each) in this process with events to `eventPipe`; 0, or 1 when one failed.
int runTests(const std::vector<std::string>& tests, int eventPipe);

}  // namespace suite
