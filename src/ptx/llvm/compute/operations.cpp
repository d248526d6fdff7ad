#include "ptx/llvm/compute/operations.h"
#include "ptx/text/op.h"

namespace vg::ptx::gen {

// Negated predicate operands (`!p`) are turned around before anything looks at them.
void Operations::compute(const Instruction& i, llvm::ArrayRef<Value*> sourcesIn,
                         llvm::SmallVectorImpl<Value*>& results) {
  llvm::SmallVector<Value*, 8> s(sourcesIn.begin(), sourcesIn.end());
  for (size_t n = 0; n < i.negated.size(); ++n)
    if (i.negated[n] && s[n] && i.ast->op != Op::Vmad) s[n] = b_.CreateNot(b_.asType(s[n], Type::Pred));
  if (i.ast->op == Op::Cvt) return conversions_.computeConvert(i, s, results);
  if (comparisons_.computePredicate(i, s, results) || moves_.computeMove(i, s, results) ||
      moves_.computeCluster(i, s, results) || floats_.computeFloat(i, s, results) ||
      video_.computeVideo(i, s, results) || integers_.computeInteger(i, s, results) ||
      sparse_.computeSparse(i, s, results))
    return;
  unsupported(i);
}

}  // namespace vg::ptx::gen
