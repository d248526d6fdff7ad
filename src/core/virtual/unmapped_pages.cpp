#include "core/virtual/unmapped_pages.h"

#include <algorithm>

#include "core/memory/device_visible_host.h"

namespace vg::core::memory {
namespace {

bool allDone(const std::vector<Point>& points) {
  return std::all_of(points.begin(), points.end(), [](const Point& point) { return point.done(); });
}

void end(uintptr_t start, size_t bytes, const alloc::PhysicalMemory& memory) {
  auto* const address = reinterpret_cast<std::byte*>(start);
  hideFromDevices(address, bytes);
  memory.unmap(address, bytes);
}

}  // namespace

void LingeringPages::unmap(uintptr_t start, size_t bytes, alloc::PhysicalRef memory, std::vector<Point> pending) {
  if (allDone(pending)) return end(start, bytes, *memory);
  pages_.push_back({start, bytes, std::move(memory), std::move(pending)});
}

// What is left of lingering pages before and behind the range goes on lingering.
void LingeringPages::makeWay(uintptr_t start, size_t bytes, bool ofDevice) {
  const uintptr_t behind = start + bytes;
  left_.clear();
  for (const Pages& pages : pages_) {
    const uintptr_t pagesEnd = pages.start + pages.bytes;
    if (pagesEnd <= start || pages.start >= behind) {
      left_.push_back(pages);
      continue;
    }
    if (pages.start < start) left_.push_back({pages.start, start - pages.start, pages.memory, pages.pending});
    if (pagesEnd > behind) left_.push_back({behind, pagesEnd - behind, pages.memory, pages.pending});
  }
  for (const Pages& pages : pages_) {
    const uintptr_t from = std::max(start, pages.start), to = std::min(behind, pages.start + pages.bytes);
    if (from < to && (ofDevice || pages.memory->ofDevice())) end(from, to - from, *pages.memory);
  }
}

void LingeringPages::replace(uintptr_t start, size_t bytes) {
  hideFromDevices(reinterpret_cast<std::byte*>(start), bytes);
  pages_.swap(left_);
  left_.clear();
}

void LingeringPages::sweep() {
  std::erase_if(pages_, [](const Pages& pages) {
    if (!allDone(pages.pending)) return false;
    end(pages.start, pages.bytes, *pages.memory);
    return true;
  });
}

}  // namespace vg::core::memory
