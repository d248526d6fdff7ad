// The library under test, opened as a program would open it.
#pragma once

#include <cuda.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

class Library {
 public:
  Library() : handle_(dlopen(LIBCUDA, RTLD_NOW)) {
    if (!handle_) ADD_FAILURE() << dlerror();
  }
  void* symbol(const std::string& name) const { return dlsym(handle_, name.c_str()); }
  template <class Function>
  Function* function(const char* name) const {
    Function* found = reinterpret_cast<Function*>(symbol(name));
    if (!found) ADD_FAILURE() << name << " is not exported";
    return found;
  }

 private:
  void* const handle_;
};

// The rows of a tab-separated file of this folder; `headings` rows are dropped.
inline std::vector<std::vector<std::string>> readTable(const std::string& name, size_t headings) {
  std::ifstream file(std::string(ABI_DATA "/") + name);
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(file, line);) {
    if (headings && headings--) continue;
    std::vector<std::string> cells(1);
    for (char c : line) {
      if (c == '\t') {
        cells.emplace_back();
      } else {
        cells.back() += c;
      }
    }
    rows.push_back(cells);
  }
  return rows;
}
