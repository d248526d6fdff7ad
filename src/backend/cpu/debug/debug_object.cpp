#include "backend/cpu/debug/debug_object.h"

#include <elf.h>

#include <cstring>
#include <string_view>

#include "base/system/elf_head.h"
#include "base/system/machine.h"
#include "base/text/plain_names.h"

namespace vg::backend::cpu {
namespace {

// Numbers of the DWARF standard, version 4.
enum Tag : uint8_t { kLabel = 0x0a, kLexicalBlock = 0x0b, kCompileUnit = 0x11, kSubprogram = 0x2e };
enum Attribute : uint8_t {
  kName = 0x03,
  kStatements = 0x10,
  kLowPc = 0x11,
  kHighPc = 0x12,
  kLanguage = 0x13,
  kFolder = 0x1b,
  kExternal = 0x3f,
  kFrameBase = 0x40,
  kLinkageName = 0x6e
};
enum Form : uint8_t {
  kAddress = 0x01,
  kTwoBytes = 0x05,
  kEightBytes = 0x07,
  kString = 0x08,
  kOffset = 0x17,
  kExpression = 0x18,
  kPresent = 0x19
};
enum LineCode : uint8_t {
  kExtended = 0,
  kCopy = 1,
  kAdvancePc = 2,
  kAdvanceLine = 3,
  kSetFile = 4,
  kEndSequence = 1,
  kSetAddress = 2
};
enum Frame : uint8_t { kDefineCfa = 0x0c, kCfaRegister = 0x0d, kCfaOffset = 0x0e, kAdvance = 0x40, kSaved = 0x80 };
constexpr uint8_t kRbp = 6, kRsp = 7, kReturn = 16;  // registers
constexpr uint8_t kCallFrameCfa = 0x9c;
constexpr uint16_t kVersion = 4, kCPlusPlus = 0x04;

class Bytes {
 public:
  std::string data;

  template <class T>
  void put(T value) {
    data.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void byte(unsigned value) { data += static_cast<char>(value); }
  void bytes(std::initializer_list<unsigned> values) {
    for (const unsigned value : values) byte(value);
  }
  void text(std::string_view value) {
    data += value;
    data += '\0';
  }
  void unsignedLeb(uint64_t value) {
    for (; value >= 0x80; value >>= 7) byte(static_cast<unsigned>(value & 0x7f) | 0x80);
    byte(static_cast<unsigned>(value));
  }
  void signedLeb(int64_t value) {
    for (;; value >>= 7) {
      const auto low = static_cast<unsigned>(value & 0x7f);
      const bool last = (value >> 6) == 0 || (value >> 6) == -1;
      byte(last ? low : low | 0x80);
      if (last) return;
    }
  }
  // What follows is so long, in four bytes before it.
  void counted(const Bytes& part) {
    put(static_cast<uint32_t>(part.data.size()));
    data += part.data;
  }
};

std::string abbreviations() {
  Bytes out;
  out.bytes({1, kCompileUnit, 1, kLanguage, kTwoBytes, kName, kString, kFolder, kString, kLowPc, kAddress, kHighPc,
             kEightBytes, kStatements, kOffset, 0, 0});
  out.bytes({2, kSubprogram, 1, kName, kString, kLinkageName, kString, kLowPc, kAddress, kHighPc, kEightBytes,
             kExternal, kPresent, kFrameBase, kExpression, 0, 0});
  out.bytes({3, kLexicalBlock, 1, kLowPc, kAddress, kHighPc, kEightBytes, 0, 0});
  out.bytes({4, kLabel, 0, kName, kString, kLowPc, kAddress, 0, 0, 0});
  return std::move(out.data);
}

// "scale" of "scale<float>(float*)".
std::string wordOf(const std::string& plain) {
  const std::string head = plain.substr(0, plain.find('('));
  const size_t space = head.substr(0, head.find('<')).rfind(' ');
  return space == std::string::npos ? head : head.substr(space + 1);
}

std::string information(const DebugFunction& f) {
  Bytes unit;
  unit.put(kVersion);
  unit.put(uint32_t{0});  // where the abbreviations begin
  unit.byte(sizeof(uint64_t));
  unit.byte(1);
  unit.put(kCPlusPlus);
  unit.text(f.files.empty() ? "" : f.files[0]);
  unit.text("/");
  unit.put(f.start);
  unit.put(f.size);
  unit.put(uint32_t{0});  // where the lines begin
  unit.byte(2);
  unit.text(wordOf(plainName(f.name)));
  unit.text(f.name);
  unit.put(f.start);
  unit.put(f.size);
  unit.bytes({1, kCallFrameCfa});
  for (size_t n = 0; n < f.copies.size(); ++n) {
    unit.byte(3);
    unit.put(f.copies[n]);
    unit.put((n + 1 < f.copies.size() ? f.copies[n + 1] : f.start + f.size) - f.copies[n]);
    unit.byte(4);  // GDB forgets blocks that have no symbol
    unit.text("copy");
    unit.put(f.copies[n]);
    unit.byte(0);
  }
  unit.bytes({0, 0});
  Bytes out;
  out.counted(unit);
  return std::move(out.data);
}

Bytes lineProgram(const DebugFunction& f) {
  Bytes out;
  out.bytes({kExtended, 1 + sizeof(uint64_t), kSetAddress});
  out.put(f.start);
  uint64_t address = f.start;
  uint32_t file = 1;
  int64_t line = 1;
  const auto advance = [&](uint64_t to) {
    out.byte(kAdvancePc);
    out.unsignedLeb(to - address);
    address = to;
  };
  for (const DebugRow& row : f.rows) {
    advance(row.address);
    if (row.file != file) out.byte(kSetFile), out.unsignedLeb(file = row.file);
    out.byte(kAdvanceLine);
    out.signedLeb(int64_t{row.line} - line);
    line = row.line;
    out.byte(kCopy);
  }
  advance(f.start + f.size);
  out.bytes({kExtended, 1, kEndSequence});
  return out;
}

std::string lines(const DebugFunction& f) {
  Bytes header;
  header.bytes({1, 1, 1, static_cast<uint8_t>(-5), 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1});
  header.byte(0);  // no folders
  for (const std::string& file : f.files) {
    header.text(file);
    header.bytes({0, 0, 0});
  }
  header.byte(0);
  Bytes unit;
  unit.put(kVersion);
  unit.counted(header);
  unit.data += lineProgram(f).data;
  Bytes out;
  out.counted(unit);
  return std::move(out.data);
}

void padded(Bytes& out, Bytes part) {
  while ((part.data.size() + 4) % 8) part.byte(0);
  out.counted(part);
}

// Of x86-64, whose functions begin with `push %rbp; mov %rsp, %rbp`. Elsewhere beginnings differ, and debuggers read
// them.
std::string frames(const DebugFunction& f) {
  Bytes common;
  common.put(~uint32_t{0});
  common.bytes({1, 0, 1, 0x78, kReturn, kDefineCfa, kRsp, 8, kSaved | kReturn, 1});
  Bytes own;
  own.put(uint32_t{0});
  own.put(f.start);
  own.put(f.size);
  own.bytes({kAdvance | 1, kCfaOffset, 16, kSaved | kRbp, 2, kAdvance | 3, kCfaRegister, kRbp});
  Bytes out;
  padded(out, std::move(common));
  padded(out, std::move(own));
  return std::move(out.data);
}

class ElfFile {
 public:
  ElfFile(uint64_t start, uint64_t size) {
    out_.data.resize(sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr));
    names_.byte(0);
    sections_.emplace_back();
    Elf64_Shdr& text = add(".text", SHT_NOBITS, {});
    text.sh_flags = SHF_ALLOC | SHF_EXECINSTR;
    text.sh_addr = start;
    text.sh_size = size;
  }
  static constexpr uint16_t kText = 1;

  Elf64_Shdr& add(const char* name, uint32_t type, const std::string& content) {
    Elf64_Shdr& s = sections_.emplace_back();
    s.sh_name = static_cast<uint32_t>(names_.data.size());
    names_.text(name);
    s.sh_type = type;
    s.sh_offset = out_.data.size();
    s.sh_size = content.size();
    s.sh_addralign = 1;
    out_.data += content;
    while (out_.data.size() % 8) out_.byte(0);
    return s;
  }

  void addSymbol(const DebugFunction& f) {
    Bytes symbols, strings;
    symbols.put(Elf64_Sym{});
    strings.byte(0);
    Elf64_Sym symbol{};
    symbol.st_name = 1;
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    symbol.st_shndx = kText;
    symbol.st_value = f.start;
    symbol.st_size = f.size;
    symbols.put(symbol);
    strings.text(f.name);
    Elf64_Shdr& table = add(".symtab", SHT_SYMTAB, symbols.data);
    table.sh_entsize = sizeof(Elf64_Sym);
    table.sh_info = 1;
    table.sh_addralign = 8;
    table.sh_link = static_cast<uint32_t>(sections_.size());
    add(".strtab", SHT_STRTAB, strings.data);
  }

  std::vector<std::byte> finish(const DebugFunction& f) {
    const auto names = static_cast<uint16_t>(sections_.size());
    add(".shstrtab", SHT_STRTAB, "");
    sections_.back().sh_size = names_.data.size();
    out_.data += names_.data;
    while (out_.data.size() % 8) out_.byte(0);
    const Elf64_Ehdr header = headerOf(names, out_.data.size());
    for (const Elf64_Shdr& s : sections_) out_.put(s);
    Elf64_Phdr program{};
    program.p_type = PT_LOAD;
    program.p_flags = PF_R | PF_X;
    program.p_vaddr = program.p_paddr = f.start;
    program.p_memsz = f.size;
    std::memcpy(out_.data.data(), &header, sizeof header);
    std::memcpy(out_.data.data() + sizeof header, &program, sizeof program);
    const auto* const begin = reinterpret_cast<const std::byte*>(out_.data.data());
    return {begin, begin + out_.data.size()};
  }

 private:
  Elf64_Ehdr headerOf(uint16_t names, size_t sections) const {
    Elf64_Ehdr h = elfHead(ET_EXEC, machine::kElf);
    h.e_phoff = sizeof(Elf64_Ehdr);
    h.e_shoff = sections;
    h.e_phentsize = sizeof(Elf64_Phdr);
    h.e_phnum = 1;
    h.e_shnum = static_cast<uint16_t>(sections_.size());
    h.e_shstrndx = names;
    return h;
  }

  Bytes out_, names_;
  std::vector<Elf64_Shdr> sections_;
};

}  // namespace

std::vector<std::byte> makeDebugObject(const DebugFunction& function) {
  ElfFile file(function.start, function.size);
  file.add(".debug_abbrev", SHT_PROGBITS, abbreviations());
  file.add(".debug_info", SHT_PROGBITS, information(function));
  file.add(".debug_line", SHT_PROGBITS, lines(function));
  if constexpr (machine::kElf == EM_X86_64) file.add(".debug_frame", SHT_PROGBITS, frames(function)).sh_addralign = 8;
  file.addSymbol(function);
  return file.finish(function);
}

}  // namespace vg::backend::cpu
