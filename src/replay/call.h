// A recorded call with its arguments as they are now.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "record/bytes.h"
#include "record/entries.h"
#include "record/reader.h"
#include "replay/memory.h"
#include "replay/values.h"

namespace vg::replay {

// Where a copy to the host went.
struct Copied {
  record::Region region;
  std::string own;         // where the program's memory is not there
  char* memory = nullptr;  // in `own` or not
};

// Of kernels: where each parameter lies.
using Layouts = std::unordered_map<uint64_t, std::vector<std::pair<uint32_t, uint32_t>>>;

// What functions of the host are at replay: they say that they were reached.
struct Functions {
  void (*function)(void*);
  void (*callback)(struct CUstream_st*, CUresult, void*);
  void* (*argument)(void* state, uint32_t id);
  void* state;
};

struct Call {
  uint64_t number = 0;
  uint32_t thread = 0;
  const char* symbol = nullptr;
  unsigned entry = record::kNoEntry;
  record::Action action = record::Action::Call;
  uint64_t words[record::kMostParameters] = {};
  std::string missing;           // what is not there of it; empty: it can be made
  void* lastFunction = nullptr;  // the argument of the host function that was read last
  int lastBehind = 0;            // and how far behind it that stands
  std::shared_ptr<Copied> copied;
  std::vector<std::unique_ptr<std::string>> owned;
  CUresult result = CUDA_SUCCESS;

  std::string& own(std::string bytes);
};

// Reads arguments and makes them into words.
class ArgumentReader {
 public:
  ArgumentReader(const record::Reader& reader, const Values& values, const Memory& memory, const Layouts& layouts,
                 const Functions& functions)
      : reader_(reader), values_(values), memory_(memory), layouts_(layouts), functions_(functions) {}

  void read(record::Decoder& from, unsigned count, Call& call) const;

 private:
  uint64_t argument(record::Decoder& from, Call& call) const;
  uint64_t bytes(record::Decoder& from, Call& call) const;
  uint64_t data(record::Decoder& from, Call& call) const;
  uint64_t hostOut(record::Decoder& from, Call& call) const;
  uint64_t parameters(record::Decoder& from, Call& call) const;
  uint64_t wrapper(record::Decoder& from, Call& call) const;
  uint64_t handle(record::Decoder& from, Call& call) const;

  const record::Reader& reader_;
  const Values& values_;
  const Memory& memory_;
  const Layouts& layouts_;
  const Functions& functions_;
};

}  // namespace vg::replay
