// The record of a run: what was tested and how each test ended, as tab-separated text that the repository keeps.
//
//   # device  NAME          # driver  VERSION          # cuda  13000
//   test  rules  result  differs  detail               (one row a test; lists with "; " between their parts)
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "runner.h"

namespace suite {

// The library that a record is about.
struct Subject {
  std::string device;  // name of device 0
  std::string driver;  // 580.159.04, from the library's file name; "verdigris" or "unknown" where that says nothing
  int cuda = 0;        // cuDriverGetVersion
};

// Asks the library in a process of its own. False with a message when it cannot be opened or has no device.
bool describe(const std::string& library, Subject* subject, std::string* error);

void writeRecord(std::ostream& out, const Subject& subject, const std::vector<Outcome>& outcomes);

// One line on standard error; true when nothing failed or crashed.
bool summarise(const Subject& subject, const std::vector<Outcome>& outcomes);

}  // namespace suite
