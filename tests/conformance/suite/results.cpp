#include "results.h"

void PrintTo(CUresult result, std::ostream* out) {
  const char* name = nullptr;
  if (cuGetErrorName(result, &name) == CUDA_SUCCESS && name) {
    *out << name;
  } else {
    *out << "CUresult " << static_cast<int>(result);
  }
}
