#include "ptx/llvm/flow/lane_loops.h"

#include <algorithm>
#include <set>

#include "ptx/llvm/ir/control_flow.h"
#include "ptx/llvm/ir/ptx_facts.h"

namespace vg::ptx::gen {
namespace {

constexpr Shape kOneLane{Shape::Uniform, 0, false};

// What memory holds of a value: bits of predicates are bytes there.
llvm::Value* asStored(Builder& b, llvm::Value* v) {
  llvm::Type* const type = v->getType();
  return type->getScalarType()->isIntegerTy(1) ? b.CreateZExt(v, type->getWithNewBitWidth(8)) : v;
}

}  // namespace

void LaneLoops::emit(const CopyKey& header) {
  loop_ = &program_.loops[plan_.laneLoop(header.block)];
  arrays_ = 0;
  taken_.clear();
  exits_.clear();
  blocks_.clear();
  takeValues();
  prepareExits();
  const Mask lanes = masks_.here;
  masks_.forEachLane(lanes, [&](Value* lane) { emitLane(lane); });
  masks_.here = lanes;
  values_.beginCopy();
  const uint32_t component = program_.blocks[header.block].component;
  for (const auto& [to, exit] : exits_) {
    const Mask mask = exits_.size() == 1 ? lanes : masks_.maskFromBits(b_.CreateLoad(b_.getInt32Ty(), exit.lanes));
    edges_.arrive(header.version, to, component, mask, [&, &phis = exit.phis] {
      for (const auto& [phi, array] : phis) edges_.storePhi(phi, leftWith(phi, array), &mask);
    });
  }
}

// Values that come from outside, read where the loop begins. What is the same in all lanes is taken as it is.
void LaneLoops::takeValues() {
  for (ValueId phi : program_.blocks[loop_->header].phis) take(phi, edges_.phiForm(phi), true);
  std::set<ValueId> seen;
  const auto see = [&](ValueId id) {
    if (id == kNone || !seen.insert(id).second) return;
    const auto& v = program_.values[id];
    const bool isMade = v.kind == vg::ptx::gen::Value::Result || v.kind == vg::ptx::gen::Value::Phi;
    if (isMade && llvm::is_contained(loop_->blocks, v.block)) return;
    if (!v.shape.uniform()) take(id, values_.formOf(id), false);
  };
  for (BlockId b : loop_->blocks) {
    const Block& block = program_.blocks[b];
    see(block.condition);
    for (uint32_t n : block.instructions) {
      const Instruction& i = program_.instructions[n];
      for (ValueId s : i.sources) see(s);
      see(i.carryIn);
    }
    for (BlockId s : block.successors)
      for (ValueId phi : program_.blocks[s].phis) see(program_.values[phi].incoming[plan_.edgeIndex(b, s)]);
  }
}

void LaneLoops::take(ValueId id, const Form& form, bool initial) {
  const bool varies = !form.chunks.empty();
  if (!varies && !initial) return static_cast<void>(taken_.push_back({id, nullptr, nullptr, false}));
  Chunks stored;
  for (uint32_t c = 0; c < k_; ++c)
    stored.push_back(asStored(b_, varies ? form.chunks[c] : values_.chunkOfForm(form, c)));
  llvm::AllocaInst* const array = nextArray();
  b_.storeLanes(array, stored);
  taken_.push_back({id, array, stored[0]->getType()->getScalarType(), initial});
}

void LaneLoops::prepareExits() {
  for (BlockId b : loop_->blocks)
    for (BlockId s : program_.blocks[b].successors) {
      if (llvm::is_contained(loop_->blocks, s) || exits_.count(s)) continue;
      Exit& exit = exits_[s];
      exit.lanes = b_.entryAlloca(b_.getInt32Ty(), "left");
      b_.CreateStore(b_.getInt32(0), exit.lanes);
      for (ValueId phi : program_.blocks[s].phis) exit.phis[phi] = nextArray();
    }
}

void LaneLoops::emitLane(Value* lane) {
  lane_ = lane;
  masks_.here = Mask{};
  std::map<ValueId, Form> given;
  std::map<ValueId, Shape> shapes;
  for (const Taken& t : taken_) {
    Value* value = nullptr;
    if (t.lanes) {
      value = b_.CreateLoad(t.element, b_.laneAddress(t.lanes, lane, t.element));
      if (program_.values[t.id].type == Class::Pred) value = b_.CreateTrunc(value, b_.getInt1Ty());
    } else {
      value = values_.laneOf(t.id, lane);
    }
    shapes[t.id] = program_.values[t.id].shape;
    given[t.id] = uniformForm(value);
  }
  for (const auto& [id, shape] : shapes) program_.values[id].shape = kOneLane;
  // No other code is emitted for what the loop makes.
  for (auto& v : program_.values)
    if ((v.kind == vg::ptx::gen::Value::Result || v.kind == vg::ptx::gen::Value::Phi) && v.block >= loop_->header &&
        v.block <= loop_->blocks.back())
      v.shape = kOneLane;
  for (ValueId phi : program_.blocks[loop_->header].phis) {
    values_.storeSlot(phiSlot(phi), program_.values[phi], given.at(phi));
    given.erase(phi);
  }
  values_.giveLane(std::move(given));
  for (BlockId b : loop_->blocks) blocks_[b] = b_.newBlock("lane");
  b_.CreateBr(blocks_.at(loop_->header));
  BB* const left = b_.newBlock("left");
  for (BlockId b : loop_->blocks) emitBlock(b, left);
  values_.giveLane({});
  for (const auto& [id, shape] : shapes) program_.values[id].shape = shape;
  b_.SetInsertPoint(left);
}

Slot& LaneLoops::phiSlot(ValueId phi) {
  Slot& slot = phis_[phi];
  if (slot.empty()) slot = values_.makeSlot(program_.values[phi], "phi");
  return slot;
}

void LaneLoops::emitBlock(BlockId b, BB* left) {
  const Block& block = program_.blocks[b];
  values_.beginCopy();
  teller_.beginCopy();
  tests_.beginCopy();
  b_.SetInsertPoint(blocks_.at(b));
  BB* const body = b_.newBlock("body");
  values_.loadAt(b_.CreateBr(body));
  b_.SetInsertPoint(body);
  for (ValueId phi : block.phis) {
    values_.define(phi, values_.loadEarly(phiSlot(phi), program_.values[phi]));
  }
  for (uint32_t n : block.instructions) instructions_.emitInstruction(program_.instructions[n]);
  if (block.terminator == Block::Jump) {
    b_.CreateBr(edge(b, block.successors[0], left));
    return;
  }
  Value* condition = values_.scalarOf(block.condition);
  if (block.conditionNegated) condition = b_.CreateNot(condition);
  BB* const yes = edge(b, block.successors[0], left);
  BB* const no = edge(b, block.successors[1], left);
  b_.CreateCondBr(b_.CreateFreeze(condition), yes, no);
}

llvm::BasicBlock* LaneLoops::edge(BlockId from, BlockId to, BB* left) {
  BB* const edge = b_.newBlock("edge");
  llvm::IRBuilderBase::InsertPointGuard guard(b_);
  b_.SetInsertPoint(edge);
  if (auto inside = blocks_.find(to); inside != blocks_.end()) {
    const size_t number = plan_.edgeIndex(from, to);
    for (ValueId phi : program_.blocks[to].phis) {
      const auto& v = program_.values[phi];
      values_.storeSlot(phiSlot(phi), v, values_.toShape(v.incoming[number], v));
    }
    b_.CreateBr(inside->second);
  } else {
    leave(from, to);
    b_.CreateBr(left);
  }
  return edge;
}

// The lane leaves the loop.
void LaneLoops::leave(BlockId from, BlockId to) {
  const Exit& exit = exits_.at(to);
  const size_t number = plan_.edgeIndex(from, to);
  for (const auto& [phi, array] : exit.phis) {
    auto v = program_.values[phi];
    v.shape = kOneLane;
    Value* const value = asStored(b_, values_.toShape(v.incoming[number], v).scalar);
    b_.CreateStore(value, b_.laneAddress(array, lane_, value->getType()));
  }
  Value* const bit = b_.CreateShl(b_.getInt32(1), lane_);
  b_.CreateStore(b_.CreateOr(b_.CreateLoad(b_.getInt32Ty(), exit.lanes), bit), exit.lanes);
}

// What all lanes have for a phi behind the loop.
Form LaneLoops::leftWith(ValueId phi, llvm::AllocaInst* array) {
  const auto& v = program_.values[phi];
  const bool isBit = v.type == Class::Pred;
  Form form = varyingForm(b_.reload(array, isBit ? b_.getInt8Ty() : b_.elementType(v.type)));
  for (Value*& chunk : form.chunks)
    if (isBit) chunk = b_.CreateTrunc(chunk, b_.vectorOf(b_.getInt1Ty()));
  return form;
}

}  // namespace vg::ptx::gen
