#include "ptx/llvm/emit/emitter.h"

#include "ptx/facts/async_form.h"
#include "ptx/llvm/emit/processor.h"
#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/llvm/warps/round_loops.h"
#include "ptx/llvm/warps/suspend.h"
#include "ptx/text/op.h"
#include "ptx/text/opcodes.h"

namespace vg::ptx::gen {

Emitter::Emitter(Program& program, llvm::Module& module, const EmitOptions& options)
    : emission_(program, module, options), program_(program), b_(emission_.b) {}

llvm::Function* Emitter::run() {
  makeFunction();
  findTraits();
  values_.prepare();
  plan_.planAll();
  frame_.emit(plan_.waitsInOneCopy());
  edges_.makeCopies();
  for (auto& [key, planned] : plan_.planned()) emitCopy(key);
  finishSuspensions();
  return b_.function;
}

void Emitter::makeFunction() {
  const EmitOptions& options = emission_.options;
  auto* type = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy(), b_.getInt32Ty(), b_.getInt32Ty()}, false);
  llvm::Function* const made =
      llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, "vg_kernel", emission_.module);
  made->addFnAttr("target-cpu", options.cpu);
  // Every processor that this runs on exchanges 16 bytes at once, whether its name says so or not.
  const std::string pairs = isArm(options) ? "" : "+cx16,";
  made->addFnAttr("target-features", pairs + options.features);
  made->addFnAttr("prefer-vector-width", options.avx512 ? "512" : options.avx2 ? "256" : "128");
  made->addFnAttr("min-legal-vector-width", options.avx512 ? "512" : "256");
  made->addFnAttr("warn-stack-size", "0");  // LLVM tells the size of the frame
  made->addFnAttr(llvm::Attribute::NoUnwind);
  if (emission_.module.getFramePointer() == llvm::FramePointerKind::All) made->addFnAttr("frame-pointer", "all");
  b_.function = made;
  b_.describeLines();
}

// Whether a kernel asks for what one call for several blocks could not answer.
static bool asksForCluster(const Program& program) {
  if (program.references.clusterAddresses) return true;
  for (const auto& v : program.values)
    if (v.kind == vg::ptx::gen::Value::Special && v.special >= Special::ClusteridX && v.special <= Special::ClusteridZ)
      return true;
  return false;
}

// What the runner has to know of the kernel, and parts of the emitter too.
void Emitter::findTraits() {
  KernelTraits& traits = emission_.traits;
  for (const Loop& loop : program_.loops) traits.polls |= loop.polls;
  for (const Instruction& i : program_.instructions) {
    traits.polls |= ptx::cancelsClusters(*i.ast) || isCallApart(i);
    traits.allocates |= i.ast->op == Op::Alloca;
    traits.atomics |= (ptx::isAtomic(i.ast->op) && i.ast->space != Space::Shared) || isCallApart(i);
  }
  traits.callsApart = program_.callsApart;
  traits.loops = !program_.loops.empty() || program_.callsApart;
  traits.recurses = program_.recurses;
  traits.stackOfCalls = program_.stackOfCalls;
  traits.streamedPerThread = stores_.streamedPerThread();
  traits.staticShared = program_.shared.staticSize;
  traits.dynamicSharedOffset = program_.shared.dynamicOffset;
  traits.localPerThread = program_.localSize;
  traits.localStride = program_.localStride();
  traits.usesDynamicShared = program_.usesDynamicShared || program_.callsApart;
  traits.clusterAddresses = program_.references.clusterAddresses;
  suspensions_.plan();
  traits.waits = !suspensions_.used() && suspensions_.mayWait();
  traits.spans =
      !traits.waits && !asksForCluster(program_) && !emission_.options.tellsAccesses && !emission_.options.kept;
  traits.keptBytes = emission_.options.kept ? emission_.options.kept->bytes : 0;
  teller_.plan();
}

// From where a warp starts to the copy for the lanes that it has.
void Emitter::emitWayIn() {
  b_.SetInsertPoint(frame_.warpStart());
  if (!b_.GetInsertBlock()->empty()) return;
  if (emission_.apart()) return emitWayInOf(b_.function->getArg(2));
  if (emission_.options.fullWarps) {
    masks_.setLive(Mask{});
    b_.CreateBr(edges_.copy({plan_.onlyPart() ? Part : Full, false, 0}));
    return;
  }
  if (emission_.options.mostLanes < kWarpSize && emission_.options.allLanes) {
    masks_.setLive(masks_.constantMask((1u << emission_.options.mostLanes) - 1));
    b_.CreateBr(edges_.copy({Part, false, 0}));
    return;
  }
  llvm::Value* const threads = runner_.launchField(offsetof(KernelLaunch, threadsPerBlock), b_.getInt32Ty());
  llvm::Value* const rest = b_.CreateSub(threads, b_.CreateShl(runner_.warp, 5));
  Mask live = masks_.lanesBelow(rest);
  for (uint32_t c = (emission_.options.mostLanes + emission_.w - 1) / emission_.w; c < emission_.k; ++c)
    live.chunks[c] = llvm::Constant::getNullValue(live.chunks[c]->getType());
  masks_.setLive(live);
  if (plan_.onlyPart()) {
    b_.CreateBr(edges_.copy({Part, false, 0}));
    return;
  }
  llvm::BasicBlock* const full = b_.newBlock("full");
  b_.CreateCondBr(b_.CreateICmpUGE(rest, b_.getInt32(32)), full, edges_.copy({Part, false, 0}));
  b_.SetInsertPoint(full);
  masks_.setLive(Mask{});
  b_.CreateBr(edges_.copy({Full, false, 0}));
}

// The lanes of a warp that call a function.
void Emitter::emitWayInOf(llvm::Value* lanes) {
  masks_.setLive(masks_.maskFromBits(lanes));
  llvm::BasicBlock* const part = edges_.copy({Part, false, 0});
  if (plan_.onlyPart()) return static_cast<void>(b_.CreateBr(part));
  llvm::BasicBlock* const full = b_.newBlock("full");
  b_.CreateCondBr(b_.CreateICmpEQ(lanes, b_.getInt32(~0u)), full, part);
  b_.SetInsertPoint(full);
  masks_.setLive(Mask{});
  b_.CreateBr(edges_.copy({Full, false, 0}));
}

void Emitter::emitCopy(const CopyKey& key) {
  if (key.block == 0) emitWayIn();
  values_.beginCopy();
  teller_.beginCopy();
  tests_.beginCopy();
  b_.caching = true;
  b_.SetInsertPoint(edges_.copy(key));
  masks_.here = Mask{};
  llvm::BasicBlock* tail = nullptr;
  if (key.masked) {
    edges_.emptyMasksAt(key);
    tail = b_.newBlock("tail");
    masked_.enterMasked(key, tail);
  } else if (key.version == Part) {
    masks_.here = masks_.live();
    masks_.here.occupied = true;
  }
  // Everything that this copy takes from slots is loaded here.
  llvm::BasicBlock* const body = b_.newBlock("body");
  values_.loadAt(b_.CreateBr(body));
  b_.SetInsertPoint(body);
  if (key.masked && plan_.laneLoop(key.block) != kNone) {
    laneLoops_.emit(key);
    b_.CreateBr(tail);
    masked_.emitTail(key, tail);
    return;
  }
  edges_.definePhis(key.block);
  for (uint32_t n : program_.blocks[key.block].instructions) instructions_.emitInstruction(program_.instructions[n]);
  if (key.masked) {
    masked_.emitMaskedEnd(key, tail);
    masked_.emitTail(key, tail);
  } else {
    convergent_.emitConvergentEnd(key);
  }
}

void Emitter::finishSuspensions() {
  if (suspensions_.used()) {
    const SuspendFrame frame = frame_.suspendFrame();
    emission_.traits.frameBytes = splitAtSuspends(frame, suspensions_.calls());
    if (frame.alike) separateRounds(frame);
  }
  suspensions_.eraseMark();
}

}  // namespace vg::ptx::gen
