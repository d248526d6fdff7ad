#include "check/blocks/block_reports.h"

#include <cstdio>

#include "check/memory/allocations.h"
#include "check/reports/words.h"

namespace vg::check {

bool BlockReports::isNewAt(Tool tool, unsigned kind, const ptx::Instruction* at, uint32_t other, uint64_t memory) {
  const FaultKey key{tool, kind, entry_, at ? at->line : 0, other, memory};
  if (!isNew(key)) return false;
  last_ = key;
  lastAt_ = at;
  return true;
}

void BlockReports::describeLast(const std::string& headline, const std::vector<std::string>& details) {
  describe(last_, headline, details, words::placeOf(*module_, *entry_, lastAt_));
}

std::string BlockReports::where(const ptx::Instruction* at) const {
  return "in kernel " + words::kernel(*entry_) + (at ? " " + placeOf(at) : "");
}

std::string BlockReports::placeOf(const ptx::Instruction* at) const { return at ? words::place(*module_, *at) : ""; }

std::string BlockReports::threadName(uint32_t thread) const {
  const uint32_t* const size = block_->launch->blockSize;
  char text[96];
  std::snprintf(text, sizeof text, "thread (%u,%u,%u)", thread % size[0], thread / size[0] % size[1],
                thread / size[0] / size[1]);
  return text;
}

std::string BlockReports::byWhom(uint32_t thread) const {
  char text[96];
  std::snprintf(text, sizeof text, "by %s of block (%u,%u,%u)", threadName(thread).c_str(), block_->blockIndex[0],
                block_->blockIndex[1], block_->blockIndex[2]);
  return text;
}

FaultKey BlockReports::keyOf(const global_memory::Conflict& conflict, const ptx::Instruction* at) const {
  return {Tool::Race,        8u + conflict.writes * 2 + conflict.earlierWrote, entry_,
          at ? at->line : 0, conflict.where & ~global_memory::kStrong,         0};
}

void BlockReports::conflict(const global_memory::Conflict& conflict, const ptx::Instruction* at,
                            const GlobalRaces& races) {
  const bool writes = conflict.writes;
  const FaultKey key = keyOf(conflict, at);
  if (!isNew(key)) return;
  last_ = key;
  lastAt_ = at;
  const bool cluster = conflict.outside;
  const char* other = !conflict.earlierWrote ? "another read" : "another wrote";
  if (writes && conflict.earlierWrote) other = "another wrote something else to";
  if (conflict.where & global_memory::kFreed) other = "is freed in the order of a stream";
  if (conflict.where & global_memory::kAllocated) other = "a stream allocates";
  char headline[256];
  std::snprintf(headline, sizeof headline, "a thread %s %s memory at %#zx that %s, unordered",
                writes ? "writes" : "reads", cluster ? "shared" : "global", size_t{conflict.address}, other);
  std::vector<std::string> details{where(at), byWhom(conflict.now.thread())};
  for (std::string& line : races.tell(conflict)) details.push_back(std::move(line));
  if (!cluster)
    for (std::string& line : allocations::whereabouts(conflict.address, 1)) details.push_back(std::move(line));
  describeLast(headline, details);
}

void BlockReports::hazard(const Hazard& hazard) {
  if (!isNewAt(Tool::Race, static_cast<unsigned>(hazard.kind), hazard.at, hazard.otherLine)) return;
  const ptx::Instruction* const otherAt = words::instructionAt(*module_, hazard.otherLine);
  const char *now = "", *before = "";
  switch (hazard.kind) {
    case Hazard::Kind::ReadAfterWrite:
      now = "reads", before = "wrote";
      break;
    case Hazard::Kind::WriteAfterRead:
      now = "writes", before = "read";
      break;
    case Hazard::Kind::WriteAfterWrite:
      now = "writes", before = "wrote something else to";
      break;
  }
  char headline[256];
  std::snprintf(headline, sizeof headline, "a thread %s shared memory at offset %#x that %s %s, unordered", now,
                hazard.offset, hazard.otherCopies ? "an asynchronous copy" : "another", before);
  if (hazard.otherCopies)
    return describeLast(headline,
                        {where(hazard.at), byWhom(hazard.thread),
                         "the other is a copy that was begun by " + threadName(hazard.other) + ", " + placeOf(otherAt),
                         "nobody has waited for the copy, or no barrier is behind the wait"});
  const bool sameWarp = hazard.thread / ptx::kWarpSize == hazard.other / ptx::kWarpSize;
  describeLast(headline, {where(hazard.at), byWhom(hazard.thread),
                          "the other is " + threadName(hazard.other) +
                              (sameWarp ? " of the same warp" : " of another warp") + ", " + placeOf(otherAt),
                          sameWarp ? "nothing like __syncwarp() or __syncthreads() is between them"
                                   : "nothing like __syncthreads() is between them"});
}

}  // namespace vg::check
