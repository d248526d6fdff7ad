// Records for places that make them one by one: recycled, straight from the system, and never given back, because
// readers may be slow. Not thread-safe.
#pragma once

#include "alloc/record.h"

namespace vg::alloc {

class RecordPool {
 public:
  // A record with the members of `prototype` and this id, not live yet. Throws std::bad_alloc.
  Record* take(const Record& prototype, uint64_t id);
  // Ends a record; it may be read for ever.
  void give(Record* record);

 private:
  Record* free_ = nullptr;  // linked through `owner`
};

}  // namespace vg::alloc
