// Builds fat binaries and cubins byte by byte, so that tests need no CUDA toolkit.
#pragma once

#include <elf.h>
#include <lz4.h>
#include <zstd.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace vg::images::testing {

using Bytes = std::vector<std::byte>;

template <class T>
void put(Bytes& bytes, const T& value) {
  const auto* const raw = reinterpret_cast<const std::byte*>(&value);
  bytes.insert(bytes.end(), raw, raw + sizeof value);
}
inline void putText(Bytes& bytes, const std::string& text) {
  const auto* const raw = reinterpret_cast<const std::byte*>(text.data());
  bytes.insert(bytes.end(), raw, raw + text.size());
}
template <class T>
void poke(Bytes& bytes, size_t offset, const T& value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

enum class Packing { None, Lz4, Zstd };

struct EntrySpec {
  uint16_t kind = 1;
  uint32_t target = 75;
  std::string content;
  Packing packing = Packing::None;
  uint64_t flags = 0x11;
  std::string name;
};

inline std::string packed(const EntrySpec& spec) {
  std::string out;
  if (spec.packing == Packing::Lz4) {
    out.resize(static_cast<size_t>(LZ4_compressBound(static_cast<int>(spec.content.size()))));
    out.resize(static_cast<size_t>(LZ4_compress_default(
        spec.content.data(), out.data(), static_cast<int>(spec.content.size()), static_cast<int>(out.size()))));
  } else {
    out.resize(ZSTD_compressBound(spec.content.size()));
    out.resize(ZSTD_compress(out.data(), out.size(), spec.content.data(), spec.content.size(), 3));
  }
  return out;
}

inline Bytes entry(const EntrySpec& spec) {
  const bool compressed = spec.packing != Packing::None;
  std::string payload = compressed ? packed(spec) : spec.content;
  const auto exact = static_cast<uint32_t>(payload.size());
  payload.resize((payload.size() + 7) / 8 * 8);
  const auto nameSpace = static_cast<uint32_t>((spec.name.size() + 7) / 8 * 8);
  const uint64_t packingFlag = spec.packing == Packing::Lz4 ? 0x2000 : spec.packing == Packing::Zstd ? 0x8000 : 0;
  Bytes bytes;
  put(bytes, spec.kind);
  put(bytes, uint16_t{0x0101});
  put(bytes, 64 + nameSpace);
  put(bytes, uint64_t{payload.size()});
  put(bytes, compressed ? exact : 0u);
  put(bytes, 0u);
  put(bytes, uint16_t{0});
  put(bytes, uint16_t{9});
  put(bytes, spec.target);
  put(bytes, spec.name.empty() ? 0u : 64u);
  put(bytes, static_cast<uint32_t>(spec.name.size()));
  put(bytes, spec.flags | packingFlag);
  put(bytes, uint64_t{0});
  put(bytes, compressed ? uint64_t{spec.content.size()} : uint64_t{0});
  std::string name = spec.name;
  name.resize(nameSpace);
  putText(bytes, name);
  putText(bytes, payload);
  return bytes;
}

inline Bytes container(const std::vector<EntrySpec>& entries, uint32_t magic = 0xBA55ED50) {
  Bytes body;
  for (const EntrySpec& spec : entries) {
    const Bytes one = entry(spec);
    body.insert(body.end(), one.begin(), one.end());
  }
  Bytes bytes;
  put(bytes, magic);
  put(bytes, uint16_t{1});
  put(bytes, uint16_t{16});
  put(bytes, uint64_t{body.size()});
  bytes.insert(bytes.end(), body.begin(), body.end());
  return bytes;
}

struct Wrapper {
  uint32_t magic = 0x466243B1;
  uint32_t version = 1;
  const void* container = nullptr;
  const void* const* prelinked = nullptr;
};

// A cubin with one kernel: its name in a symbol, its parameters in .nv.info.
inline Bytes cubin(const std::string& kernel, const std::vector<std::pair<uint16_t, uint16_t>>& parameters) {
  Bytes info;
  for (size_t i = parameters.size(); i-- > 0;) {  // the compiler writes the last parameter first
    put(info, uint8_t{4});
    put(info, uint8_t{0x17});
    put(info, uint16_t{12});
    put(info, 0u);
    put(info, static_cast<uint16_t>(i));
    put(info, parameters[i].first);
    put(info, uint32_t{parameters[i].second} << 18 | 0x1f000);
  }
  std::string names(1, '\0');
  const auto name = [&](const std::string& text) {
    const auto at = static_cast<uint32_t>(names.size());
    names += text + '\0';
    return at;
  };
  std::vector<Elf64_Sym> symbols(2);
  symbols[1].st_name = name(kernel);
  symbols[1].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
  symbols[1].st_other = 0x10;
  symbols[1].st_shndx = 5;  // .text
  std::vector<Elf64_Shdr> sections(6);
  sections[1].sh_name = name(".strtab");
  sections[2].sh_name = name(".symtab");
  sections[3].sh_name = name(".nv.info." + kernel);
  sections[4].sh_name = name(".nv.shared." + kernel);
  sections[5].sh_name = name(".text." + kernel);
  Bytes bytes;
  bytes.reserve(4096);  // else GCC 12 sees bounds that are not there
  bytes.resize(sizeof(Elf64_Ehdr));
  const auto place = [&](Elf64_Shdr& section, uint32_t type, const void* data, size_t size) {
    section.sh_type = type;
    section.sh_offset = bytes.size();
    section.sh_size = size;
    const auto* const raw = static_cast<const std::byte*>(data);
    bytes.insert(bytes.end(), raw, raw + size);
  };
  place(sections[1], SHT_STRTAB, names.data(), names.size());
  place(sections[2], SHT_SYMTAB, symbols.data(), symbols.size() * sizeof symbols[0]);
  sections[2].sh_link = 1;
  place(sections[3], SHT_LOPROC, info.data(), info.size());
  sections[4].sh_type = SHT_NOBITS;
  sections[4].sh_offset = bytes.size();
  sections[4].sh_size = 4096;
  place(sections[5], SHT_PROGBITS, "code", 4);
  sections[5].sh_info = 40u << 24;
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_machine = 190;
  header.e_shoff = bytes.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<uint16_t>(sections.size());
  header.e_shstrndx = 1;
  poke(bytes, 0, header);
  for (const Elf64_Shdr& section : sections) put(bytes, section);
  return bytes;
}

inline std::string ptx(const std::string& mark, size_t filling = 200) {
  std::string text = "\n\n.version 7.0\n.target sm_75\n// " + mark + "\n";
  for (size_t i = 0; i < filling; ++i) text += ".reg .b32 %r" + std::to_string(i) + ";\n";
  return text + std::string(1, '\0');
}

}  // namespace vg::images::testing
