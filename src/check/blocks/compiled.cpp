#include "check/blocks/compiled.h"

#include <algorithm>
#include <bit>

#include "check/blocks/block_checks.h"
#include "check/check.h"
#include "check/memory/allocations.h"
#include "check/tools.h"
#include "ptx/facts/layout.h"

namespace vg::check {
namespace {

using Own = ptx::BlockObserver::Own;

bool within(uint64_t address, uint64_t bytes, uint64_t start, uint64_t size) {
  return address - start <= size && bytes <= size - (address - start);
}

// The lane's own variables and stack, or what lies between those of lanes.
Own ownership(const ptx::BlockState& block, const CompiledKernel& kernel, const LocalMemory& local,
              const ptx::Access& access) {
  const uint64_t address = access.address, bytes = access.bytes;
  if (within(address, bytes, local.start + access.lane * local.stride, local.bytes)) return Own::Yes;
  if (address - local.start < ptx::kWarpSize * local.stride) return Own::Beside;
  if (within(address, bytes, local.frame, local.frameEnd - local.frame)) return Own::Yes;
  const auto parameters = reinterpret_cast<uint64_t>(block.launch->parameters);
  return within(address, bytes, parameters, kernel.parameterBytes()) ? Own::Yes : Own::No;
}

// Compiled code has addresses of the host; an access by the word for shared memory counts from where that begins.
void nameShared(const ptx::BlockState& block, ptx::Access& access) {
  access.isShared = access.space == ptx::Space::Shared || access.space == ptx::Space::SharedCluster;
  if (access.isShared) access.address = (access.address - reinterpret_cast<uint64_t>(block.shared)) & 0xffffffff;
}

void note(ptx::BlockState& block, uint32_t warp, uint32_t lane, uint32_t line) {
  block.warp = warp;
  block.lane = lane;
  block.line = line;
}

bool memoryOnly() { return (toolsOn.load(std::memory_order_relaxed) & kOfKernels) == only(Tool::Memory); }

BlockChecks& entered(ptx::BlockState& block, const CompiledKernel& kernel) {
  void* const known = block.checked ? block.checked->owner : nullptr;
  BlockChecks& checks = known ? *static_cast<BlockChecks*>(known) : blockChecks(block);
  checks.enter(block, kernel.module(), kernel.entry(), kernel.carries(), kernel.reserved());
  return checks;
}

// Lanes that name each other meet, as the interpreter has it.
void meetByMasks(BlockChecks& checks, const WarpMeeting& told, const ptx::Instruction* at) {
  uint32_t named[ptx::kWarpSize], strangers = 0;  // strangers: whose own mask does not name them
  for (uint32_t left = told.mask; left; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    named[lane] = told.members ? told.members[lane] : ~0u;
    if (at && !(named[lane] >> lane & 1)) checks.notNamed(told.warp, lane, named[lane], *at);
    if (!(named[lane] >> lane & 1)) strangers |= 1u << lane;
    named[lane] |= 1u << lane;
  }
  for (uint32_t left = told.mask; left;) {
    const uint32_t members = named[std::countr_zero(left)];
    uint32_t present = 0;
    for (uint32_t others = left & members; others; others &= others - 1) {
      const auto lane = static_cast<uint32_t>(std::countr_zero(others));
      if (named[lane] == members) present |= 1u << lane;
    }
    if (at && !(present & strangers) && present != (members & told.mask))
      checks.missing(told.warp, members, present, *at);
    told.meeting == ptx::Meeting::Warp ? checks.meet(told.warp, present) : checks.operate(told.warp, present);
    left &= ~present;
  }
}

// The lanes from the first of the mask on that come one after the other, each `step` bytes behind the one before.
uint32_t lanesInRow(const uint64_t* addresses, uint32_t mask, uint64_t step) {
  const auto first = static_cast<uint32_t>(std::countr_zero(mask));
  const auto most = static_cast<uint32_t>(std::countr_one(mask >> first));
  uint32_t count = 1;
  while (count < most && addresses[first + count] == addresses[first] + count * step) ++count;
  return (count == ptx::kWarpSize ? ~0u : (1u << count) - 1) << first;
}

// One warp's access while it is looked at.
class Judging {
 public:
  Judging(ptx::BlockState& block, const CompiledKernel& kernel, const WarpAccess& asked)
      : block_(block), kernel_(kernel), asked_(asked), checks_(entered(block, kernel)) {
    access_.kind = static_cast<ptx::Access::Kind>(asked.form.kind);
    access_.strong = asked.form.strong;
    access_.space = static_cast<ptx::Space>(asked.form.space);
    access_.warp = asked.warp;
    access_.bytes = asked.form.bytes;
    access_.alignment = uint64_t{1} << asked.form.alignmentBits;
    access_.instruction = kernel.at(asked.line);
    isShared_ = access_.space == ptx::Space::Shared || access_.space == ptx::Space::SharedCluster;
  }

  uint32_t run() {
    if (!isShared_) known_ = block_.checked->ranges[asked_.form.range];
    uint32_t allowed = known() ? asked_.mask : 0;
    if (!allowed) eachLane(asked_.mask, [&](uint32_t lane) { allowed |= permitted(lane) ? 1u << lane : 0; });
    if (known_.room && !isShared_) block_.checked->ranges[asked_.form.range] = known_;
    if (!memoryOnly()) touch(allowed & ~own_);
    return allowed;
  }

 private:
  template <class Visit>
  static void eachLane(uint32_t mask, Visit visit) {
    for (uint32_t left = mask; left; left &= left - 1) visit(static_cast<uint32_t>(std::countr_zero(left)));
  }

  void name(uint32_t lane) {
    access_.lane = static_cast<uint8_t>(lane);
    access_.address = asked_.addresses[lane];
    nameShared(block_, access_);
  }

  // Whether all lanes go where it is known to be well, as most accesses do.
  bool known() {
    if (asked_.form.lanes & ptx::kFound) return true;
    if (!wants(Tool::Memory)) return isShared_ || access_.space == ptx::Space::Global;
    if (isShared_) known_ = sharedRange();
    if (access_.bytes >= known_.room) return false;
    const uint64_t last = known_.room - 1 - access_.bytes;
    uint64_t wrong = 0;
    eachLane(asked_.mask, [&](uint32_t lane) {
      const uint64_t address = asked_.addresses[lane];
      wrong |= uint64_t{address - known_.base > last} | (address & (access_.alignment - 1));
    });
    return !wrong;
  }

  // Of the variable that the addresses are computed from, where the code knows it.
  ptx::CheckedRange sharedRange() {
    const uint64_t own = reinterpret_cast<uint64_t>(block_.shared) + block_.sharedOffset;
    if (!ofVariable()) return {own, uint64_t{block_.sharedLimit} + 1};
    const ptx::SharedLayout::Slot& slot = kernel_.sharedSlot(asked_.form.range & ~ptx::kOfVariable);
    variable_ = &ptx::variableOf(kernel_.module(), slot);
    return {own + slot.offset, variable_->size + 1};
  }
  bool ofVariable() const { return asked_.form.range & ptx::kOfVariable; }

  bool permitted(uint32_t lane) {
    const uint64_t address = asked_.addresses[lane];
    if (known_.holds(address, access_.bytes) && !(address & (access_.alignment - 1))) return true;
    name(lane);
    note(block_, asked_.warp, lane, asked_.line);
    const Own own = access_.isShared ? Own::No : ownership(block_, kernel_, asked_.local, access_);
    if (own != Own::No) own_ |= 1u << lane;
    if (!checks_.permits(access_, own)) return false;
    if (isShared_ && ofVariable()) return checks_.beyondVariable(access_, *variable_);
    if (const ptx::CheckedRange range = checks_.goodRange(); range.room) known_ = range;
    return true;
  }

  // What the access does to those that come later.
  void touch(uint32_t lanes) {
    if (!lanes) return;
    checks_.storing(nullptr);
    const uint32_t next = nextRow(lanes);
    if (!isShared_ && !(next & (next - 1)) && next != lanes && wants(Tool::Race))
      global_memory::fetch(asked_.addresses, lanes);
    uint32_t alone = 0;
    for (uint32_t left = lanes, row = 0; left; left &= ~row)
      if (!touchRow(row = nextRow(left))) alone |= row;
    if (alone) touchAlone(lanes, alone);
  }

  // Lanes side by side, or at one place, where that is no store.
  uint32_t nextRow(uint32_t left) const {
    const uint32_t row = lanesInRow(asked_.addresses, left, access_.bytes);
    const bool one = !(row & (row - 1));
    return one && access_.kind != ptx::Access::Kind::Store ? lanesInRow(asked_.addresses, left, 0) : row;
  }

  bool touchRow(uint32_t row) {
    const auto first = static_cast<uint32_t>(std::countr_zero(row)), count = static_cast<uint32_t>(std::popcount(row));
    const uint64_t bytes = access_.bytes;
    const bool apart = count > 1 && asked_.addresses[first + 1] != asked_.addresses[first];
    name(first);
    if (apart) access_.bytes = count * bytes;
    const bool done = checks_.touchesTogether(access_, apart ? bytes : 0);
    access_.bytes = bytes;
    if (!done || apart || count == 1) return done;
    name(first + count - 1);  // two of those at one place stand for all: whoever comes next is at most one of them
    return checks_.touchesTogether(access_, 0);
  }

  // `lanes`: of the access, whose stores may meet.
  void touchAlone(uint32_t lanes, uint32_t alone) {
    const StoredData stored{static_cast<const std::byte*>(asked_.data), asked_.form.elementBytes, asked_.form.bytes,
                            lanes, asked_.addresses};
    checks_.storing(asked_.data ? &stored : nullptr);
    eachLane(alone, [&](uint32_t lane) {
      name(lane);
      checks_.touches(access_);
    });
    checks_.storing(nullptr);
  }

  ptx::BlockState& block_;
  const CompiledKernel& kernel_;
  const WarpAccess& asked_;
  BlockChecks& checks_;
  ptx::Access access_;
  const ptx::Variable* variable_ = nullptr;
  ptx::CheckedRange known_;
  uint32_t own_ = 0;  // lanes whose own memory it is
  bool isShared_;
};

// An access that the code has found well, of lanes in rows, while it is noted.
class RowsNoted {
  static constexpr uint64_t kWord = 4;

 public:
  RowsNoted(ptx::BlockState& block, BlockChecks& checks, const CompiledKernel& kernel, const WarpAccess& asked)
      : checks_(checks), asked_(asked) {
    access_.kind = static_cast<ptx::Access::Kind>(asked.form.kind);
    access_.strong = asked.form.strong;
    access_.space = static_cast<ptx::Space>(asked.form.space);
    access_.warp = asked.warp;
    access_.alignment = uint64_t{1} << asked.form.alignmentBits;
    access_.instruction = kernel.at(asked.line);
    access_.isShared = access_.space == ptx::Space::Shared || access_.space == ptx::Space::SharedCluster;
    base_ = access_.isShared ? reinterpret_cast<uint64_t>(block.shared) : 0;
  }

  // False: lanes are to be looked at one by one.
  bool run() {
    const uint32_t each = lanesOfRow(asked_.form), all = each == ptx::kWarpSize ? ~0u : (1u << each) - 1;
    checks_.storing(nullptr);
    for (uint32_t lane = 0, row = 0; lane < ptx::kWarpSize; lane += each, ++row)
      if (const uint32_t mask = asked_.mask >> lane & all)
        if (!note(lane, mask, asked_.addresses[row])) return false;
    return true;
  }

  static uint32_t lanesOfRow(const ptx::AccessForm& form) { return 1u << (form.lanes >> ptx::kRowLanesShift & 7); }
  static ptx::AccessLanes lanesOf(const ptx::AccessForm& form) {
    return static_cast<ptx::AccessLanes>(form.lanes & ptx::kAccessLanes);
  }

 private:
  bool note(uint32_t lane, uint32_t mask, uint64_t start) {
    const auto first = static_cast<uint32_t>(std::countr_zero(mask));
    const uint32_t lanes = mask >> first, span = 32 - static_cast<uint32_t>(std::countl_zero(lanes));
    const uint64_t bytes = asked_.form.bytes;
    const bool apart = lanesOf(asked_.form) == ptx::AccessLanes::SideBySide && span > 1;
    if (!apart && span > 1 && asked_.form.kind == static_cast<uint8_t>(ptx::Access::Kind::Store)) return false;
    if (!apart && (lanes & 2) && asked_.form.kind == static_cast<uint8_t>(ptx::Access::Kind::Load))
      return noteOne(lane, first, start, 3);
    if (!apart) return noteOne(lane, first, start) && (span == 1 || noteOne(lane, first + span - 1, start));
    const bool whole = !(lanes & (lanes + 1));  // one after the other
    if (!whole && bytes < kWord) return false;
    access_.lane = static_cast<uint8_t>(lane + first);
    access_.address = addressOf(start + first * bytes);
    access_.bytes = span * bytes;
    return checks_.touchesTogether(access_, bytes, whole ? global_memory::kAllLanes : lanes);
  }
  // Two of those at one place stand for all: whoever comes next is at most one of them.
  bool noteOne(uint32_t lane, uint32_t other, uint64_t start, uint32_t lanes = global_memory::kAllLanes) {
    const bool apart = lanesOf(asked_.form) == ptx::AccessLanes::SideBySide;
    access_.lane = static_cast<uint8_t>(lane + other);
    access_.address = addressOf(start + (apart ? other * asked_.form.bytes : 0));
    access_.bytes = asked_.form.bytes;
    return checks_.touchesTogether(access_, 0, lanes);
  }
  uint64_t addressOf(uint64_t host) const { return access_.isShared ? (host - base_) & 0xffffffff : host; }

  BlockChecks& checks_;
  const WarpAccess& asked_;
  ptx::Access access_;
  uint64_t base_;
};

// Whether the access need not be looked at before it is noted.
bool isWell(const ptx::AccessForm& form) {
  if (form.lanes & ptx::kFound) return true;
  const auto space = static_cast<ptx::Space>(form.space);
  return !wants(Tool::Memory) &&
         (space == ptx::Space::Global || space == ptx::Space::Shared || space == ptx::Space::SharedCluster);
}

uint32_t judgeRows(ptx::BlockState& block, const CompiledKernel& kernel, const WarpAccess& asked) {
  if (isWell(asked.form) && RowsNoted(block, entered(block, kernel), kernel, asked).run()) return asked.mask;
  uint64_t addresses[ptx::kWarpSize];
  const uint32_t row = RowsNoted::lanesOfRow(asked.form);
  const bool apart = RowsNoted::lanesOf(asked.form) == ptx::AccessLanes::SideBySide;
  for (uint32_t lane = 0; lane < ptx::kWarpSize; ++lane)
    addresses[lane] = asked.addresses[lane / row] + (apart ? lane % row * asked.form.bytes : 0);
  WarpAccess each = asked;
  each.addresses = addresses;
  each.form.lanes &= ptx::kFound;
  return Judging(block, kernel, each).run();
}

}  // namespace

bool onlyMemory() { return (toolsOn.load(std::memory_order_relaxed) & kOfKernels) == only(Tool::Memory); }

CompiledKernel::CompiledKernel(const ptx::Module& module, const std::vector<const ptx::Function*>& reached,
                               uint32_t reserved)
    : module_(module),
      entry_(*reached.front()),
      reserved_(reserved),
      shared_(ptx::sharedLayout(module, static_cast<uint32_t>(reached.front() - module.functions.data()))) {
  for (const ptx::ParameterSlot& slot : ptx::parameterLayout(entry_)) parameterBytes_ = slot.offset + slot.size;
  for (const ptx::Function* const function : reached)
    for (const ptx::Instruction& i : function->body) {
      if (index_.size() <= i.line) index_.resize(i.line + 1);
      if (!index_[i.line]) index_[i.line] = &i;
      carries_ = ptx::carries(carries_, i);
    }
}

const ptx::Instruction* CompiledKernel::at(uint32_t line) const {
  return line < index_.size() ? index_[line] : nullptr;
}

uint32_t judge(ptx::BlockState& block, const CompiledKernel& kernel, const WarpAccess& access) {
  if (access.form.lanes & ptx::kAccessLanes) return judgeRows(block, kernel, access);
  return Judging(block, kernel, access).run();
}

void meet(ptx::BlockState& block, const CompiledKernel& kernel, const WarpMeeting& told) {
  BlockChecks& checks = entered(block, kernel);
  const ptx::Instruction* const at = kernel.at(told.line);
  const uint32_t id = told.barrier & 15;
  if (told.meeting == ptx::Meeting::Leaves) return checks.leaves(told.warp, id, told.mask);
  if (told.meeting == ptx::Meeting::Waits || told.meeting == ptx::Meeting::Arrives)
    return checks.arrives(
        {told.warp, id, told.threads, told.mask, told.mask, told.meeting == ptx::Meeting::Waits, true, true, at});
  using Copies = ptx::BlockObserver::Copies;
  switch (told.meeting) {
    case ptx::Meeting::CopiesCommit:
      return checks.copies(told.warp, told.mask, Copies::Commit, 0);
    case ptx::Meeting::CopiesWait:
      return checks.copies(told.warp, told.mask, Copies::Wait, told.barrier);
    case ptx::Meeting::CopiesWaitForAll:
      return checks.copies(told.warp, told.mask, Copies::WaitForAll, 0);
    default:
      return meetByMasks(checks, told, at);
  }
}

bool judgeOne(ptx::BlockState& block, const CompiledKernel& kernel, const LaneAccess& asked) {
  BlockChecks& checks = entered(block, kernel);
  ptx::Access access;
  access.kind = asked.stores ? ptx::Access::Kind::Store : ptx::Access::Kind::Load;
  access.lane = static_cast<uint8_t>(asked.lane);
  access.warp = asked.warp;
  access.address = asked.address;
  access.bytes = asked.bytes;
  access.alignment = asked.alignment;
  access.instruction = kernel.at(asked.line);
  if (access.instruction) access.space = access.instruction->space;
  if (asked.isShared) access.space = ptx::Space::Shared;
  nameShared(block, access);
  note(block, asked.warp, asked.lane, asked.line);
  return checks.allows(access, access.isShared ? Own::No : ownership(block, kernel, {}, access));
}

void begin(ptx::CheckedRanges& ranges, uint64_t grid) {
  ranges.next = ranges.end = nullptr;  // reads of this block are told of until it is known that they may be noted
  const uint64_t epoch = allocations::epoch();
  if (ranges.grid == grid && ranges.epoch == epoch) return;
  std::fill(std::begin(ranges.ranges), std::end(ranges.ranges), ptx::CheckedRange());
  ranges.grid = grid;
  ranges.epoch = epoch;
}

}  // namespace vg::check
