// A core dump as a file: an ELF file of sections, in the format that debuggers for CUDA read (cudacoredump.h of the
// CUDA toolkit describes it). Sections are written as they are added, memory piece by piece and without what is zero,
// so a dump takes no more memory than its table of sections, and files have holes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace vg::core {

class DumpFile {
 public:
  // Types of sections, counted from SHT_LOUSER.
  enum class Type : uint32_t {
    ManagedMemory = 1,
    GlobalMemory = 2,
    SharedMemory = 4,
    Registers = 5,
    Image = 6,
    RelocatedImage = 7,
    Devices = 9,
    Contexts = 10,
    Multiprocessors = 11,
    Grids = 12,
    Blocks = 13,
    Warps = 14,
    Threads = 15,
    Modules = 16,
    Predicates = 17,
    Parameters = 18,
    UniformRegisters = 19,
    UniformPredicates = 20,
    About = 22,
    ConvergenceBarriers = 23,
  };
  // Of a table: `link` is the section of the table that its row belongs to, `info` the number of that row.
  struct Section {
    std::string name;
    Type type;
    uint32_t link = 0, info = 0;
    uint64_t address = 0;
    uint64_t rowBytes = 0;
  };
  static constexpr size_t kMostSections = 0xfe00;

  DumpFile() = default;
  DumpFile(const DumpFile&) = delete;
  ~DumpFile();

  // Replaces a file of that name. CUDA_ERROR_OPERATING_SYSTEM when it cannot be written.
  CUresult create(const std::string& path);
  // The number of the section. What cannot be written is told by finish().
  uint32_t add(const Section& section, const void* bytes, size_t size);
  template <class Row>
  uint32_t addTable(Section section, const std::vector<Row>& rows) {
    section.rowBytes = sizeof(Row);
    return add(section, rows.data(), rows.size() * sizeof(Row));
  }
  // Memory that may go away meanwhile: what is not there reads as zero.
  uint32_t addMemory(const Section& section, const std::byte* start, size_t size);
  // Where a text stands in the table of strings that rows refer to.
  uint64_t text(const std::string& text);
  // Writes what belongs at the end. CUDA_ERROR_OPERATING_SYSTEM when something could not be written.
  CUresult finish();
  size_t sections() const { return sections_.size(); }

 private:
  uint32_t addHeader(const Section& section, size_t size);
  void write(const void* bytes, size_t size, uint64_t where);

  struct Row {
    Section section;
    uint64_t offset, size;
  };
  int file_ = -1;
  int error_ = 0;
  uint64_t end_ = 0;  // of what has been written
  std::vector<Row> sections_;
  std::string texts_ = std::string(1, '\0');
};

}  // namespace vg::core
