// The records of .nv.info sections: what a compiler tells a driver of a module and of each kernel.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/result.h"

namespace vg::cubin {

// Codes that a driver has a use for; files have others.
enum class Code : uint8_t {
  MaxThreads = 0x05,       // 3 x u32
  Sampler = 0x09,          // u32 symbol, 4 x u8 as in SamplerMode
  ParameterBank = 0x0A,    // u32 symbol, u16 offset in bank 0, u16 size
  Externs = 0x0F,          // u32 symbols
  RequiredThreads = 0x10,  // 3 x u32
  FrameSize = 0x11,        // u32 symbol, u32 bytes
  MinStackSize = 0x12,     // u32 symbol, u32 bytes
  Parameter = 0x17,        // u32, u16 ordinal, u16 offset, u32 with the size from bit 18
  ParameterBytes = 0x19,   // u16
  CrsStackSize = 0x1E,     // u32; the compiler could not see the depth of calls
  MaxStackSize = 0x23,     // u32 symbol, u32 bytes
  Registers = 0x2F,        // u32 symbol, u32 count
  ApiVersion = 0x37,       // u32
  ClusterShape = 0x3D,     // 3 x u32
  ExplicitCluster = 0x3E,
  MaxClusterBlocks = 0x3F,  // u32
  LargeParameter = 0x45,    // u32, u16 ordinal, u16 offset, u32 with the size below bit 24
  Barriers = 0x4C,          // u8
};

struct Attribute {
  Code code{};
  uint16_t value = 0;      // of records of one or two bytes
  std::string_view bytes;  // of longer ones

  // Parts of `bytes`; 0 beyond their end.
  uint32_t word(size_t index) const;
  uint16_t half(size_t index) const;
};

// Calls `visit` for each record. CUDA_ERROR_INVALID_IMAGE for records that the section does not hold.
CUresult forEachAttribute(std::string_view section, const std::function<void(const Attribute&)>& visit);

}  // namespace vg::cubin
