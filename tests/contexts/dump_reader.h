// Reads core dumps of devices: an ELF file of sections, by the offsets of cudacoredump.h of the CUDA toolkit.
#pragma once

#include <elf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

class DumpReader {
 public:
  struct Section {
    std::string name;
    Elf64_Shdr header;
  };

  explicit DumpReader(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat facts {};
    if (file < 0 || fstat(file, &facts)) return;
    size_ = static_cast<size_t>(facts.st_size);
    bytes_ = static_cast<const char*>(mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0));
    close(file);
    if (bytes_ == MAP_FAILED || size_ < sizeof(Elf64_Ehdr)) return;
    head_ = at<Elf64_Ehdr>(0);
    const auto header = [&](unsigned i) { return at<Elf64_Shdr>(head_.e_shoff + i * sizeof(Elf64_Shdr)); };
    const Elf64_Shdr names = header(head_.e_shstrndx);
    for (unsigned i = 0; i < head_.e_shnum; ++i)
      sections_.push_back({bytes_ + names.sh_offset + header(i).sh_name, header(i)});
  }
  DumpReader(const DumpReader&) = delete;
  ~DumpReader() {
    if (bytes_) munmap(const_cast<char*>(bytes_), size_);
  }

  const Elf64_Ehdr& head() const { return head_; }
  const std::vector<Section>& sections() const { return sections_; }
  // The first of that name; null when there is none.
  const Section* find(const std::string& name) const {
    for (const Section& section : sections_)
      if (section.name == name) return &section;
    return nullptr;
  }
  // The first whose name begins so.
  const Section* findLike(const std::string& beginning) const {
    for (const Section& section : sections_)
      if (section.name.rfind(beginning, 0) == 0) return &section;
    return nullptr;
  }
  size_t rows(const Section& section) const { return section.header.sh_size / section.header.sh_entsize; }
  template <class T>
  T value(const Section& section, size_t offset, size_t row = 0) const {
    return at<T>(section.header.sh_offset + row * section.header.sh_entsize + offset);
  }
  std::string text(uint64_t offset) const { return bytes_ + find(".strtab")->header.sh_offset + offset; }
  const char* data(const Section& section) const { return bytes_ + section.header.sh_offset; }
  // The word of device memory at an address; fails when no section holds it.
  uint32_t wordAt(uint64_t address) const {
    for (const Section& section : sections_)
      if (address - section.header.sh_addr < section.header.sh_size && section.name.rfind(".cudbg.global", 0) == 0)
        return value<uint32_t>(section, address - section.header.sh_addr);
    ADD_FAILURE() << "no section holds " << std::hex << address;
    return 0;
  }

 private:
  template <class T>
  T at(uint64_t offset) const {
    T value{};
    EXPECT_LE(offset + sizeof value, size_);
    if (offset + sizeof value <= size_) std::memcpy(&value, bytes_ + offset, sizeof value);
    return value;
  }
  const char* bytes_ = nullptr;
  size_t size_ = 0;
  Elf64_Ehdr head_{};
  std::vector<Section> sections_;
};
