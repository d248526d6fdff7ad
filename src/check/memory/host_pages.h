// Pages of managed memory that the host must not touch unseen: work that the host does not know to be over has touched
// them. Such a page is closed (mprotect) as soon as none of that work runs, so that the host's next access faults and
// can be judged (races/host_accesses.h), and opened when the host has waited.
//
// The library's own threads work on the same addresses: where they meet a closed page it is opened for them, and closed
// again when their work ends. So what the host does to a page while work runs on it is not seen.
//
// All functions are thread-safe; fault() and stepped() are for handlers of signals that an instruction caused. Handlers
// of other signals may touch closed pages, too, whatever they interrupt: so no other signal is handled by a thread that
// holds the lock here, and fault() takes no memory. In a child of fork() nothing is followed, and pages are opened when
// they are met.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "alloc/memory_table.h"

namespace vg::check::host_pages {

inline constexpr uint64_t kPage = 4096;

// VERDIGRIS_CHECK_HOST: without it no page is ever closed.
bool wanted();
// There is managed memory, and its pages are closed.
extern constinit std::atomic<bool> watched;

// Closes pages only while `handled()` says that our handlers get the faults; until then none.
void closeWhere(bool (*handled)());

// Managed memory begins, and ends.
void began(const alloc::MemoryTable& table, uint64_t address, uint64_t bytes);
void ended(uint64_t address, uint64_t bytes);

// Work touches memory; `work`: its first id.
void note(uint64_t address, uint64_t bytes, bool writes, uint64_t work);
inline void touched(uint64_t address, uint64_t bytes, bool writes, uint64_t work) {
  if (watched.load(std::memory_order_relaxed)) [[unlikely]]
    note(address, bytes, writes, work);
}

// Whether the page of an address may be closed, now or later.
bool mayBeClosed(uint64_t address);
enum class Fault : uint8_t { Foreign, WasOpen, Opened, Step };
// An access met a page. WasOpen: it was open, or another thread has opened it since; Opened: the instruction can run
// now; Step: it can, and stepped() must be told when it has.
// `ofProgram`: it is not the library's own.
Fault fault(uint64_t address, bool ofProgram);
void stepped(uint64_t address);
// Opens all pages for good: what is in them is to be read from outside.
void openAll();

}  // namespace vg::check::host_pages
