// The native code that the build made of the sources beside this file.
#pragma once

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "cubin/cubin.h"

namespace vg::cubin::testing {

inline std::string fileOf([[maybe_unused]] const std::string& name) {
#ifdef CUBINS
  std::ifstream file(CUBINS + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
#else
  return {};
#endif
}

inline Cubin read(const std::string& bytes) {
  Result<Cubin> cubin = parse(bytes);
  EXPECT_TRUE(cubin.ok());
  return cubin.ok() ? std::move(cubin).value() : Cubin{};
}

// What CUDA 12 would have made of a file of CUDA 13: the target in the low byte of the flags, barriers in section
// flags.
inline std::string inOldDialect(std::string bytes) {
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  header.e_ident[EI_OSABI] = 0x33;
  header.e_ident[EI_ABIVERSION] = 7;
  const uint32_t target = header.e_flags >> 8 & 0xFF;
  header.e_flags = target << 16 | 0x500 | target;
  std::memcpy(bytes.data(), &header, sizeof header);
  for (size_t at = bytes.find("\x02\x4c\x01\x00", 0, 4); at != std::string::npos;
       at = bytes.find("\x02\x4c\x01\x00", at + 1, 4))
    bytes[at + 1] = 0x36;  // a record of no interest
  return bytes;
}

}  // namespace vg::cubin::testing

#define SKIP_WITHOUT(file) \
  if (file.empty()) GTEST_SKIP() << "no compiler of native code where this was built"
