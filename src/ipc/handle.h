// The 64 bytes that name something of one process in another.
//
// They say where the exporter listens, which of its objects is meant, and the secret without which it gives nothing
// away. Addresses and secrets are random numbers of 128 bits, and every bit of the 64 bytes is looked at by somebody: a
// handle can be neither guessed nor changed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/result.h"

namespace vg::ipc {

enum class Subject : uint32_t { Memory = 1, Event = 2, PoolMemory = 3 };

using Random = std::array<uint8_t, 16>;

// Where a process listens. All zero: nowhere.
struct Address {
  Random bytes{};
  bool operator==(const Address&) const = default;
  explicit operator bool() const { return *this != Address{}; }
};

inline constexpr size_t kHandleBytes = 64;

struct Handle {
  Subject subject{};
  Address exporter;
  Random secret{};
  uint64_t id = 0;  // of the object in the exporter

  void encode(void* bytes) const;  // writes kHandleBytes
  // CUDA_ERROR_INVALID_VALUE for what was never a handle. The subject is as it stands there.
  static Result<Handle> decode(const void* bytes);
};

// CUDA_ERROR_NOT_SUPPORTED when the system has no random numbers.
CUresult fillRandom(Random& random);

}  // namespace vg::ipc
