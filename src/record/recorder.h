// Records calls: what exports.cpp asks around each of them. A process has one recorder, which starts with the first
// call.
//
// VERDIGRIS_RECORD names the file; without it nothing is recorded and calls are only passed on. Nothing is recorded any
// more in a child of fork(), and after the limit of VERDIGRIS_RECORD_LIMIT. Any thread may call; what the program waits
// for besides its call is two records and what they hold.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/sync/mutex.h"
#include "record/copies.h"
#include "record/entries.h"
#include "record/host_memory.h"
#include "record/writer.h"

namespace vg::record {

// Of a kernel's parameters.
struct ParameterPlace {
  uint32_t offset, size;
};

class Recorder {
 public:
  // Null: calls are only passed on.
  static Recorder* get();

  Writer writer;
  Mutex lock;
  HostMemory memory VG_GUARDED_BY(lock);
  Copies copies VG_GUARDED_BY(lock);

  // Writes what entry point the number is, the first time.
  void introduce(unsigned entry) VG_REQUIRES(lock);
  // Null: the driver does not tell.
  const std::vector<ParameterPlace>* layout(uint64_t function) VG_REQUIRES(lock);
  void forgetLayouts() VG_REQUIRES(lock) { layouts_.clear(); }
  // A function that calls the program's and says when.
  uint32_t wrapFunction(uint64_t& function, uint64_t& userData, bool ofStream) VG_REQUIRES(lock);
  // Says once, in one line, that replaying cannot do what this entry point does.
  void tellMissing(const char* symbol, const char* why) VG_REQUIRES(lock);
  // Images that the driver made: replaying has its own.
  void keepImage(uint64_t image) VG_REQUIRES(lock) { images_.insert(image); }
  bool madeByDriver(uint64_t image) VG_REQUIRES(lock) { return images_.count(image) > 0; }
  // A context that no call of the program's gave, as the runtime has it of a table: as if the program had retained it.
  void meetContext(uint64_t context) VG_REQUIRES(lock);
  void knowContext(uint64_t context) VG_REQUIRES(lock) {
    if (context) contexts_.insert(context);
  }
  bool severalContexts() VG_REQUIRES(lock) { return contexts_.size() > 1; }

  uint64_t nextNumber() VG_REQUIRES(lock) { return number_++; }
  int captures VG_GUARDED_BY(lock) = 0;

 private:
  explicit Recorder(bool contents)
      : memory(writer, [this](const MemoryRange& range) VG_REQUIRES(lock) { return copies.underWay(range); }),
        copies(writer, memory, contents) {}
  static Recorder* make();

  uint64_t number_ VG_GUARDED_BY(lock) = 0;
  std::unordered_set<unsigned> introduced_ VG_GUARDED_BY(lock);
  std::unordered_map<uint64_t, std::vector<ParameterPlace>> layouts_ VG_GUARDED_BY(lock);
  std::unordered_set<std::string> missing_ VG_GUARDED_BY(lock);
  std::unordered_set<uint64_t> images_ VG_GUARDED_BY(lock), contexts_ VG_GUARDED_BY(lock);
  uint32_t functions_ VG_GUARDED_BY(lock) = 0;
};

uint32_t threadNumber();

}  // namespace vg::record
