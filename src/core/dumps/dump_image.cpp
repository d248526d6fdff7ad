#include "core/dumps/dump_image.h"

#include <elf.h>

#include <cstring>
#include <initializer_list>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "base/system/elf_head.h"

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

void putNumber(Bytes& bytes, uint32_t value) {  // LEB128
  for (; value >= 128; value >>= 7) put<uint8_t>(bytes, static_cast<uint8_t>(value | 128));
  put<uint8_t>(bytes, static_cast<uint8_t>(value));
}

// DWARF 2, by the numbers of the standard: what entries of .debug_info are made of.
enum Entry : unsigned char { kUnit = 1, kKernel, kFunction, kBaseType, kVariable };
Bytes entryForms() {
  constexpr unsigned char kCompileUnit = 0x11, kSubprogram = 0x2e, kLexicalBlock = 0x0b, kBase = 0x24, kVar = 0x34;
  constexpr unsigned char kName = 0x03, kProducer = 0x25, kLanguage = 0x13, kLines = 0x10, kLow = 0x11, kHigh = 0x12,
                          kExternal = 0x3f, kEncoding = 0x3e, kByteSize = 0x0b, kType = 0x49, kLocation = 0x02;
  constexpr unsigned char kAddress = 0x01, kText = 0x08, kByte = 0x0b, kWord = 0x06, kFlag = 0x0c, kReference = 0x13,
                          kBlock = 0x0a;
  Bytes forms;
  putAll(forms, {kUnit, kCompileUnit, 1, kName, kText, kProducer, kText, kLanguage, kByte, kLines, kWord, kLow,
                 kAddress, kHigh, kAddress, 0, 0});
  putAll(forms, {kKernel, kSubprogram, 1, kName, kText, kExternal, kFlag, kLow, kAddress, kHigh, kAddress, 0, 0});
  putAll(forms, {kFunction, kLexicalBlock, 1, kLow, kAddress, kHigh, kAddress, 0, 0});
  putAll(forms, {kBaseType, kBase, 0, kName, kText, kEncoding, kByte, kByteSize, kByte, 0, 0});
  putAll(forms, {kVariable, kVar, 0, kName, kText, kType, kReference, kLocation, kBlock, 0, 0});
  put<uint8_t>(forms, 0);
  return forms;
}

using Register = backend::FunctionScene::Register;

// The types of registers, where they stand among the entries.
class Types {
 public:
  explicit Types(Bytes& entries) : entries_(entries) {}

  uint32_t of(const Register& r) {
    const uint32_t bytes = r.kind == Register::Kind::Predicate ? 4 : r.bits / 8;
    const auto [known, isNew] = known_.try_emplace({r.kind, bytes}, static_cast<uint32_t>(entries_.size()));
    if (isNew) add(r.kind, bytes);
    return known->second;
  }

 private:
  void add(Register::Kind kind, uint32_t bytes) {
    constexpr struct {
      const char* name;
      unsigned char encoding;
    } kKinds[] = {{"pred", 2}, {"b", 7}, {"s", 5}, {"f", 4}};
    const auto& described = kKinds[static_cast<size_t>(kind)];
    put<uint8_t>(entries_, kBaseType);
    putText(entries_, kind == Register::Kind::Predicate ? described.name : described.name + std::to_string(8 * bytes));
    put<uint8_t>(entries_, described.encoding);
    put<uint8_t>(entries_, static_cast<uint8_t>(bytes));
  }

  Bytes& entries_;
  std::map<std::pair<Register::Kind, uint32_t>, uint32_t> known_;
};

void putRange(Bytes& bytes, uint32_t firstLine, uint32_t endLine) {
  put<uint64_t>(bytes, kCodeStart + firstLine * kInstructionBytes);
  put<uint64_t>(bytes, kCodeStart + endLine * kInstructionBytes);
}

// A variable for each register, named as in the PTX without the sign that debuggers take for something else.
Bytes entriesOf(const char* kernel, uint32_t lines, const std::vector<backend::FunctionScene>& functions,
                uint32_t mostWords) {
  constexpr unsigned char kC = 1, kInRegister = 0x90;
  constexpr uint32_t kFirst = 2;  // cuda-gdb's number of R0, behind the place and that of an exception
  Bytes entries;
  put<uint32_t>(entries, 0);  // the length of what follows
  put<uint16_t>(entries, 2);
  put<uint32_t>(entries, 0);  // where the forms begin
  put<uint8_t>(entries, 8);   // bytes of an address
  put<uint8_t>(entries, kUnit);
  putText(entries, "module.ptx");
  putText(entries, "Verdigris");
  put<uint8_t>(entries, kC);
  put<uint32_t>(entries, 0);  // where the lines begin
  putRange(entries, 0, lines);
  Types types(entries);
  for (const backend::FunctionScene& function : functions)
    for (const Register& r : function.registers) (void)types.of(r);
  put<uint8_t>(entries, kKernel);
  putText(entries, kernel);
  put<uint8_t>(entries, 1);
  putRange(entries, 0, lines);
  for (const backend::FunctionScene& function : functions) {
    put<uint8_t>(entries, kFunction);
    putRange(entries, function.firstLine, function.lastLine + 1);
    uint32_t word = 0;
    for (const Register& r : function.registers) {
      if (word + wordsOf(r) > mostWords) break;
      put<uint8_t>(entries, kVariable);
      putText(entries, r.name.substr(r.name.find_first_not_of('%')));
      put<uint32_t>(entries, types.of(r));
      Bytes location{kInRegister};
      putNumber(location, kFirst + word);
      put<uint8_t>(entries, static_cast<uint8_t>(location.size()));
      append(entries, location.data(), location.size());
      word += wordsOf(r);
    }
    put<uint8_t>(entries, 0);
  }
  putAll(entries, {0, 0});  // the kernel, the unit
  patch(entries, 0, static_cast<uint32_t>(entries.size() - 4));
  return entries;
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
  Elf64_Ehdr head = elfHead(ET_EXEC, kElfMachineGpu);
  head.e_ident[EI_OSABI] = 0x41;
  head.e_ident[EI_ABIVERSION] = 8;
  head.e_flags = 0x0a000004 | capability << 8;
  head.e_shstrndx = kNames;
  return head;
}

}  // namespace

std::vector<unsigned char> imageOf(const char* kernel, uint32_t lines, unsigned capability,
                                   const std::vector<backend::FunctionScene>& functions, uint32_t mostWords) {
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
  if (!functions.empty()) {
    parts.push_back({".debug_abbrev", SHT_PROGBITS, 0, entryForms()});
    parts.push_back({".debug_info", SHT_PROGBITS, 0, entriesOf(kernel, lines, functions, mostWords)});
  }

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
