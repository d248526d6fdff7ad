// What lanes find out about each other: votes, matches, who leads, the n-th lane of a mask.
#include "ptx/llvm/opcodes/lanes.h"

#include "ptx/llvm/ir/ptx_facts.h"

namespace vg::ptx::gen {

namespace Intrinsic = llvm::Intrinsic;

Mask Lanes::votesIn(const Instruction& i) {
  if (!isJoint(*i.ast)) return predicates_.maskOf(i.sources[0], i.negated[0]);
  Mask yes;
  yes.full = false;
  yes.chunks = held_.brought(i, 1);
  return yes;
}

void Lanes::emitVote(const Instruction& i) {
  const ptx::Instruction& ast = *i.ast;
  Value* const active = masks_.maskBits(held_.takingPart(i));
  Value* const bits = b_.CreateAnd(masks_.maskBits(votesIn(i)), active);
  const ValueId membersId = i.sources.size() > 1 ? i.sources[1] : kNone;
  const bool uniform = membersId == kNone || program_.values[membersId].shape.uniform();
  const auto answer = [&](Value* members) -> Value* {
    // Works on one word, or on vectors of words when the member masks differ.
    Value* const in = b_.CreateAnd(b_.splatLike(members, bits), members);
    Value* const who = b_.CreateAnd(b_.splatLike(members, active), members);
    if (ast.has(Mod::Ballot)) return in;
    if (ast.has(Mod::Any)) return b_.CreateICmpNE(in, llvm::Constant::getNullValue(in->getType()));
    Value* const all = b_.CreateICmpEQ(in, who);
    if (ast.has(Mod::All)) return all;
    return b_.CreateOr(all, b_.CreateICmpEQ(in, llvm::Constant::getNullValue(in->getType())));
  };
  if (uniform) {
    Value* const members = membersId == kNone ? b_.getInt32(~0u) : b_.asInteger(values_.scalarOf(membersId), 32);
    return values_.finish(i, 0, uniformForm(answer(members)));
  }
  Form form = varyingForm();
  for (uint32_t c = 0; c < k_; ++c) form.chunks.push_back(answer(b_.asInteger(values_.chunkOf(membersId, c), 32)));
  values_.finish(i, 0, std::move(form));
}

// Answers that all lanes of a group share. `answer` has them for one member mask; it is asked once, or for every lane
// where masks differ.
void Lanes::emitForMembers(const Instruction& i, const std::function<std::vector<Value*>(Value* members)>& answer) {
  const ValueId membersId = i.sources[1];
  LType* const word = b_.getInt32Ty();
  const auto wanted = [&](size_t k) { return k < i.results.size() && i.results[k] != kNone; };
  if (program_.values[membersId].shape.uniform()) {
    const std::vector<Value*> answers = answer(b_.asInteger(values_.scalarOf(membersId), 32));
    for (size_t k = 0; k < answers.size(); ++k)
      if (wanted(k)) values_.finish(i, k, uniformForm(answers[k]));
    return;
  }
  const Mask present = predicates_.guardedMask(i);
  auto* const groups = b_.spill(0, values_.integersOf(membersId, 32));
  llvm::AllocaInst* const out[] = {b_.scratch(1), b_.scratch(2)};
  std::vector<Value*> answers;
  masks_.forEachLane(present, [&](Value* lane) {
    answers = answer(b_.CreateLoad(word, b_.laneAddress(groups, lane, word)));
    for (size_t k = 0; k < answers.size(); ++k)
      b_.CreateStore(b_.CreateZExt(answers[k], word), b_.laneAddress(out[k], lane, word));
  });
  for (size_t k = 0; k < answers.size(); ++k) {
    if (!wanted(k)) continue;
    Form form = varyingForm(b_.reload(out[k], word));
    if (answers[k]->getType()->isIntegerTy(1))
      for (Value*& chunk : form.chunks) chunk = b_.CreateICmpNE(chunk, b_.number(chunk, word, 0));
    values_.finish(i, k, std::move(form));
  }
}

void Lanes::emitMatch(const Instruction& i) {
  const ptx::Instruction& ast = *i.ast;
  const uint32_t bits = ptx::bitsOf(ast.type());
  const Mask present = predicates_.guardedMask(i);
  Value* const active = masks_.maskBits(held_.takingPart(i));
  const Chunks data = held_.brought(i, bits), members = values_.integersOf(i.sources[1], 32);
  if (ast.has(Mod::All)) {
    emitForMembers(i, [&](Value* group) -> std::vector<Value*> {
      Value* const who = b_.CreateAnd(active, group);
      Value* const value = b_.extractLane(data, masks_.firstLane(who));
      Mask equal;
      equal.full = false;
      for (uint32_t c = 0; c < k_; ++c)
        equal.chunks.push_back(b_.CreateICmpEQ(data[c], b_.CreateVectorSplat(w_, value)));
      Value* const same = b_.CreateICmpEQ(b_.CreateAnd(masks_.maskBits(equal), who), who);
      return {b_.CreateSelect(same, who, b_.getInt32(0)), same};
    });
    return;
  }
  // Every lane compares its value with all others.
  auto* const values = b_.spill(0, data);
  auto* const groups = b_.spill(1, members);
  auto* const out = b_.scratch(2);
  LType* const element = b_.integerType(bits);
  LType* const word = b_.getInt32Ty();
  masks_.forEachLane(present, [&](Value* lane) {
    Value* const mine = b_.CreateLoad(element, b_.laneAddress(values, lane, element));
    Value* const group = b_.CreateLoad(word, b_.laneAddress(groups, lane, word));
    Mask equal;
    equal.full = false;
    for (uint32_t c = 0; c < k_; ++c) equal.chunks.push_back(b_.CreateICmpEQ(data[c], b_.CreateVectorSplat(w_, mine)));
    Value* const who = b_.CreateAnd(b_.CreateAnd(masks_.maskBits(equal), group), active);
    b_.CreateStore(who, b_.laneAddress(out, lane, word));
  });
  values_.finish(i, 0, varyingForm(b_.reload(out, word)));
}

void Lanes::emitElect(const Instruction& i) {
  LType* const word = b_.getInt32Ty();
  Value* const active = masks_.maskBits(held_.takingPart(i));
  Form lane = varyingForm(), elected = varyingForm();
  for (uint32_t c = 0; c < k_; ++c) {
    Value* const members = b_.asInteger(values_.chunkOf(i.sources[0], c), 32);
    Value* const who = b_.CreateAnd(members, b_.CreateVectorSplat(w_, active));
    lane.chunks.push_back(b_.callIntrinsic(Intrinsic::cttz, {b_.vectorOf(word)}, {who, b_.getFalse()}));
    elected.chunks.push_back(b_.CreateICmpEQ(b_.iota(c, word, 1), lane.chunks.back()));
  }
  if (i.results[0] != kNone) values_.finish(i, 0, std::move(lane));
  if (i.results.size() > 1 && i.results[1] != kNone) values_.finish(i, 1, std::move(elected));
}

// fns: the n-th set bit of a mask from a base position, by lanes.
void Lanes::emitFns(const Instruction& i) {
  LType* const word = b_.getInt32Ty();
  Form form = varyingForm();
  for (uint32_t c = 0; c < k_; ++c) {
    Value* const mask = b_.asInteger(values_.chunkOf(i.sources[0], c), 32);
    Value* const base = b_.asInteger(values_.chunkOf(i.sources[1], c), 32);
    Value* const offset = b_.asInteger(values_.chunkOf(i.sources[2], c), 32);
    const auto n32 = [&](uint64_t v) { return b_.number(mask, word, v); };
    Value* out = n32(0xffffffffu);
    Value* const forward = b_.CreateICmpSGE(offset, n32(0));
    Value* const wanted = b_.CreateSelect(forward, offset, b_.CreateNeg(offset));
    Value* const isZero = b_.CreateICmpEQ(offset, n32(0));
    const auto bitAt = [&](uint32_t n) { return b_.CreateICmpNE(b_.CreateAnd(mask, n32(uint64_t{1} << n)), n32(0)); };
    // Offset 0: the base itself when its bit is set. Otherwise count bits from the base upwards or downwards.
    for (const bool upwards : {true, false}) {
      Value* count = n32(0);
      Value* found = n32(0xffffffffu);
      for (uint32_t step = 0; step < 32; ++step) {
        const uint32_t n = upwards ? step : 31 - step;
        Value* const beyond = upwards ? b_.CreateICmpULE(base, n32(n)) : b_.CreateICmpUGE(base, n32(n));
        Value* const hit = b_.CreateAnd(beyond, bitAt(n));
        count = b_.CreateAdd(count, b_.CreateZExt(hit, mask->getType()));
        Value* const here = b_.CreateAnd(hit, b_.CreateICmpEQ(count, wanted));
        found = b_.CreateSelect(here, n32(n), found);
      }
      out = b_.CreateSelect(upwards ? forward : b_.CreateNot(forward), found, out);
    }
    Value* const safe = b_.CreateAnd(base, n32(31));
    Value* const baseBit = b_.CreateICmpNE(b_.CreateAnd(b_.CreateLShr(mask, safe), n32(1)), n32(0));
    out = b_.CreateSelect(b_.CreateICmpULT(base, n32(32)), out, n32(0xffffffffu));
    // The one offset that has no opposite finds lane 0, as recorded from an H100.
    out = b_.CreateSelect(b_.CreateICmpEQ(offset, n32(0x80000000u)), n32(0), out);
    Value* const atBase =
        b_.CreateSelect(b_.CreateAnd(baseBit, b_.CreateICmpULT(base, n32(32))), base, n32(0xffffffffu));
    form.chunks.push_back(b_.CreateSelect(isZero, atBase, out));
  }
  values_.finish(i, 0, std::move(form));
}

void Lanes::emitActiveMask(const Instruction& i) { values_.finish(i, 0, uniformForm(masks_.maskBits(masks_.here))); }

}  // namespace vg::ptx::gen
