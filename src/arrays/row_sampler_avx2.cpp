#include "arrays/row_sampler-inl.h"

namespace vg::arrays {

extern const RowSampler kAvx2RowSampler = {"avx2", [] { return __builtin_cpu_supports("avx2") != 0; }, sample, fetch};

}  // namespace vg::arrays
