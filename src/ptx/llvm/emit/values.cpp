// Values in LLVM form: the shapes they come in, the slots that carry them between copies of blocks.
#include <llvm/IR/MDBuilder.h>

#include "ptx/llvm/emit/emitter.h"
#include "ptx/llvm/ir/ptx_facts.h"

namespace vg::ptx::gen {

using PtxValue = vg::ptx::gen::Value;

void Emitter::unsupported(const Instruction& i, const char* why) {
  std::string text = nameOf(i.ast->op);
  for (uint32_t n = 0; n < i.ast->typeCount; ++n) text += std::string(".") + nameOf(i.ast->types[n]);
  if (why) text += std::string(": ") + why;
  throw Unsupported{text, i.ast->line};
}

// --- Forms ---------------------------------------------------------------------------------------------------------

void Emitter::markFragileSources() {
  for (size_t n = program_.instructions.size(); n-- > 0;) {
    const Instruction& i = program_.instructions[n];
    bool needed = false;
    for (ValueId r : i.results)
      if (r != kNone) needed |= program_.values[r].shape.fragile && program_.values[r].usedElsewhere;
    if (!needed) continue;
    for (ValueId s : i.sources)
      if (s != kNone) program_.values[s].usedElsewhere = true;
  }
}

Form Emitter::formOf(ValueId id) {
  const PtxValue& v = program_.values[id];
  Form form;
  form.shape = v.shape;
  switch (v.kind) {
    case PtxValue::Constant:
      form.scalar = constantValue(v);
      return form;
    case PtxValue::Undefined:
      form.shape = {Shape::Uniform, 0, false};
      form.scalar = llvm::Constant::getNullValue(elementType(v.type));
      return form;
    case PtxValue::Special:
      return specialForm(v);
    case PtxValue::Symbol:
      return symbolForm(v);
    default:
      break;
  }
  if (auto found = local_.find(id); found != local_.end()) return found->second;
  if (direct_[id]) return *direct_[id];
  if (slots_[id].empty()) slots_[id] = makeSlot(v, "value");
  llvm::IRBuilderBase::InsertPointGuard guard(b_);
  b_.SetInsertPoint(loadPoint_);
  return local_[id] = loadSlot(slots_[id], v);
}

bool Emitter::readable(ValueId id) const {
  const PtxValue& v = program_.values[id];
  return (v.kind != PtxValue::Result && v.kind != PtxValue::Phi) || v.usedElsewhere || local_.count(id);
}

void Emitter::define(ValueId id, Form form) {
  const PtxValue& v = program_.values[id];
  if (!v.usedElsewhere) {
    local_[id] = std::move(form);
    return;
  }
  uint32_t copies = 0;
  bool masked = false;
  for (Version version : {Full, Part})
    for (bool m : {false, true})
      if (planned_.count({version, m, v.block})) {
        ++copies;
        masked |= m;
      }
  if (copies == 1 && !masked) {
    direct_[id] = form;
  } else {
    if (slots_[id].empty()) slots_[id] = makeSlot(v, "value");
    storeSlot(slots_[id], v, program_.blocks[v.block].takesTurns ? blended(slots_[id], v, form) : form);
  }
  local_[id] = std::move(form);
}

// Where lanes take turns, those that are not here keep what they have.
Form Emitter::blended(const Slot& slot, const PtxValue& v, Form form) {
  if (!v.shape.varying() || mask_.full) return form;
  const Form old = loadSlot(slot, v);
  for (uint32_t c = 0; c < k_; ++c) {
    Value* const before = old.chunks[c];
    LType* const element = before->getType()->getScalarType();
    Value* now = form.chunks[c];
    if (now->getType()->getScalarType() != element)
      now = element->isFloatingPointTy() ? asFloat(now, element) : asInteger(now, element->getScalarSizeInBits());
    form.chunks[c] = b_.CreateSelect(mask_.chunks[c], now, before);
  }
  return form;
}

Emitter::Slot Emitter::makeSlot(const PtxValue& v, const char* name) {
  Slot slot;
  if (!v.shape.varying()) {
    if (!v.shape.rows()) slot.scalar = entryAlloca(elementType(v.type), name);
    for (uint32_t r = 0; v.shape.rows() && r < rowsIn(v.shape); ++r)
      slot.rows.push_back(entryAlloca(elementType(v.type), name));
    if (v.shape.fragile) slot.holds = entryAlloca(b_.getInt1Ty(), name);
    return slot;
  }
  LType* const type = v.type == Class::Pred ? maskSlotType() : vectorOf(elementType(v.type));
  for (uint32_t c = 0; c < k_; ++c) slot.chunks.push_back(entryAlloca(type, name));
  return slot;
}

Form Emitter::loadSlot(const Slot& slot, const PtxValue& v) {
  Form form;
  form.shape = v.shape;
  if (slot.chunks.empty()) {
    if (slot.scalar) form.scalar = b_.CreateLoad(slot.scalar->getAllocatedType(), slot.scalar);
    for (auto* a : slot.rows) form.rows.push_back(b_.CreateLoad(a->getAllocatedType(), a));
    if (slot.holds) form.holds = b_.CreateLoad(b_.getInt1Ty(), slot.holds);
    return form;
  }
  for (auto* a : slot.chunks) {
    Value* chunk = b_.CreateLoad(a->getAllocatedType(), a);
    if (v.type == Class::Pred && !options_.avx512)
      chunk = b_.CreateICmpSLT(chunk, llvm::Constant::getNullValue(chunk->getType()));
    form.chunks.push_back(chunk);
  }
  return form;
}

void Emitter::storeSlot(const Slot& slot, const PtxValue& v, const Form& form) {
  if (slot.chunks.empty()) {
    const auto store = [&](Value* scalar, llvm::AllocaInst* to) {
      LType* const type = to->getAllocatedType();
      if (scalar->getType() != type)
        scalar = type->isFloatingPointTy() ? asFloat(scalar, type) : asInteger(scalar, type->getScalarSizeInBits());
      b_.CreateStore(scalar, to);
    };
    if (slot.scalar) store(form.scalar, slot.scalar);
    for (size_t r = 0; r < slot.rows.size(); ++r) store(form.rows[r], slot.rows[r]);
    if (slot.holds) b_.CreateStore(form.holds ? form.holds : b_.getTrue(), slot.holds);
    return;
  }
  for (uint32_t c = 0; c < k_; ++c) {
    Value* chunk = form.chunks[c];
    LType* const element = slot.chunks[c]->getAllocatedType()->getScalarType();
    if (v.type == Class::Pred) {
      if (!options_.avx512) chunk = b_.CreateSExt(chunk, slot.chunks[c]->getAllocatedType());
    } else if (chunk->getType()->getScalarType() != element) {
      chunk = element->isFloatingPointTy() ? asFloat(chunk, element) : asInteger(chunk, element->getScalarSizeInBits());
    }
    b_.CreateStore(chunk, slot.chunks[c]);
  }
}

llvm::Value* Emitter::scalarOf(ValueId id) { return formOf(id).scalar; }
llvm::Value* Emitter::laneZero(ValueId id) { return formOf(id).scalar; }

// The first lane of a row, in the value's own arithmetic.
llvm::Value* Emitter::rowOfForm(const Form& form, uint32_t row) {
  if (!form.rows.empty()) return form.rows[form.rows.size() > 1 ? row : 0];
  const uint32_t lane = row * rowLanes_;
  if (!form.chunks.empty()) return b_.CreateExtractElement(form.chunks[lane / w_], lane % w_);
  if (!form.shape.affine()) return form.scalar;
  LType* const type = form.scalar->getType();
  return b_.CreateAdd(form.scalar, number(form.scalar, type, static_cast<uint64_t>(form.shape.stride) * lane));
}

llvm::Value* Emitter::rowOf(ValueId id, uint32_t row) { return rowOfForm(formOf(id), row); }

// In each lane of a chunk what its row has.
llvm::Value* Emitter::firstsOfRows(const Chunks& rows, uint32_t c) {
  const uint32_t first = c * w_ / rowLanes_;
  if (rows.size() == 1) return b_.CreateVectorSplat(w_, rows[0]);
  if (rowLanes_ >= w_) return b_.CreateVectorSplat(w_, rows[first]);
  Value* firsts = llvm::PoisonValue::get(vectorOf(rows[first]->getType()));
  for (uint32_t r = 0; r < w_ / rowLanes_; ++r) firsts = b_.CreateInsertElement(firsts, rows[first + r], r);
  llvm::SmallVector<int, 16> order;
  for (uint32_t l = 0; l < w_; ++l) order.push_back(static_cast<int>(l / rowLanes_));
  return b_.CreateShuffleVector(firsts, order);
}

llvm::Value* Emitter::chunkOfForm(const Form& form, uint32_t c) {
  if (!form.chunks.empty()) return form.chunks[c];
  if (!form.rows.empty()) {
    Value* const firsts = firstsOfRows(form.rows, c);
    if (!form.shape.stride) return firsts;
    return b_.CreateAdd(firsts, iota(c, form.rows[0]->getType(), form.shape.stride, rowLanes_));
  }
  Value* const splat = b_.CreateVectorSplat(w_, form.scalar);
  if (!form.shape.affine()) return splat;
  return b_.CreateAdd(splat, iota(c, form.scalar->getType(), form.shape.stride));
}

// What the instruction behind a value makes of its sources as `read` gives them.
llvm::Value* Emitter::madeAgain(ValueId id, llvm::function_ref<Value*(ValueId)> read) {
  const PtxValue& v = program_.values[id];
  const Instruction& i = program_.instructions[v.instruction];
  llvm::SmallVector<Value*, 4> sources;
  for (ValueId s : i.sources) sources.push_back(s == kNone ? nullptr : read(s));
  llvm::SmallVector<Value*, 2> results;
  compute(i, sources, results);
  return results[v.resultIndex];
}

llvm::Value* Emitter::chunkOf(ValueId id, uint32_t c) {
  const Form form = formOf(id);
  if (!form.chunks.empty()) return form.chunks[c];
  if (auto found = vectors_.find({id, c}); found != vectors_.end()) return found->second;
  Value* vector = nullptr;
  if (form.shape.fragile) {
    // The affine form may be wrong in some lanes: compute what made it once more, lane by lane.
    vector = madeAgain(id, [&](ValueId s) { return chunkOf(s, c); });
  } else {
    vector = chunkOfForm(form, c);
  }
  if (caching_) vectors_[{id, c}] = vector;
  return vector;
}

// What one lane holds of a value that is no vector, in the lane's own arithmetic.
llvm::Value* Emitter::laneOf(ValueId id, Value* lane) {
  const Form form = formOf(id);
  if (!form.chunks.empty()) return extractLane(form.chunks, lane);
  if (form.shape.fragile) return madeAgain(id, [&](ValueId s) { return laneOf(s, lane); });
  Value* first = form.scalar;
  if (form.shape.rows()) {
    Value* const row = b_.CreateUDiv(lane, b_.getInt32(rowLanes_));
    first = form.rows[0];
    for (uint32_t r = 1; r < form.rows.size(); ++r)
      first = b_.CreateSelect(b_.CreateICmpEQ(row, b_.getInt32(r)), form.rows[r], first);
    lane = b_.CreateURem(lane, b_.getInt32(rowLanes_));
  }
  if (!form.shape.straight() || !form.shape.stride) return first;
  LType* const type = first->getType();
  Value* const steps = b_.CreateZExtOrTrunc(lane, type);
  return b_.CreateAdd(first, b_.CreateMul(steps, number(first, type, static_cast<uint64_t>(form.shape.stride))));
}

Chunks Emitter::vectorsOf(ValueId id) {
  Chunks chunks;
  for (uint32_t c = 0; c < k_; ++c) chunks.push_back(chunkOf(id, c));
  return chunks;
}

// A value in the shape and type of another one, for stores to its slot.
Form Emitter::toShape(ValueId id, const PtxValue& v) {
  const auto cast = [&](Value* from) {
    LType* const element = elementType(v.type);
    if (from->getType()->getScalarType() == element) return from;
    return element->isFloatingPointTy() ? asFloat(from, element) : asInteger(from, element->getScalarSizeInBits());
  };
  Form out;
  out.shape = v.shape;
  if (!v.shape.varying()) {
    const Form form = formOf(id);
    if (!v.shape.rows()) out.scalar = cast(form.scalar);
    for (uint32_t r = 0; v.shape.rows() && r < rowsIn(v.shape); ++r) out.rows.push_back(cast(rowOfForm(form, r)));
    out.holds = form.holds;
    return out;
  }
  for (uint32_t c = 0; c < k_; ++c) out.chunks.push_back(cast(chunkOf(id, c)));
  return out;
}

}  // namespace vg::ptx::gen
