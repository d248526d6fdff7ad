// PTX as the driver sees it: an emulated device of the wanted compute capability loads it, in this process.
#pragma once

#include <cuda.h>

#include <memory>
#include <string>
#include <vector>

namespace vg::tools {

class PtxChecker {
 public:
  // Null when the library cannot be used; `reason` then says why. `capability` as 9.0. Sets variables of the
  // environment, so that call it once.
  static std::unique_ptr<PtxChecker> open(const std::string& library, const std::string& capability,
                                          std::string& reason);

  struct Kernel {
    std::string name;
    int registers = 0, localBytes = 0, sharedBytes = 0, constantBytes = 0;
  };
  struct Answer {
    std::string errors;       // lines as the driver's JIT log has them; empty: it is good
    bool unresolved = false;  // all that is wrong is that functions are elsewhere
    std::vector<Kernel> kernels;
  };
  Answer check(const std::string& text) const;

  // Several texts and libraries as one text; empty when they do not fit together: `errors` then says why.
  struct Part {
    std::string name, bytes;
    bool library = false;
  };
  std::string link(const std::vector<Part>& parts, std::string& errors) const;

 private:
  PtxChecker() = default;
  template <class Function>
  Function* function(const char* name) const;
  std::vector<Kernel> kernelsOf(CUmodule module) const;
  Kernel kernelOf(CUfunction function) const;

  void* library_ = nullptr;
};

}  // namespace vg::tools
