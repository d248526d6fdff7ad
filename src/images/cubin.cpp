#include "images/cubin.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "images/elf_file.h"

namespace vg::images {
namespace {

// Attributes of .nv.info.<kernel>: a format byte, an attribute byte, then by format.
constexpr uint8_t kFormatSized = 4, kFormatHalf = 3, kFormatByte = 2, kFormatNone = 1;
constexpr uint8_t kAttributeParameter = 0x17;

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

Result<NativeKernel> describe(const ElfFile& file, std::string_view name) {
  NativeKernel kernel;
  kernel.name = name;
  if (const ElfSection* section = file.find(".nv.info." + kernel.name)) {
    VG_TRY(const std::string_view information, file.contents(*section));
    readInformation(information, kernel);
  }
  if (const ElfSection* section = file.find(".nv.shared." + kernel.name))
    kernel.sharedBytes = static_cast<uint32_t>(section->header.sh_size);
  if (const ElfSection* section = file.find(".text." + kernel.name)) kernel.registers = section->header.sh_info >> 24;
  return kernel;
}

}  // namespace

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

Result<std::vector<NativeKernel>> nativeKernels(const std::byte* bytes, size_t size) {
  VG_TRY(const ElfFile file, ElfFile::read(bytes, size));
  VG_TRY(const std::vector<ElfSymbol> symbols, file.symbols());
  std::vector<NativeKernel> kernels;
  for (const ElfSymbol& symbol : symbols) {
    if (!symbol.kernel()) continue;
    VG_TRY(NativeKernel kernel, describe(file, symbol.name));
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

}  // namespace vg::images
