// Writes the arguments of a call, with the memory that they point to. All functions: under the recorder's lock, which
// the compiler cannot follow through the visitor of structures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "record/bytes.h"
#include "record/entries.h"
#include "record/recorder.h"
#include "record/structures.h"

namespace vg::record {

class Arguments {
 public:
  // `words` may be exchanged for others, which lie in `owned`. `stream` will run the work; kAnyStream: it becomes part
  // of a graph.
  Arguments(Recorder& recorder, const Entry& entry, uint64_t* words, uint64_t stream,
            std::vector<std::unique_ptr<std::byte[]>>& owned)
      : recorder_(recorder), entry_(entry), words_(words), stream_(stream), owned_(owned) {}

  // False: the call cannot be replayed.
  bool write(Encoder& to) VG_UNCHECKED_LOCKS;
  // Where the call copies to the host; empty: it does not.
  const Region& toHost() const { return toHost_; }

 private:
  class Patches;
  void argument(size_t at) VG_UNCHECKED_LOCKS;
  uint64_t count(const Parameter& parameter) const;
  void word(uint64_t value) { to_->put(Form::Word).put(value); }
  void null() { to_->put(Form::Null); }
  void handle(Kind kind, uint64_t value) VG_UNCHECKED_LOCKS;
  void address(uint64_t value) { to_->put(Form::Address).put(value); }
  void memory(const Parameter& parameter, uint64_t value) VG_UNCHECKED_LOCKS;
  void structure(std::string_view type, uint64_t value, size_t size, size_t count) VG_UNCHECKED_LOCKS;
  void data(const void* bytes, size_t size, int64_t bias) VG_UNCHECKED_LOCKS;
  void hostIn(uint64_t pointer, uint64_t start, const Region& region) VG_UNCHECKED_LOCKS;
  void hostOut(uint64_t pointer, uint64_t start, const Region& region) VG_UNCHECKED_LOCKS;
  void image(uint64_t value) VG_UNCHECKED_LOCKS;
  void file(const char* name) VG_UNCHECKED_LOCKS;
  void kernel(uint64_t function, uint64_t parameters) VG_UNCHECKED_LOCKS;
  void packed(uint64_t function, uint64_t extra) VG_UNCHECKED_LOCKS;
  void parameters(uint64_t function, bool packed, const char* bytes, size_t size) VG_UNCHECKED_LOCKS;
  void function(size_t at) VG_UNCHECKED_LOCKS;
  void options(size_t at) VG_UNCHECKED_LOCKS;
  void values(size_t at) VG_UNCHECKED_LOCKS;
  void keepOptions() VG_UNCHECKED_LOCKS;
  bool onDevice(uint64_t address) VG_UNCHECKED_LOCKS;
  uint64_t functionArgument() const;
  std::byte* own(const void* bytes, size_t size);

  Recorder& recorder_;
  const Entry& entry_;
  uint64_t* const words_;
  const uint64_t stream_;
  std::vector<std::unique_ptr<std::byte[]>>& owned_;
  Encoder* to_ = nullptr;
  Region toHost_;
  bool whole_ = true;
  int optionsAt_ = -1;
  std::vector<uint32_t> optionNames_;
  std::vector<uint64_t> optionValues_;
};

}  // namespace vg::record
