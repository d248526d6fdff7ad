#include "base/system/elf_reader.h"

#include <cstring>

namespace vg {
namespace {

std::string_view nameAt(std::string_view strings, uint64_t offset) {
  if (offset >= strings.size()) return {};
  const std::string_view rest = strings.substr(offset);
  return rest.substr(0, rest.find('\0'));
}

}  // namespace

bool ElfReader::isElf(std::string_view bytes) {
  return bytes.size() >= sizeof(Elf64_Ehdr) && bytes.starts_with(ELFMAG) && bytes[EI_CLASS] == ELFCLASS64;
}

ElfReader::ElfReader(std::string_view bytes) : bytes_(bytes) { readSections(); }

void ElfReader::readSections() {
  if (!readAt(bytes_, 0, header_)) {
    problem_ = "is shorter than an ELF header";
    return;
  }
  if (!header_.e_shoff) return;
  if (header_.e_shentsize != sizeof(Elf64_Shdr)) {
    problem_ = "has section headers of " + std::to_string(header_.e_shentsize) + " bytes";
    return;
  }
  // With very many sections the first header tells how many, and where the names are.
  Elf64_Shdr first{};
  if (!readAt(bytes_, header_.e_shoff, first)) {
    problem_ = "ends before its section headers";
    return;
  }
  const uint64_t count = header_.e_shnum ? header_.e_shnum : first.sh_size;
  if (count > bytes_.size() / sizeof(Elf64_Shdr)) {
    problem_ = "of " + std::to_string(bytes_.size()) + " bytes promises " + std::to_string(count) + " section headers";
    return;
  }
  sections_.resize(count);
  for (uint64_t n = 0; n < count && problem_.empty(); ++n)
    if (!readAt(bytes_, header_.e_shoff + n * sizeof(Elf64_Shdr), sections_[n].header))
      problem_ = "ends before its section header " + std::to_string(n);
  nameSections(header_.e_shstrndx == SHN_XINDEX ? first.sh_link : header_.e_shstrndx);
}

// Who asks only where the sections lie may not have brought the names.
void ElfReader::nameSections(uint32_t table) {
  if (table >= sections_.size()) return;
  const std::string_view strings = contents(sections_[table]).value_or(std::string_view());
  if (strings.empty()) return;
  for (uint32_t n = 0; n < sections_.size(); ++n) {
    sections_[n].name = nameAt(strings, sections_[n].header.sh_name);
    byName_.emplace(sections_[n].name, n);
  }
}

const ElfSection* ElfReader::find(std::string_view name) const {
  const auto found = byName_.find(name);
  return found == byName_.end() ? nullptr : &sections_[found->second];
}

std::optional<std::string_view> ElfReader::contents(const ElfSection& section) const {
  const Elf64_Shdr& header = section.header;
  if (header.sh_type == SHT_NOBITS || header.sh_type == SHT_NULL) return std::string_view();
  if (header.sh_offset > bytes_.size() || header.sh_size > bytes_.size() - header.sh_offset) return {};
  return bytes_.substr(header.sh_offset, header.sh_size);
}

std::vector<Elf64_Phdr> ElfReader::segments() const {
  std::vector<Elf64_Phdr> segments;
  Elf64_Phdr segment{};
  for (uint64_t n = 0; n < header_.e_phnum; ++n)
    if (readAt(bytes_, header_.e_phoff + n * sizeof segment, segment)) segments.push_back(segment);
  return segments;
}

std::optional<uint64_t> ElfReader::offsetOf(uint64_t address) const {
  for (const Elf64_Phdr& segment : segments())
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz)
      return segment.p_offset + (address - segment.p_vaddr);
  return {};
}

std::string_view ElfReader::textAt(uint64_t offset) const { return nameAt(bytes_, offset); }

uint32_t ElfReader::symbolTable() const {
  for (uint32_t n = 0; n < sections_.size(); ++n)
    if (sections_[n].header.sh_type == SHT_SYMTAB && sections_[n].header.sh_link < sections_.size()) return n;
  return 0;
}

std::vector<ElfSymbol> ElfReader::symbols(std::string& whyNot) const {
  const uint32_t index = symbolTable();
  if (!index) return {};
  const ElfSection& table = sections_[index];
  const std::optional<std::string_view> strings = contents(sections_[table.header.sh_link]);
  if (!strings || !contents(table)) {
    whyNot = "ends before its symbols or their names";
    return {};
  }
  std::vector<ElfSymbol> symbols;
  for (const Elf64_Sym& raw : rows<Elf64_Sym>(table)) {
    const uint32_t section = raw.st_shndx < SHN_LORESERVE ? raw.st_shndx : SHN_UNDEF;
    if (section >= sections_.size()) {
      whyNot = "has symbol " + std::to_string(symbols.size()) + " in section " + std::to_string(section) + " of " +
               std::to_string(sections_.size());
      return {};
    }
    symbols.push_back({nameAt(*strings, raw.st_name), raw, section});
  }
  return symbols;
}

}  // namespace vg
