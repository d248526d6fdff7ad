// Shapes and arguments of launches, for streams and for nodes of graphs.
#pragma once

#include "modules.h"

namespace calls {

struct Shape {
  unsigned grid[3], block[3], shared;
};
Shape anyShape();
std::string text(const Shape& shape);

// What a kernel of modules.cpp takes. Kernels that store get memory to store to.
class KernelArguments {
 public:
  explicit KernelArguments(const std::string& kernel);
  bool possible() const { return possible_; }  // there is that memory
  bool stores() const { return stores_; }
  void** list() { return list_; }
  void** packed(size_t* bytes);  // those of "store" as one buffer

 private:
  bool stores_, possible_ = true;
  CUdeviceptr target_ = 0;
  unsigned value_ = 77;
  char big_[200] = {};
  unsigned char small_ = 0;
  double real_ = 0;
  void* list_[3] = {};
  char buffer_[16];
  void* extra_[5];
};

}  // namespace calls
