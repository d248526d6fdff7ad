#include "check/races/order.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <unordered_map>

#include "base/sync/mutex.h"
#include "base/undying.h"

namespace vg::check::order {
namespace {

constexpr size_t kRemembered = 1 << 15;  // pieces of work; older ones are as if ordered
constexpr size_t kMarks = 1 << 10;       // of a line
constexpr uint64_t kLastId = (uint64_t{1} << 32) - (1 << 16);

constinit std::atomic<const Listener*> listening{nullptr};
constinit thread_local uint64_t doing [[gnu::tls_model("initial-exec")]] = 0;

struct LineState {
  Numbers knows;         // what is over when its next work begins, its own last work too
  uint64_t settled = 0;  // the works before this one are all over then
  bool anywhere = false;
  std::map<uint64_t, Numbers> marks;  // by value of the timeline
};
struct Group {
  Numbers legacy, blocking;  // what these streams have
};

void join(Numbers& into, const Numbers& from) {
  if (into.size() < from.size()) into.resize(from.size());
  for (size_t k = 0; k < from.size(); ++k) into[k] = std::max(into[k], from[k]);
}

uint64_t at(const Numbers& numbers, uint32_t line) { return line < numbers.size() ? numbers[line] : 0; }

struct State {
  Mutex mutex;
  std::deque<LineState> lines VG_GUARDED_BY(mutex);
  std::unordered_map<const void*, uint32_t> byTimeline VG_GUARDED_BY(mutex);
  std::unordered_map<const void*, Group> groups VG_GUARDED_BY(mutex);
  Numbers host VG_GUARDED_BY(mutex);
  std::deque<WorkPointer> works VG_GUARDED_BY(mutex);  // by ids
  uint64_t dropped VG_GUARDED_BY(mutex) = 0;           // works that were before them
  uint64_t nextId VG_GUARDED_BY(mutex) = 1;
  std::unordered_map<uint64_t, WorkPointer> grids VG_GUARDED_BY(mutex);
  std::vector<uint32_t> spareLines VG_GUARDED_BY(mutex);  // of graphs that are over

  uint32_t newLine() VG_REQUIRES(mutex) {
    lines.emplace_back();
    return static_cast<uint32_t>(lines.size() - 1);
  }
  uint32_t lineOf(const void* timeline) VG_REQUIRES(mutex) {
    const auto [found, isNew] = byTimeline.try_emplace(timeline, 0);
    if (isNew) found->second = newLine();
    return found->second;
  }
  // Before work is given to the line.
  uint32_t refresh(const Line& line) VG_REQUIRES(mutex) {
    const uint32_t number = lineOf(line.timeline);
    Numbers& knows = lines[number].knows;
    join(knows, host);
    if (line.kind == Line::Kind::Blocking) join(knows, groups[line.group].legacy);
    if (line.kind == Line::Kind::Legacy) join(knows, groups[line.group].blocking);
    return number;
  }
  void publish(const Line& line, uint32_t number) VG_REQUIRES(mutex) {
    if (line.kind == Line::Kind::Blocking) join(groups[line.group].blocking, lines[number].knows);
    if (line.kind == Line::Kind::Legacy) join(groups[line.group].legacy, lines[number].knows);
  }
  // Everything up to this id is known.
  uint64_t horizonOf(LineState& line) VG_REQUIRES(mutex) {
    line.settled = std::max(line.settled, dropped);
    for (; line.settled - dropped < works.size(); ++line.settled) {
      const Work& work = *works[line.settled - dropped];
      if (!work.anywhere && at(line.knows, work.line) < work.number) return work.first - 1;
    }
    return nextId - 1;
  }
  uint64_t add(uint32_t number, Form form, uint64_t blocks, const Caller& caller) VG_REQUIRES(mutex) {
    if (nextId + blocks > kLastId) return 0;
    LineState& line = lines[number];
    auto work = std::make_shared<Work>();
    work->horizon = line.anywhere ? nextId - 1 : horizonOf(line);
    if (line.knows.size() <= number) line.knows.resize(number + 1);
    work->first = nextId;
    work->blocks = std::max<uint64_t>(blocks, 1);
    work->line = number;
    work->number = ++line.knows[number];
    work->form = form;
    work->anywhere = line.anywhere;
    work->knows = std::make_shared<const Numbers>(line.knows);
    work->caller = caller;
    nextId += work->blocks;
    works.push_back(std::move(work));
    if (works.size() > kRemembered) {
      works.pop_front();
      ++dropped;
    }
    return works.back()->first;
  }
  // In a line of which nobody knows the order.
  uint64_t addUnknown(uint64_t blocks) VG_REQUIRES(mutex) {
    const uint32_t number = lineOf(&works);
    lines[number].anywhere = true;
    return add(number, Form::Kernel, blocks, {});
  }
  WorkPointer find(uint64_t id) VG_REQUIRES(mutex) {
    if (!id) return nullptr;
    auto behind = std::upper_bound(works.begin(), works.end(), id,
                                   [](uint64_t wanted, const WorkPointer& work) { return wanted < work->first; });
    if (behind == works.begin()) return nullptr;
    const WorkPointer& work = *std::prev(behind);
    return work->holds(id) ? work : nullptr;
  }
  // What is over when the point is reached; what is not known of counts as everything.
  Numbers known(const void* timeline, uint64_t value) VG_REQUIRES(mutex) {
    const auto found = byTimeline.find(timeline);
    if (found == byTimeline.end()) return everything();
    const LineState& line = lines[found->second];
    const auto mark = line.marks.lower_bound(value);
    return mark == line.marks.end() ? line.knows : mark->second;
  }
  Numbers everything() VG_REQUIRES(mutex) {
    Numbers all = host;
    for (const LineState& line : lines) join(all, line.knows);
    return all;
  }
};
State& state() {  // never destroyed
  return undyingFrom<State>([] { return State(); });
}

void tellHostLearned() {
  if (const Listener* const listener = listening.load(std::memory_order_acquire)) listener->hostLearned();
}
void tellEnded(uint64_t work) {
  const Listener* const listener = listening.load(std::memory_order_acquire);
  if (listener && work) listener->ended(work);
}

}  // namespace

uint64_t submitted(const Line& line, Form form, uint64_t blocks) {
  const Caller caller = Caller::here();
  State& s = state();
  const MutexLock lock(s.mutex);
  const uint32_t number = s.refresh(line);
  const uint64_t id = s.add(number, form, blocks, caller);
  s.publish(line, number);
  return id;
}

uint64_t beginGraph(const Line& line) { return submitted(line, Form::Other, 1); }

// A node goes on with the line of one that it comes after, if nobody else does, and else begins one.
uint64_t nodeSubmitted(uint64_t begin, const std::vector<uint64_t>& after, Form form, uint64_t blocks) {
  State& s = state();
  const MutexLock lock(s.mutex);
  Numbers knows;
  uint32_t number = ~0u;
  const WorkPointer first = s.find(begin);
  if (first) knows = *first->knows;
  for (const uint64_t id : after) {
    const WorkPointer work = s.find(id);
    if (!work) continue;
    join(knows, *work->knows);
    if (number == ~0u && at(s.lines[work->line].knows, work->line) == work->number) number = work->line;
  }
  if (number == ~0u && !s.spareLines.empty()) {
    number = s.spareLines.back();
    s.spareLines.pop_back();
  }
  if (number == ~0u) number = s.newLine();
  LineState& line = s.lines[number];
  if (knows.size() <= number) knows.resize(number + 1);
  knows[number] = std::max(knows[number], at(line.knows, number));
  line.anywhere = first && first->anywhere;
  line.knows = std::move(knows);
  line.settled = first ? s.lines[first->line].settled : line.settled;
  return s.add(number, form, blocks, first ? first->caller : Caller());
}

void endGraph(const Line& line, const std::vector<uint64_t>& works) {
  State& s = state();
  const MutexLock lock(s.mutex);
  const uint32_t number = s.lineOf(line.timeline);
  for (const uint64_t id : works)
    if (const WorkPointer work = s.find(id)) {
      join(s.lines[number].knows, *work->knows);
      if (at(s.lines[work->line].knows, work->line) == work->number) s.spareLines.push_back(work->line);
    }
  std::sort(s.spareLines.begin(), s.spareLines.end());
  s.spareLines.erase(std::unique(s.spareLines.begin(), s.spareLines.end()), s.spareLines.end());
  s.publish(line, number);
}

void marked(const Line& line, uint64_t value) {
  State& s = state();
  const MutexLock lock(s.mutex);
  const uint32_t number = s.refresh(line);
  LineState& of = s.lines[number];
  join(of.marks[value], of.knows);
  if (of.marks.size() > kMarks) of.marks.erase(of.marks.begin());
}

void waits(const Line& line, const void* timeline, uint64_t value) {
  State& s = state();
  const MutexLock lock(s.mutex);
  const uint32_t number = s.refresh(line);
  join(s.lines[number].knows, s.known(timeline, value));
  s.publish(line, number);
}

void hostWaited(const Line& line) {
  {
    State& s = state();
    const MutexLock lock(s.mutex);
    join(s.host, s.lines[s.refresh(line)].knows);
  }
  tellHostLearned();
}

void hostWaited(const void* timeline, uint64_t value) {
  {
    State& s = state();
    const MutexLock lock(s.mutex);
    join(s.host, s.known(timeline, value));
  }
  tellHostLearned();
}

void hostKnows(uint64_t id) {
  {
    State& s = state();
    const MutexLock lock(s.mutex);
    if (const WorkPointer work = s.find(id)) join(s.host, *work->knows);
  }
  tellHostLearned();
}

void hostWaitedForAll() {
  {
    State& s = state();
    const MutexLock lock(s.mutex);
    s.host = s.everything();
  }
  tellHostLearned();
}

void loseOrder(const Line& line) {
  State& s = state();
  const MutexLock lock(s.mutex);
  s.lines[s.lineOf(line.timeline)].anywhere = true;
}

void began(uint64_t grid, uint64_t id, uint64_t blocks) {
  State& s = state();
  const MutexLock lock(s.mutex);
  WorkPointer work = id ? s.find(id) : nullptr;
  if (!work || work->blocks < blocks) work = s.find(s.addUnknown(blocks));
  s.grids[grid] = std::move(work);
}

void describe(Work& work, const ptx::Module& module, std::string kernel, const uint32_t* blockSize,
              const uint32_t* gridSize) {
  const MutexLock lock(state().mutex);
  if (work.module == &module) return;
  work.module = &module;
  work.kernel = std::move(kernel);
  work.form = Form::Kernel;
  std::copy_n(blockSize, 3, work.blockSize);
  std::copy_n(gridSize, 3, work.gridSize);
}

void ended(uint64_t grid) {
  uint64_t work = 0;
  {
    State& s = state();
    const MutexLock lock(s.mutex);
    const auto found = s.grids.find(grid);
    if (found == s.grids.end()) return;
    work = found->second->first;
    s.grids.erase(found);
  }
  tellEnded(work);
}

WorkPointer ofGrid(uint64_t grid) {
  State& s = state();
  const MutexLock lock(s.mutex);
  const auto found = s.grids.find(grid);
  return found == s.grids.end() ? nullptr : found->second;
}

WorkPointer find(uint64_t id) {
  State& s = state();
  const MutexLock lock(s.mutex);
  return s.find(id);
}

bool before(const Work& one, const Work& other) { return other.knows && at(*other.knows, one.line) >= one.number; }

bool ordered(const Work& one, const Work& other) {
  return one.anywhere || other.anywhere || before(one, other) || before(other, one);
}

bool hostHas(const Work& work) {
  State& s = state();
  const MutexLock lock(s.mutex);
  return work.anywhere || at(s.host, work.line) >= work.number;
}

void listen(const Listener& listener) { listening.store(&listener, std::memory_order_release); }

void forget(const ptx::Module& module) {
  State& s = state();
  const MutexLock lock(s.mutex);
  for (const WorkPointer& work : s.works)
    if (work->module == &module) work->module = nullptr;
}

void Doing::begin() {
  before_ = doing;
  doing = work_;
}
void Doing::end() {
  if (doing != before_) tellEnded(doing);
  doing = before_;
}
uint64_t Doing::current() { return doing; }

}  // namespace vg::check::order
