#include "unit/ptx/opcode_matrix.h"

namespace vg::ptx::matrix {

std::vector<Case> allCases() {
  Builder m;
  integers(m);
  comparisons(m);
  floats(m);
  conversions(m);
  memory(m);
  warps(m);
  products(m);
  videoForms(m);
  conversionForms(m);
  vectorAtomics(m);
  barrierObjects(m);
  asyncCopies(m);
  asyncStores(m);
  asyncReductions(m);
  tensorCopies(m);
  memoryForms(m);
  atomicForms(m);
  otherForms(m);
  moreForms(m);
  spaces(m);
  controlFlow(m);
  floatForms(m);
  chains(m);
  sparse(m);
  return std::move(m.cases);
}

std::vector<Case> objectCases() {
  Builder m;
  textures(m);
  return std::move(m.cases);
}

std::vector<Case> everyCase() {
  std::vector<Case> cases = allCases();
  for (Case& c : objectCases()) cases.push_back(std::move(c));
  return cases;
}

}  // namespace vg::ptx::matrix
