// Memory at addresses: a memory object that a GPU sees at an address, and perhaps the CPU at the same one.
//
// A block is one range of UVM, freed as a whole. Requires, for the destructor: no work of a GPU uses the block.
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
  // A part of an object that others may show elsewhere, at addresses that the caller owns and has reserved. A GPU sees
  // it after showTo(), the CPU after showToCpu(). Requires: multiples of 4 KiB, inside the object.
  static Result<std::unique_ptr<Block>> place(std::byte* start, std::shared_ptr<const MemoryObject> memory,
                                              size_t offset, size_t bytes);
  ~Block();
  Block(const Block&) = delete;

  std::byte* start() const { return start_; }
  size_t bytes() const { return bytes_; }
  const MemoryObject& memory() const { return *memory_; }
  const std::shared_ptr<const MemoryObject>& sharedMemory() const { return memory_; }
  uint64_t address(size_t offset = 0) const { return reinterpret_cast<uint64_t>(start_) + offset; }

  CUresult showToCpu();
  bool onCpu() const { return onCpu_; }
  // This GPU sees it, at the same addresses, from now on in this way. Requires: it is the memory's own, or a peer of
  // that (Uvm::enablePeers).
  CUresult showTo(const Gpu& gpu, bool readOnly);
  // It does not any more. Requires: showTo().
  void hideFrom(const Gpu& gpu);

 private:
  Block(Gpu& gpu, std::byte* start, size_t bytes) : gpu_(gpu), start_(start), bytes_(bytes) {}
  // Without memory yet, at addresses of the shared reservation.
  static Result<std::unique_ptr<Block>> at(Gpu& gpu, Addresses& addresses, size_t bytes, size_t alignment);
  CUresult make(const MemoryRequest& request, SeenBy seenBy);
  CUresult takeRange();
  CUresult mapToGpu(bool readOnly);

  Gpu& gpu_;
  std::byte* start_;
  const size_t bytes_;
  std::shared_ptr<const MemoryObject> memory_;
  size_t offset_ = 0;           // in the memory
  Addresses* taken_ = nullptr;  // where the addresses go back to
  bool ranged_ = false;
  uint64_t kernelAddress_ = 0;  // of the CPU's mapping
  bool onCpu_ = false;
};

}  // namespace vg::backend::nvidia
