#include "backend/nvidia/memory/gpu_memory.h"

#include <algorithm>
#include <iterator>

#include "base/result.h"
#include "base/undying.h"
#include "copy/revealer.h"

namespace vg::backend::nvidia {
namespace {

// All of the process. A copy on the way between two devices is one device's, which knows nothing of what the other
// keeps out of the CPU's sight.
struct Everywhere {
  Mutex mutex;
  std::vector<GpuMemory*> memories VG_GUARDED_BY(mutex);
};

Everywhere& everywhere() { return undying<Everywhere, Everywhere>(); }

bool showAnywhere(const std::byte* start, size_t bytes) {
  Everywhere& all = everywhere();
  const MutexLock guard(all.mutex);
  bool more = false;
  for (GpuMemory* const memory : all.memories) more |= memory->showToHost(start, bytes);
  return more;
}

// A mapping for the CPU takes 70 us and 2 us a MiB, a small copy by an engine 5 us. Who copies so often goes on.
size_t touchesWorth(size_t bytes) { return 15 + (bytes >> 25); }

}  // namespace

GpuMemory::GpuMemory(Gpu& gpu, KnownRanges& known) : gpu_(gpu), known_(known), mappings_(known), peers_(known) {
  Everywhere& all = everywhere();
  const MutexLock guard(all.mutex);
  all.memories.push_back(this);
  copy::revealer.store(showAnywhere, std::memory_order_release);
}

GpuMemory::~GpuMemory() {
  Everywhere& all = everywhere();
  const MutexLock guard(all.mutex);
  std::erase(all.memories, this);
}

template <class Visit, class Missing>
CUresult GpuMemory::each(std::byte* start, size_t bytes, Visit visit, Missing missing) {
  std::byte* const end = start + bytes;
  while (start < end) {
    auto next = pieces_.upper_bound(const_cast<std::byte*>(start));
    std::byte* behind = next == pieces_.end() ? end : std::min(end, next->first);
    if (next != pieces_.begin()) {
      const auto piece = std::prev(next);
      std::byte* const pieceEnd = piece->first + piece->second.block->bytes();
      if (start < pieceEnd) {
        behind = std::min(end, pieceEnd);
        const auto page = [&](std::byte* at) { return static_cast<size_t>(at - piece->first) / kHugePage; };
        visit(piece, page(start), page(behind));
        start = behind;
        continue;
      }
    }
    VG_CHECK(missing(start, static_cast<size_t>(behind - start)));
    start = behind;
  }
  return CUDA_SUCCESS;
}

CUresult GpuMemory::make(std::byte* start, size_t bytes) {
  Pieces made;  // whole before it is among the others, where nothing can fail
  Piece& piece = made[start];
  piece.live.assign(bytes / kHugePage, false);
  const SeenBy seenBy = peers_.none() && ranges_.empty() ? SeenBy::Gpu : SeenBy::GpuAndCpu;
  VG_TRY(piece.block, Block::createAt(gpu_, start, {Where::Video, bytes, kHugePage}, seenBy));
  VG_CHECK(peers_.show(*piece.block));
  if (const CUresult shown = showToRanges(*piece.block); shown != CUDA_SUCCESS) {
    peers_.hide(*piece.block);
    return shown;
  }
  if (!piece.block->onCpu()) unseen_.fetch_add(1, std::memory_order_release);
  pieces_.insert(made.extract(start));
  return CUDA_SUCCESS;
}

GpuMemory::Pieces::iterator GpuMemory::end(Pieces::iterator piece) {
  const Block& block = *piece->second.block;
  hideFromRanges(block);
  peers_.hide(block);
  if (!block.onCpu()) unseen_.fetch_sub(1, std::memory_order_release);
  return pieces_.erase(piece);
}

CUresult GpuMemory::reveal(Block& block) {
  if (block.onCpu()) return CUDA_SUCCESS;
  VG_CHECK(block.showToCpu());
  unseen_.fetch_sub(1, std::memory_order_release);
  return CUDA_SUCCESS;
}

bool GpuMemory::showToHost(const std::byte* start, size_t bytes) {
  bool more = mappings_.showToHost(start, bytes);
  if (!unseen_.load(std::memory_order_acquire)) return more;
  const MutexLock guard(mutex_);
  const auto show = [&](auto piece, size_t, size_t) VG_REQUIRES(mutex_) {
    Block& block = *piece->second.block;
    more |= !block.onCpu() && reveal(block) == CUDA_SUCCESS;
  };
  (void)each(const_cast<std::byte*>(start), bytes, show, [](std::byte*, size_t) { return CUDA_SUCCESS; });
  return more;
}

bool GpuMemory::hidden(const std::byte* start, size_t bytes) {
  if (mappings_.hidden(start, bytes)) return true;
  if (!unseen_.load(std::memory_order_acquire)) return false;
  const MutexLock guard(mutex_);
  bool any = false;
  const auto look = [&](auto piece, size_t, size_t) { any |= !piece->second.block->onCpu(); };
  (void)each(const_cast<std::byte*>(start), bytes, look, [](std::byte*, size_t) { return CUDA_SUCCESS; });
  return any;
}

bool GpuMemory::atHand(const std::byte* start, size_t bytes) {
  if (!unseen_.load(std::memory_order_acquire)) return true;
  const MutexLock guard(mutex_);
  for (const std::byte* const at : {start, start + bytes - 1}) {
    const auto found = pieceWith(at, 1);
    if (found == pieces_.end() || found->second.block->onCpu()) continue;
    Piece& piece = found->second;
    if (++piece.touches < touchesWorth(piece.block->bytes()) || reveal(*piece.block) != CUDA_SUCCESS) return false;
  }
  return true;
}

GpuMemory::Pieces::iterator GpuMemory::pieceWith(const std::byte* start, size_t bytes) {
  auto piece = pieces_.upper_bound(const_cast<std::byte*>(start));
  if (piece == pieces_.begin()) return pieces_.end();
  --piece;
  return start + bytes <= piece->first + piece->second.block->bytes() ? piece : pieces_.end();
}

void GpuMemory::markLive(Piece& piece, size_t first, size_t end) {
  for (size_t page = first; page < end; ++page) {
    piece.liveCount += !piece.live[page];
    piece.live[page] = true;
  }
}

size_t GpuMemory::available() {
  Result<uint64_t> free = gpu_.freeMemory();
  return free ? *free + gpu_.spare().bytes() : SIZE_MAX;
}

// Memory is made first and marked afterwards, so that a failure leaves pieces that nobody lives in; they go at once.
CUresult GpuMemory::commit(std::byte* start, size_t bytes) {
  const MutexLock guard(mutex_);
  const CUresult made = each(
      start, bytes, [](auto, size_t, size_t) {},
      [this](std::byte* at, size_t size) VG_REQUIRES(mutex_) { return make(at, size); });
  if (made == CUDA_SUCCESS) {
    const auto nothing = [](std::byte*, size_t) { return CUDA_SUCCESS; };
    return each(
        start, bytes, [this](auto piece, size_t first, size_t end) { markLive(piece->second, first, end); }, nothing);
  }
  for (auto piece = pieces_.begin(); piece != pieces_.end();) {
    if (piece->second.liveCount) {
      ++piece;
      continue;
    }
    piece = end(piece);
  }
  return made;
}

void GpuMemory::decommit(std::byte* start, size_t bytes) {
  const MutexLock guard(mutex_);
  std::vector<std::byte*> empty;
  const auto release = [&](auto piece, size_t first, size_t end) {
    for (size_t page = first; page < end; ++page) {
      piece->second.liveCount -= piece->second.live[page];
      piece->second.live[page] = false;
    }
    if (!piece->second.liveCount) empty.push_back(piece->first);
  };
  (void)each(start, bytes, release, [](std::byte*, size_t) { return CUDA_SUCCESS; });
  for (std::byte* const piece : empty) end(pieces_.find(piece));
}

// Nothing moves: the driver shares the whole object, of which this is a part.
CUresult GpuMemory::share(std::byte* start, size_t bytes, alloc::SharedMemory& shared) {
  const MutexLock guard(mutex_);
  const auto piece = pieceWith(start, bytes);
  if (piece == pieces_.end()) return unsupported("sharing memory that was made in several pieces");
  VideoMemory::Part part{piece->second.block->sharedMemory(), static_cast<size_t>(start - piece->first), bytes};
  shared.memory = std::make_shared<const VideoMemory>(mappings_, std::move(part), alloc::Sharing::Shareable, "");
  shared.moved = bytes;
  return CUDA_SUCCESS;
}

CUresult GpuMemory::unshare(std::byte* start, size_t bytes) {
  const MutexLock guard(mutex_);
  const auto piece = pieceWith(start, bytes);
  if (piece == pieces_.end() || piece->first != start || piece->second.block->bytes() != bytes)
    return CUDA_ERROR_NOT_SUPPORTED;
  const std::vector<bool> live = piece->second.live;
  const size_t count = piece->second.liveCount;
  end(piece);
  VG_CHECK(make(start, bytes));
  pieces_[start].live = live;
  pieces_[start].liveCount = count;
  return CUDA_SUCCESS;
}

Result<alloc::PhysicalRef> GpuMemory::create(size_t bytes, alloc::Sharing sharing, const char* label) {
  VG_TRY(std::shared_ptr<const MemoryObject> object, MemoryObject::allocateReusable(gpu_, bytes));
  const size_t size = object->bytes();
  return alloc::PhysicalRef(
      std::make_shared<const VideoMemory>(mappings_, VideoMemory::Part{std::move(object), 0, size}, sharing, label));
}

std::vector<Block*> GpuMemory::blocks() {
  std::vector<Block*> blocks;
  for (const auto& [start, piece] : pieces_) blocks.push_back(piece.block.get());
  return blocks;
}

CUresult GpuMemory::showTo(const Peers::Peer& peer) {
  VG_CHECK(mappings_.showTo(peer));
  CUresult shown = CUDA_SUCCESS;
  {
    const MutexLock guard(mutex_);
    const std::vector<Block*> all = blocks();
    for (Block* const block : all)
      if (shown == CUDA_SUCCESS) shown = reveal(*block);
    if (shown == CUDA_SUCCESS) shown = peers_.add(peer, all);
  }
  if (shown != CUDA_SUCCESS) mappings_.hideFrom(peer);
  return shown;
}

void GpuMemory::hideFrom(const Peers::Peer& peer) {
  mappings_.hideFrom(peer);
  const MutexLock guard(mutex_);
  std::vector<Block*> hidden = blocks();
  std::erase_if(hidden, [&](const Block* block) VG_REQUIRES(mutex_) { return seenInRange(peer, *block); });
  peers_.remove(peer, hidden);
}

bool GpuMemory::seenInRange(const Peers::Peer& peer, const Block& block) const {
  return std::any_of(ranges_.begin(), ranges_.end(),
                     [&](const SeenRange& range) { return range.peer.gpu == peer.gpu && range.holds(block); });
}

CUresult GpuMemory::showToRanges(Block& block) {
  for (const SeenRange& range : ranges_) {
    const CUresult shown = range.holds(block) ? Peers::showTo(range.peer, block) : CUDA_SUCCESS;
    if (shown == CUDA_SUCCESS) continue;
    hideFromRanges(block);
    return shown;
  }
  return CUDA_SUCCESS;
}

// The mapping ends with the block.
void GpuMemory::hideFromRanges(const Block& block) {
  for (const SeenRange& range : ranges_)
    if (range.holds(block)) range.peer.known->remove(block.start());
}

CUresult GpuMemory::showTo(const Peers::Peer& peer, std::byte* start, size_t bytes) {
  const MutexLock guard(mutex_);
  const SeenRange range{peer, start, bytes};
  std::vector<Block*> added = blocks();
  std::erase_if(added, [&, all = peers_.has(peer)](const Block* block) { return all || !range.holds(*block); });
  for (Block* const block : added) VG_CHECK(reveal(*block));
  for (size_t i = 0; i < added.size(); ++i) {
    const CUresult shown = Peers::showTo(peer, *added[i]);
    if (shown == CUDA_SUCCESS) continue;
    while (i--) Peers::hideFrom(peer, *added[i]);
    return shown;
  }
  ranges_.push_back(range);
  return CUDA_SUCCESS;
}

void GpuMemory::hideFrom(const Peers::Peer& peer, std::byte* start) {
  const MutexLock guard(mutex_);
  const auto range = std::find_if(ranges_.begin(), ranges_.end(), [&](const SeenRange& other) {
    return other.peer.gpu == peer.gpu && other.start == start;
  });
  if (range == ranges_.end()) return;
  const SeenRange ended = *range;
  ranges_.erase(range);
  if (peers_.has(peer)) return;
  for (Block* const block : blocks())
    if (ended.holds(*block)) Peers::hideFrom(peer, *block);
}

}  // namespace vg::backend::nvidia
