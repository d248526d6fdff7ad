// What code may come to call, as far as a file says: by the places where addresses are written into it.
#pragma once

#include <functional>
#include <vector>

#include "cubin/cubin.h"

namespace vg::cubin {

using SymbolTest = std::function<bool(const Symbol&)>;

// Which code leads to a wanted symbol.
class Calls {
 public:
  // What is `elsewhere` means other code than the file's, and leads nowhere by itself.
  Calls(const Cubin& cubin, const SymbolTest& wanted, const SymbolTest& elsewhere);

  // Whether the kernel, or something that it names, holds the address of a wanted symbol, or of something that does,
  // and so on.
  bool names(const Kernel& kernel) const;
  // The same, or it may be handed such an address at run time, as a parameter or through memory.
  bool mayReach(const Kernel& kernel) const { return names(kernel) || (kernel.unknownStack && pointersLead_); }

 private:
  std::vector<bool> leads_;    // by section
  bool pointersLead_ = false;  // to a wanted symbol, or to a function that leads there, and is called by nobody there
};

}  // namespace vg::cubin
