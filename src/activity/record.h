// What is told of a program as it runs: one record for each call of the API, each piece of work of a device, each
// allocation and its end, each NVTX range and mark. Plain data, so that a record is passed on by copying it.
//
// Times are nanoseconds of CLOCK_MONOTONIC. Threads are numbers of the system. A correlation is the number of a call,
// never 0 and never used twice in a process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace vg::activity {

// Text of any length in a record: short ones in place, long ones on the heap until whoever consumes the record frees
// them. What the heap has no room for is cut.
struct Text {
  static constexpr uint32_t kInPlace = 64;

  void set(std::string_view text) {
    size = static_cast<uint32_t>(text.size());
    char* to = place;
    if (size > kInPlace && !(to = far = static_cast<char*>(std::malloc(size)))) {
      size = kInPlace;
      to = place;
    }
    if (size) std::memcpy(to, text.data(), size);
  }
  std::string_view view() const { return {size > kInPlace ? far : place, size}; }
  void free() {
    if (size > kInPlace) std::free(far);
    size = 0;
  }

  uint32_t size;
  union {
    char place[kInPlace];
    char* far;
  };
};

// Writes an argument of a call as a JSON value; false: it says nothing by itself. `raw` holds its bytes.
using WriteArgument = bool (*)(unsigned index, std::string& out, uint64_t raw);

// The name of a result; null: a number without a name.
using NameResult = const char* (*)(int result);

// Of an entry point.
struct CallDescription {
  const char* symbol;  // constant text, as the next
  const char* names;   // "(dptr, bytesize)"
  WriteArgument write;
  NameResult nameResult;
  unsigned count;
  bool async;  // it does not wait for what it submits
};
// Functions rather than constants: pointers in constants are relocated in every process that loads the library.
using DescribeCall = CallDescription (*)();

struct Call {
  static constexpr unsigned kMostArguments = 12;  // those behind are not kept

  DescribeCall describe;
  uint64_t correlation;
  uint64_t begin, end;
  int result;
  uint32_t thread;
  uint16_t count;  // of arguments that are kept
  bool submitted;  // work
  uint64_t arguments[kMostArguments];
};

// Where a piece of work came from and where it runs.
struct Origin {
  uint64_t correlation;  // of the call that submitted it; 0: no call did
  uint64_t outer;        // of the call of the runtime API around that; 0: none, or nobody follows those
  uint64_t submitted;    // when
  uint64_t stream;       // its number in the process
  uint64_t context;      // its number in the process
  uint32_t thread;       // that submitted it
  uint32_t graph;        // the executable graph that it belongs to; 0: none
  int32_t priority;      // of the stream
  uint16_t device;       // its CUdevice number
  uint8_t streamKind;    // StreamKind
  bool async;            // the call does not wait for it
};
enum StreamKind : uint8_t { CreatedStream, LegacyStream, PerThreadStream };

enum class WorkKind : uint8_t { Kernel, Copy, Fill, HostFunction, Graph };
enum class CopyKind : uint8_t { Unknown, HostToDevice, DeviceToHost, DeviceToDevice, HostToHost, PeerToPeer };
// What a side of a copy or fill is.
enum class Place : uint8_t { Unknown, Pageable, Pinned, Device, Array, Managed };

// What is known of a kernel. Kept as long as the process lives, once for each that differs.
struct KernelFacts {
  std::string_view name;  // as its image has it; a zero stands behind it
  uint32_t registers;     // of a thread
  uint32_t local;         // bytes of a thread
  uint32_t staticShared;  // bytes
};

struct Work {
  WorkKind kind;
  CopyKind copy;
  bool pageable;      // of a copy: one side is memory that nobody pinned
  Place to, from;     // of a copy; of a fill `to` alone
  uint16_t peers[2];  // of a copy between devices: to and from
  bool cooperative;
  Origin origin;
  uint64_t id;  // of this piece of work, never 0
  uint64_t begin, end;
  uint64_t bytes;  // of copies and fills
  uint32_t grid[3], block[3];
  uint32_t cluster[3];        // of a launch without clusters: zeroes
  uint32_t dynamicShared;     // bytes
  uint32_t value;             // of a fill: its element
  uint32_t nodes;             // of a graph
  const KernelFacts* kernel;  // of a launch
};

// A launch by itself, from when it is submitted until it is told of: by far the most frequent work. From origin.stream
// on, launches of one kernel with one shape by one thread are the same.
struct alignas(64) Launch {
  union {
    struct {
      uint64_t begin, end;  // whoever runs it writes these
    };
    struct {
      Launch *next, *nextBatch;  // while nobody uses it
    };
  };
  uint64_t id;
  Origin origin;
  const KernelFacts* kernel;
  uint32_t grid[3], block[3], dynamicShared;
  uint8_t cluster[3];  // a cluster has 16 blocks at most
  bool cooperative;
};
static_assert(sizeof(Launch) == 128);

enum class MemoryKind : uint8_t {
  Device,
  Array,
  Pool,
  Managed,
  Pinned,
  Registered,
  Mapped,
  Graph,
  Imported,
  Physical,
  Module,  // device memory for code and variables
};
inline constexpr size_t kMemoryKinds = static_cast<size_t>(MemoryKind::Module) + 1;

struct Memory {
  MemoryKind kind;
  bool freed;
  bool ofDevice;  // counted as the device's
  uint16_t device;
  uint32_t thread;
  uint64_t correlation, outer;  // as those of an origin
  uint64_t context;             // current, by its number; 0: none
  uint64_t time;
  uint64_t address, bytes;
  uint64_t inUse;  // afterwards: bytes of the device, or of this kind where it is of none
};

// What a program says of itself through NVTX.
enum class NoteKind : uint8_t { Mark, Push, Pop, Start, End };
struct Note {
  NoteKind kind;
  uint8_t payloadType;  // as NVTX has it; 0: none
  bool colored;
  uint32_t thread;
  uint32_t color;  // ARGB
  uint32_t category;
  uint64_t time;
  uint64_t id;  // of a range that is started and ended
  uint64_t payload;
  Text domain, name;
};

enum class Named : uint8_t { Device, Stream, Thread };
struct Name {
  Named what;
  uint16_t device;
  uint64_t number;  // of the stream or thread
  Text name;
};

enum class RecordKind : uint8_t { Call, Work, Memory, Note, Name };
struct Record {
  RecordKind kind;
  union {
    Call call;
    Work work;
    Memory memory;
    Note note;
    Name name;
  };

  // Frees its texts.
  void free() {
    if (kind == RecordKind::Name) name.name.free();
    if (kind != RecordKind::Note) return;
    note.domain.free();
    note.name.free();
  }
};
static_assert(std::is_trivially_copyable_v<Record>);

}  // namespace vg::activity
