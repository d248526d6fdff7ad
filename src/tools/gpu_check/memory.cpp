// Steps of `verdigris gpu-check`: memory of all page sizes, seen by the CPU; ranges of addresses.
#include <sys/mman.h>

#include "tools/gpu_check/bench.h"

namespace vg::tools {

using namespace backend::nvidia;

namespace {

constexpr size_t kMiB = size_t{1} << 20;

struct Case {
  Where where;
  size_t bytes, pageBytes;
  const char* name;
};
constexpr Case kCases[] = {
    {Where::Video, kSmallPage, kSmallPage, "video, 4 KiB in 4 KiB pages"},
    {Where::Video, kBigPage, kBigPage, "video, 64 KiB in 64 KiB pages"},
    {Where::Video, 2 * kMiB, kHugePage, "video, 2 MiB in 2 MiB pages"},
    {Where::Video, 64 * kMiB, kSmallPage, "video, 64 MiB in 4 KiB pages"},
    {Where::Video, 64 * kMiB, kHugePage, "video, 64 MiB in 2 MiB pages"},
    {Where::System, kSmallPage, kSmallPage, "system, 4 KiB"},
    {Where::System, 4 * kMiB, kSmallPage, "system, 4 MiB"},
};

// Words at distances that no page size hides.
bool holdsPattern(std::byte* start, size_t bytes) {
  volatile uint32_t* const words = reinterpret_cast<volatile uint32_t*>(start);
  const size_t count = bytes / 4, step = count > 4096 ? count / 1021 : 1;
  for (size_t i = 0; i < count; i += step) words[i] = static_cast<uint32_t>(i * 2654435761u);
  __sync_synchronize();
  for (size_t i = 0; i < count; i += step)
    if (words[i] != static_cast<uint32_t>(i * 2654435761u)) return false;
  return true;
}

void checkCase(GpuBench& bench, const Case& c) {
  const double start = microseconds();
  Result<std::unique_ptr<Block>> block =
      Block::create(bench.gpu, bench.addresses, {c.where, c.bytes, c.pageBytes}, SeenBy::GpuAndCpu);
  const double made = microseconds();
  const bool good = block.ok() && holdsPattern((*block)->start(), c.bytes);
  const double used = microseconds();
  if (block.ok()) (*block).reset();
  bench.check(good, c.name, "make and map %.0f us, write and read %.0f us, free %.0f us", made - start, used - made,
              microseconds() - used);
}

void timeAllocation(GpuBench& bench, size_t bytes) {
  constexpr int kRounds = 10;
  double make = 1e9, map = 1e9, drop = 1e9;
  bool good = true;
  for (int round = 0; round < kRounds && good; ++round) {
    Result<std::byte*> at = bench.addresses.take(bytes, kHugePage);
    if (!(good = at.ok())) break;
    const double start = microseconds();
    Result<std::unique_ptr<MemoryObject>> memory = MemoryObject::allocate(bench.gpu, {Where::Video, bytes, kHugePage});
    const double made = microseconds();
    good = memory.ok();
    if (good) {
      const uint64_t base = reinterpret_cast<uint64_t>(*at);
      Uvm& uvm = bench.gpu.uvm();
      good = uvm.createRange(base, bytes) == CUDA_SUCCESS &&
             uvm.mapMemory(bench.gpu.facts().uuid, base, bytes, (*memory)->handle(), 0, false) == CUDA_SUCCESS;
      const double mapped = microseconds();
      uvm.freeRange(base, bytes);
      (*memory).reset();
      make = std::min(make, made - start);
      map = std::min(map, mapped - made);
      drop = std::min(drop, microseconds() - mapped);
    }
    bench.addresses.giveBack(*at, bytes);
  }
  bench.check(good, "fresh video memory", "%zu MiB: allocate %.0f us, map %.0f us, unmap and free %.0f us",
              bytes / kMiB, make, map, drop);
}

void checkPinned(GpuBench& bench) {
  constexpr size_t kBytes = 64 * kMiB;
  void* const memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) return;
  for (const size_t bytes : {kSmallPage, kBytes}) {
    const double start = microseconds();
    Result<std::unique_ptr<Block>> block = Block::pin(bench.gpu, memory, bytes);
    const double made = microseconds();
    const bool good = block.ok();
    if (good) (*block).reset();
    bench.check(good, "pinned memory of the process", "%zu KiB: pin and map %.0f us, undo %.0f us", bytes >> 10,
                made - start, microseconds() - made);
  }
  mprotect(memory, kBytes, PROT_READ);
  bench.check(Block::pin(bench.gpu, memory, kBigPage, true).ok(), "read-only memory of the process", "pinned");
  munmap(memory, kBytes);
}

}  // namespace

void checkMemory(GpuBench& bench) {
  Result<uint64_t> before = bench.gpu.freeMemory();
  for (const Case& c : kCases) checkCase(bench, c);
  for (const size_t bytes : {2 * kMiB, 64 * kMiB, 1024 * kMiB}) timeAllocation(bench, bytes);
  checkPinned(bench);
  Result<uint64_t> after = bench.gpu.freeMemory();
  if (before.ok() && after.ok())
    bench.check(*before <= *after + 16 * kMiB, "free memory", "%llu MiB before, %llu MiB after",
                static_cast<unsigned long long>(*before >> 20), static_cast<unsigned long long>(*after >> 20));
}

// One object shown at many addresses, in every page size that its pages allow.
void checkRanges(GpuBench& bench) {
  Result<std::unique_ptr<MemoryObject>> memory = MemoryObject::allocate(bench.gpu, {Where::Video, 4 * kMiB, kHugePage});
  if (!bench.check(memory.ok(), "ranges", "one object of 4 MiB")) return;
  for (const size_t bytes : {kSmallPage, kBigPage, kHugePage}) {
    constexpr int kCount = 300;
    Result<std::byte*> at = bench.addresses.take(kCount * bytes, kHugePage);
    if (!at.ok()) return;
    const uint64_t base = reinterpret_cast<uint64_t>(*at);
    Uvm& uvm = bench.gpu.uvm();
    bool good = true;
    const double start = microseconds();
    for (int i = 0; i < kCount && good; ++i) {
      const uint64_t address = base + static_cast<uint64_t>(i) * bytes;
      good = uvm.createRange(address, bytes) == CUDA_SUCCESS &&
             uvm.mapMemory(bench.gpu.facts().uuid, address, bytes, (*memory)->handle(), 0, i % 2) == CUDA_SUCCESS;
    }
    const double mapped = microseconds();
    for (int i = 0; i < kCount && good; ++i) {
      const uint64_t address = base + static_cast<uint64_t>(i) * bytes;
      if (i % 3 == 0) good = uvm.unmapMemory(bench.gpu.facts().uuid, address, bytes) == CUDA_SUCCESS;
      good = good && uvm.freeRange(address, bytes) == CUDA_SUCCESS;
    }
    bench.check(good, "ranges", "%d of %zu KiB: %.1f us to map one, %.1f us to free it", kCount, bytes >> 10,
                (mapped - start) / kCount, (microseconds() - mapped) / kCount);
    bench.addresses.giveBack(*at, kCount * bytes);
  }
}

}  // namespace vg::tools
