// What a recording of a program's calls is made of. The library that records writes it (record/recorder.h), and
// `verdigris replay` reads it (replay/player.h).
//
// A recording is a sequence of records, in blocks that are compressed (record/writer.h): u32 length, tag, contents. A
// call is two records, `Begin` and `End`. Their order is the order in which calls of all threads began and ended, so
// that nothing else has to say what waited for what. A program that is killed leaves the beginnings that have no end.
//
// The recording describes itself: what is a handle, an address or data is said of each argument where it stands, and
// entry points are named. A reader needs no table of the writer's version.
#pragma once

#include <cstdint>

namespace vg::record {

inline constexpr char kMagic[8] = {'v', 'g', 'r', 'e', 'c', 'o', 'r', 'd'};
inline constexpr uint32_t kVersion = 1;

enum class Tag : uint8_t {
  Entry = 1,   // u16 number, text symbol, text names of the arguments: before the first call of it
  Piece,       // u32 size, bytes: the next piece of data; pieces count from 0
  Begin,       // u64 number, u32 thread, u16 entry, u8 Action, u8 count, arguments
  End,         // u32 thread, i32 result, u16 count, of each: u16 argument, text bytes, u16 count of bindings
  Range,       // u32 thread, u64 address, u64 size, u8 RangeKind, i32 device: memory that the call of the thread made
  HostMemory,  // u64 address, u64 hash of what was there, u32 size, bytes, u8 Change: what the host's memory holds now
  Layout,      // u64 function, u16 count, of each parameter: u32 offset, u32 size
  FunctionBegan,  // u32 id: a host function
  FunctionEnded,  // u32 id
  CopyDone,       // u64 number of the copy's call, u64 hash, data: what a copy to the host gave
  Note,           // text: for people
  Kernel,         // u64 function, text name
};

// A binding says that what the call put at an offset of an argument's memory is a handle or an address, so that later
// calls may name it: u32 offset, u8 Kind, u16 count, then as many u64. Count 0: it lies there, and the bytes of the
// record have its recorded value. Else a pointer lies there, to as many values, which follow.

// How an argument is written.
enum class Form : uint8_t {
  Word,        // u64: as it is
  Null,        //
  Handle,      // u8 Kind, u64
  Address,     // u64: device memory, or host memory that devices see
  Bytes,       // text, u16 count of patches, of each: u32 offset, argument: memory that the call reads and may write
  Data,        // i64 bias, u64 size, pieces: host memory that the call reads; the argument points `bias` before it
  HostOut,     // i64 bias, Region: host memory that the call writes
  Parameters,  // u64 function, u8 packed, text: of a kernel. Packed: as `extra`, else by the function's layout
  Function,    // u32 id, u8 of a stream, i8 how far behind it its own argument is: a host function
  Wrapper,     // u32 version, argument, u16 count, arguments: a fat binary's, around its containers
  Opaque,      // u32 size: a patch only. What is there was made by an earlier call, as a whole
};

// What replaying does for a call.
enum class Action : uint8_t {
  Call,            // makes it
  AllocateDevice,  // has memory at the address that the recorded call gave
  FreeDevice,
  AllocateHost,
  FreeHost,
  Reserve,  // makes it, asking for the address that the recorded call gave
  Advise,   // makes it where the memory is the driver's own
  Wait,     // a query that found everything done: waits for that
  List,     // nothing: the call asks, and changes nothing
  Missing,  // nothing: it cannot be replayed
};

enum class RangeKind : uint8_t {
  Device,
  Pinned,  // host memory that is pinned, or registered
  Managed,
  Pageable,  // of copies in graphs
  Bound,     // where the driver put it: variables of modules, memory of graphs
  BoundManaged,
  Reserved,  // addresses alone
};

// Kinds of handles. A number that is recorded means something only together with its kind.
enum class Kind : uint8_t {
#define VG_KIND(name) name,
#include "record/kinds.inc"
#undef VG_KIND
  Address = 100,
  Opaque,
};
inline constexpr const char* kKindNames[] = {
#define VG_KIND(name) #name,
#include "record/kinds.inc"
#undef VG_KIND
};

// Rows of host memory, one `pitch` behind the other, and such planes.
struct Region {
  uint64_t start = 0;
  uint64_t width = 0, pitch = 0, height = 1, slice = 0, depth = 1;
  bool empty() const { return !width || !height || !depth; }
  uint64_t span() const { return empty() ? 0 : (depth - 1) * slice + (height - 1) * pitch + width; }
};

}  // namespace vg::record
