#include "check/memory/host_pages.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>
#include <csignal>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/memory/own_memory.h"
#include "base/settings.h"
#include "base/sync/mutex.h"
#include "base/system/os.h"
#include "base/undying.h"
#include "check/races/order.h"

namespace vg::check::host_pages {

constinit std::atomic<bool> watched{false};

namespace {

constexpr uint64_t kChunk = 64 << 10;                // addresses whose pages have one entry in the index
constexpr uint64_t kMostBytes = uint64_t{64} << 30;  // of an allocation that is watched
constexpr unsigned kMostSteps = 4096;                // of accesses to a page; then it stays open until its work is over
constexpr size_t kMostEdges = 24576;               // between pages of different protection: the system counts mappings
constexpr size_t kManyEdges = kMostEdges / 3 * 2;  // then pages that may be read are closed for reading, too
constexpr int kOpen = PROT_READ | PROT_WRITE;

// The last work that touched each page, shifted left by one, and whether it wrote; 0: none that the host does not know.
struct Chunk {
  std::atomic<uint64_t> last[kChunk / kPage]{};
};

struct Touched {
  uint64_t work;
  uint32_t line;
  bool writes;  // it, or work before it
};
struct PageState {
  std::vector<Touched> by;            // that the host does not know to be over; of a line the last
  int protection = kOpen;             // but for steps over it
  bool listed = false, open = false;  // listed: to be closed; open: for as long as it is known
  unsigned faults = 0, steppers = 0;
  bool closed() const { return protection != kOpen; }
};

// Neighbouring pages that get the same protection by one call.
class Protect {
 public:
  void add(uint64_t page, int protection) { pages_.push_back({page, protection}); }
  // Returns those that the system refused.
  std::vector<uint64_t> apply() {
    std::vector<uint64_t> refused;
    std::sort(pages_.begin(), pages_.end());
    for (size_t from = 0, end = 0; from < pages_.size(); from = end) {
      for (end = from + 1; end < pages_.size() && goesOn(end); ++end) {
      }
      const size_t bytes = (end - from) * kPage;
      if (!mprotect(reinterpret_cast<void*>(pages_[from].first), bytes, pages_[from].second)) continue;
      for (size_t k = from; k < end; ++k) refused.push_back(pages_[k].first);
    }
    return refused;
  }

 private:
  bool goesOn(size_t k) const {
    return pages_[k].first == pages_[k - 1].first + kPage && pages_[k].second == pages_[k - 1].second;
  }
  std::vector<std::pair<uint64_t, int>> pages_;
};

// A child of fork(): what other threads of its parent were doing here, nobody finishes.
constinit std::atomic<bool> inChild{false};

// Holds the mutex, with no signal handled meanwhile that may come at any time.
class VG_SCOPED_LOCK_CLASS Held {
 public:
  explicit Held(Mutex& mutex) VG_ACQUIRES(mutex) : mutex_(mutex) {
    const sigset_t blocked = os::asynchronousSignals();
    pthread_sigmask(SIG_BLOCK, &blocked, &before_);
    mutex.lock();
  }
  ~Held() VG_RELEASES() {
    mutex_.unlock();
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  Held(const Held&) = delete;

 private:
  Mutex& mutex_;
  sigset_t before_;
};

int protectionOf(const PageState& state) {
  const bool written = std::any_of(state.by.begin(), state.by.end(), [](const Touched& t) { return t.writes; });
  return written ? PROT_NONE : PROT_READ;
}

class Pages {
 public:
  void began(const alloc::MemoryTable& table, uint64_t address, uint64_t bytes) {
    if (bytes > kMostBytes) return;
    const Held lock(mutex_);
    if (!chunks_.load(std::memory_order_relaxed) && !reserve(table)) return;
    for (uint64_t at = address / kChunk * kChunk; at < address + bytes; at += kChunk) {
      std::atomic<Chunk*>& slot = chunks_.load(std::memory_order_relaxed)[(at - base_) / kChunk];
      if (!slot.load(std::memory_order_relaxed)) slot.store(new Chunk, std::memory_order_release);
    }
    watched.store(true, std::memory_order_release);
  }
  void ended(uint64_t address, uint64_t bytes) {
    const Held lock(mutex_);
    Protect opened;
    for (auto at = states_.begin(); at != states_.end();)
      at = at->first + kPage > address && at->first < address + bytes ? forget(at, opened) : std::next(at);
    open(opened);
  }

  void note(uint64_t address, uint64_t bytes, bool writes, uint64_t work) {
    const uint64_t word = work << 1 | writes, written = work << 1 | 1;
    for (uint64_t page = address / kPage * kPage; page < address + bytes; page += kPage) {
      std::atomic<uint64_t>* const last = lastOf(page);
      if (!last) continue;
      const uint64_t seen = last->load(std::memory_order_relaxed);
      if (seen == word || seen == written) continue;
      const Held lock(mutex_);
      add(page, work, writes);
      last->store(word, std::memory_order_relaxed);
    }
  }
  bool mayBeClosed(uint64_t address) const { return lastOf(address); }

  // Closes what ended work has left, but for pages that other work is at.
  void workEnded(uint64_t work) {
    if (!handled_.load(std::memory_order_acquire)) return;
    const Held lock(mutex_);
    if (!running_.erase(work) || listed_.empty() || !handled_.load(std::memory_order_relaxed)()) return;
    std::vector<uint64_t> left;
    Protect closing;
    std::sort(listed_.begin(), listed_.end());  // neighbours share mappings
    for (const uint64_t page : listed_) {
      const auto found = states_.find(page);
      if (found == states_.end()) continue;
      PageState& state = found->second;
      const bool busy = isBusy(state);
      state.listed = busy && !state.open;
      if (state.listed) left.push_back(page);
      if (busy || state.by.empty() || state.open || state.closed() || !close(page, state)) continue;
      if (!state.steppers) closing.add(page, state.protection);
    }
    listed_.assign(left.begin(), left.end());  // which keeps the room that fault() counts on
    const std::vector<uint64_t> refused = closing.apply();
    Protect opened;  // some of them may be closed
    for (const uint64_t page : refused) reopen(page, states_[page], opened);
    open(opened);
  }

  void hostLearned() {
    const Held lock(mutex_);
    std::unordered_map<uint64_t, bool> known;
    Protect opened;
    for (auto at = states_.begin(); at != states_.end();) {
      dropOver(at->second, known);
      at = at->second.by.empty() ? forget(at, opened) : std::next(at);
    }
    if (edges_ > kMostEdges) reopenAll(opened);  // before the system is asked for so many mappings
    open(opened);
  }

  Fault fault(uint64_t address, bool ofProgram) {
    const uint64_t page = address / kPage * kPage;
    if (inChild.load(std::memory_order_relaxed))
      return mprotect(reinterpret_cast<void*>(page), kPage, kOpen) ? Fault::Foreign : Fault::WasOpen;
    const Held lock(mutex_);
    const auto found = states_.find(page);
    if (found == states_.end() || !found->second.closed()) {
      protect(page, page + kPage, kOpen);  // should the system have refused it before
      return Fault::WasOpen;
    }
    PageState& state = found->second;
    if (ofProgram) std::erase_if(state.by, [](const Touched& touched) { return isOver(touched); });
    if (state.by.empty()) return openKnown(page, state);
    state.open |= ofProgram && ++state.faults > kMostSteps;
    if (ofProgram && !state.open && protect(page, page + kPage, kOpen)) {
      ++state.steppers;
      return Fault::Step;
    }
    if (!ofProgram) list(page, state);
    openHere(page, state);
    return Fault::Opened;
  }
  void stepped(uint64_t address) {
    const uint64_t page = address / kPage * kPage;
    const Held lock(mutex_);
    const auto found = states_.find(page);
    if (found == states_.end() || !found->second.steppers || --found->second.steppers) return;
    PageState& state = found->second;
    if (state.closed() && !protect(page, page + kPage, state.protection)) set(page, state, kOpen);
  }
  void openAll() {
    const Held lock(mutex_);
    Protect opened;
    for (auto& [page, state] : states_) {
      state.open = true;
      if (!state.closed()) continue;
      set(page, state, kOpen);
      opened.add(page, kOpen);
    }
    open(opened);
  }

  void closeWhere(bool (*handled)()) { handled_.store(handled, std::memory_order_release); }

 private:
  using States = std::unordered_map<uint64_t, PageState>;

  bool reserve(const alloc::MemoryTable& table) VG_REQUIRES(mutex_) {
    span_ = table.windows() * table.windowBytes();
    base_ = reinterpret_cast<uint64_t>(table.windowStart(0));
    std::byte* const words = span_ ? own_memory::take(span_ / kChunk * sizeof(void*)) : nullptr;
    chunks_.store(reinterpret_cast<std::atomic<Chunk*>*>(words), std::memory_order_release);
    return words;
  }
  std::atomic<uint64_t>* lastOf(uint64_t address) const {
    std::atomic<Chunk*>* const chunks = chunks_.load(std::memory_order_acquire);
    if (!chunks || address - base_ >= span_) return nullptr;
    Chunk* const chunk = chunks[(address - base_) / kChunk].load(std::memory_order_acquire);
    return chunk ? &chunk->last[address % kChunk / kPage] : nullptr;
  }

  void add(uint64_t page, uint64_t work, bool writes) VG_REQUIRES(mutex_) {
    const order::WorkPointer known = order::find(work);
    if (!known || order::hostHas(*known)) return;  // or nobody knows its order
    running_.insert(work);
    PageState& state = states_[page];
    if (listed_.capacity() <= states_.size()) listed_.reserve(2 * states_.size() + 1);  // fault() takes no memory
    const auto same =
        std::find_if(state.by.begin(), state.by.end(), [&](const Touched& t) { return t.line == known->line; });
    if (same == state.by.end())
      state.by.push_back({work, known->line, writes});
    else
      *same = {std::max(same->work, work), known->line, same->writes || writes};
    list(page, state);
  }
  bool isBusy(const PageState& state) const VG_REQUIRES(mutex_) {
    for (const Touched& touched : state.by)
      if (running_.contains(touched.work)) return true;
    return false;
  }
  static bool isOver(const Touched& touched) {
    const order::WorkPointer work = order::find(touched.work);
    return !work || order::hostHas(*work);
  }
  static void dropOver(PageState& state, std::unordered_map<uint64_t, bool>& known) {
    std::erase_if(state.by, [&](const Touched& touched) {
      const auto [found, isNew] = known.try_emplace(touched.work, false);
      if (isNew) found->second = isOver(touched);
      return found->second;
    });
  }
  // An entry stays while threads step over its page: work that comes meanwhile must not close it before them.
  States::iterator forget(States::iterator at, Protect& opened) VG_REQUIRES(mutex_) {
    PageState& state = at->second;
    if (state.closed()) opened.add(at->first, kOpen);
    set(at->first, state, kOpen);
    if (std::atomic<uint64_t>* const last = lastOf(at->first)) last->store(0, std::memory_order_relaxed);
    if (!state.steppers) return states_.erase(at);
    state.by.clear();
    state.open = false;
    state.faults = 0;
    return std::next(at);
  }
  // The host has waited since the page was closed. The entry stays until hostLearned(), as memory may not be freed
  // here.
  Fault openKnown(uint64_t page, PageState& state) VG_REQUIRES(mutex_) {
    if (std::atomic<uint64_t>* const last = lastOf(page)) last->store(0, std::memory_order_relaxed);
    openHere(page, state);
    return Fault::Opened;
  }

  static bool protect(uint64_t from, uint64_t end, int protection) {
    return !mprotect(reinterpret_cast<void*>(from), end - from, protection);
  }
  PageState* closedAt(uint64_t page) VG_REQUIRES(mutex_) {
    const auto found = states_.find(page);
    return found != states_.end() && found->second.closed() ? &found->second : nullptr;
  }
  int protectionAt(uint64_t page) VG_REQUIRES(mutex_) {
    const PageState* const state = closedAt(page);
    return state ? state->protection : kOpen;
  }
  // How many edges there would be if a page had another protection.
  size_t edgesWith(uint64_t page, const PageState& state, int protection) VG_REQUIRES(mutex_) {
    const int before = protectionAt(page - kPage), behind = protectionAt(page + kPage);
    return edges_ + (protection != before) + (protection != behind) - (state.protection != before) -
           (state.protection != behind);
  }
  bool permitted(size_t edges) const VG_REQUIRES(mutex_) { return edges <= kMostEdges || edges <= edges_; }
  void set(uint64_t page, PageState& state, int protection) VG_REQUIRES(mutex_) {
    edges_ = edgesWith(page, state, protection);
    state.protection = protection;
  }
  // As it should be, or where that takes too many mappings more than it should: then reads of what was only read fault,
  // and are found to be right. False: it stays open.
  bool close(uint64_t page, PageState& state) VG_REQUIRES(mutex_) {
    const int wanted = protectionOf(state);
    const bool few = edgesWith(page, state, wanted) <= kManyEdges;
    const int protection = few ? wanted : PROT_NONE;
    if (!permitted(edgesWith(page, state, protection))) return false;
    set(page, state, protection);
    return true;
  }
  void list(uint64_t page, PageState& state) VG_REQUIRES(mutex_) {
    if (std::exchange(state.listed, true)) return;
    listed_.push_back(page);
  }
  // Opens a page, with all closed ones around it where the page alone would take too many mappings: these are closed
  // again when work ends. Takes no memory.
  void openHere(uint64_t page, PageState& state) VG_REQUIRES(mutex_) {
    if (permitted(edgesWith(page, state, kOpen)) && protect(page, page + kPage, kOpen)) return set(page, state, kOpen);
    uint64_t from = page, end = page + kPage;
    while (closedAt(from - kPage)) from -= kPage;
    while (closedAt(end)) end += kPage;
    for (uint64_t at = from; at < end; at += kPage) {
      PageState& other = *closedAt(at);
      if (at != page && !other.open) list(at, other);
      set(at, other, kOpen);
    }
    protect(from, end, kOpen);
  }
  void reopen(uint64_t page, PageState& state, Protect& opened) VG_REQUIRES(mutex_) {
    set(page, state, kOpen);
    opened.add(page, kOpen);
  }
  void reopenAll(Protect& opened) VG_REQUIRES(mutex_) {
    for (auto& [page, state] : states_) {
      if (!state.closed()) continue;
      list(page, state);
      reopen(page, state, opened);
    }
  }
  // Where the system refuses a part, it is asked for all: that takes no mappings.
  void open(Protect& opened) VG_REQUIRES(mutex_) {
    if (opened.apply().empty()) return;
    reopenAll(opened);
    opened.apply();
  }

  Mutex mutex_;
  std::atomic<bool (*)()> handled_{nullptr};
  uint64_t base_ = 0, span_ = 0;  // constant once there are chunks
  std::atomic<std::atomic<Chunk*>*> chunks_{nullptr};
  States states_ VG_GUARDED_BY(mutex_);
  size_t edges_ VG_GUARDED_BY(mutex_) = 0;                      // between pages of different protection
  std::vector<uint64_t> listed_ VG_GUARDED_BY(mutex_);          // pages to be closed
  std::unordered_set<uint64_t> running_ VG_GUARDED_BY(mutex_);  // works that have touched pages
};
Pages& pages() {  // never destroyed
  return undyingFrom<Pages>([] { return Pages(); });
}

void workEnded(uint64_t work) {
  if (watched.load(std::memory_order_relaxed)) pages().workEnded(work);
}
void hostLearned() {
  if (watched.load(std::memory_order_relaxed)) pages().hostLearned();
}
constexpr order::Listener kListener{workEnded, hostLearned};

void leaveInChild() {
  if (!watched.exchange(false)) return;
  inChild.store(true);
}

}  // namespace

void closeWhere(bool (*handled)()) { pages().closeWhere(handled); }

bool wanted() { return order::on() && settings().checkHost == "1"; }

void began(const alloc::MemoryTable& table, uint64_t address, uint64_t bytes) {
  if (!wanted()) return;
  static constinit std::atomic<bool> begun{false};
  if (!begun.exchange(true)) pthread_atfork(nullptr, nullptr, leaveInChild);
  order::listen(kListener);
  pages().began(table, address, bytes);
}
void ended(uint64_t address, uint64_t bytes) {
  if (watched.load(std::memory_order_relaxed)) pages().ended(address, bytes);
}
void note(uint64_t address, uint64_t bytes, bool writes, uint64_t work) { pages().note(address, bytes, writes, work); }
bool mayBeClosed(uint64_t address) {
  return (watched.load(std::memory_order_acquire) || inChild.load(std::memory_order_relaxed)) &&
         pages().mayBeClosed(address);
}
void openAll() {
  if (watched.load(std::memory_order_acquire)) pages().openAll();
}
Fault fault(uint64_t address, bool ofProgram) {
  return mayBeClosed(address) ? pages().fault(address, ofProgram) : Fault::Foreign;
}
void stepped(uint64_t address) { pages().stepped(address); }

}  // namespace vg::check::host_pages
