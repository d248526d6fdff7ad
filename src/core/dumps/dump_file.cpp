#include "core/dumps/dump_file.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/memory/safe_read.h"
#include "base/system/elf_head.h"
#include "base/system/file_size_guard.h"

namespace vg::core {
namespace {

constexpr unsigned char kAbi = 0x33, kAbiVersion = 7;
constexpr size_t kPiece = size_t{1} << 18;

Elf64_Shdr stringTable(uint32_t name, uint64_t offset, uint64_t size) {
  Elf64_Shdr header{};
  header.sh_name = name;
  header.sh_type = SHT_STRTAB;
  header.sh_flags = SHF_ALLOC;
  header.sh_offset = offset;
  header.sh_size = size;
  return header;
}

bool isZero(const std::byte* bytes, size_t size) {
  return size == 0 || (bytes[0] == std::byte{0} && std::memcmp(bytes, bytes + 1, size - 1) == 0);
}

}  // namespace

DumpFile::~DumpFile() {
  if (file_ >= 0) close(file_);
}

CUresult DumpFile::create(const std::string& path) {
  file_ = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file_ < 0) return fail(CUDA_ERROR_OPERATING_SYSTEM, "%s: %s", path.c_str(), strerror(errno));
  end_ = sizeof(Elf64_Ehdr);
  return CUDA_SUCCESS;
}

void DumpFile::write(const void* bytes, size_t size, uint64_t where) {
  const FileSizeGuard guard;
  const auto* at = static_cast<const char*>(bytes);
  while (size && !error_) {
    const ssize_t written = pwrite(file_, at, size, static_cast<off_t>(where));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      error_ = written ? errno : ENOSPC;
      return;
    }
    at += written;
    where += static_cast<size_t>(written);
    size -= static_cast<size_t>(written);
  }
}

uint32_t DumpFile::addHeader(const Section& section, size_t size) {
  sections_.push_back({section, end_, size});
  end_ += size;
  return static_cast<uint32_t>(sections_.size());  // section 0 is nobody's
}

uint32_t DumpFile::add(const Section& section, const void* bytes, size_t size) {
  write(bytes, size, end_);
  return addHeader(section, size);
}

uint32_t DumpFile::addMemory(const Section& section, const std::byte* start, size_t size) {
  const auto piece = std::make_unique<std::byte[]>(kPiece);
  for (size_t done = 0; done < size && !error_; done += kPiece) {
    const size_t wanted = std::min(size - done, kPiece);
    const size_t copied = safe_read::some(piece.get(), start + done, wanted);
    if (!isZero(piece.get(), copied)) write(piece.get(), copied, end_ + done);
  }
  return addHeader(section, size);
}

uint64_t DumpFile::text(const std::string& text) {
  const uint64_t at = texts_.size();
  texts_.append(text.c_str(), text.size() + 1);
  return at;
}

CUresult DumpFile::finish() {
  std::string names(1, '\0');
  const auto name = [&](const std::string& text) {
    const size_t at = names.size();
    names.append(text.c_str(), text.size() + 1);
    return static_cast<uint32_t>(at);
  };
  std::vector<Elf64_Shdr> headers(1);
  for (const Row& row : sections_) {
    Elf64_Shdr header{};
    header.sh_name = name(row.section.name);
    header.sh_type = SHT_LOUSER + static_cast<uint32_t>(row.section.type);
    header.sh_flags = SHF_ALLOC;
    header.sh_addr = row.section.address;
    header.sh_offset = row.offset;
    header.sh_size = row.size;
    header.sh_link = row.section.link;
    header.sh_info = row.section.info;
    header.sh_entsize = row.section.rowBytes;
    headers.push_back(header);
  }
  const uint32_t textsName = name(".strtab"), namesName = name(".shstrtab");
  headers.push_back(stringTable(textsName, end_, texts_.size()));
  write(texts_.data(), texts_.size(), end_);
  end_ += texts_.size();
  headers.push_back(stringTable(namesName, end_, names.size()));
  write(names.data(), names.size(), end_);
  end_ += names.size();

  Elf64_Ehdr head = elfHead(ET_CORE, kElfMachineGpu);
  head.e_ident[EI_OSABI] = kAbi;
  head.e_ident[EI_ABIVERSION] = kAbiVersion;
  head.e_shoff = end_;
  head.e_shnum = static_cast<Elf64_Half>(headers.size());
  head.e_shstrndx = static_cast<Elf64_Half>(headers.size() - 1);
  write(headers.data(), headers.size() * sizeof(Elf64_Shdr), end_);
  write(&head, sizeof head, 0);
  if (!error_) return CUDA_SUCCESS;
  return fail(CUDA_ERROR_OPERATING_SYSTEM, "the core dump could not be written: %s", strerror(error_));
}

}  // namespace vg::core
