#include "arrays/row_sampler-inl.h"

namespace vg::arrays {

extern const RowSampler kAvx512RowSampler = {
    "avx512", [] { return __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512bw") != 0; }, sample,
    fetch};

}  // namespace vg::arrays
