// What an emulated device says of itself. A profile is a complete set of attributes: `default` describes the emulated
// device honestly, `h200` repeats what an H200 answered. VERDIGRIS_MEMORY, VERDIGRIS_COMPUTE_CAPABILITY and
// VERDIGRIS_PROFILE choose, for all devices or with one value a device. See docs/device-profiles.md.
#pragma once

#include <string>

#include "backend/traits.h"

namespace vg::backend::cpu {

struct ProfileRequest {
  int ordinal = 0;         // among the emulated devices
  int count = 1;           // emulated devices that share the machine
  uint32_t workers = 1;    // threads that run blocks
  std::string profile;     // empty: default
  std::string memory;      // as in VERDIGRIS_MEMORY; empty: the profile's
  std::string capability;  // as in VERDIGRIS_COMPUTE_CAPABILITY; empty: the profile's
  // VERDIGRIS_PAGEABLE=0, and checked mode unless it is 1: no access to host memory that nobody registered.
  bool hidesPageable = false;
};

// The request that the settings make for a device.
ProfileRequest requestFromSettings(int ordinal, uint32_t workers);
// Values that make no sense are reported in the log and replaced by the profile's.
Traits makeTraits(const ProfileRequest& request);
// By the settings: what the device with this number is.
inline Traits makeTraits(int ordinal, uint32_t workers) { return makeTraits(requestFromSettings(ordinal, workers)); }

// "12.1" or "121" -> 121, "9.0" -> 90; 0 when the text is no compute capability.
int parseCapability(const std::string& text);
// What the container or machine lets this process use, in bytes.
uint64_t hostMemory();

}  // namespace vg::backend::cpu
