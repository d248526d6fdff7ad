// Memory at the addresses that a recorded program had it at, so that pointers in parameters and in memory itself are
// right as they are.
//
// Which addresses that are is known before anything is replayed. Host memory is kept free from the beginning, device
// memory is reserved when the driver has started. Where an address cannot be had, memory lies elsewhere and the
// pointers that are seen are exchanged (replay/values.h). Used by one thread, with a context current for host memory.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "record/recording.h"
#include "replay/driver.h"
#include "replay/values.h"

namespace vg::replay {

struct RecordedRange {
  uint64_t address = 0, size = 0;
  record::RangeKind kind = record::RangeKind::Device;
  int device = 0;
};

class Memory {
 public:
  explicit Memory(Values& values) : values_(values) {}

  // Before the driver is opened.
  void keepHost(const std::vector<RecordedRange>& ranges);
  // Behind cuInit.
  void reserveDevice(const Driver& driver, const std::vector<RecordedRange>& ranges);

  // Memory there now. False: the address cannot be had.
  bool placeDevice(const RecordedRange& range);
  CUresult placeHost(const RecordedRange& range);
  bool placed(uint64_t address) const;
  // Where the host may read and write that much; null: nowhere.
  char* hostPointer(uint64_t recorded, uint64_t size) const;
  // Memory of the driver's that the host sees.
  void addBound(uint64_t recorded, uint64_t size) { bound_[recorded] = size; }

  // How many bytes lie elsewhere than they did.
  uint64_t movedBytes() const { return moved_; }

 private:
  struct Block {
    uint64_t start = 0, size = 0, now = 0;
    bool usable = false, registered = false;
    bool contains(uint64_t address) const { return address - start < size; }
  };
  Block* hostBlock(uint64_t address);
  bool mapRun(uint64_t from, uint64_t to, int device);

  Values& values_;
  const Driver* driver_ = nullptr;
  std::vector<Block> host_;
  std::vector<Block> device_;
  std::unordered_set<uint64_t> mapped_;  // granules of device memory
  std::map<uint64_t, uint64_t> bound_;
  uint64_t moved_ = 0;
};

}  // namespace vg::replay
