#include "ptx/llvm/object/object_linker.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

#include "ptx/llvm/object/line_program.h"

namespace vg::ptx::gen {
namespace {

class Linker {
 public:
  Linker(const char* object, size_t size, KernelBlob& blob, std::string& error)
      : base_(object), size_(size), blob_(blob), error_(error) {}

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
  template <class T>
  const T* at(uint64_t offset) const {
    return reinterpret_cast<const T*>(base_ + offset);
  }

  bool fail(std::string why) {
    error_ = std::move(why);
    return false;
  }

  const char* nameOf(const Elf64_Shdr& s) const { return base_ + sections_[header_->e_shstrndx].sh_offset + s.sh_name; }
  const char* nameOf(const Elf64_Sym& s) const { return base_ + strings_->sh_offset + s.st_name; }

  bool readHeader() {
    if (size_ < sizeof(Elf64_Ehdr)) return fail("object file is cut off");
    header_ = at<Elf64_Ehdr>(0);
    sections_ = at<Elf64_Shdr>(header_->e_shoff);
    count_ = header_->e_shnum;
    for (uint32_t n = 0; n < count_; ++n)
      if (sections_[n].sh_type == SHT_SYMTAB) {
        symbols_ = at<Elf64_Sym>(sections_[n].sh_offset);
        symbolCount_ = sections_[n].sh_size / sizeof(Elf64_Sym);
        strings_ = &sections_[sections_[n].sh_link];
      }
    return symbols_ || fail("object file without symbols");
  }

  // Text first, then everything else that a running kernel reads.
  void placeSections() {
    place_.assign(count_, ~uint64_t{0});
    for (const bool text : {true, false}) {
      for (uint32_t n = 0; n < count_; ++n) {
        const Elf64_Shdr& s = sections_[n];
        if (!(s.sh_flags & SHF_ALLOC) || ((s.sh_flags & SHF_EXECINSTR) != 0) != text) continue;
        if (s.sh_type == SHT_X86_64_UNWIND || !std::strcmp(nameOf(s), ".eh_frame")) continue;
        const uint64_t alignment = std::max<uint64_t>(s.sh_addralign, text ? 64 : 1);
        blob_.code.resize((blob_.code.size() + alignment - 1) / alignment * alignment, text ? 0xcc : 0);
        place_[n] = blob_.code.size();
        blob_.code.resize(blob_.code.size() + s.sh_size);
        if (s.sh_type != SHT_NOBITS) std::memcpy(&blob_.code[place_[n]], base_ + s.sh_offset, s.sh_size);
      }
      if (text) blob_.textSize = static_cast<uint32_t>(blob_.code.size());
    }
  }

  bool relocate() {
    for (uint32_t n = 0; n < count_; ++n) {
      const Elf64_Shdr& r = sections_[n];
      if (r.sh_type != SHT_RELA || place_[r.sh_info] == ~uint64_t{0}) continue;
      const auto* list = at<Elf64_Rela>(r.sh_offset);
      for (uint64_t k = 0; k < r.sh_size / sizeof(Elf64_Rela); ++k)
        if (!apply(list[k], place_[r.sh_info])) return false;
    }
    return true;
  }

  bool apply(const Elf64_Rela& r, uint64_t section) {
    const Elf64_Sym& symbol = symbols_[ELF64_R_SYM(r.r_info)];
    if (symbol.st_shndx == SHN_UNDEF) return fail(std::string("needs the function ") + nameOf(symbol));
    if (symbol.st_shndx >= count_ || place_[symbol.st_shndx] == ~uint64_t{0})
      return fail("refers to a section that is not loaded");
    const uint64_t target = place_[symbol.st_shndx] + symbol.st_value + static_cast<uint64_t>(r.r_addend);
    const uint64_t where = section + r.r_offset;
    switch (ELF64_R_TYPE(r.r_info)) {
      case R_X86_64_PC32:
      case R_X86_64_PLT32: {
        const uint32_t value = static_cast<uint32_t>(target - where);
        std::memcpy(&blob_.code[where], &value, 4);
        return true;
      }
      case R_X86_64_PC64: {
        const uint64_t value = target - where;
        std::memcpy(&blob_.code[where], &value, 8);
        return true;
      }
      default:
        return fail("relocation of type " + std::to_string(ELF64_R_TYPE(r.r_info)));
    }
  }

  bool findEntry(const char* entry) {
    for (size_t n = 0; n < symbolCount_; ++n) {
      const Elf64_Sym& s = symbols_[n];
      if (s.st_shndx == SHN_UNDEF || s.st_shndx >= count_ || std::strcmp(nameOf(s), entry)) continue;
      blob_.entryOffset = static_cast<uint32_t>(place_[s.st_shndx] + s.st_value);
      return true;
    }
    return fail("object file without the entry");
  }

  const Elf64_Shdr* findSection(const char* name) const {
    for (uint32_t n = 0; n < count_; ++n)
      if (!std::strcmp(nameOf(sections_[n]), name)) return &sections_[n];
    return nullptr;
  }

  // Frames of all functions together: none calls itself.
  void readStackSizes() {
    uint64_t total = 0;
    for (uint32_t n = 0; n < count_; ++n) {
      const Elf64_Shdr& s = sections_[n];
      if (std::strcmp(nameOf(s), ".stack_sizes")) continue;
      const uint8_t* p = at<uint8_t>(s.sh_offset);
      const uint8_t* const end = p + s.sh_size;
      while (p + 8 < end) {
        p += 8;
        total += readUleb(p, end) + 16;
      }
    }
    blob_.traits.stackPerWarp = static_cast<uint32_t>(total);
  }

  // Addresses come from relocations against text.
  void readLines() {
    const Elf64_Shdr* const lines = findSection(".debug_line");
    if (!lines) return;
    const auto addressAt = [this](uint64_t offset) { return relocatedAddress(offset); };
    blob_.lines = linesOf(at<uint8_t>(lines->sh_offset), lines->sh_size, addressAt);
  }

  uint64_t relocatedAddress(uint64_t offset) const {
    const Elf64_Shdr* const relocations = findSection(".rela.debug_line");
    if (!relocations) return 0;
    const auto* list = at<Elf64_Rela>(relocations->sh_offset);
    for (uint64_t k = 0; k < relocations->sh_size / sizeof(Elf64_Rela); ++k) {
      if (list[k].r_offset != offset) continue;
      const Elf64_Sym& symbol = symbols_[ELF64_R_SYM(list[k].r_info)];
      if (symbol.st_shndx < count_ && place_[symbol.st_shndx] != ~uint64_t{0})
        return place_[symbol.st_shndx] + symbol.st_value + static_cast<uint64_t>(list[k].r_addend);
    }
    return 0;
  }

  const char* const base_;
  const size_t size_;
  KernelBlob& blob_;
  std::string& error_;
  const Elf64_Ehdr* header_ = nullptr;
  const Elf64_Shdr* sections_ = nullptr;
  const Elf64_Shdr* strings_ = nullptr;
  const Elf64_Sym* symbols_ = nullptr;
  size_t symbolCount_ = 0;
  uint32_t count_ = 0;
  std::vector<uint64_t> place_;
};

}  // namespace

bool linkObject(const char* object, size_t size, const char* entry, KernelBlob& blob, std::string& error) {
  return Linker(object, size, blob, error).run(entry);
}

}  // namespace vg::ptx::gen
