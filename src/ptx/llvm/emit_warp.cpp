// Instructions that exchange data between lanes, wait for other warps, or call the runtime.
#include <llvm/IR/IntrinsicsX86.h>

#include "ptx/llvm/emitter.h"
#include "ptx/llvm/ptx_facts.h"

namespace vg::ptx::gen {

using llvm::ArrayRef;
namespace Intrinsic = llvm::Intrinsic;

bool Emitter::emitWarpOperation(const Instruction& i) {
  const ptx::Instruction& ast = *i.ast;
  switch (ast.op) {
    case Op::Shfl:
      emitShuffle(i);
      return true;
    case Op::Vote:
      emitVote(i);
      return true;
    case Op::Match:
      emitMatch(i);
      return true;
    case Op::Redux:
      emitRedux(i);
      return true;
    case Op::Elect:
      emitElect(i);
      return true;
    case Op::Fns:
      emitFns(i);
      return true;
    case Op::Activemask: {
      Form form;
      form.shape = {Shape::Uniform, 0, false};
      form.scalar = maskBits(mask_);
      finish(i, 0, std::move(form));
      return true;
    }
    case Op::Bar:
    case Op::Barrier:
      emitBarrier(i);
      return true;
    case Op::Call:
      emitSyscall(i);
      return true;
    case Op::Invalid:  // a call of what is no function
    case Op::Trap:
      emitTrap(i);
      return true;
    case Op::Alloca:
      emitAlloca(i);
      return true;
    case Op::Stacksave:
      emitStackSave(i);
      return true;
    case Op::Stackrestore:
      emitStackRestore(i);
      return true;
    case Op::Nanosleep: {
      const auto act = [&] {
        const ValueId id = i.sources[0];
        Value* const time = program_.values[id].shape.uniform()
                                ? asInteger(scalarOf(id), 32)
                                : b_.CreateExtractElement(asInteger(chunkOf(id, 0), 32), uint64_t{0});
        runtimeCall(offsetof(RuntimeCalls, nanosleep), b_.getVoidTy(), {blockArgument_, warp_, time});
      };
      i.guard == kNone ? act() : ifTrue(anyLane(guardedMask(i)), act);
      return true;
    }
    default:
      return false;
  }
}

// --- Shuffles --------------------------------------------------------------------------------------------------------

void Emitter::emitShuffle(const Instruction& i) {
  const ptx::Instruction& ast = *i.ast;
  LType* const word = b_.getInt32Ty();
  Chunks data;
  for (uint32_t c = 0; c < k_; ++c) data.push_back(asInteger(chunkOf(i.sources[0], c), 32));
  Form value, inRange;
  value.shape = inRange.shape = {Shape::Varying, 0, false};
  const bool up = ast.has(Mod::Up), down = ast.has(Mod::Down), butterfly = ast.has(Mod::Bfly);
  const std::optional<uint64_t> amount = knownBits(program_, i.sources[1]), clamp = knownBits(program_, i.sources[2]);
  // Source lane and whether it is inside the segment, for constant patterns.
  const auto sourceOf = [&](uint32_t lane, bool& valid) {
    const uint32_t b = *amount & 31, c = *clamp & 31, segment = *clamp >> 8 & 31;
    const uint32_t maxLane = (lane & segment) | (c & ~segment), minLane = lane & segment;
    int64_t j;
    if (up) {
      j = static_cast<int64_t>(lane) - b;
      valid = j >= static_cast<int64_t>(maxLane);
    } else if (down) {
      j = static_cast<int64_t>(lane) + b;
      valid = j <= static_cast<int64_t>(maxLane);
    } else if (butterfly) {
      j = lane ^ b;
      valid = j <= static_cast<int64_t>(maxLane);
    } else {
      j = minLane | (b & ~segment);
      valid = j <= static_cast<int64_t>(maxLane);
    }
    return valid ? static_cast<uint32_t>(j) : lane;
  };
  if (amount && clamp) {
    for (uint32_t c = 0; c < k_; ++c) {
      llvm::SmallVector<int, 16> order;
      llvm::SmallVector<llvm::Constant*, 16> bits;
      for (uint32_t l = 0; l < w_; ++l) {
        bool valid;
        order.push_back(static_cast<int>(sourceOf(c * w_ + l, valid)));
        bits.push_back(b_.getInt1(valid));
      }
      value.chunks.push_back(lanesFrom(data, order));
      inRange.chunks.push_back(llvm::ConstantVector::get(bits));
    }
  } else {
    auto* const array = k_ == 2 && options_.avx512 ? nullptr : spill(0, data);
    for (uint32_t c = 0; c < k_; ++c) {
      Value* const lane = iota(c, word, 1);
      const auto n32 = [&](uint64_t v) { return number(lane, word, v); };
      Value* const b = b_.CreateAnd(asInteger(chunkOf(i.sources[1], c), 32), n32(31));
      Value* const control = asInteger(chunkOf(i.sources[2], c), 32);
      Value* const limit = b_.CreateAnd(control, n32(31));
      Value* const segment = b_.CreateAnd(b_.CreateLShr(control, n32(8)), n32(31));
      Value* const minLane = b_.CreateAnd(lane, segment);
      Value* const maxLane = b_.CreateOr(minLane, b_.CreateAnd(limit, b_.CreateNot(segment)));
      Value *j, *valid;
      if (up) {
        j = b_.CreateSub(lane, b);
        valid = b_.CreateICmpSGE(j, maxLane);
      } else {
        j = down        ? b_.CreateAdd(lane, b)
            : butterfly ? b_.CreateXor(lane, b)
                        : b_.CreateOr(minLane, b_.CreateAnd(b, b_.CreateNot(segment)));
        valid = b_.CreateICmpSLE(j, maxLane);
      }
      Value* const from = b_.CreateSelect(valid, j, lane);
      Value* got;
      if (!array && w_ == 16) {
        got = callIntrinsic(Intrinsic::x86_avx512_vpermi2var_d_512, {}, {data[0], from, data[1]});
      } else {
        auto* const source = array ? array : spill(0, data);
        got = llvm::PoisonValue::get(vectorOf(word));
        for (uint32_t l = 0; l < w_; ++l) {
          Value* const index = b_.CreateAnd(b_.CreateExtractElement(from, l), b_.getInt32(31));
          got = b_.CreateInsertElement(got, b_.CreateLoad(word, laneAddress(source, index, word)), l);
        }
      }
      value.chunks.push_back(got);
      inRange.chunks.push_back(valid);
    }
  }
  if (i.results[0] != kNone) finish(i, 0, std::move(value));
  if (i.results.size() > 1 && i.results[1] != kNone) finish(i, 1, std::move(inRange));
}

// --- Votes -----------------------------------------------------------------------------------------------------------

void Emitter::emitVote(const Instruction& i) {
  const ptx::Instruction& ast = *i.ast;
  Mask p = maskOf(i.sources[0], false);
  if (i.negated[0]) p = maskOf(i.sources[0], true);
  const Mask present = guardedMask(i);
  Value* const active = maskBits(present);
  Value* const bits = b_.CreateAnd(maskBits(p), active);
  const ValueId membersId = i.sources.size() > 1 ? i.sources[1] : kNone;
  const bool uniform = membersId == kNone || program_.values[membersId].shape.uniform();
  const auto answer = [&](Value* members) -> Value* {
    // Works on one word, or on vectors of words when the member masks differ.
    Value* const in = b_.CreateAnd(splatLike(members, bits), members);
    Value* const who = b_.CreateAnd(splatLike(members, active), members);
    if (ast.has(Mod::Ballot)) return in;
    if (ast.has(Mod::Any)) return b_.CreateICmpNE(in, llvm::Constant::getNullValue(in->getType()));
    Value* const all = b_.CreateICmpEQ(in, who);
    if (ast.has(Mod::All)) return all;
    return b_.CreateOr(all, b_.CreateICmpEQ(in, llvm::Constant::getNullValue(in->getType())));
  };
  Form form;
  if (uniform) {
    form.shape = {Shape::Uniform, 0, false};
    form.scalar = answer(membersId == kNone ? b_.getInt32(~0u) : asInteger(scalarOf(membersId), 32));
  } else {
    form.shape = {Shape::Varying, 0, false};
    for (uint32_t c = 0; c < k_; ++c) form.chunks.push_back(answer(asInteger(chunkOf(membersId, c), 32)));
  }
  finish(i, 0, std::move(form));
}

// Answers that all lanes of a group share. `answer` has them for one member mask; it is asked once, or for every lane
// where masks differ.
void Emitter::emitForMembers(const Instruction& i, const std::function<std::vector<Value*>(Value* members)>& answer) {
  const ValueId membersId = i.sources[1];
  LType* const word = b_.getInt32Ty();
  const auto wanted = [&](size_t k) { return k < i.results.size() && i.results[k] != kNone; };
  if (program_.values[membersId].shape.uniform()) {
    const std::vector<Value*> answers = answer(asInteger(scalarOf(membersId), 32));
    for (size_t k = 0; k < answers.size(); ++k) {
      if (!wanted(k)) continue;
      Form form;
      form.shape = {Shape::Uniform, 0, false};
      form.scalar = answers[k];
      finish(i, k, std::move(form));
    }
    return;
  }
  const Mask present = guardedMask(i);
  Chunks members;
  for (uint32_t c = 0; c < k_; ++c) members.push_back(asInteger(chunkOf(membersId, c), 32));
  auto* const groups = spill(0, members);
  llvm::AllocaInst* const out[] = {scratch(1), scratch(2)};
  std::vector<Value*> answers;
  forEachLane(present, [&](Value* lane) {
    answers = answer(b_.CreateLoad(word, laneAddress(groups, lane, word)));
    for (size_t k = 0; k < answers.size(); ++k)
      b_.CreateStore(b_.CreateZExt(answers[k], word), laneAddress(out[k], lane, word));
  });
  for (size_t k = 0; k < answers.size(); ++k) {
    if (!wanted(k)) continue;
    Form form;
    form.shape = {Shape::Varying, 0, false};
    form.chunks = reload(out[k], word);
    if (answers[k]->getType()->isIntegerTy(1))
      for (Value*& chunk : form.chunks) chunk = b_.CreateICmpNE(chunk, number(chunk, word, 0));
    finish(i, k, std::move(form));
  }
}

void Emitter::emitMatch(const Instruction& i) {
  const ptx::Instruction& ast = *i.ast;
  const uint32_t bits = ptx::bitsOf(ast.type());
  const Mask present = guardedMask(i);
  Value* const active = maskBits(present);
  Chunks data, members;
  for (uint32_t c = 0; c < k_; ++c) {
    data.push_back(asInteger(chunkOf(i.sources[0], c), bits));
    members.push_back(asInteger(chunkOf(i.sources[1], c), 32));
  }
  if (ast.has(Mod::All)) {
    emitForMembers(i, [&](Value* group) -> std::vector<Value*> {
      Value* const who = b_.CreateAnd(active, group);
      Value* const first = callIntrinsic(Intrinsic::cttz, {b_.getInt32Ty()}, {who, b_.getFalse()});
      Value* const value = extractLane(data, b_.CreateAnd(first, b_.getInt32(31)));
      Mask equal;
      equal.full = false;
      for (uint32_t c = 0; c < k_; ++c)
        equal.chunks.push_back(b_.CreateICmpEQ(data[c], b_.CreateVectorSplat(w_, value)));
      Value* const same = b_.CreateICmpEQ(b_.CreateAnd(maskBits(equal), who), who);
      return {b_.CreateSelect(same, who, b_.getInt32(0)), same};
    });
    return;
  }
  // Every lane compares its value with all others.
  auto* const values = spill(0, data);
  auto* const groups = spill(1, members);
  auto* const out = scratch(2);
  LType* const element = integerType(bits);
  LType* const word = b_.getInt32Ty();
  forEachLane(present, [&](Value* lane) {
    Value* const mine = b_.CreateLoad(element, laneAddress(values, lane, element));
    Value* const group = b_.CreateLoad(word, laneAddress(groups, lane, word));
    Mask equal;
    equal.full = false;
    for (uint32_t c = 0; c < k_; ++c) equal.chunks.push_back(b_.CreateICmpEQ(data[c], b_.CreateVectorSplat(w_, mine)));
    Value* const who = b_.CreateAnd(b_.CreateAnd(maskBits(equal), group), active);
    b_.CreateStore(who, laneAddress(out, lane, word));
  });
  Form form;
  form.shape = {Shape::Varying, 0, false};
  form.chunks = reload(out, word);
  finish(i, 0, std::move(form));
}

void Emitter::emitRedux(const Instruction& i) {
  const Type type = i.ast->type();
  if (ptx::isFloat(type) && type != Type::F32) unsupported(i, "type");
  const Mask present = guardedMask(i);
  Chunks data;
  for (uint32_t c = 0; c < k_; ++c) data.push_back(asInteger(chunkOf(i.sources[0], c), 32));
  emitForMembers(i, [&](Value* group) -> std::vector<Value*> {
    const Mask who = both(present, maskFromBits(group));
    return {type == Type::F32 ? reducedFloats(i, data, who) : reducedIntegers(i, data, who)};
  });
}

llvm::Value* Emitter::reducedIntegers(const Instruction& i, const Chunks& data, const Mask& who) {
  const ptx::Instruction& ast = *i.ast;
  const bool s = isSigned(ast.type());
  uint64_t neutral = 0;
  if (ast.has(Mod::And)) neutral = 0xffffffffu;
  if (ast.has(Mod::Min)) neutral = s ? 0x7fffffffu : 0xffffffffu;
  if (ast.has(Mod::Max)) neutral = s ? 0x80000000u : 0;
  Value* all = nullptr;
  for (uint32_t c = 0; c < k_; ++c) {
    Value* const v = b_.CreateSelect(who.chunks[c], data[c], number(data[c], b_.getInt32Ty(), neutral));
    if (!all) {
      all = v;
    } else if (ast.has(Mod::Add)) {
      all = b_.CreateAdd(all, v);
    } else if (ast.has(Mod::And)) {
      all = b_.CreateAnd(all, v);
    } else if (ast.has(Mod::Or)) {
      all = b_.CreateOr(all, v);
    } else if (ast.has(Mod::Xor)) {
      all = b_.CreateXor(all, v);
    } else if (ast.has(Mod::Min)) {
      all = intrinsic(s ? Intrinsic::smin : Intrinsic::umin, {all, v});
    } else {
      all = intrinsic(s ? Intrinsic::smax : Intrinsic::umax, {all, v});
    }
  }
  const Intrinsic::ID id = ast.has(Mod::Add)   ? Intrinsic::vector_reduce_add
                           : ast.has(Mod::And) ? Intrinsic::vector_reduce_and
                           : ast.has(Mod::Or)  ? Intrinsic::vector_reduce_or
                           : ast.has(Mod::Xor) ? Intrinsic::vector_reduce_xor
                           : ast.has(Mod::Min) ? (s ? Intrinsic::vector_reduce_smin : Intrinsic::vector_reduce_umin)
                                               : (s ? Intrinsic::vector_reduce_smax : Intrinsic::vector_reduce_umax);
  return intrinsic(id, {all});
}

// Numbers compare as integers once those of negative ones are turned around; what is no number takes no part, unless
// .NaN makes it win.
llvm::Value* Emitter::reducedFloats(const Instruction& i, const Chunks& data, const Mask& who) {
  const ptx::Instruction& ast = *i.ast;
  const bool isMax = ast.has(Mod::Max);
  const auto turned = [&](Value* bits) {
    return b_.CreateXor(
        bits, b_.CreateLShr(b_.CreateAShr(bits, number(bits, b_.getInt32Ty(), 31)), number(bits, b_.getInt32Ty(), 1)));
  };
  const uint64_t neutral = isMax ? 0x80000000u : 0x7fffffffu;
  Value *best = nullptr, *unordered = nullptr;
  for (uint32_t c = 0; c < k_; ++c) {
    Value* bits = data[c];
    if (ast.has(Mod::Abs)) bits = b_.CreateAnd(bits, number(bits, b_.getInt32Ty(), 0x7fffffff));
    Value* const magnitude = b_.CreateAnd(bits, number(bits, b_.getInt32Ty(), 0x7fffffff));
    Value* const isNan = b_.CreateICmpUGT(magnitude, number(bits, b_.getInt32Ty(), 0x7f800000));
    Value* const counts = b_.CreateAnd(who.chunks[c], b_.CreateNot(isNan));
    Value* const key = b_.CreateSelect(counts, turned(bits), number(bits, b_.getInt32Ty(), neutral));
    best = best ? intrinsic(isMax ? Intrinsic::smax : Intrinsic::smin, {best, key}) : key;
    Value* const wins = b_.CreateAnd(who.chunks[c], isNan);
    unordered = unordered ? b_.CreateOr(unordered, wins) : wins;
  }
  best = intrinsic(isMax ? Intrinsic::vector_reduce_smax : Intrinsic::vector_reduce_smin, {best});
  Value* none = b_.CreateICmpEQ(best, b_.getInt32(static_cast<uint32_t>(neutral)));
  if (ast.has(Mod::NaN)) none = b_.CreateOr(none, b_.CreateOrReduce(unordered));
  return b_.CreateSelect(none, b_.getInt32(0x7fffffff), turned(best));
}

void Emitter::emitElect(const Instruction& i) {
  LType* const word = b_.getInt32Ty();
  Value* const active = maskBits(guardedMask(i));
  Form lane, elected;
  lane.shape = elected.shape = {Shape::Varying, 0, false};
  for (uint32_t c = 0; c < k_; ++c) {
    Value* const members = asInteger(chunkOf(i.sources[0], c), 32);
    Value* const who = b_.CreateAnd(members, b_.CreateVectorSplat(w_, active));
    lane.chunks.push_back(callIntrinsic(Intrinsic::cttz, {vectorOf(word)}, {who, b_.getFalse()}));
    elected.chunks.push_back(b_.CreateICmpEQ(iota(c, word, 1), lane.chunks.back()));
  }
  if (i.results[0] != kNone) finish(i, 0, std::move(lane));
  if (i.results.size() > 1 && i.results[1] != kNone) finish(i, 1, std::move(elected));
}

// fns: the n-th set bit of a mask from a base position, by lanes.
void Emitter::emitFns(const Instruction& i) {
  LType* const word = b_.getInt32Ty();
  Form form;
  form.shape = {Shape::Varying, 0, false};
  for (uint32_t c = 0; c < k_; ++c) {
    Value* const mask = asInteger(chunkOf(i.sources[0], c), 32);
    Value* const base = asInteger(chunkOf(i.sources[1], c), 32);
    Value* const offset = asInteger(chunkOf(i.sources[2], c), 32);
    const auto n32 = [&](uint64_t v) { return number(mask, word, v); };
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
  finish(i, 0, std::move(form));
}

// --- Barriers --------------------------------------------------------------------------------------------------------

void Emitter::emitBarrier(const Instruction& i) {
  const ptx::Instruction& ast = *i.ast;
  if (ast.has(Mod::Warp)) return;  // lanes run in step; memory between them is in program order
  const auto act = [&] {
    if (ast.has(Mod::Cluster)) {
      const bool arrives = ast.has(Mod::Arrive);
      runtimeCall(arrives ? offsetof(RuntimeCalls, clusterArrive) : offsetof(RuntimeCalls, clusterWait), b_.getVoidTy(),
                  {blockArgument_, warp_});
      return;
    }
    if (suspends_) return emitSuspend();
    const auto argument = [&](size_t n) -> Value* {
      const ValueId id = i.sources[n];
      if (program_.values[id].shape.uniform()) return asInteger(scalarOf(id), 32);
      // Threads of a warp agree on barrier and count.
      Value* const first = callIntrinsic(Intrinsic::cttz, {b_.getInt32Ty()}, {maskBits(guardedMask(i)), b_.getFalse()});
      Chunks chunks;
      for (uint32_t c = 0; c < k_; ++c) chunks.push_back(asInteger(chunkOf(id, c), 32));
      return extractLane(chunks, b_.CreateAnd(first, b_.getInt32(31)));
    };
    Value* const mask = maskBits(guardedMask(i));
    const size_t last = i.sources.size();
    Value* const zero = b_.getInt32(0);
    Value* const id = last > 0 ? argument(0) : zero;
    if (ast.has(Mod::Red)) {
      Value* const threads = last > 2 ? argument(1) : zero;
      const Mask p = maskOf(i.sources[last - 1], i.negated[last - 1]);
      const auto operation = ast.has(Mod::And)  ? BarrierReduction::And
                             : ast.has(Mod::Or) ? BarrierReduction::Or
                                                : BarrierReduction::Popc;
      Value* const result =
          runtimeCall(offsetof(RuntimeCalls, barrierReduce), b_.getInt32Ty(),
                      {blockArgument_, warp_, id, threads, mask, b_.getInt32(static_cast<uint32_t>(operation)),
                       b_.CreateAnd(maskBits(p), mask)});
      Form form;
      form.shape = {Shape::Uniform, 0, false};
      form.scalar = operation == BarrierReduction::Popc ? result : b_.CreateICmpNE(result, zero);
      finish(i, 0, std::move(form));
      return;
    }
    Value* const threads = last > 1 ? argument(1) : zero;
    const size_t call = ast.has(Mod::Arrive) ? offsetof(RuntimeCalls, barrierArrive) : offsetof(RuntimeCalls, barrier);
    runtimeCall(call, b_.getVoidTy(), {blockArgument_, warp_, id, threads, mask});
  };
  if (i.guard == kNone) return act();
  if (ast.has(Mod::Red)) unsupported(i, "guarded barrier with a result");
  ifTrue(anyLane(guardedMask(i)), act);
}

// --- The runtime -----------------------------------------------------------------------------------------------------

void Emitter::callTrap(TrapReason reason, Value* lanes, uint32_t line) {
  runtimeCall(offsetof(RuntimeCalls, trap), b_.getVoidTy(),
              {blockArgument_, warp_, lanes, b_.getInt32(static_cast<uint32_t>(reason)), b_.getInt32(line)});
}

void Emitter::emitTrap(const Instruction& i) {
  const Mask mask = guardedMask(i);
  const TrapReason reason = i.ast->op == Op::Trap ? TrapReason::Trap : TrapReason::IllegalInstruction;
  const auto act = [&] { callTrap(reason, maskBits(mask), i.ast->line); };
  i.guard == kNone ? act() : ifTrue(anyLane(mask), act);
}

void Emitter::emitSyscall(const Instruction& i) {
  const Function& f = *i.function;
  std::string name;
  for (uint32_t n = 0; n < i.ast->count; ++n) {
    const Operand& o = f.operands[i.ast->first + n];
    if (o.kind == Operand::Kind::Symbol && o.symbolKind == SymbolKind::Function)
      name = program_.module->functions[o.symbol].name;
  }
  const auto array = [&](uint32_t index, size_t source, uint32_t bits) -> Value* {
    if (source >= i.sources.size()) unsupported(i, "number of arguments");
    Chunks chunks;
    for (uint32_t c = 0; c < k_; ++c) chunks.push_back(asInteger(chunkOf(i.sources[source], c), bits));
    return spill(index, chunks);
  };
  Value* const mask = maskBits(mask_);
  if (name == "vprintf") {
    Value* const formats = array(0, 0, 64);
    Value* const arguments = array(1, 1, 64);
    auto* const results = scratch(2);
    runtimeCall(offsetof(RuntimeCalls, print), b_.getVoidTy(),
                {blockArgument_, warp_, mask, formats, arguments, results});
    if (i.results.empty()) return;
    Form form;
    form.shape = {Shape::Varying, 0, false};
    form.chunks = reload(results, b_.getInt32Ty());
    return finish(i, 0, std::move(form));
  }
  if (name == "__assertfail") {
    Value* const message = array(0, 0, 64);
    Value* const file = array(1, 1, 64);
    Value* const line = array(2, 2, 32);
    Value* const function = array(3, 3, 64);
    runtimeCall(offsetof(RuntimeCalls, assertFail), b_.getVoidTy(),
                {blockArgument_, warp_, mask, message, file, line, function});
    return;
  }
  if (name == "malloc") {
    Value* const sizes = array(0, 0, 64);
    auto* const results = scratch(1);
    runtimeCall(offsetof(RuntimeCalls, allocate), b_.getVoidTy(), {blockArgument_, warp_, mask, sizes, results});
    if (i.results.empty()) return;
    Form form;
    form.shape = {Shape::Varying, 0, false};
    form.chunks = reload(results, b_.getInt64Ty());
    return finish(i, 0, std::move(form));
  }
  if (name == "free") {
    runtimeCall(offsetof(RuntimeCalls, release), b_.getVoidTy(), {blockArgument_, warp_, mask, array(0, 0, 64)});
    return;
  }
  if (name == "cudaGraphSetConditional") {
    Value* const handles = array(0, 0, 64);
    Value* const values = array(1, 1, 32);
    runtimeCall(offsetof(RuntimeCalls, setConditional), b_.getVoidTy(), {blockArgument_, warp_, mask, handles, values});
    return;
  }
  unsupported(i, name.c_str());
}

}  // namespace vg::ptx::gen
