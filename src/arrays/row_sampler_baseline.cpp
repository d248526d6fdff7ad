#include "arrays/row_sampler-inl.h"

namespace vg::arrays {

extern const RowSampler kBaselineRowSampler = {"baseline", [] { return true; }, sample, fetch};

}  // namespace vg::arrays
