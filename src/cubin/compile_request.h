// What a compiler of native code is asked for (compiler.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vg::cubin {

enum class InputKind : uint8_t { Ptx, Cubin, FatBinary, Object, Library, LtoIr };

struct Input {
  InputKind kind = InputKind::Ptx;
  std::string name;  // for messages
  std::string bytes;
};

struct Logs {
  std::string* info = nullptr;
  std::string* error = nullptr;
};

struct Request {
  uint32_t architecture = 0;  // of the device: 90 for sm_90
  std::vector<Input> inputs;  // at least one
  uint32_t maxRegisters = 0;  // a thread; 0: the compiler's choice
  bool linked = false;        // a single text too goes through the linker, so that its functions keep their names

  // "sm_90", or "sm_90a" where a PTX input is made for that architecture alone.
  std::string target() const;
};

}  // namespace vg::cubin
