// Barrier objects, bulk and tensor copies: operands go to slots in memory, the runner does all lanes in one call.
#include "ptx/llvm/opcodes/async.h"

#include "ptx/facts/async_form.h"
#include "ptx/llvm/ir/ptx_facts.h"

namespace vg::ptx::gen {

void AsyncOperations::emitAsync(const Instruction& i) {
  auto shape = describeAsync(*i.ast, *i.function);
  if (!shape || shape->slots.size() > i.sources.size()) unsupported(i, "form of an asynchronous operation");
  if (shape->form.operation == AsyncOperation::Nothing) return;
  if (ptx::mayHold(*i.ast) && program_.blocks[i.block].loop == kNone) shape->form.flags |= kHolds;
  LType* const word = b_.getInt64Ty();
  if (!asyncLanes_)
    asyncLanes_ = b_.entryAlloca(llvm::ArrayType::get(word, kAsyncSlots * kWarpSize), "async", llvm::Align(64));
  const auto act = [&] {
    for (size_t s = 0; s < shape->slots.size(); ++s) {
      if (i.sources[s] == kNone || shape->slots[s] == kAsyncUnused) continue;
      for (uint32_t c = 0; c < k_; ++c) {
        Value* const v = b_.asInteger(values_.chunkOf(i.sources[s], c), 64);
        Value* const at = b_.CreateConstInBoundsGEP1_32(word, asyncLanes_, shape->slots[s] * kWarpSize + c * w_);
        b_.CreateAlignedStore(b_.CreateAdd(v, b_.number(v, word, static_cast<uint64_t>(i.offsets[s]))), at,
                              llvm::Align(8));
      }
    }
    runner_.runtimeCall(offsetof(RuntimeCalls, asynchronous), b_.getVoidTy(),
                        {runner_.block, runner_.warp, masks_.maskBits(predicates_.guardedMask(i)),
                         b_.getInt64(wordOf(shape->form)), b_.getInt32(i.ast->line), asyncLanes_});
  };
  if (i.results.empty() || i.results[0] == kNone)
    return i.guard == kNone ? act() : b_.ifTrue(masks_.anyLane(predicates_.guardedMask(i)), act);
  act();
  const auto& v = program_.values[i.results[0]];
  const auto fit = [&](Value* bits) { return b_.asInteger(bits, bitsOf(v.type)); };
  Form form;
  form.shape = v.shape;
  if (v.shape.varying()) {
    for (uint32_t c = 0; c < k_; ++c) {
      Value* const at = b_.CreateConstInBoundsGEP1_32(word, asyncLanes_, kAsyncResult * kWarpSize + c * w_);
      form.chunks.push_back(fit(b_.CreateAlignedLoad(b_.vectorOf(word), at, llvm::Align(8))));
    }
  } else {
    // All lanes that run have the same; the first of them is asked.
    Value* const lane = masks_.firstLane(masks_.maskBits(predicates_.guardedMask(i)));
    form.scalar = fit(b_.CreateAlignedLoad(word, b_.CreateInBoundsGEP(word, asyncLanes_, {lane}), llvm::Align(8)));
  }
  values_.finish(i, 0, std::move(form));
}

}  // namespace vg::ptx::gen
