// Values in LLVM form: the shapes they come in, the slots that carry them between copies of blocks.
#include "ptx/llvm/emit/values.h"

#include <llvm/IR/MDBuilder.h>

#include "ptx/llvm/ir/ptx_facts.h"

namespace vg::ptx::gen {

using PtxValue = vg::ptx::gen::Value;

void Values::prepare() {
  slots_.resize(program_.values.size());
  direct_.resize(program_.values.size());
  markFragileSources();
  markRead();
}

void Values::beginCopy() {
  local_.clear();
  vectors_.clear();
}

void Values::markFragileSources() {
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

Form Values::formOf(ValueId id) {
  const PtxValue& v = program_.values[id];
  Form form;
  form.shape = v.shape;
  if (auto found = given_.find(id); found != given_.end()) return found->second;
  switch (v.kind) {
    case PtxValue::Constant:
      form.scalar = specials_.constantValue(v);
      return form;
    case PtxValue::Undefined:
      form.shape = {Shape::Uniform, 0, false};
      form.scalar = llvm::Constant::getNullValue(b_.elementType(v.type));
      return form;
    case PtxValue::Special:
      return specials_.specialForm(v);
    case PtxValue::Symbol:
      return specials_.symbolForm(v);
    default:
      break;
  }
  if (auto found = local_.find(id); found != local_.end()) return found->second;
  if (direct_[id]) return *direct_[id];
  if (slots_[id].empty()) slots_[id] = makeSlot(v, "value");
  return local_[id] = loadEarly(slots_[id], v);
}

Form Values::loadEarly(const Slot& slot, const PtxValue& v) {
  llvm::IRBuilderBase::InsertPointGuard guard(b_);
  b_.SetInsertPoint(loadPoint_);
  return loadSlot(slot, v);
}

bool Values::readable(ValueId id) const {
  const PtxValue& v = program_.values[id];
  return (v.kind != PtxValue::Result && v.kind != PtxValue::Phi) || v.usedElsewhere || local_.count(id);
}

void Values::define(ValueId id, Form form) {
  const PtxValue& v = program_.values[id];
  if (!v.usedElsewhere) {
    local_[id] = std::move(form);
    return;
  }
  uint32_t copies = 0;
  bool masked = false;
  for (Version version : {Full, Part})
    for (bool m : {false, true})
      if (plan_.planned().count({version, m, v.block})) {
        ++copies;
        masked |= m;
      }
  if (copies == 1 && !masked && !program_.blocks[v.block].bypassed) {
    direct_[id] = form;
  } else {
    if (slots_[id].empty()) slots_[id] = makeSlot(v, "value");
    storeSlot(slots_[id], v, program_.blocks[v.block].takesTurns ? blended(slots_[id], v, form) : form);
  }
  local_[id] = std::move(form);
}

// Where lanes take turns, those that are not here keep what they have.
Form Values::blended(const Slot& slot, const PtxValue& v, Form form) {
  if (!v.shape.varying() || masks_.here.full) return form;
  const Form old = loadSlot(slot, v);
  for (uint32_t c = 0; c < k_; ++c) {
    Value* const before = old.chunks[c];
    LType* const element = before->getType()->getScalarType();
    Value* now = form.chunks[c];
    if (now->getType()->getScalarType() != element)
      now = element->isFloatingPointTy() ? b_.asFloat(now, element) : b_.asInteger(now, element->getScalarSizeInBits());
    form.chunks[c] = b_.CreateSelect(masks_.here.chunks[c], now, before);
  }
  return form;
}

Slot Values::makeSlot(const PtxValue& v, const char* name) {
  Slot slot;
  if (!v.shape.varying()) {
    if (!v.shape.rows()) slot.scalar = b_.entryAlloca(b_.elementType(v.type), name);
    for (uint32_t r = 0; v.shape.rows() && r < rowsIn(v.shape); ++r)
      slot.rows.push_back(b_.entryAlloca(b_.elementType(v.type), name));
    if (v.shape.fragile) slot.holds = b_.entryAlloca(b_.getInt1Ty(), name);
    return slot;
  }
  LType* const type = v.type == Class::Pred ? masks_.maskSlotType() : b_.vectorOf(b_.elementType(v.type));
  for (uint32_t c = 0; c < k_; ++c) slot.chunks.push_back(b_.entryAlloca(type, name));
  return slot;
}

Form Values::loadSlot(const Slot& slot, const PtxValue& v) {
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

void Values::storeSlot(const Slot& slot, const PtxValue& v, const Form& form) {
  if (slot.chunks.empty()) {
    const auto store = [&](Value* scalar, llvm::AllocaInst* to) {
      LType* const type = to->getAllocatedType();
      if (scalar->getType() != type)
        scalar =
            type->isFloatingPointTy() ? b_.asFloat(scalar, type) : b_.asInteger(scalar, type->getScalarSizeInBits());
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
      chunk = element->isFloatingPointTy() ? b_.asFloat(chunk, element)
                                           : b_.asInteger(chunk, element->getScalarSizeInBits());
    }
    b_.CreateStore(chunk, slot.chunks[c]);
  }
}

llvm::Value* Values::scalarOf(ValueId id) { return formOf(id).scalar; }
llvm::Value* Values::laneZero(ValueId id) { return formOf(id).scalar; }

// The first lane of a row, in the value's own arithmetic.
llvm::Value* Values::rowOfForm(const Form& form, uint32_t row) {
  if (!form.rows.empty()) return form.rows[form.rows.size() > 1 ? row : 0];
  const uint32_t lane = row * rowLanes_;
  if (!form.chunks.empty()) return b_.CreateExtractElement(form.chunks[lane / w_], lane % w_);
  if (!form.shape.affine()) return form.scalar;
  LType* const type = form.scalar->getType();
  return b_.CreateAdd(form.scalar, b_.number(form.scalar, type, static_cast<uint64_t>(form.shape.stride) * lane));
}

llvm::Value* Values::rowOf(ValueId id, uint32_t row) { return rowOfForm(formOf(id), row); }

// In each lane of a chunk what its row has.
llvm::Value* Values::firstsOfRows(const Chunks& rows, uint32_t c) {
  const uint32_t first = c * w_ / rowLanes_;
  if (rows.size() == 1) return b_.CreateVectorSplat(w_, rows[0]);
  if (rowLanes_ >= w_) return b_.CreateVectorSplat(w_, rows[first]);
  Value* firsts = llvm::PoisonValue::get(b_.vectorOf(rows[first]->getType()));
  for (uint32_t r = 0; r < w_ / rowLanes_; ++r) firsts = b_.CreateInsertElement(firsts, rows[first + r], r);
  llvm::SmallVector<int, 16> order;
  for (uint32_t l = 0; l < w_; ++l) order.push_back(static_cast<int>(l / rowLanes_));
  return b_.CreateShuffleVector(firsts, order);
}

llvm::Value* Values::chunkOfForm(const Form& form, uint32_t c) {
  if (!form.chunks.empty()) return form.chunks[c];
  if (!form.rows.empty()) {
    Value* const firsts = firstsOfRows(form.rows, c);
    if (!form.shape.stride) return firsts;
    return b_.CreateAdd(firsts, b_.iota(c, form.rows[0]->getType(), form.shape.stride, rowLanes_));
  }
  Value* const splat = b_.CreateVectorSplat(w_, form.scalar);
  if (!form.shape.affine()) return splat;
  return b_.CreateAdd(splat, b_.iota(c, form.scalar->getType(), form.shape.stride));
}

// What the instruction behind a value makes of its sources as `read` gives them.
llvm::Value* Values::madeAgain(ValueId id, llvm::function_ref<Value*(ValueId)> read) {
  const PtxValue& v = program_.values[id];
  const Instruction& i = program_.instructions[v.instruction];
  llvm::SmallVector<Value*, 4> sources;
  for (ValueId s : i.sources) sources.push_back(s == kNone ? nullptr : read(s));
  llvm::SmallVector<Value*, 2> results;
  operations_.compute(i, sources, results);
  return results[v.resultIndex];
}

llvm::Value* Values::chunkOf(ValueId id, uint32_t c) {
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
  if (b_.caching) vectors_[{id, c}] = vector;
  return vector;
}

// What one lane holds of a value that is no vector, in the lane's own arithmetic.
llvm::Value* Values::laneOf(ValueId id, Value* lane) {
  const Form form = formOf(id);
  if (!form.chunks.empty()) return b_.extractLane(form.chunks, lane);
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
  return b_.CreateAdd(first, b_.CreateMul(steps, b_.number(first, type, static_cast<uint64_t>(form.shape.stride))));
}

Chunks Values::vectorsOf(ValueId id) {
  Chunks chunks;
  for (uint32_t c = 0; c < k_; ++c) chunks.push_back(chunkOf(id, c));
  return chunks;
}

Chunks Values::integersOf(ValueId id, uint32_t bits) {
  Chunks chunks;
  for (uint32_t c = 0; c < k_; ++c) chunks.push_back(b_.asInteger(chunkOf(id, c), bits));
  return chunks;
}

// A value in the shape and type of another one, for stores to its slot.
Form Values::toShape(ValueId id, const PtxValue& v) {
  const auto cast = [&](Value* from) {
    LType* const element = b_.elementType(v.type);
    if (from->getType()->getScalarType() == element) return from;
    return element->isFloatingPointTy() ? b_.asFloat(from, element)
                                        : b_.asInteger(from, element->getScalarSizeInBits());
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

void Values::finishFrom(const Instruction& i, size_t result, llvm::function_ref<Value*(uint32_t chunk)> place,
                        uint32_t bits) {
  Form form = varyingForm();
  for (uint32_t c = 0; c < k_; ++c) {
    Value* const loaded = b_.CreateAlignedLoad(b_.vectorOf(b_.integerType(bits)), place(c), llvm::Align(bits / 8));
    form.chunks.push_back(b_.asClass(loaded, program_.values[i.results[result]].type));
  }
  finish(i, result, std::move(form));
}

void Values::finish(const Instruction& i, size_t result, Form form) {
  const ValueId id = i.results[result];
  const auto& v = program_.values[id];
  const uint32_t bits = bitsOf(v.type);
  const auto fit = [&](Value* x) {
    const uint32_t have = x->getType()->getScalarSizeInBits();
    if (have == bits) return x;
    return b_.extend(b_.asInteger(x, have), bits, isSigned(i.ast->type()));
  };
  if (v.shape.varying() && form.chunks.empty()) {
    Chunks chunks;
    for (uint32_t c = 0; c < k_; ++c) chunks.push_back(chunkOfForm(form, c));
    form.chunks = std::move(chunks);
    form.scalar = nullptr;
    form.rows.clear();
  }
  if (v.shape.rows() && form.rows.size() != rowsIn(v.shape)) {
    Chunks rows;
    for (uint32_t r = 0; r < rowsIn(v.shape); ++r) rows.push_back(rowOfForm(form, r));
    form.rows = std::move(rows);
    form.scalar = nullptr;
  }
  form.shape = v.shape;
  if (form.scalar) form.scalar = fit(form.scalar);
  for (Value*& row : form.rows) row = fit(row);
  for (Value*& chunk : form.chunks) chunk = fit(chunk);
  if (i.guard != kNone && i.old[result] != kNone) {
    const auto cast = [&](Value* x, Value* to) {
      if (x->getType() == to->getType()) return x;
      LType* const element = to->getType()->getScalarType();
      return element->isFloatingPointTy() ? b_.asFloat(x, element) : b_.asInteger(x, element->getScalarSizeInBits());
    };
    if (form.scalar) {
      Value* guard = scalarOf(i.guard);
      if (i.guardNegated) guard = b_.CreateNot(guard);
      form.scalar = b_.CreateSelect(guard, form.scalar, cast(scalarOf(i.old[result]), form.scalar));
    } else if (v.shape.rows()) {
      for (uint32_t r = 0; r < form.rows.size(); ++r) {
        Value* guard = rowOf(i.guard, r);
        if (i.guardNegated) guard = b_.CreateNot(guard);
        form.rows[r] = b_.CreateSelect(guard, form.rows[r], cast(rowOf(i.old[result], r), form.rows[r]));
      }
    } else {
      for (uint32_t c = 0; c < k_; ++c) {
        Value* guard = chunkOf(i.guard, c);
        if (i.guardNegated) guard = b_.CreateNot(guard);
        form.chunks[c] = b_.CreateSelect(guard, form.chunks[c], cast(chunkOf(i.old[result], c), form.chunks[c]));
      }
    }
  }
  define(id, std::move(form));
}

void Values::markRead() {
  read_.assign(program_.values.size(), false);
  const auto mark = [&](ValueId id) {
    if (id != kNone) read_[id] = true;
  };
  for (const Instruction& i : program_.instructions) {
    for (ValueId id : i.sources) mark(id);
    for (ValueId id : i.old) mark(id);
    mark(i.guard);
    mark(i.carryIn);
  }
  for (const auto& value : program_.values)
    for (ValueId id : value.incoming) mark(id);
  for (const Block& block : program_.blocks) mark(block.condition);
}

}  // namespace vg::ptx::gen
