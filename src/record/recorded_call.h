// A call that is recorded, while it lasts: what is written before and behind it, and what is learnt from it.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "record/entries.h"
#include "record/recorder.h"
#include "record/recording.h"

namespace vg::record {

// `words` are its arguments, which it may exchange for others.
class RecordedCall {
 public:
  RecordedCall(Recorder& recorder, unsigned number, uint64_t* words);
  void ended(CUresult result);

 private:
  void decide() VG_REQUIRES(recorder_.lock);
  void begin() VG_REQUIRES(recorder_.lock);
  void writeResults(CUresult result) VG_REQUIRES(recorder_.lock);
  void learn() VG_REQUIRES(recorder_.lock);
  void learnMemory() VG_REQUIRES(recorder_.lock);
  void learnSynchronised() VG_REQUIRES(recorder_.lock);
  uint64_t valueOf(const char* parameter) const;
  uint64_t outOf(const char* parameter) const;
  uint64_t stream() const;

  Recorder& recorder_;
  const unsigned entry_;
  const Entry& what_;
  uint64_t* const words_;
  uint64_t original_[kMostParameters];
  uint64_t number_ = 0;
  Action action_ = Action::Call;
  bool capturing_ = false;
  Region toHost_;  // what the call copies there
  std::vector<std::unique_ptr<std::byte[]>> owned_;
};

}  // namespace vg::record
