#include "backend/nvidia/driver/block.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include <algorithm>

#include "base/round.h"

namespace vg::backend::nvidia {
Result<std::unique_ptr<Block>> Block::createAt(Gpu& gpu, std::byte* start, const MemoryRequest& request,
                                               SeenBy seenBy) {
  std::unique_ptr<Block> block(new Block(gpu, start, roundUp(request.bytes, request.pageBytes)));
  VG_CHECK(block->make(request, seenBy));
  return block;
}

CUresult Block::make(const MemoryRequest& request, SeenBy seenBy) {
  VG_TRY(memory_, MemoryObject::allocate(gpu_, request));
  if (seenBy == SeenBy::GpuAndCpu) VG_CHECK(showToCpu());
  return mapToGpu(false);
}

// Whatever fails afterwards, the addresses go back with the block.
Result<std::unique_ptr<Block>> Block::at(Gpu& gpu, Addresses& addresses, size_t bytes, size_t alignment) {
  std::unique_ptr<Block> block(new Block(gpu, nullptr, bytes));
  VG_TRY(block->start_, addresses.take(bytes, alignment));
  block->taken_ = &addresses;
  return block;
}

Result<std::unique_ptr<Block>> Block::place(std::byte* start, std::shared_ptr<const MemoryObject> memory, size_t offset,
                                            size_t bytes) {
  std::unique_ptr<Block> block(new Block(memory->gpu(), start, bytes));
  block->memory_ = std::move(memory);
  block->offset_ = offset;
  VG_CHECK(block->takeRange());
  return block;
}

Result<std::unique_ptr<Block>> Block::create(Gpu& gpu, Addresses& addresses, const MemoryRequest& request,
                                             SeenBy seenBy) {
  VG_TRY(std::unique_ptr<Block> block,
         at(gpu, addresses, roundUp(request.bytes, request.pageBytes), request.pageBytes));
  VG_CHECK(block->make(request, seenBy));
  return block;
}

Result<std::unique_ptr<Block>> Block::pin(Gpu& gpu, void* start, size_t bytes, bool readOnly) {
  std::unique_ptr<Block> block(new Block(gpu, static_cast<std::byte*>(start), bytes));
  VG_TRY(block->memory_, MemoryObject::pin(gpu, start, bytes, readOnly));
  VG_CHECK(block->mapToGpu(readOnly));
  return block;
}

// Shared mapping: a fork must not copy pages away from under the GPU.
Result<std::unique_ptr<Block>> Block::createPinned(Gpu& gpu, Addresses& addresses, size_t bytes) {
  bytes = roundUp(bytes, kSmallPage);
  VG_TRY(std::unique_ptr<Block> block, at(gpu, addresses, bytes, bytes >= kHugePage ? kHugePage : kBigPage));
  constexpr int kFlags = MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED | MAP_POPULATE;
  if (mmap(block->start_, bytes, PROT_READ | PROT_WRITE, kFlags, -1, 0) == MAP_FAILED)
    return fail(CUDA_ERROR_OUT_OF_MEMORY, "the system refuses %zu bytes of memory: %s", bytes, strerror(errno));
  VG_TRY(block->memory_, MemoryObject::pin(gpu, block->start_, bytes, false));
  VG_CHECK(block->mapToGpu(false));
  return block;
}

CUresult Block::takeRange() {
  VG_CHECK(gpu_.uvm().createRange(address(), bytes_));
  ranged_ = true;
  return CUDA_SUCCESS;
}

CUresult Block::mapToGpu(bool readOnly) {
  VG_CHECK(takeRange());
  return showTo(gpu_, readOnly);
}

CUresult Block::showTo(const Gpu& gpu, bool readOnly) {
  return gpu_.uvm().mapMemory(gpu.facts().uuid, address(), bytes_, memory_->handle(), offset_, readOnly);
}

void Block::hideFrom(const Gpu& gpu) { (void)gpu_.uvm().unmapMemory(gpu.facts().uuid, address(), bytes_); }

CUresult Block::showToCpu() {
  if (onCpu_) return CUDA_SUCCESS;
  const bool video = memory_->where() == Where::Video;
  const int minor = video ? static_cast<int>(gpu_.card().minor) : -1;
  const uint32_t flags = video ? rm::kMapReflected | rm::kMapWriteCombined : 0;
  VG_CHECK(gpu_.client().map(minor, gpu_.device(), memory_->handle(), offset_, start_, bytes_, flags, &kernelAddress_));
  onCpu_ = true;
  return CUDA_SUCCESS;
}

Block::~Block() {
  if (ranged_) gpu_.uvm().freeRange(address(), bytes_);
  if (onCpu_) {
    makeInaccessible(start_, bytes_);
    gpu_.client().unmap(gpu_.device(), memory_->handle(), kernelAddress_);
  }
  memory_.reset();
  if (taken_) taken_->giveBack(start_, bytes_);
}

}  // namespace vg::backend::nvidia
