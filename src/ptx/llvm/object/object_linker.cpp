#include "ptx/llvm/object/object_linker.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/system/elf_reader.h"
#include "base/system/line_table.h"
#include "ptx/llvm/object/relocations.h"

namespace vg::ptx::gen {
namespace {

class Linker {
 public:
  Linker(const char* object, size_t size, KernelBlob& blob, std::string& error)
      : file_(std::string_view(object, size)), blob_(blob), error_(error) {}

  bool run(const char* entry) {
    if (!readHeader()) return false;
    placeSections();
    if (!relocate()) return false;
    if (!findEntry(entry)) return false;
    readStackSizes();
    readLines();
    return true;
  }

 private:
  bool fail(std::string why) {
    error_ = std::move(why);
    return false;
  }

  bool readHeader() {
    std::string whyNot = file_.problem();
    if (whyNot.empty()) symbols_ = file_.symbols(whyNot);
    if (!whyNot.empty()) return fail("object file " + whyNot);
    return !symbols_.empty() || fail("object file without symbols");
  }

  // Text first, then everything else that a running kernel reads.
  void placeSections() {
    place_.assign(file_.sections().size(), kNowhere);
    for (const bool text : {true, false}) {
      for (uint32_t n = 0; n < place_.size(); ++n) {
        const ElfSection& section = file_.sections()[n];
        const Elf64_Shdr& s = section.header;
        if (!(s.sh_flags & SHF_ALLOC) || ((s.sh_flags & SHF_EXECINSTR) != 0) != text) continue;
        if (s.sh_type == SHT_X86_64_UNWIND || section.name == ".eh_frame") continue;
        const uint64_t alignment = std::max<uint64_t>(s.sh_addralign, text ? 64 : 1);
        blob_.code.resize((blob_.code.size() + alignment - 1) / alignment * alignment, text ? filler() : 0);
        place_[n] = blob_.code.size();
        blob_.code.resize(blob_.code.size() + s.sh_size);
        file_.contents(section)
            .value_or(std::string_view())
            .copy(reinterpret_cast<char*>(&blob_.code[place_[n]]), s.sh_size);
      }
      if (text) blob_.textSize = static_cast<uint32_t>(blob_.code.size());
    }
  }

  // Between functions: what ends in a signal, should it ever run.
  uint8_t filler() const { return file_.header().e_machine == EM_AARCH64 ? 0 : 0xcc; }

  bool relocate() {
    for (const ElfSection& section : file_.sections()) {
      const Elf64_Shdr& r = section.header;
      if (r.sh_type != SHT_RELA || r.sh_info >= place_.size() || place_[r.sh_info] == kNowhere) continue;
      for (const Elf64_Rela& row : file_.rows<Elf64_Rela>(section))
        if (!apply(row, place_[r.sh_info])) return false;
    }
    return true;
  }

  bool apply(const Elf64_Rela& r, uint64_t section) {
    const uint64_t target = addressOf(r);
    if (target == kNowhere) return fail(whyNowhere(r));
    const uint64_t where = section + r.r_offset;
    std::byte* const at = reinterpret_cast<std::byte*>(&blob_.code[where]);
    const uint32_t type = ELF64_R_TYPE(r.r_info);
    const bool known = file_.header().e_machine == EM_AARCH64 ? relocations::applyArm(type, at, target, where)
                                                              : relocations::applyX86(type, at, target, where);
    return known || fail("relocation of type " + std::to_string(type));
  }

  // Where what a relocation names lies in the blob; kNowhere: it is not loaded.
  uint64_t addressOf(const Elf64_Rela& r) const {
    const size_t number = ELF64_R_SYM(r.r_info);
    if (number >= symbols_.size()) return kNowhere;
    const ElfSymbol& symbol = symbols_[number];
    if (!symbol.section || place_[symbol.section] == kNowhere) return kNowhere;
    return place_[symbol.section] + symbol.raw.st_value + static_cast<uint64_t>(r.r_addend);
  }
  std::string whyNowhere(const Elf64_Rela& r) const {
    const size_t number = ELF64_R_SYM(r.r_info);
    if (number >= symbols_.size() || symbols_[number].raw.st_shndx != SHN_UNDEF)
      return "refers to a section that is not loaded";
    return "needs the function " + std::string(symbols_[number].name);
  }

  bool findEntry(const char* entry) {
    for (const ElfSymbol& symbol : symbols_) {
      if (!symbol.section || symbol.name != entry) continue;
      blob_.entryOffset = static_cast<uint32_t>(place_[symbol.section] + symbol.raw.st_value);
      return true;
    }
    return fail("object file without the entry");
  }

  // Frames of all functions together: none calls itself.
  void readStackSizes() {
    uint64_t total = 0;
    for (const ElfSection& section : file_.sections()) {
      if (section.name != ".stack_sizes") continue;
      const std::string_view bytes = file_.contents(section).value_or(std::string_view());
      for (DwarfCursor row(bytes); !row.atEnd();) {
        row.take(8);  // the address of the function
        total += row.uleb() + 16;
      }
    }
    blob_.traits.stackPerWarp = static_cast<uint32_t>(total);
  }

  // Addresses come from relocations against text.
  void readLines() {
    const ElfSection* const lines = file_.find(".debug_line");
    if (!lines) return;
    const std::string_view bytes = file_.contents(*lines).value_or(std::string_view());
    const LineTable::AddressAt addressAt = [this](uint64_t offset) { return relocatedAddress(offset); };
    for (DwarfCursor units(bytes); !units.atEnd();) {
      LineTable table(units, {bytes, {}, {}}, &addressAt);
      for (LineRow row; table.next(row);)
        if (!row.ends) addLine(row);
    }
    std::stable_sort(blob_.lines.begin(), blob_.lines.end(),
                     [](const LineEntry& a, const LineEntry& b) { return a.codeOffset < b.codeOffset; });
  }

  // One for each line in a row, and one for each address.
  void addLine(const LineRow& row) {
    std::vector<LineEntry>& lines = blob_.lines;
    if (row.line == 0 || (!lines.empty() && lines.back().ptxLine == static_cast<uint32_t>(row.line))) return;
    if (!lines.empty() && lines.back().codeOffset == row.address) lines.pop_back();
    lines.push_back({static_cast<uint32_t>(row.address), static_cast<uint32_t>(row.line)});
  }

  uint64_t relocatedAddress(uint64_t offset) const {
    const ElfSection* const relocations = file_.find(".rela.debug_line");
    if (!relocations) return 0;
    for (const Elf64_Rela& row : file_.rows<Elf64_Rela>(*relocations))
      if (row.r_offset == offset) return addressOf(row) == kNowhere ? 0 : addressOf(row);
    return 0;
  }

  static constexpr uint64_t kNowhere = ~uint64_t{0};

  const ElfReader file_;
  std::vector<ElfSymbol> symbols_;
  KernelBlob& blob_;
  std::string& error_;
  std::vector<uint64_t> place_;  // by section: where in the blob
};

}  // namespace

bool linkObject(const char* object, size_t size, const char* entry, KernelBlob& blob, std::string& error) {
  return Linker(object, size, blob, error).run(entry);
}

}  // namespace vg::ptx::gen
