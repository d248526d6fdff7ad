#include "ptx/llvm/emit/meeting_checks.h"

#include "ptx/abi/reach_abi.h"
#include "ptx/facts/async_form.h"
#include "ptx/interpreter/observer.h"
#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/text/op.h"
#include "ptx/text/opcodes.h"

namespace vg::ptx::gen {
namespace {

bool isBarrier(const Instruction& i) { return (i.ast->op == Op::Bar || i.ast->op == Op::Barrier) && !isHold(*i.ast); }

// Of the lanes that take part: the last operand.
bool namesMembers(const Instruction& i) {
  switch (i.ast->op) {
    case Op::Shfl:
    case Op::Vote:
    case Op::Match:
    case Op::Redux:
    case Op::Elect:
      return i.ast->has(Mod::Sync) && !i.sources.empty() && i.sources.back() != kNone;
    default:
      return false;
  }
}

}  // namespace

// Whether lanes come to it that others of their warp may not come to.
bool MeetingChecks::mayBeAlone(const Instruction& i) const {
  const Block& block = program_.blocks[i.block];
  return i.guard != kNone || block.component != kNone || block.takesTurns;
}

void MeetingChecks::followed(const Instruction& i) const {
  if (mayBeAlone(i))
    unsupported(i, "a meeting of lanes that not all of a warp may come to, which is looked at elsewhere");
}

void MeetingChecks::before(const Instruction& i) {
  if (!options_.tellsMeetings || isPause(i)) return;
  if (isAsync(*i.ast)) unsupported(i, "an asynchronous operation, which is looked at elsewhere");
  if (comesToBarrier(*i.ast))
    unsupported(i, "a barrier that lanes of a warp come to apart, which is looked at elsewhere");
  if (isBarrier(i)) return beforeBarrier(i);
  if (waitsForCopies(*i.ast)) return tellCopies(i);
  if (ptx::rowOf(i.ast->op).has(Trait::Matrix)) return followed(i);
  if (!namesMembers(i)) return;
  followed(i);
  tellMembers(i, i.sources.back(), Meeting::Operation);
}

void MeetingChecks::beforeBarrier(const Instruction& i) {
  if (i.ast->has(Mod::Cluster)) unsupported(i, "a barrier of a cluster, which is looked at elsewhere");
  followed(i);
  if (i.ast->has(Mod::Warp)) return tellMembers(i, i.sources.empty() ? kNone : i.sources[0], Meeting::Warp);
  tell(i, i.ast->has(Mod::Arrive) ? Meeting::Arrives : Meeting::Waits, nullptr);
}

// Where lanes disagree each way tells of its own.
void MeetingChecks::tellCopies(const Instruction& i) {
  if (i.guard != kNone) unsupported(i, "a wait for copies by some lanes, which is looked at elsewhere");
  const bool counts = i.ast->has(Mod::WaitGroup) && !i.sources.empty();
  if (counts && program_.values[i.sources[0]].kind != vg::ptx::gen::Value::Constant)
    unsupported(i, "a wait for a variable number of copies");
  tell(i,
       i.ast->has(Mod::CommitGroup) ? Meeting::CopiesCommit
       : counts                     ? Meeting::CopiesWait
                                    : Meeting::CopiesWaitForAll,
       nullptr);
}

void MeetingChecks::after(const Instruction& i) {
  if (!options_.tellsMeetings || isPause(i) || !isBarrier(i)) return;
  if (!i.ast->has(Mod::Warp) && !i.ast->has(Mod::Arrive)) tell(i, Meeting::Leaves, nullptr);
}

bool MeetingChecks::handsOn() {
  if (!handsOn_)
    handsOn_ = llvm::any_of(program_.instructions, [](const Instruction& i) { return ptx::carriesOrder(*i.ast); });
  return *handsOn_;
}

// Where all lanes are named there is nothing to say but that they meet, which matters where that orders something.
void MeetingChecks::tellMembers(const Instruction& i, ValueId members, Meeting meeting) {
  const auto known = members == kNone ? std::optional<uint64_t>(~0u) : knownBits(program_, members);
  if (known && static_cast<uint32_t>(*known) == ~0u) {
    if (meeting == Meeting::Warp || handsOn()) tell(i, meeting, nullptr);
    return;
  }
  tell(i, meeting, b_.spill(0, values_.integersOf(members, 32)));
}

llvm::Value* MeetingChecks::barrierArgument(const Instruction& i, size_t source) {
  if (waitsForCopies(*i.ast))
    return b_.getInt32(source || i.sources.empty() ? 0 : static_cast<uint32_t>(program_.values[i.sources[0]].bits));
  const bool isGiven = isBarrier(i) && !i.ast->has(Mod::Warp) && source < i.sources.size() - i.ast->has(Mod::Red);
  if (!isGiven) return b_.getInt32(0);
  if (!program_.values[i.sources[source]].shape.uniform()) unsupported(i, "lanes that name different barriers");
  return b_.asInteger(values_.scalarOf(i.sources[source]), 32);
}

void MeetingChecks::tell(const Instruction& i, Meeting meeting, Value* members) {
  runner_.runtimeCall(offsetof(ReachCalls, meet), b_.getVoidTy(),
                      {runner_.block, runner_.warp, masks_.maskBits(masks_.here),
                       b_.getInt32(static_cast<uint32_t>(meeting)), barrierArgument(i, 0), barrierArgument(i, 1),
                       b_.getInt32(i.ast->line), members ? members : llvm::ConstantPointerNull::get(b_.getPtrTy())});
}

}  // namespace vg::ptx::gen
