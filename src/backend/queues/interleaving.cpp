#include "backend/queues/interleaving.h"

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <new>
#include <thread>
#include <utility>

#include "base/log.h"
#include "base/settings.h"
#include "base/sync/mutex.h"
#include "base/sync/spare_hands.h"
#include "base/system/os.h"
#include "base/undying.h"

namespace vg::backend::interleaving {

constinit std::atomic<bool> active{false};

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kQuiet = std::chrono::milliseconds(500);  // without a call, after which work goes on beside the host
constexpr auto kLongPiece = std::chrono::seconds(10);    // after which others go on beside a piece
constexpr auto kLongCall = std::chrono::seconds(1);      // the same, of one that calls the application
constexpr auto kLook = std::chrono::milliseconds(1);     // between looks at pieces that only wait
constexpr uint64_t kFruitless = 64;  // turns of each waiting piece after which nothing but the host can help

uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

constinit uint64_t seed = 0;  // constant once active

// How a seed mixes pieces: some run one queue for long, some change at each piece.
struct Manner {
  double same;     // that the queue of the last piece goes on
  double between;  // that a piece runs before a call, and one more
  double within;   // that a kernel stands aside between two blocks
};

Manner mannerOf(uint64_t number) {
  constexpr double kSame[] = {0, 0.5, 0.9, 0.99}, kBetween[] = {0.02, 0.2, 0.5, 0.9}, kWithin[] = {0, 0.02, 0.1, 0.5};
  return {kSame[number & 3], kBetween[number >> 2 & 3], kWithin[number >> 4 & 3]};
}

// A thread that runs pieces. Lives for ever, as pieces are many and such threads few.
struct Player {
  Task* task = nullptr;    // to begin with
  Player* next = nullptr;  // in a list of the table
  bool mayGoOn = false;
  std::atomic<bool> blocks{false};  // calls the application
};

constinit thread_local Player* self [[gnu::tls_model("initial-exec")]] = nullptr;

// A list that needs no memory.
template <class Item, Item* Item::*kNext>
class List {
 public:
  size_t size() const { return size_; }
  void append(Item& item) {
    item.*kNext = nullptr;
    Item** end = &first_;
    while (*end) end = &((*end)->*kNext);
    *end = &item;
    ++size_;
  }
  Item& take(size_t index) {
    Item** at = &first_;
    while (index--) at = &((*at)->*kNext);
    Item& item = **at;
    *at = item.*kNext;
    --size_;
    return item;
  }
  // Where `item` stands; size() when it does not.
  size_t find(const Item* item) const {
    size_t index = 0;
    for (const Item* at = first_; at && at != item; at = at->*kNext) ++index;
    return index;
  }

 private:
  Item* first_ = nullptr;
  size_t size_ = 0;
};

}  // namespace

// Of whom only the holder of the mutex knows more: who has the turn, who waits for it. Invariant: a player is in one of
// `aside` and `idle`, has the turn, or runs beside the others after its turn was taken away.
class Table final : public spare_hands::Orphan {
 public:
  Table() noexcept : dice_(numberOf(0)), manner_(mannerOf(numberOf(1))) {}

  void add(Task& task) noexcept;
  void betweenCalls() noexcept;
  bool help() noexcept override;
  void standAside(Player& player) noexcept;
  void mayStandAside(Player& player) noexcept;
  void play(Player& player);
  void guard();
  bool othersWait() const { return waiting_.load(std::memory_order_relaxed) > 0; }

 private:
  using Lock = ReleasableLock;
  bool playOne(Lock& lock) VG_REQUIRES(mutex_) VG_UNCHECKED_LOCKS;
  bool giveTurn() VG_REQUIRES(mutex_);
  size_t choose() VG_REQUIRES(mutex_);
  Player* idlePlayer() VG_REQUIRES(mutex_);
  void awaitTurn(Player& player, Lock& lock) VG_REQUIRES(mutex_) VG_UNCHECKED_LOCKS;
  void goAside(Player& player, Lock& lock) VG_REQUIRES(mutex_) VG_UNCHECKED_LOCKS;
  void endTurn(const Player& player) VG_REQUIRES(mutex_);
  void awaitEnd(Lock& lock) VG_REQUIRES(mutex_) VG_UNCHECKED_LOCKS;
  void count() VG_REQUIRES(mutex_) {
    waiting_.store(static_cast<uint32_t>(ready_.size() + aside_.size()), std::memory_order_relaxed);
  }

  std::atomic<uint32_t> waiting_{0};  // tasks and players that wait for the turn
  Mutex mutex_;
  std::condition_variable turnChanged_, workCame_;
  List<Task, &Task::next_> ready_ VG_GUARDED_BY(mutex_);
  List<Player, &Player::next> aside_ VG_GUARDED_BY(mutex_), idle_ VG_GUARDED_BY(mutex_);
  Player* turn_ VG_GUARDED_BY(mutex_) = nullptr;
  uint64_t turns_ VG_GUARDED_BY(mutex_) = 0;          // given so far
  uint64_t fruitless_ VG_GUARDED_BY(mutex_) = 0;      // turns, one after another, of pieces that only waited
  const Task* last_ VG_GUARDED_BY(mutex_) = nullptr;  // that had the turn
  uint64_t calls_ VG_GUARDED_BY(mutex_) = 0;          // of the application, as far as they come by here
  bool guarded_ VG_GUARDED_BY(mutex_) = false, toldBeside_ VG_GUARDED_BY(mutex_) = false;
  Dice dice_ VG_GUARDED_BY(mutex_);
  const Manner manner_;
};

namespace {

Table& table() { return undying<Table, Table>(); }

void playerMain(void* player) {
  self = static_cast<Player*>(player);
  table().play(*self);
}

}  // namespace

void Table::add(Task& task) noexcept {
  const MutexLock lock(mutex_);
  ready_.append(task);
  count();
  fruitless_ = 0;
  if (!guarded_)
    guarded_ = os::startThread(
        "vg-seed", [](void*) { table().guard(); }, nullptr);
  workCame_.notify_one();
}

void Table::betweenCalls() noexcept {
  if (!othersWait()) return;
  ReleasableLock lock(mutex_);
  ++calls_;
  fruitless_ = 0;
  while (othersWait() && dice_.chance(manner_.between))
    if (!playOne(lock)) break;
}

// A thread of the application waits, or asks whether something is done. A piece that waits for a timeline comes by,
// too.
bool Table::help() noexcept {
  if (self) {
    standAside(*self);
    return true;
  }
  ReleasableLock lock(mutex_);
  ++calls_;
  return playOne(lock);
}

// False when there is nothing to run, or nothing that could get on.
bool Table::playOne(Lock& lock) {
  if (turn_) {  // another thread of the application gave it
    lock.waitUntil(turnChanged_, Clock::now() + kLook);
    return true;
  }
  if (!giveTurn()) return false;
  awaitEnd(lock);
  return ready_.size() || fruitless_ <= kFruitless * aside_.size();
}

// Until the piece that has just got the turn has given it back, or has had it for too long.
void Table::awaitEnd(Lock& lock) {
  const uint64_t mine = turns_;
  const auto begin = Clock::now();
  while (turn_ && turns_ == mine) {
    const bool blocks = turn_->blocks.load(std::memory_order_relaxed);
    const auto end = begin + (blocks ? Clock::duration(kLongCall) : Clock::duration(kLongPiece));
    if (Clock::now() >= end) {
      VG_LOG(Warn, "VERDIGRIS_SEED: %s; other work goes on beside it, and another run may differ",
             blocks ? "a host function waits" : "a kernel or copy takes long");
      turn_ = nullptr;
      turnChanged_.notify_all();
      return;
    }
    lock.waitUntil(turnChanged_, begin + kLongCall > Clock::now() ? begin + kLongCall : end);
  }
}

size_t Table::choose() {
  const size_t before = ready_.find(last_);
  if (before < ready_.size() && dice_.chance(manner_.same)) return before;
  return dice_.below(ready_.size() + aside_.size());
}

bool Table::giveTurn() {
  if (!othersWait()) return false;
  const size_t chosen = choose();
  Player* player;
  if (chosen < ready_.size()) {
    player = idlePlayer();
    if (!player) return false;
    player->task = &ready_.take(chosen);
    last_ = player->task;
  } else {
    player = &aside_.take(chosen - ready_.size());
  }
  count();
  player->mayGoOn = true;
  turn_ = player;
  ++turns_;
  turnChanged_.notify_all();
  return true;
}

// Null when the system refuses threads; it may have one in a moment.
Player* Table::idlePlayer() {
  if (idle_.size()) return &idle_.take(0);
  auto* const player = new (std::nothrow) Player;
  if (player && os::startThread("vg-piece", playerMain, player)) return player;
  delete player;
  return nullptr;
}

void Table::awaitTurn(Player& player, Lock& lock) {
  while (!player.mayGoOn) lock.wait(turnChanged_);
  player.mayGoOn = false;
}

void Table::endTurn(const Player& player) {
  if (turn_ == &player) turn_ = nullptr;
  turnChanged_.notify_all();
}

void Table::play(Player& player) {
  ReleasableLock lock(mutex_);
  for (;;) {
    awaitTurn(player, lock);
    lock.unlock();
    player.task->run();
    lock.lock();
    player.blocks.store(false, std::memory_order_relaxed);
    fruitless_ = 0;
    idle_.append(player);
    endTurn(player);
  }
}

// The guard looks after it, too: the host may have made its last call.
void Table::goAside(Player& player, Lock& lock) {
  aside_.append(player);
  count();
  endTurn(player);
  workCame_.notify_one();
  awaitTurn(player, lock);
}

void Table::standAside(Player& player) noexcept {
  ReleasableLock lock(mutex_);
  ++fruitless_;
  goAside(player, lock);
}

void Table::mayStandAside(Player& player) noexcept {
  if (!othersWait()) return;
  ReleasableLock lock(mutex_);
  fruitless_ = 0;
  if (turn_ != &player || !dice_.chance(manner_.within)) return;
  goAside(player, lock);
}

// The host may ask memory in a loop for what a kernel writes there.
void Table::guard() {
  ReleasableLock lock(mutex_);
  for (;;) {
    if (!othersWait()) {
      lock.wait(workCame_);
      continue;
    }
    const uint64_t calls = calls_;
    lock.unlock();
    std::this_thread::sleep_for(kQuiet);
    lock.lock();
    while (calls_ == calls && othersWait() && !turn_) {
      if (!std::exchange(toldBeside_, true))
        VG_LOG(
            Warn,
            "VERDIGRIS_SEED: the program has made no call for 0.5 s; its work goes on beside it, and another run may "
            "differ");
      if (!playOne(lock)) lock.waitUntil(turnChanged_, Clock::now() + kLook);
    }
  }
}

void begin() {
  const std::string& text = settings().seed;
  if (text.empty() || on()) return;
  char* end = nullptr;
  seed = std::strtoull(text.c_str(), &end, 10);
  if (*end || text[0] == '-') {
    VG_LOG(Warn, "VERDIGRIS_SEED=%s is no number; work runs in no fixed order", text.c_str());
    return;
  }
  active.store(true, std::memory_order_relaxed);
  spare_hands::adopt(table());
}

uint64_t numberOf(uint64_t of) { return mix(mix(seed + 0x9e3779b97f4a7c15) ^ (of * 0xd1342543de82ef95 + 1)); }

uint64_t Dice::roll() { return mix(state_ += 0x9e3779b97f4a7c15); }

void add(Task& task) noexcept { table().add(task); }

void betweenCalls() noexcept {
  if (!self) table().betweenCalls();
}

bool standAside() noexcept {
  if (!self) return false;
  table().standAside(*self);
  return true;
}

void mayStandAside() noexcept {
  if (self) table().mayStandAside(*self);
}

void mayBlock() noexcept {
  if (self) self->blocks.store(true, std::memory_order_relaxed);
}

}  // namespace vg::backend::interleaving
