// A program or shared library as a file: what the loader will do with it, and the GPU code in it. Reads ELF headers and
// fat binary sections with every offset checked; the file is only looked at, never run.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace vg::tools {

enum class FileKind { Missing, Folder, Unreadable, Script, Other, Elf };

struct Program {
  std::string path;
  FileKind kind = FileKind::Missing;
  std::string interpreter;  // of a script: "/usr/bin/env python3"
  bool executable = false;  // this user may run it
  bool privileged = false;  // setuid, setgid or with capabilities: the loader ignores LD_* for it
  bool nativeMachine = false;
  bool dynamic = false;  // has a dynamic section
  std::string loader;    // the dynamic linker that starts it; empty for libraries
  std::string soname;
  std::vector<std::string> needed;
  std::string rpath, runpath;
  bool mentionsDriver = false;  // holds the text "libcuda.so": it opens the driver itself

  // GPU code by target name: "sm_90" -> how many entries.
  bool hasFatBinary = false;
  bool damagedFatBinary = false;
  std::map<std::string, unsigned> ptx, native;
  std::vector<std::pair<uint32_t, char>> ptxTargets;  // 90 and 'a' for sm_90a; 0 in place of a letter

  bool needs(const std::string& prefix) const;
};

Program inspect(const std::string& path);

// Where a shell would find the program: `name` itself when it has a slash, else the first match in PATH, or "".
std::string findInPath(const std::string& name);

}  // namespace vg::tools
