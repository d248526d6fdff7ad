#include "check/races/global_races.h"

#include <algorithm>
#include <cstdio>

#include "check/memory/allocations.h"
#include "check/memory/stream_memory.h"
#include "check/reports/report.h"
#include "check/reports/words.h"

namespace vg::check {
namespace {

using global_memory::Conflict;
using global_memory::Row;
using global_memory::Where;
using global_memory::Who;
using Kind = ptx::Access::Kind;

std::string inThree(const char* what, uint64_t number, const uint32_t* size) {
  char text[96];
  std::snprintf(text, sizeof text, "%s (%llu,%llu,%llu)", what, static_cast<unsigned long long>(number % size[0]),
                static_cast<unsigned long long>(number / size[0] % size[1]),
                static_cast<unsigned long long>(number / size[0] / size[1]));
  return text;
}

const char* nameOf(order::Form form, Where where) {
  if (where & global_memory::kFreed) return "a free";
  if (where & global_memory::kAllocated) return "an allocation";
  if (form == order::Form::Kernel) return "a kernel";
  return form == order::Form::Fill ? "a fill" : "a copy";
}

// What it did to the memory.
const char* verbOf(Where where, bool wrote) {
  if (where & global_memory::kFreed) return "ended";
  if (where & global_memory::kAllocated) return "began";
  return wrote ? "wrote" : "read";
}

std::string calledFrom(const order::Work& work, const char* how) {
  const std::string caller = work.caller.text();
  return caller.empty() ? "" : std::string(how) + caller;
}

std::string placeIn(const order::Work& work, Where where) {
  const uint32_t line = where & global_memory::kLine;
  const ptx::Instruction* const at = work.module ? words::instructionAt(*work.module, line) : nullptr;
  return at ? words::place(*work.module, *at) : "PTX line " + std::to_string(line);
}

// The earlier side of a conflict. `mine`: the work of the later one; null: of no kernel.
std::string otherSide(const order::Work& work, const order::Work* mine, const Conflict& conflict) {
  if (work.form != order::Form::Kernel)
    return std::string("the other is ") + nameOf(work.form, conflict.where) + calledFrom(work, ", called from ");
  const std::string thread = inThree("thread", conflict.earlier.thread(), work.blockSize);
  const std::string at = placeIn(work, conflict.where);
  if (mine == &work && conflict.earlier.id() == conflict.now.id())
    return "the other is " + thread + " of the same block, " + at;
  const std::string who =
      "the other is " + thread + " of " + inThree("block", conflict.earlier.id() - work.first, work.gridSize);
  if (mine == &work) return who + ", " + at;
  return who + " of kernel " + work.kernel + " " + at + calledFrom(work, ", launched from ");
}

// What orders the work of a copy.
class CopyParty final : public global_memory::Party {
 public:
  explicit CopyParty(const order::Work& work) : Party(work.first, work.horizon, 0), work_(work) {
    identify(work.first, work.horizon, 0, work.anywhere ? 0 : work.first);
  }
  bool ordered(Who earlier, uint32_t) const override {
    if (work_.holds(earlier.id())) return true;
    const order::WorkPointer other = order::find(earlier.id());
    return !other || order::ordered(*other, work_);
  }

 private:
  const order::Work& work_;
};

// The program's own code on the host, all threads of it.
class HostParty final : public global_memory::Party {
 public:
  static constexpr uint64_t kId = 0xffffffff;  // of no work
  HostParty() : Party(kId, 0, 0) {}
  bool ordered(Who earlier, uint32_t) const override { return orderedWhole(earlier.id()); }
  bool orderedWhole(uint64_t id) const override {
    const order::WorkPointer work = order::find(id);
    return !work || order::hostHas(*work);
  }
};

// "a copy writes global memory at 0x7f0012340000 that a kernel read, unordered"
std::string headlineOf(const order::Work& work, const order::Work& other, const Conflict& conflict, Where where) {
  const bool ends = where & global_memory::kFreed, begins = where & global_memory::kAllocated;
  char text[192];
  std::snprintf(text, sizeof text, "%s %s global memory at %#zx that %s %s, unordered", nameOf(work.form, where),
                ends              ? "ends"
                : begins          ? "begins"
                : conflict.writes ? "writes"
                                  : "reads",
                size_t{conflict.address}, nameOf(other.form, conflict.where),
                verbOf(conflict.where, conflict.earlierWrote));
  return text;
}

void report(const order::Work& work, const Conflict& conflict, Where where) {
  const order::WorkPointer other = order::find(conflict.earlier.id());
  if (!other) return;
  static constexpr char kCall[] = "copy";
  const FaultKey key{Tool::Race, 16u + conflict.writes * 2 + conflict.earlierWrote, kCall,
                     0,          conflict.where & ~global_memory::kStrong,          work.caller.hash()};
  if (!isNew(key)) return;
  std::vector<std::string> details;
  if (std::string caller = calledFrom(work, "called from "); !caller.empty()) details.push_back(std::move(caller));
  details.push_back(otherSide(*other, nullptr, conflict));
  details.push_back("their streams do not wait for each other");
  for (std::string& line : allocations::whereabouts(conflict.address, 1)) details.push_back(std::move(line));
  describe(key, headlineOf(work, *other, conflict, where), details);
}

void touched(uint64_t address, uint64_t bytes, bool writes, Where how = 0) {
  const order::WorkPointer work = order::Doing::now() ? order::find(order::Doing::now()) : nullptr;
  if (!work || !bytes) return;
  const CopyParty party(*work);
  Row row{address, bytes, 0, Who(work->first, 0, 0), !writes, writes};
  row.where = global_memory::kStrong | global_memory::kCopy | how;
  Conflict conflict;
  if (!global_memory::touch(row, party, &conflict)) report(*work, conflict, row.where);
}

}  // namespace

void GlobalRaces::begin(const ptx::BlockState& block, const ptx::Module& module, const ptx::Function& entry) {
  if (block.launch->gridId != grid_ || !work_) {
    grid_ = block.launch->gridId;
    work_ = order::ofGrid(grid_);
    other_ = nullptr;
    if (!work_) return;
    order::describe(*work_, module, words::kernel(entry), block.launch->blockSize, block.launch->gridSize);
  }
  const uint64_t id = work_->first + block.blockNumber;
  if (!work_->holds(id)) {
    work_ = nullptr;
    return;
  }
  identify(id, work_->horizon, clocks_->floor(), work_->anywhere ? 0 : work_->first);
  knowledge_.reset(id, work_->horizon);
  readCount_ = 0;
}

bool GlobalRaces::touch(const ptx::Access& access, uint64_t address, uint32_t thread, Conflict& conflict) {
  if (!follows()) return true;
  setFloor(clocks_->floor());
  Row row = global_memory::rowOf(access, address, who(thread));
  row.outside = access.isShared;
  return global_memory::touch(row, *this, &conflict);
}

void GlobalRaces::release(uint64_t word, uint32_t thread) {
  if (follows()) knowledge_.release(word, thread, *clocks_);
}
void GlobalRaces::acquire(uint64_t word, uint32_t thread) {
  if (follows()) knowledge_.acquire(word, thread, *clocks_);
}

void GlobalRaces::readAgain() const {
  for (uint32_t i = 0; i < readCount_; ++i)
    knowledge_.acquire(reads_[i].word, reads_[i].thread, reads_[i].clock, *clocks_);
}

void GlobalRaces::remember(uint64_t word, uint32_t thread) {
  const Read read{word, thread, clocks_->now(thread)};
  for (uint32_t i = 0; i < readCount_; ++i)
    if (reads_[i].word == word && reads_[i].thread == thread) {
      reads_[i] = read;
      return;
    }
  if (readCount_ == reads_.size()) {  // those of other warps have happened
    readAgain();
    const auto end = std::partition(reads_.begin(), reads_.end(), [&](const Read& known) {
      return known.thread / ptx::kWarpSize == thread / ptx::kWarpSize;
    });
    readCount_ = static_cast<uint32_t>(end - reads_.begin());
  }
  if (readCount_ < reads_.size()) reads_[readCount_++] = read;
}

void GlobalRaces::pass(const ptx::Access& access, uint32_t thread) {
  if (!follows()) return;
  if (readsAt_ != access.instruction) {
    readAgain();
    readCount_ = 0;
    readsAt_ = access.instruction;
  }
  const bool reads = access.kind != Kind::Store, writes = access.kind != Kind::Load;
  const bool ofHost = allocations::reachesHost(access.address);
  Where where = 0;
  if (reads && !knowledge_.knowsAll()) {
    const Who writer = global_memory::writerOf(access.address, &where);
    if (ofHost || (writer.anybody() && (where & global_memory::kCopy))) knowledge_.loseOrder();
    knowledge_.acquire(access.address, thread, *clocks_);
    remember(access.address, thread);
  }
  if (writes && ofHost) order::hostKnows(work_->first);
  if (writes) knowledge_.release(access.address, thread, *clocks_);
}

bool GlobalRaces::ordered(Who earlier, uint32_t thread) const {
  if (earlier.id() == id()) return clocks_->orderedSinceBegin(earlier.thread(), earlier.clock(), thread);
  if (knowledge_.orders(earlier.id(), earlier.thread(), earlier.clock(), thread, *clocks_)) return true;
  readAgain();
  if (readCount_ && knowledge_.orders(earlier.id(), earlier.thread(), earlier.clock(), thread, *clocks_)) return true;
  return orderedWhole(earlier.id());
}

bool GlobalRaces::orderedWhole(uint64_t id) const {
  if (work_->holds(id)) return false;
  if (!other_ || !other_->holds(id)) other_ = order::find(id);
  return !other_ || order::ordered(*other_, *work_);
}

std::vector<std::string> GlobalRaces::tell(const Conflict& conflict) const {
  const order::WorkPointer other = work_->holds(conflict.earlier.id()) ? work_ : order::find(conflict.earlier.id());
  if (!other) return {};
  const bool sameBlock = conflict.earlier.id() == id();
  const char* const missing = sameBlock ? "nothing like __syncthreads() is between them"
                              : other == work_
                                  ? "nothing like a barrier of the grid, or a fence with an atomic, is between them"
                                  : "their streams do not wait for each other";
  std::vector<std::string> told{otherSide(*other, work_.get(), conflict), missing};
  if (!sameBlock && conflict.where & global_memory::kOfBlock)
    told.push_back("its scope is its own block (.cta): it orders nothing for others");
  return told;
}

const ptx::Module* GlobalRaces::moduleOf(Who who) const {
  const order::WorkPointer work = work_->holds(who.id()) ? work_ : order::find(who.id());
  return work ? work->module : nullptr;
}

bool GlobalRaces::freedBefore(uint64_t address) const {
  Where where = 0;
  const Who writer = work_ ? global_memory::writerOf(address, &where) : Who();
  if (!(where & global_memory::kFreed)) return false;
  const order::WorkPointer free = order::find(writer.id());
  return free && order::before(*free, *work_);
}

namespace stream_memory {
namespace {

constexpr size_t kMost = 16 << 20;  // bytes of an allocation that are marked

void mark(const order::Line& line, uint64_t address, size_t bytes, Where how) {
  const order::Doing doing(order::submitted(line, order::Form::Other, 1));
  touched(address, std::min(bytes, kMost), true, how);
}

}  // namespace

void allocated(const order::Line& line, uint64_t address, size_t bytes) {
  mark(line, address, bytes, global_memory::kAllocated);
}
void freed(const order::Line& line, uint64_t address, size_t bytes) {
  mark(line, address, bytes, global_memory::kFreed);
}

}  // namespace stream_memory

namespace global_races {
namespace {

// The host may wait for a word of its own, or of both, that comes behind other work.
void tellWaiting(uint64_t address, uint64_t bytes) {
  constexpr uint64_t kWord = 16;
  if (bytes <= kWord && order::Doing::now() && allocations::reachesHost(address)) order::hostKnows(order::Doing::now());
}

}  // namespace

void copied(uint64_t to, uint64_t from, uint64_t bytes) {
  touched(from, bytes, false);
  touched(to, bytes, true);
  tellWaiting(to, bytes);
}

bool hostConflicts(uint64_t address, uint64_t bytes, bool writes, Conflict& conflict) {
  Row row{address, bytes, 0, Who(HostParty::kId, 0, 0), !writes, writes};
  row.where = global_memory::kStrong | global_memory::kCopy;  // meets atomics and flags, but not copies
  return global_memory::conflicts(row, HostParty(), conflict);
}

void tellOfHost(const Conflict& conflict, const Caller& caller) {
  const order::WorkPointer other = order::find(conflict.earlier.id());
  if (!other) return;
  static constexpr char kHost[] = "host";
  const FaultKey key{Tool::Race, 16u + conflict.writes * 2 + conflict.earlierWrote, kHost,
                     0,          conflict.where & ~global_memory::kStrong,          caller.hash()};
  if (!isNew(key)) return;
  char headline[192];
  std::snprintf(headline, sizeof headline, "the host %s managed memory at %#zx that %s %s, unordered",
                conflict.writes ? "writes" : "reads", size_t{conflict.address}, nameOf(other->form, conflict.where),
                verbOf(conflict.where, conflict.earlierWrote));
  std::vector<std::string> details;
  if (const std::string place = caller.text(); !place.empty()) details.push_back("at " + place);
  details.push_back(otherSide(*other, nullptr, conflict));
  details.push_back("the host has not waited for it");
  for (std::string& line : allocations::whereabouts(conflict.address, 1)) details.push_back(std::move(line));
  describe(key, headline, details);
}

void filled(uint64_t address, uint64_t bytes) {
  touched(address, bytes, true);
  tellWaiting(address, bytes);
}

void written(uint64_t address, uint64_t bytes) {
  for (uint64_t word = address / 4 * 4; bytes <= 8 && word < address + bytes; word += 4) Knowledge::open(word);
}

}  // namespace global_races

}  // namespace vg::check
