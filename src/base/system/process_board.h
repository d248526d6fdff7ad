// A board on which the processes of one user say what they do: a file of that user's in VERDIGRIS_SHARED_STATE, which
// all of them map. Each process has a place of its own there, with room for kEntries entries that mean something to
// others.
//
// 1. A process writes to its own place, and never reads it to decide anything: who writes nonsense misleads readers
// only.
// 2. A place belongs to a process as long as that lives: its number and the time of its start say which. So nothing has
//    to be taken back from processes that were killed. Numbers mean the same to all, because the name of the file holds
//    the space of process numbers.
// 3. A file that is not the user's own, a plain file and closed to others is not used, and neither is a folder that has
// no
//    room: entries are then memory that nobody else sees. All of the room is taken beforehand.
// 4. The last process deletes the file when it ends; after one that was killed whoever reads next does. The file is
//    locked (flock) for some microseconds then, and while a place is taken; nobody waits long for it.
//
// Thread-safe. A child of fork() must not call join() or leave() when its parent had joined.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <span>
#include <string>

namespace vg::board {

inline constexpr size_t kEntryBytes = 64, kEntries = 256;

// The next entry of this process: zeros, aligned to its size, never taken away. Others see it from join() on. Null when
// there are no more.
std::byte* takeEntry();
// Shows the entries to others; may be called again and again.
void join() noexcept;
// Hides them again, for the end of the process and before it is frozen; then a join() shows them anew. They stay
// memory.
void leave() noexcept;

using Entries = std::span<const std::byte>;  // of kEntries * kEntryBytes bytes, aligned to kEntryBytes
// Calls `visit` for every other process that lives and has joined.
void readOthers(const std::function<void(pid_t, Entries)>& visit);

// The path of the file; "" when there is none by VERDIGRIS_SHARED_STATE.
std::string filePath();

}  // namespace vg::board
