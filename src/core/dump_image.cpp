#include "core/dump_image.h"

#include <elf.h>

#include <cstring>
#include <initializer_list>
#include <iterator>
#include <string>

namespace vg::core::dump {
namespace {

using Bytes = std::vector<unsigned char>;

void append(Bytes& bytes, const void* more, size_t count) {
  const size_t at = bytes.size();
  bytes.resize(at + count);
  std::memcpy(bytes.data() + at, more, count);
}

template <class T>
void put(Bytes& bytes, T value) {
  append(bytes, &value, sizeof value);
}

void putAll(Bytes& bytes, std::initializer_list<unsigned char> values) { append(bytes, values.begin(), values.size()); }

void putText(Bytes& bytes, const std::string& text) { append(bytes, text.c_str(), text.size() + 1); }

void patch(Bytes& bytes, size_t where, uint32_t value) { std::memcpy(&bytes[where], &value, sizeof value); }

// DWARF 2: one row a line, kInstructionBytes apart. Operation codes by their numbers in the standard.
Bytes lineTable(uint32_t lines) {
  constexpr unsigned char kOperandCounts[] = {0, 1, 1, 1, 1, 0, 0, 0, 1};
  constexpr unsigned char kCopy = 1, kAdvancePlace = 2, kAdvanceLine = 3;
  constexpr unsigned char kEnd = 1, kSetPlace = 2;
  Bytes table;
  put<uint32_t>(table, 0);  // the length of what follows
  put<uint16_t>(table, 2);
  put<uint32_t>(table, 0);  // the length of the head
  const size_t head = table.size();
  put<uint8_t>(table, 1);  // bytes of the smallest instruction
  put<uint8_t>(table, 1);  // rows are statements
  put<int8_t>(table, -5);
  put<uint8_t>(table, 14);
  put<uint8_t>(table, std::size(kOperandCounts) + 1);
  append(table, kOperandCounts, sizeof kOperandCounts);
  put<uint8_t>(table, 0);  // no folders
  putText(table, "module.ptx");
  putAll(table, {0, 0, 0});  // folder, time, size
  put<uint8_t>(table, 0);
  patch(table, 6, static_cast<uint32_t>(table.size() - head));

  putAll(table, {0, 9, kSetPlace});
  put<uint64_t>(table, kCodeStart);
  put<uint8_t>(table, kCopy);  // line 1, which line 0 shares
  for (uint32_t line = 1; line < lines; ++line) {
    putAll(table, {kAdvancePlace, static_cast<unsigned char>(kInstructionBytes)});
    if (line > 1) putAll(table, {kAdvanceLine, 1});
    put<uint8_t>(table, kCopy);
  }
  putAll(table, {kAdvancePlace, static_cast<unsigned char>(kInstructionBytes), 0, 1, kEnd});
  patch(table, 0, static_cast<uint32_t>(table.size() - 4));
  return table;
}

struct Part {
  std::string name;
  Elf64_Word type;
  Elf64_Xword flags;
  Bytes bytes;
  Elf64_Addr address = 0;
  Elf64_Word link = 0, info = 0;
  Elf64_Xword rowBytes = 0, alignment = 1;
};

constexpr Elf64_Word kNames = 1, kStrings = 2, kSymbols = 3, kText = 4;  // numbers of the sections

Bytes symbolsOf(Bytes& strings, const char* kernel, uint64_t size) {
  Elf64_Sym symbols[3] = {};
  symbols[1].st_info = ELF64_ST_INFO(STB_LOCAL, STT_SECTION);
  symbols[1].st_shndx = kText;
  symbols[1].st_value = kCodeStart;
  symbols[2].st_name = static_cast<Elf64_Word>(strings.size());
  symbols[2].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
  symbols[2].st_other = 0x10;  // an entry, not a function that others call
  symbols[2].st_shndx = kText;
  symbols[2].st_value = kCodeStart;
  symbols[2].st_size = size;
  putText(strings, kernel);
  Bytes bytes;
  for (const Elf64_Sym& symbol : symbols) put(bytes, symbol);
  return bytes;
}

Elf64_Ehdr headOf(unsigned capability) {
  Elf64_Ehdr head{};
  std::memcpy(head.e_ident, ELFMAG, SELFMAG);
  head.e_ident[EI_CLASS] = ELFCLASS64;
  head.e_ident[EI_DATA] = ELFDATA2LSB;
  head.e_ident[EI_VERSION] = EV_CURRENT;
  head.e_ident[EI_OSABI] = 0x41;
  head.e_ident[EI_ABIVERSION] = 8;
  head.e_type = ET_EXEC;
  head.e_machine = 190;  // EM_CUDA
  head.e_version = EV_CURRENT;
  head.e_flags = 0x0a000004 | capability << 8;
  head.e_ehsize = sizeof head;
  head.e_shentsize = sizeof(Elf64_Shdr);
  head.e_shstrndx = kNames;
  return head;
}

}  // namespace

std::vector<unsigned char> imageOf(const char* kernel, uint32_t lines, unsigned capability) {
  const uint64_t size = lines * kInstructionBytes;
  Bytes strings(1);
  Bytes symbols = symbolsOf(strings, kernel, size);
  std::vector<Part> parts(1);
  parts.push_back({".shstrtab", SHT_STRTAB, 0, {}});
  parts.push_back({".strtab", SHT_STRTAB, 0, std::move(strings)});
  parts.push_back({".symtab", SHT_SYMTAB, 0, std::move(symbols), 0, kStrings, 2, sizeof(Elf64_Sym), 8});
  parts.push_back({".text." + std::string(kernel), SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, Bytes(size), kCodeStart,
                   kSymbols, 2, 0, 128});
  parts.push_back({".debug_line", SHT_PROGBITS, 0, lineTable(lines)});

  Bytes names(1), image(sizeof(Elf64_Ehdr));
  std::vector<Elf64_Shdr> headers(1);
  for (size_t i = 1; i < parts.size(); ++i) {
    headers.emplace_back().sh_name = static_cast<Elf64_Word>(names.size());
    putText(names, parts[i].name);
  }
  parts[kNames].bytes = std::move(names);
  for (size_t i = 1; i < parts.size(); ++i) {
    const Part& part = parts[i];
    image.resize((image.size() + part.alignment - 1) / part.alignment * part.alignment);
    Elf64_Shdr& header = headers[i];
    header.sh_type = part.type;
    header.sh_flags = part.flags;
    header.sh_addr = part.address;
    header.sh_offset = image.size();
    header.sh_size = part.bytes.size();
    header.sh_link = part.link;
    header.sh_info = part.info;
    header.sh_entsize = part.rowBytes;
    header.sh_addralign = part.alignment;
    append(image, part.bytes.data(), part.bytes.size());
  }
  image.resize((image.size() + 7) / 8 * 8);
  Elf64_Ehdr head = headOf(capability);
  head.e_shoff = image.size();
  head.e_shnum = static_cast<Elf64_Half>(headers.size());
  for (const Elf64_Shdr& header : headers) put(image, header);
  std::memcpy(image.data(), &head, sizeof head);
  return image;
}

}  // namespace vg::core::dump
