#include "images/elf_file.h"

#include <algorithm>
#include <cstring>

#include "base/system/elf_head.h"

namespace vg::images {
bool ElfFile::isCubin(const std::byte* bytes, size_t available) {
  const std::string_view begin(reinterpret_cast<const char*>(bytes), std::min(available, sizeof(Elf64_Ehdr)));
  if (!ElfReader::isElf(begin)) return false;
  Elf64_Ehdr header;
  std::memcpy(&header, bytes, sizeof header);
  return header.e_machine == kElfMachineGpu;
}

Result<size_t> ElfFile::headerExtent(const std::byte* bytes) {
  Elf64_Ehdr header;
  std::memcpy(&header, bytes, sizeof header);
  uint64_t sectionsEnd = 0, segmentsEnd = 0;
  if (__builtin_add_overflow(header.e_shoff, uint64_t{header.e_shnum} * header.e_shentsize, &sectionsEnd) ||
      __builtin_add_overflow(header.e_phoff, uint64_t{header.e_phnum} * header.e_phentsize, &segmentsEnd))
    return fail(CUDA_ERROR_INVALID_IMAGE, "cubin's header tables end beyond the address space");
  return static_cast<size_t>(std::max({uint64_t{sizeof header}, sectionsEnd, segmentsEnd}));
}

Result<size_t> ElfFile::extent(const std::byte* bytes, size_t available) {
  if (available < sizeof(Elf64_Ehdr)) return fail(CUDA_ERROR_INVALID_IMAGE, "cubin is shorter than an ELF header");
  VG_TRY(uint64_t end, headerExtent(bytes));
  VG_TRY(const ElfFile file, ElfFile::read(bytes, available));
  for (const ElfSection& section : file.sections()) {
    const Elf64_Shdr& header = section.header;
    uint64_t sectionEnd = 0;
    if (header.sh_type == SHT_NOBITS) continue;
    if (__builtin_add_overflow(header.sh_offset, header.sh_size, &sectionEnd))
      return fail(CUDA_ERROR_INVALID_IMAGE, "cubin section ends beyond the address space");
    end = std::max(end, sectionEnd);
  }
  return static_cast<size_t>(end);
}

Result<ElfFile> ElfFile::read(const std::byte* bytes, size_t size) {
  ElfReader reader(std::string_view(reinterpret_cast<const char*>(bytes), size));
  if (!reader.problem().empty()) return fail(CUDA_ERROR_INVALID_IMAGE, "cubin %s", reader.problem().c_str());
  return ElfFile(std::move(reader));
}

Result<std::string_view> ElfFile::contents(const ElfSection& section) const {
  if (const auto bytes = reader_.contents(section)) return *bytes;
  return fail(CUDA_ERROR_INVALID_IMAGE, "cubin ends before its section %.*s", static_cast<int>(section.name.size()),
              section.name.data());
}

Result<std::vector<ElfSymbol>> ElfFile::symbols() const {
  std::string whyNot;
  std::vector<ElfSymbol> symbols = reader_.symbols(whyNot);
  if (!whyNot.empty()) return fail(CUDA_ERROR_INVALID_IMAGE, "cubin %s", whyNot.c_str());
  return symbols;
}

}  // namespace vg::images
