#include "backend/nvidia/compute/prepared_grids.h"

#include <algorithm>
#include <atomic>
#include <optional>

namespace vg::backend::nvidia {
namespace {

using Item = PreparedGrids::Item;

// In front of the grids: the word in which chains count themselves, and one for the numbers of other grids.
constexpr size_t kCountAt = 0, kStepsAt = kLineBytes, kGridsAt = 2 * Qmd::kAlignment;
// The constant bank whose contents others may change: __constant__ variables.
constexpr unsigned kVariables = 3;
// What a submission has room for besides what it waits for.
constexpr size_t kWordsOfPart = Channel::kSubmissionWords / 2;

// Numbers that nobody else gets, this one and those behind it: each is given out once.
std::optional<uint32_t> takeLatches(uint32_t count) {
  constexpr uint32_t kNumbers = 1u << kLatchBits;
  static constinit std::atomic<uint32_t> taken{1};
  uint32_t first = taken.load(std::memory_order_relaxed);
  do {
    if (count >= kNumbers - first) return std::nullopt;
  } while (!taken.compare_exchange_weak(first, first + count, std::memory_order_relaxed));
  return kLatchesOfNone | first;
}

bool isFollowed(std::span<const Item> items, size_t i) { return i + 1 < items.size() && items[i + 1].follows; }

std::vector<uint32_t> chainsOf(std::span<const Item> items) {
  std::vector<uint32_t> chains;
  for (size_t i = 0; i < items.size(); ++i) {
    if (!i || items[i].section != items[i - 1].section) chains.push_back(0);
    chains.back() += !items[i].follows;
  }
  return chains;
}

}  // namespace

Result<std::unique_ptr<PreparedGrids>> PreparedGrids::create(Gpu& gpu, Addresses& addresses, const ComputeFacts& facts,
                                                             std::span<const Item> items) {
  size_t bytes = kGridsAt, words = 0;
  uint32_t latches = 0;
  for (const Item& item : items) {
    if (!canBeWritten(item.contents)) return CUDA_ERROR_NOT_SUPPORTED;
    bytes += bytesOfGrid(item.contents.bytes);
    latches += item.early;
    if (!item.follows) words += kDescriptorWords;
  }
  std::unique_ptr<PreparedGrids> made(new PreparedGrids);
  made->chains_ = chainsOf(items);
  made->parts_ = 1 + (words + made->chains_.size() * host::kSemaphoreWords) / (kWordsOfPart - host::kSemaphoreWords);
  const std::optional<uint32_t> latch = takeLatches(latches);
  if (made->parts_ > 1 + Channel::kMostUnended || !latch) return CUDA_ERROR_NOT_SUPPORTED;
  const size_t page = bytes <= kHugePage / 2 ? kBigPage : kHugePage;
  VG_TRY(made->memory_, Block::create(gpu, addresses, {Where::Video, bytes, page}, SeenBy::GpuAndCpu));
  made->write(facts, items, *latch);
  return made;
}

void PreparedGrids::write(const ComputeFacts& facts, std::span<const Item> items, uint32_t latch) {
  alignas(kLineBytes) constexpr std::byte kZero[kGridsAt]{};
  writeLines(memory_->start(), kZero, kGridsAt);
  descriptions_ = facts.descriptions;
  size_t at = kGridsAt;
  for (size_t i = 0; i < items.size(); ++i) {
    const GridContents& contents = items[i].contents;
    const size_t next = at + bytesOfGrid(contents.bytes);
    GridEnd end;
    end.keepsConstants = items[i].follows && !contents.code.banks[kVariables].bytes;
    if (items[i].early) end.waitsFor = latch++;
    if (isFollowed(items, i)) {
      end.number = i + 1;
      end.device = memory_->address(kStepsAt);
      end.next = memory_->address(next);
      if (items[i + 1].early) end.latch = latch;
    } else {
      end.count = memory_->address(kCountAt);
    }
    KernelCode code = contents.code;
    if (items[i].follows && items[i - 1].contents.code.program == code.program) code.programBytes = 0;  // it is there
    Grid grid = contents.grid;
    if (!grid.number) grid.number = i + 1;
    writeGrid(memory_->start() + at, memory_->address(at), {code, grid, contents.parameters, contents.bytes}, facts,
              end);
    if (!items[i].follows) heads_.push_back(memory_->address(at));
    at = next;
  }
}

CUresult PreparedGrids::send(Channel& channel, Push& push) {
  size_t before = push.used();
  const auto make = [&](size_t words) -> CUresult {
    if (push.used() + words <= before + kWordsOfPart) return CUDA_SUCCESS;
    channel.submitUnended(push);
    VG_TRY(push, channel.begin());
    before = 0;
    return CUDA_SUCCESS;
  };
  auto head = heads_.begin();
  for (const uint32_t chains : chains_) {
    for (uint32_t i = 0; i < chains; ++i) {
      VG_CHECK(make(kDescriptorWords));
      sendDescriptor(push, *head++, compute::kSchedule);
    }
    counted_ += chains;
    VG_CHECK(make(host::kSemaphoreWords));
    channel.followCount(push, memory_->address(kCountAt), counted_);
  }
  return CUDA_SUCCESS;
}

}  // namespace vg::backend::nvidia
