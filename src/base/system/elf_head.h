// The head of an ELF file that this project writes: 64 bits, little-endian. Core dumps and what debuggers are shown.
#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>

namespace vg {

// What stands where is up to the caller: all offsets and counts are 0.
inline Elf64_Ehdr elfHead(uint16_t type, uint16_t machine) {
  Elf64_Ehdr head{};
  std::memcpy(head.e_ident, ELFMAG, SELFMAG);
  head.e_ident[EI_CLASS] = ELFCLASS64;
  head.e_ident[EI_DATA] = ELFDATA2LSB;
  head.e_ident[EI_VERSION] = EV_CURRENT;
  head.e_type = type;
  head.e_machine = machine;
  head.e_version = EV_CURRENT;
  head.e_ehsize = sizeof(Elf64_Ehdr);
  head.e_shentsize = sizeof(Elf64_Shdr);
  return head;
}

constexpr uint16_t kElfMachineGpu = 190;  // EM_CUDA

}  // namespace vg
