// Memory of a pool that is not simply its device's: a file of its own, which other processes can be given, placed on a
// node of the host where the pool says so.
//
// The file has a page of facts behind the memory, by which an importer knows it (`PoolFacts`); offsets in the file are
// offsets in the pool's range of addresses.
#pragma once

#include <cuda.h>

#include <memory>

#include "alloc/geometry.h"
#include "alloc/memory_source.h"
#include "alloc/physical_memory.h"
#include "base/result.h"

namespace vg::core {

class Device;

namespace memory {

struct PoolFacts {
  static constexpr uint64_t kMagic = 0x5645524447504F4Cu;
  uint64_t magic;
  uint64_t capacity;  // bytes of memory, a multiple of alloc::kGranule; the facts lie behind it. 0: allocations travel
                      // one by one
  CUmemLocation location;
  uint32_t handleTypes;
};

// Addresses of a pool's own.
class PoolRange {
 public:
  // For `capacity` bytes, less where the process has not so many left.
  static Result<std::unique_ptr<PoolRange>> create(size_t capacity);
  ~PoolRange();
  PoolRange(const PoolRange&) = delete;

  uintptr_t start() const { return start_; }
  size_t bytes() const { return bytes_; }

 private:
  PoolRange(uintptr_t start, size_t bytes) : start_(start), bytes_(bytes) {}

  const uintptr_t start_;
  const size_t bytes_;
};

class PoolSource final : public alloc::MemorySource {
 public:
  // As PoolRange. `node`: of the host, -1 for any.
  static Result<std::unique_ptr<PoolSource>> make(size_t capacity, int node, const PoolFacts& facts);
  ~PoolSource();
  PoolSource(const PoolSource&) = delete;

  CUresult commit(std::byte* start, size_t bytes) override;
  void decommit(std::byte* start, size_t bytes) override;

  uintptr_t start() const { return range_->start(); }
  size_t capacity() const { return range_->bytes(); }
  const alloc::PhysicalMemory& file() const { return *file_; }

 private:
  PoolSource(alloc::PhysicalRef file, std::unique_ptr<PoolRange> range, int node)
      : file_(std::move(file)), range_(std::move(range)), node_(node) {}

  const alloc::PhysicalRef file_;
  const std::unique_ptr<PoolRange> range_;
  const int node_;
};

// A file of facts alone.
Result<alloc::PhysicalRef> makePoolFacts(const PoolFacts& facts);
// The facts of a file that a pool made; CUDA_ERROR_INVALID_VALUE for any other.
Result<PoolFacts> readPoolFacts(const alloc::PhysicalMemory& file);

}  // namespace memory
}  // namespace vg::core
