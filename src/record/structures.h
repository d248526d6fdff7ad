// What lies in the structures that calls are given: handles, addresses, and pointers to more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "record/recording.h"

namespace vg::record {

// Told of each. Offsets are from the structure's beginning.
class StructureVisitor {
 public:
  virtual void handle(size_t offset, Kind kind) = 0;
  virtual void address(size_t offset) = 0;
  // A pointer to `count` structures of a type, or to plain bytes where `type` is empty.
  virtual void memory(size_t offset, std::string_view type, size_t size, size_t count) = 0;
  // `host` is an offset of a pointer; the copy reads or writes from `start` bytes behind it.
  virtual void hostRegion(size_t host, uint64_t start, const Region& region, bool reads) = 0;
  // The offsets of kernelParams and extra.
  virtual void kernel(uint64_t function, size_t parameters, size_t packed) = 0;
  virtual void function(size_t function, size_t userData) = 0;
  virtual void opaque(size_t offset, size_t size) = 0;
  // What a call would not take from another process: passed as null.
  virtual void drop(size_t offset) = 0;

 protected:
  ~StructureVisitor() = default;
};

bool isStructure(std::string_view type);
// `attribute` tells which value of a union is meant, where the structure does not say so itself.
void visitStructure(std::string_view type, const std::byte* bytes, uint64_t attribute, StructureVisitor& visitor);

}  // namespace vg::record
