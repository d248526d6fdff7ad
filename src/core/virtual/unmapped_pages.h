// Pages that the application has unmapped while work that may still touch them was queued.
//
// Unmapping waits for nothing, as on a GPU, where such work would fault. Here it may be a copy on a thread of the
// process, which must not: the pages stay until the work that was queued then is done, or until the addresses are
// mapped anew. New work is refused at once, because lookups do not find the memory any more.
//
// Not thread-safe: guarded by the lock of whoever owns it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "alloc/physical_memory.h"
#include "base/sync/timeline.h"

namespace vg::core::memory {

class LingeringPages {
 public:
  // Ends the mapping now if `pending` is empty, later otherwise.
  void unmap(uintptr_t start, size_t bytes, alloc::PhysicalRef memory, std::vector<Point> pending);
  // Room for so many more: unmap() takes no memory for its list then.
  void reserve(size_t more) { pages_.reserve(pages_.size() + more); }
  // The addresses are about to be mapped: what a device would still show there ends now. `ofDevice`: the new memory is
  // one's own.
  void makeWay(uintptr_t start, size_t bytes, bool ofDevice);
  // The addresses have been mapped anew: whatever lingers there is forgotten. Takes no memory. Requires: makeWay() of
  // the same addresses came before.
  void replace(uintptr_t start, size_t bytes);
  // Unmaps what nothing can be using any more.
  void sweep();

 private:
  struct Pages {
    uintptr_t start;
    size_t bytes;
    alloc::PhysicalRef memory;
    std::vector<Point> pending;
  };
  std::vector<Pages> pages_;
  std::vector<Pages> left_;  // what pages_ becomes when addresses are mapped anew
};

}  // namespace vg::core::memory
