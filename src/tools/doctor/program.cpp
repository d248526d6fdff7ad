#include "tools/doctor/program.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/settings.h"
#include "images/container.h"

namespace vg::tools {

namespace {

// A file mapped for reading; every access through `at` is checked.
class Mapped {
 public:
  explicit Mapped(const char* path) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    if (file >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
      void* const bytes = mmap(nullptr, static_cast<size_t>(status.st_size), PROT_READ, MAP_PRIVATE, file, 0);
      if (bytes != MAP_FAILED) {
        bytes_ = static_cast<const char*>(bytes);
        size_ = static_cast<size_t>(status.st_size);
      }
    }
    if (file >= 0) close(file);
  }
  Mapped(const Mapped&) = delete;
  ~Mapped() {
    if (bytes_) munmap(const_cast<char*>(bytes_), size_);
  }

  std::string_view all() const { return {bytes_, size_}; }
  // Empty when the range is not inside the file.
  std::string_view range(uint64_t offset, uint64_t length) const {
    if (offset > size_ || length > size_ - offset) return {};
    return {bytes_ + offset, static_cast<size_t>(length)};
  }
  template <class T>
  std::optional<T> at(uint64_t offset) const {
    const std::string_view bytes = range(offset, sizeof(T));
    if (bytes.empty()) return std::nullopt;
    T value;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  std::string text(uint64_t offset) const {
    if (offset >= size_) return {};
    return std::string(bytes_ + offset, strnlen(bytes_ + offset, size_ - offset));
  }

 private:
  const char* bytes_ = nullptr;
  size_t size_ = 0;
};

void readFatBinary(std::string_view section, Program& program) {
  program.hasFatBinary = true;
  while (section.size() >= 16) {
    const auto* bytes = reinterpret_cast<const std::byte*>(section.data());
    const uint64_t size = images::containerSize(bytes, section.size());
    if (size == 0) {  // padding between containers
      section.remove_prefix(8);
      continue;
    }
    if (size > section.size()) {
      program.damagedFatBinary = true;
      return;
    }
    auto entries = images::readContainer(bytes, size);
    if (!entries.ok()) {
      program.damagedFatBinary = true;
      return;
    }
    for (const images::Entry& entry : entries.value()) {
      const std::string target = images::targetName(entry.target, entry.suffix);
      if (entry.kind == images::EntryKind::Cubin) ++program.native[target];
      if (entry.kind != images::EntryKind::Ptx) continue;
      ++program.ptx[target];
      program.ptxTargets.emplace_back(entry.target, entry.suffix);
    }
    section.remove_prefix(std::min<size_t>(section.size(), (size + 7) / 8 * 8));
  }
}

// File offset of an address, by the loadable segments.
uint64_t offsetOf(const Mapped& file, const Elf64_Ehdr& header, uint64_t address) {
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    const auto segment = file.at<Elf64_Phdr>(header.e_phoff + i * sizeof(Elf64_Phdr));
    if (segment && segment->p_type == PT_LOAD && address >= segment->p_vaddr &&
        address - segment->p_vaddr < segment->p_filesz)
      return segment->p_offset + (address - segment->p_vaddr);
  }
  return ~uint64_t{0};
}

void readDynamic(const Mapped& file, const Elf64_Ehdr& header, const Elf64_Phdr& segment, Program& program) {
  program.dynamic = true;
  std::vector<Elf64_Dyn> entries;
  uint64_t strings = ~uint64_t{0};
  for (uint64_t at = segment.p_offset; at + sizeof(Elf64_Dyn) <= segment.p_offset + segment.p_filesz;
       at += sizeof(Elf64_Dyn)) {
    const auto entry = file.at<Elf64_Dyn>(at);
    if (!entry || entry->d_tag == DT_NULL) break;
    if (entry->d_tag == DT_STRTAB) strings = offsetOf(file, header, entry->d_un.d_ptr);
    entries.push_back(*entry);
  }
  if (strings == ~uint64_t{0}) return;
  for (const Elf64_Dyn& entry : entries) {
    const std::string text = file.text(strings + entry.d_un.d_val);
    if (entry.d_tag == DT_NEEDED) program.needed.push_back(text);
    if (entry.d_tag == DT_SONAME) program.soname = text;
    if (entry.d_tag == DT_RPATH) program.rpath = text;
    if (entry.d_tag == DT_RUNPATH) program.runpath = text;
  }
}

void readElf(const Mapped& file, Program& program) {
  const auto header = file.at<Elf64_Ehdr>(0);
  if (!header || header->e_ident[EI_CLASS] != ELFCLASS64) return;
  program.nativeMachine = header->e_machine == EM_X86_64;
  for (unsigned i = 0; i < header->e_phnum; ++i) {
    const auto segment = file.at<Elf64_Phdr>(header->e_phoff + i * sizeof(Elf64_Phdr));
    if (segment && segment->p_type == PT_DYNAMIC) readDynamic(file, *header, *segment, program);
    if (segment && segment->p_type == PT_INTERP) program.loader = file.text(segment->p_offset);
  }
  const auto names = file.at<Elf64_Shdr>(header->e_shoff + uint64_t{header->e_shstrndx} * sizeof(Elf64_Shdr));
  for (unsigned i = 0; names && i < header->e_shnum; ++i) {
    const auto section = file.at<Elf64_Shdr>(header->e_shoff + i * sizeof(Elf64_Shdr));
    if (!section || section->sh_type == SHT_NOBITS) continue;
    const std::string name = file.text(names->sh_offset + section->sh_name);
    if (name == ".nv_fatbin" || name == "__nv_relfatbin")
      readFatBinary(file.range(section->sh_offset, section->sh_size), program);
  }
  program.mentionsDriver = file.all().find("libcuda.so") != std::string_view::npos;
}

}  // namespace

bool Program::needs(const std::string& prefix) const {
  for (const std::string& name : needed)
    if (name.rfind(prefix, 0) == 0) return true;
  return false;
}

Program inspect(const std::string& path) {
  Program program;
  program.path = path;
  struct stat status;
  if (path.empty() || stat(path.c_str(), &status) != 0) return program;
  if (S_ISDIR(status.st_mode)) {
    program.kind = FileKind::Folder;
    return program;
  }
  program.executable = access(path.c_str(), X_OK) == 0 && S_ISREG(status.st_mode);
  program.privileged = ((status.st_mode & S_ISUID) && status.st_uid != getuid()) ||
                       ((status.st_mode & S_ISGID) && status.st_gid != getgid()) ||
                       getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
  const Mapped file(path.c_str());
  const std::string_view bytes = file.all();
  if (bytes.empty()) {
    program.kind = FileKind::Unreadable;
  } else if (bytes.substr(0, 4) == ELFMAG) {
    program.kind = FileKind::Elf;
    readElf(file, program);
  } else if (bytes.substr(0, 2) == "#!") {
    program.kind = FileKind::Script;
    program.interpreter = std::string(bytes.substr(2, bytes.find('\n') - 2));
    program.interpreter.erase(0, program.interpreter.find_first_not_of(' '));
  } else {
    program.kind = FileKind::Other;
  }
  return program;
}

std::string findInPath(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* const path = std::getenv("PATH");
  for (const std::string& folder : splitList(path ? path : "/usr/bin:/bin", ':')) {
    std::string candidate = folder;
    candidate.append("/").append(name);
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return "";
}

}  // namespace vg::tools
