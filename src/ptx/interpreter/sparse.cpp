// spdecompress: vectors of registers, or single ones, of each lane by itself.
#include "ptx/facts/sparse_form.h"
#include "ptx/interpreter/interpreter_impl.h"
#include "ptx/text/op.h"

namespace vg::ptx::interpreter {
namespace {

// A field of the words that begins at a bit, and is in one of them.
uint32_t fieldOf(const uint32_t* words, uint32_t bit, uint32_t bits) {
  return words[bit / 32] >> bit % 32 & static_cast<uint32_t>(maskOf(bits));
}

void decompress(const SparseForm& form, const uint32_t* indexes, const uint32_t* elements, uint32_t* out) {
  for (uint32_t n = 0; n < form.kept * form.groups; ++n) {
    const uint32_t place = fieldOf(indexes, n * form.indexBits, form.indexBits);
    if (place >= form.whole) continue;
    const uint32_t bit = (n / form.kept * form.whole + place) * form.elementBits;
    uint32_t& word = out[bit / 32];
    word &= ~(static_cast<uint32_t>(maskOf(form.elementBits)) << bit % 32);
    word |= fieldOf(elements, n * form.elementBits, form.elementBits) << bit % 32;
  }
}

void perform(Warp& w, const Step& s, uint32_t mask) {
  const SparseForm& form = *s.sparse;
  const uint32_t indexWords = form.indexWords();
  eachLane(mask, [&](uint32_t lane) {
    std::vector<uint32_t> sources(s.vectorSources.size()), out(form.wholeWords());
    for (size_t k = 0; k < sources.size(); ++k) sources[k] = static_cast<uint32_t>(w.read(lane, s.vectorSources[k]));
    decompress(form, sources.data(), sources.data() + indexWords, out.data());
    for (size_t k = 0; k < out.size(); ++k) w.write(lane, s.vectorTargets[k], out[k]);
  });
}

}  // namespace

void selectSparse(const Instruction& i, const Function& f, Step& s) {
  s.sparse = describeSparse(i, f);
  if (s.sparse) s.execute = perform;
}

}  // namespace vg::ptx::interpreter
