#include "images/cubin.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace vg::images {
namespace {

constexpr uint16_t kMachineCuda = 190;
constexpr uint8_t kOtherEntry = 0x10;  // st_other of a kernel
// Attributes of .nv.info.<kernel>: a format byte, an attribute byte, then by format.
constexpr uint8_t kFormatSized = 4, kFormatHalf = 3, kFormatByte = 2, kFormatNone = 1;
constexpr uint8_t kAttributeParameter = 0x17;

// Everything goes through here: nothing is read that the file does not hold.
class File {
 public:
  File(const std::byte* bytes, size_t size) : bytes_(bytes), size_(size) {}

  template <class T>
  bool read(uint64_t offset, T& out) const {
    if (offset > size_ || sizeof(T) > size_ - offset) return false;
    std::memcpy(&out, bytes_ + offset, sizeof(T));
    return true;
  }
  std::string_view piece(uint64_t offset, uint64_t size) const {
    if (offset > size_ || size > size_ - offset) return {};
    return {reinterpret_cast<const char*>(bytes_) + offset, static_cast<size_t>(size)};
  }

 private:
  const std::byte* bytes_;
  size_t size_;
};

std::string_view nameAt(std::string_view strings, uint32_t offset) {
  if (offset >= strings.size()) return {};
  const std::string_view rest = strings.substr(offset);
  return rest.substr(0, rest.find('\0'));
}

struct Sections {
  std::vector<Elf64_Shdr> headers;
  std::vector<std::string_view> names;

  const Elf64_Shdr* find(const std::string& name) const {
    for (size_t i = 0; i < headers.size(); ++i)
      if (names[i] == name) return &headers[i];
    return nullptr;
  }
};

Result<Sections> readSections(const File& file) {
  Elf64_Ehdr header;
  if (!file.read(0, header)) return fail(CUDA_ERROR_INVALID_IMAGE, "cubin is shorter than an ELF header");
  if (header.e_shnum && header.e_shentsize != sizeof(Elf64_Shdr))
    return fail(CUDA_ERROR_INVALID_IMAGE, "cubin has section headers of %u bytes", header.e_shentsize);
  Sections sections;
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    if (!file.read(header.e_shoff + uint64_t{i} * sizeof section, section))
      return fail(CUDA_ERROR_INVALID_IMAGE, "cubin ends before its section header %u", i);
    sections.headers.push_back(section);
  }
  std::string_view strings;
  if (header.e_shstrndx < sections.headers.size()) {
    const Elf64_Shdr& table = sections.headers[header.e_shstrndx];
    strings = file.piece(table.sh_offset, table.sh_size);
  }
  for (const Elf64_Shdr& section : sections.headers) sections.names.push_back(nameAt(strings, section.sh_name));
  return sections;
}

// Parameters come as records {u32 index; u16 ordinal; u16 offset; u32 bits with the size from bit 18}.
void readInformation(std::string_view information, NativeKernel& kernel) {
  std::vector<std::pair<uint16_t, NativeKernel::Parameter>> found;
  for (size_t at = 0; at + 4 <= information.size();) {
    const auto format = static_cast<uint8_t>(information[at]), attribute = static_cast<uint8_t>(information[at + 1]);
    uint16_t size = 0;
    std::memcpy(&size, &information[at + 2], sizeof size);
    at += 4;
    if (format == kFormatNone || format == kFormatByte || format == kFormatHalf) continue;
    if (format != kFormatSized || size > information.size() - at) break;
    if (attribute == kAttributeParameter && size >= 12) {
      uint16_t ordinal, offset;
      uint32_t bits;
      std::memcpy(&ordinal, &information[at + 4], sizeof ordinal);
      std::memcpy(&offset, &information[at + 6], sizeof offset);
      std::memcpy(&bits, &information[at + 8], sizeof bits);
      found.push_back({ordinal, {offset, bits >> 18}});
    }
    at += size;
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [ordinal, parameter] : found) kernel.parameters.push_back(parameter);
}

NativeKernel describe(const File& file, const Sections& sections, std::string_view name) {
  NativeKernel kernel;
  kernel.name = name;
  if (const Elf64_Shdr* section = sections.find(".nv.info." + kernel.name))
    readInformation(file.piece(section->sh_offset, section->sh_size), kernel);
  if (const Elf64_Shdr* section = sections.find(".nv.shared." + kernel.name))
    kernel.sharedBytes = static_cast<uint32_t>(section->sh_size);
  if (const Elf64_Shdr* section = sections.find(".text." + kernel.name)) kernel.registers = section->sh_info >> 24;
  return kernel;
}

}  // namespace

bool isCubin(const std::byte* bytes, size_t available) {
  Elf64_Ehdr header;
  if (available < sizeof header) return false;
  std::memcpy(&header, bytes, sizeof header);
  return !std::memcmp(header.e_ident, ELFMAG, SELFMAG) && header.e_ident[EI_CLASS] == ELFCLASS64 &&
         header.e_machine == kMachineCuda;
}

Result<size_t> elfHeaderExtent(const std::byte* bytes) {
  Elf64_Ehdr header;
  std::memcpy(&header, bytes, sizeof header);
  uint64_t sectionsEnd = 0, segmentsEnd = 0;
  if (__builtin_add_overflow(header.e_shoff, uint64_t{header.e_shnum} * header.e_shentsize, &sectionsEnd) ||
      __builtin_add_overflow(header.e_phoff, uint64_t{header.e_phnum} * header.e_phentsize, &segmentsEnd))
    return fail(CUDA_ERROR_INVALID_IMAGE, "cubin's header tables end beyond the address space");
  return static_cast<size_t>(std::max({uint64_t{sizeof header}, sectionsEnd, segmentsEnd}));
}

Result<size_t> elfExtent(const std::byte* bytes, size_t available) {
  if (available < sizeof(Elf64_Ehdr)) return fail(CUDA_ERROR_INVALID_IMAGE, "cubin is shorter than an ELF header");
  VG_TRY(uint64_t end, elfHeaderExtent(bytes));
  VG_TRY(const Sections sections, readSections(File(bytes, available)));
  for (const Elf64_Shdr& section : sections.headers) {
    uint64_t sectionEnd = 0;
    if (section.sh_type == SHT_NOBITS) continue;
    if (__builtin_add_overflow(section.sh_offset, section.sh_size, &sectionEnd))
      return fail(CUDA_ERROR_INVALID_IMAGE, "cubin section ends beyond the address space");
    end = std::max(end, sectionEnd);
  }
  return static_cast<size_t>(end);
}

Result<std::vector<NativeKernel>> nativeKernels(const std::byte* bytes, size_t size) {
  const File file(bytes, size);
  VG_TRY(const Sections sections, readSections(file));
  std::vector<NativeKernel> kernels;
  for (const Elf64_Shdr& table : sections.headers) {
    if (table.sh_type != SHT_SYMTAB || table.sh_link >= sections.headers.size()) continue;
    const Elf64_Shdr& stringTable = sections.headers[table.sh_link];
    const std::string_view strings = file.piece(stringTable.sh_offset, stringTable.sh_size);
    const std::string_view symbols = file.piece(table.sh_offset, table.sh_size);
    if (symbols.size() != table.sh_size) return fail(CUDA_ERROR_INVALID_IMAGE, "cubin ends before its symbols do");
    for (size_t at = 0; at + sizeof(Elf64_Sym) <= symbols.size(); at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, &symbols[at], sizeof symbol);
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || !(symbol.st_other & kOtherEntry)) continue;
      kernels.push_back(describe(file, sections, nameAt(strings, symbol.st_name)));
    }
  }
  return kernels;
}

}  // namespace vg::images
