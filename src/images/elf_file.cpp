#include "images/elf_file.h"

#include <algorithm>
#include <cstring>

#include "base/system/elf_head.h"

namespace vg::images {
namespace {

std::string_view nameAt(std::string_view strings, uint32_t offset) {
  if (offset >= strings.size()) return {};
  const std::string_view rest = strings.substr(offset);
  return rest.substr(0, rest.find('\0'));
}

}  // namespace

template <class T>
bool ElfFile::readAt(uint64_t offset, T& out) const {
  if (offset > bytes_.size() || sizeof(T) > bytes_.size() - offset) return false;
  std::memcpy(&out, bytes_.data() + offset, sizeof(T));
  return true;
}

bool ElfFile::isCubin(const std::byte* bytes, size_t available) {
  Elf64_Ehdr header;
  if (available < sizeof header) return false;
  std::memcpy(&header, bytes, sizeof header);
  return !std::memcmp(header.e_ident, ELFMAG, SELFMAG) && header.e_ident[EI_CLASS] == ELFCLASS64 &&
         header.e_machine == kElfMachineGpu;
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
  ElfFile file(bytes, size);
  VG_CHECK(file.readSections());
  return file;
}

CUresult ElfFile::readSections() {
  if (!readAt(0, header_)) return fail(CUDA_ERROR_INVALID_IMAGE, "cubin is shorter than an ELF header");
  if (header_.e_shoff && header_.e_shentsize != sizeof(Elf64_Shdr))
    return fail(CUDA_ERROR_INVALID_IMAGE, "cubin has section headers of %u bytes", header_.e_shentsize);
  // With very many sections the first header tells how many, and where the names are.
  Elf64_Shdr first{};
  if (header_.e_shoff && !readAt(header_.e_shoff, first))
    return fail(CUDA_ERROR_INVALID_IMAGE, "cubin ends before its section headers");
  const uint64_t count = header_.e_shnum || !header_.e_shoff ? header_.e_shnum : first.sh_size;
  const uint32_t names = header_.e_shstrndx == SHN_XINDEX ? first.sh_link : header_.e_shstrndx;
  if (count > bytes_.size() / sizeof(Elf64_Shdr))
    return fail(CUDA_ERROR_INVALID_IMAGE, "cubin of %zu bytes promises %llu section headers", bytes_.size(),
                static_cast<unsigned long long>(count));
  sections_.resize(count);
  for (uint64_t i = 0; i < count; ++i)
    if (!readAt(header_.e_shoff + i * sizeof(Elf64_Shdr), sections_[i].header))
      return fail(CUDA_ERROR_INVALID_IMAGE, "cubin ends before its section header %llu",
                  static_cast<unsigned long long>(i));
  if (names >= count) return CUDA_SUCCESS;
  // Who asks only for the extent may not have brought the names.
  const Elf64_Shdr& table = sections_[names].header;
  if (table.sh_offset > bytes_.size() || table.sh_size > bytes_.size() - table.sh_offset) return CUDA_SUCCESS;
  const std::string_view strings = bytes_.substr(table.sh_offset, table.sh_size);
  for (uint32_t i = 0; i < count; ++i) {
    sections_[i].name = nameAt(strings, sections_[i].header.sh_name);
    byName_.emplace(sections_[i].name, i);
  }
  return CUDA_SUCCESS;
}

const ElfSection* ElfFile::find(std::string_view name) const {
  const auto found = byName_.find(name);
  return found == byName_.end() ? nullptr : &sections_[found->second];
}

Result<std::string_view> ElfFile::contents(const ElfSection& section) const {
  const Elf64_Shdr& header = section.header;
  if (header.sh_type == SHT_NOBITS || header.sh_type == SHT_NULL) return std::string_view();
  if (header.sh_offset > bytes_.size() || header.sh_size > bytes_.size() - header.sh_offset)
    return fail(CUDA_ERROR_INVALID_IMAGE, "cubin ends before its section %.*s", static_cast<int>(section.name.size()),
                section.name.data());
  return bytes_.substr(header.sh_offset, header.sh_size);
}

uint32_t ElfFile::symbolTable() const {
  for (uint32_t i = 0; i < sections_.size(); ++i)
    if (sections_[i].header.sh_type == SHT_SYMTAB && sections_[i].header.sh_link < sections_.size()) return i;
  return 0;
}

Result<std::vector<ElfSymbol>> ElfFile::symbols() const {
  std::vector<ElfSymbol> symbols;
  const uint32_t index = symbolTable();
  if (!index) return symbols;
  const ElfSection& table = sections_[index];
  VG_TRY(const std::string_view strings, contents(sections_[table.header.sh_link]));
  VG_TRY(const std::string_view bytes, contents(table));
  symbols.resize(bytes.size() / sizeof(Elf64_Sym));
  for (size_t i = 0; i < symbols.size(); ++i) {
    ElfSymbol& symbol = symbols[i];
    std::memcpy(&symbol.raw, &bytes[i * sizeof(Elf64_Sym)], sizeof symbol.raw);
    symbol.name = nameAt(strings, symbol.raw.st_name);
    symbol.section = symbol.raw.st_shndx < SHN_LORESERVE ? symbol.raw.st_shndx : SHN_UNDEF;
    if (symbol.section >= sections_.size())
      return fail(CUDA_ERROR_INVALID_IMAGE, "cubin symbol %zu is in section %u of %zu", i, symbol.section,
                  sections_.size());
  }
  return symbols;
}

}  // namespace vg::images
