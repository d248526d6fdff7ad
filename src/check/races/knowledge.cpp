#include "check/races/knowledge.h"

#include <algorithm>

#include "base/sync/mutex.h"
#include "base/undying.h"

namespace vg::check {
namespace {

constexpr size_t kMostBlocks = 4096;    // that a word or a block knows of
constexpr size_t kMostTaken = 8;        // pieces of knowledge of one block that are kept apart
constexpr size_t kMostWords = 1 << 14;  // of a shard
constexpr size_t kShards = 64;

struct Word {
  std::unordered_map<uint64_t, KnownPointer> blocks;
  bool everything = false;
};
struct Shard {
  Mutex mutex;
  std::unordered_map<uint64_t, Word> words VG_GUARDED_BY(mutex);
  bool lost VG_GUARDED_BY(mutex) = false;  // there were too many words: each may have said everything
};
struct Words {
  Shard shards[kShards];
};
Shard& shardOf(uint64_t word) {
  Words& words = undyingFrom<Words>([] { return Words(); });
  return words.shards[word / 4 * 0x9e3779b97f4a7c15u >> 58];
}

}  // namespace

void Knowledge::reset(uint64_t id, uint64_t horizon) {
  id_ = id;
  horizon_ = horizon;
  knowsAll_ = false;
  taken_.clear();
}

void Knowledge::release(uint64_t address, uint32_t thread, const Clocks& clocks) {
  const KnownPointer own = clocks.knownTo(thread);
  Shard& shard = shardOf(address);
  const MutexLock lock(shard.mutex);
  if (shard.words.size() > kMostWords) {  // what is over for this block is over for later ones
    std::erase_if(shard.words, [&](const auto& word) {
      return !word.second.everything && std::all_of(word.second.blocks.begin(), word.second.blocks.end(),
                                                    [&](const auto& block) { return block.first <= horizon_; });
    });
    if (shard.words.size() > kMostWords) {
      shard.words.clear();
      shard.lost = true;
    }
  }
  if (shard.lost) return;
  Word& word = shard.words[address];
  word.everything |= knowsAll_;
  if (word.everything) return;
  if (word.blocks.size() > kMostBlocks / 2)
    std::erase_if(word.blocks, [&](const auto& b) { return b.first <= horizon_; });
  KnownPointer& mine = word.blocks[id_];
  mine = joined(mine, own);
  for (const auto& [id, pieces] : taken_)
    for (const Taken& piece : pieces)
      if (piece.isKnownTo(thread, clocks)) {
        KnownPointer& there = word.blocks[id];
        there = joined(there, piece.known);
      }
  if (word.blocks.size() <= kMostBlocks) return;
  word.everything = true;
  word.blocks.clear();
}

void Knowledge::acquire(uint64_t address, uint32_t thread, uint32_t clock, const Clocks& clocks) {
  if (knowsAll_) return;
  Shard& shard = shardOf(address);
  const MutexLock lock(shard.mutex);
  knowsAll_ = shard.lost;
  const auto found = shard.words.find(address);
  if (found == shard.words.end()) return;
  knowsAll_ |= found->second.everything;
  for (const auto& [id, known] : found->second.blocks)
    if (id != id_ && id > horizon_) take(id, known, thread, clock, clocks);
  knowsAll_ |= taken_.size() > kMostBlocks;
}

void Knowledge::take(uint64_t id, const KnownPointer& known, uint32_t thread, uint32_t clock, const Clocks& clocks) {
  std::vector<Taken>& pieces = taken_[id];
  for (const Taken& piece : pieces)
    if ((piece.known == known || piece.known->covers(*known)) && piece.isKnownTo(thread, clocks)) return;
  std::erase_if(pieces, [&](const Taken& piece) {
    return !piece.byAnybody && piece.thread == thread && known->covers(*piece.known);
  });
  if (pieces.size() < kMostTaken) {
    pieces.push_back({thread, clock, known});
    return;
  }
  Taken& last = pieces.back();  // known a little too early, and to too many
  last.known = joined(last.known, known);
  last.byAnybody = true;
}

bool Knowledge::orders(uint64_t id, uint32_t other, uint32_t clock, uint32_t thread, const Clocks& clocks) const {
  if (knowsAll_) return true;
  const auto found = taken_.find(id);
  if (found == taken_.end()) return false;
  return std::any_of(found->second.begin(), found->second.end(), [&](const Taken& piece) {
    return piece.known->covers(other, clock) && piece.isKnownTo(thread, clocks);
  });
}

void Knowledge::open(uint64_t address) {
  Shard& shard = shardOf(address);
  const MutexLock lock(shard.mutex);
  if (shard.lost) return;
  shard.words[address].everything = true;
}

}  // namespace vg::check
