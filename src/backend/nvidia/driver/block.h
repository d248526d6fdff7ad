// Memory at addresses: a memory object that a GPU sees at an address, and perhaps the CPU at the same one.
//
// A block is one range of UVM, freed as a whole. Requires, for the destructor: no work of the GPU uses the block.
#pragma once

#include "backend/nvidia/driver/addresses.h"
#include "backend/nvidia/driver/memory_object.h"

namespace vg::backend::nvidia {

enum class SeenBy { Gpu, GpuAndCpu };

class Block {
 public:
  // New memory at addresses of the shared reservation.
  static Result<std::unique_ptr<Block>> create(Gpu& gpu, Addresses& addresses, const MemoryRequest& request,
                                               SeenBy seenBy);
  // New memory at addresses that the caller owns and has reserved. Requires: a multiple of the page.
  static Result<std::unique_ptr<Block>> createAt(Gpu& gpu, std::byte* start, const MemoryRequest& request,
                                                 SeenBy seenBy);
  // Pages of the process, where they are. Requires: whole pages of 4 KiB, which stay until the block has gone.
  static Result<std::unique_ptr<Block>> pin(Gpu& gpu, void* start, size_t bytes, bool readOnly = false);
  // New pages of the process, at addresses of the shared reservation: what CPU and GPU both use often. Zeroed.
  static Result<std::unique_ptr<Block>> createPinned(Gpu& gpu, Addresses& addresses, size_t bytes);
  ~Block();
  Block(const Block&) = delete;

  std::byte* start() const { return start_; }
  size_t bytes() const { return bytes_; }
  const MemoryObject& memory() const { return *memory_; }
  uint64_t address(size_t offset = 0) const { return reinterpret_cast<uint64_t>(start_) + offset; }

 private:
  Block(Gpu& gpu, std::byte* start, size_t bytes) : gpu_(gpu), start_(start), bytes_(bytes) {}
  CUresult mapToGpu(bool readOnly);
  CUresult mapToCpu();

  Gpu& gpu_;
  std::byte* const start_;
  const size_t bytes_;
  std::unique_ptr<MemoryObject> memory_;
  Addresses* taken_ = nullptr;  // where the addresses go back to
  bool ranged_ = false;
  uint64_t kernelAddress_ = 0;  // of the CPU's mapping
  bool onCpu_ = false;
};

}  // namespace vg::backend::nvidia
