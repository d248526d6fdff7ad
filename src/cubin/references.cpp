#include "cubin/references.h"

#include <cstring>
#include <optional>

namespace vg::cubin {
namespace {

using images::ElfFile;
using images::ElfSection;
using images::ElfSymbol;

constexpr std::string_view kBank0 = ".nv.constant0.";

std::optional<Reference::Kind> kindOf(const ElfSymbol& symbol) {
  constexpr uint8_t kTexture = 10, kSampler = 11, kSurface = 12;  // types of symbols
  switch (symbol.type()) {
    case kTexture:
      return Reference::Kind::Texture;
    case kSampler:
      return Reference::Kind::Sampler;
    case kSurface:
      return Reference::Kind::Surface;
    default:
      return {};
  }
}

CUresult readTable(const ElfFile& file, const ElfSection& table, const std::vector<ElfSymbol>& symbols,
                   std::vector<Reference>& found) {
  const size_t entry = table.header.sh_type == SHT_RELA ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
  VG_TRY(std::string_view bytes, file.contents(table));
  for (; bytes.size() >= entry; bytes.remove_prefix(entry)) {
    Elf64_Rel raw;
    std::memcpy(&raw, bytes.data(), sizeof raw);
    const uint64_t symbol = ELF64_R_SYM(raw.r_info);
    if (symbol >= symbols.size())
      return fail(CUDA_ERROR_INVALID_IMAGE, "cubin reference to symbol %llu, there are %zu",
                  static_cast<unsigned long long>(symbol), symbols.size());
    const std::optional<Reference::Kind> kind = kindOf(symbols[symbol]);
    if (!kind) continue;
    if (raw.r_offset > UINT32_MAX)
      return fail(CUDA_ERROR_INVALID_IMAGE, "cubin reference at %#llx of bank 0",
                  static_cast<unsigned long long>(raw.r_offset));
    found.push_back({*kind, static_cast<uint32_t>(symbol), static_cast<uint32_t>(raw.r_offset)});
  }
  return CUDA_SUCCESS;
}

}  // namespace

std::map<uint32_t, Reference::Kind> namedTextures(const std::vector<ElfSymbol>& symbols) {
  std::map<uint32_t, Reference::Kind> named;
  for (uint32_t i = 0; i < symbols.size(); ++i)
    if (const std::optional<Reference::Kind> kind = kindOf(symbols[i])) named[i] = *kind;
  return named;
}

Result<References> readReferences(const ElfFile& file, const std::vector<ElfSymbol>& symbols) {
  References references;
  const uint32_t symbolTable = file.symbolTable();
  for (const ElfSection& table : file.sections()) {
    const Elf64_Shdr& header = table.header;
    if ((header.sh_type != SHT_RELA && header.sh_type != SHT_REL) || header.sh_info >= file.sections().size()) continue;
    const ElfSection& bank = file.sections()[header.sh_info];
    if (header.sh_link != symbolTable || !bank.name.starts_with(kBank0)) continue;
    std::vector<Reference>& found = references[bank.name.substr(kBank0.size())];
    VG_CHECK(readTable(file, table, symbols, found));
  }
  return references;
}

}  // namespace vg::cubin
