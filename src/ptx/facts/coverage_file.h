// What coverage leaves in its folder: of each program its texts, and a file of counts for each process that ran it.
//
//   PROGRAM.0.ptx, PROGRAM.1.ptx, ...    the texts that make the program, in order
//   PROGRAM.PROCESS.NUMBER.counts        FileHeader, zeros up to 4096 bytes; then rows of counters, one a thread, each
//                                        of FileHeader::rowBytes; where several rows have a counter, they add up
//   PROCESS.lock                         a process that may still count holds a shared lock on it (flock)
//
// PROGRAM is 32 hexadecimal digits, PROCESS a word that no other process has, in other containers and machines either.
// Files may end before the last row does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace vg::ptx::coverage {

inline constexpr uint64_t kMagic = 0x3172'6576'6f63'6776;  // "vgcover1"
inline constexpr size_t kHeaderBytes = 4096;

struct FileHeader {
  uint64_t magic;
  uint64_t counters;
  uint64_t rowBytes;
};

inline constexpr char kTextEnd[] = ".ptx", kCountsEnd[] = ".counts", kLockEnd[] = ".lock";

inline std::string textName(const std::string& program, size_t number) {
  return program + "." + std::to_string(number) + kTextEnd;
}
inline std::string countsName(const std::string& program, const std::string& process, uint32_t number) {
  return program + "." + process + "." + std::to_string(number) + kCountsEnd;
}

}  // namespace vg::ptx::coverage
