#include "tools/doctor/program.h"

#include <elf.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/settings.h"
#include "base/system/elf_reader.h"
#include "base/system/machine.h"
#include "base/system/mapped_file.h"
#include "images/container.h"

namespace vg::tools {

namespace {

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

void readDynamic(const ElfReader& elf, std::string_view entries, Program& program) {
  program.dynamic = true;
  std::vector<Elf64_Dyn> rows;
  std::optional<uint64_t> strings;
  for (Elf64_Dyn row{}; entries.size() >= sizeof row; entries.remove_prefix(sizeof row)) {
    std::memcpy(&row, entries.data(), sizeof row);
    if (row.d_tag == DT_NULL) break;
    if (row.d_tag == DT_STRTAB) strings = elf.offsetOf(row.d_un.d_ptr);
    rows.push_back(row);
  }
  if (!strings) return;
  for (const Elf64_Dyn& row : rows) {
    const std::string text(elf.textAt(*strings + row.d_un.d_val));
    if (row.d_tag == DT_NEEDED) program.needed.push_back(text);
    if (row.d_tag == DT_SONAME) program.soname = text;
    if (row.d_tag == DT_RPATH) program.rpath = text;
    if (row.d_tag == DT_RUNPATH) program.runpath = text;
  }
}

void readElf(std::string_view bytes, Program& program) {
  if (!ElfReader::isElf(bytes)) return;
  const ElfReader elf(bytes);
  program.nativeMachine = elf.header().e_machine == machine::kElf;
  for (const Elf64_Phdr& segment : elf.segments()) {
    if (segment.p_type == PT_DYNAMIC && segment.p_offset <= bytes.size())
      readDynamic(elf, bytes.substr(segment.p_offset, segment.p_filesz), program);
    if (segment.p_type == PT_INTERP) program.loader = elf.textAt(segment.p_offset);
  }
  for (const ElfSection& section : elf.sections())
    if (section.name == ".nv_fatbin" || section.name == "__nv_relfatbin")
      readFatBinary(elf.contents(section).value_or(std::string_view()), program);
  program.mentionsDriver = bytes.find("libcuda.so") != std::string_view::npos;
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
  const MappedFile file(path);
  const std::string_view bytes = file.bytes();
  if (bytes.empty()) {
    program.kind = FileKind::Unreadable;
  } else if (bytes.substr(0, 4) == ELFMAG) {
    program.kind = FileKind::Elf;
    readElf(bytes, program);
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
