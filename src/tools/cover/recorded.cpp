#include "tools/cover/recorded.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "base/system/file_by_name.h"
#include "ptx/facts/coverage_file.h"

namespace vg::tools::cover {
namespace {

namespace fs = std::filesystem;
namespace format = ptx::coverage;

constexpr size_t kNameLength = 32;

std::string wholeFile(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Adds what a file holds; false when it is not of so many counters.
bool addFile(const std::string& path, std::vector<uint64_t>& sums) {
  std::ifstream in(path, std::ios::binary);
  format::FileHeader header{};
  if (!in.read(reinterpret_cast<char*>(&header), sizeof header)) return true;  // its process was killed before
  if (header.magic != format::kMagic || header.counters != sums.size() ||
      header.rowBytes < sums.size() * sizeof(uint64_t))
    return false;
  std::vector<uint64_t> row(sums.size());
  for (uint64_t at = format::kHeaderBytes;; at += header.rowBytes) {
    in.seekg(static_cast<std::streamoff>(at));
    if (!in.read(reinterpret_cast<char*>(row.data()), static_cast<std::streamsize>(row.size() * sizeof(uint64_t))))
      return true;
    for (size_t n = 0; n < row.size(); ++n) sums[n] += row[n];
  }
}

// PROGRAM.PROCESS.NUMBER.counts
std::string processOf(const fs::path& path) {
  const std::string rest = path.filename().string().substr(kNameLength + 1);
  return rest.substr(0, rest.find('.'));
}

bool lives(const std::string& folder, const std::string& process) {
  const FileByName file(folder + "/" + process + format::kLockEnd, O_RDONLY);
  return *file >= 0 && flock(*file, LOCK_EX | LOCK_NB);
}

bool writeSums(const std::string& path, const std::vector<uint64_t>& sums) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  const uint64_t bytes = sums.size() * sizeof(uint64_t);
  const format::FileHeader header{format::kMagic, sums.size(), bytes};
  std::vector<char> first(format::kHeaderBytes);
  std::memcpy(first.data(), &header, sizeof header);
  out.write(first.data(), static_cast<std::streamsize>(first.size()));
  out.write(reinterpret_cast<const char*>(sums.data()), static_cast<std::streamsize>(bytes));
  return static_cast<bool>(out.flush());
}

}  // namespace

std::vector<Recorded> readFolder(const std::string& folder) {
  std::map<std::string, Recorded> programs;
  std::map<std::string, std::map<size_t, fs::path>> texts;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string file = entry.path().filename();
    if (file.size() <= kNameLength || file[kNameLength] != '.') continue;
    const std::string name = file.substr(0, kNameLength);
    if (file.ends_with(format::kTextEnd))
      texts[name][std::strtoul(file.c_str() + kNameLength + 1, nullptr, 10)] = entry.path();
    else if (file.ends_with(format::kCountsEnd))
      programs[name].countFiles.push_back(entry.path());
  }
  std::vector<Recorded> all;
  for (const auto& [name, files] : texts) {
    Recorded& program = programs[name];
    program.name = name;
    for (const auto& [number, path] : files) program.texts.push_back(wholeFile(path));
    std::ranges::sort(program.countFiles);
    all.push_back(std::move(program));
  }
  return all;
}

std::vector<uint64_t> sumOf(const Recorded& program, size_t counters) {
  std::vector<uint64_t> sums(counters);
  for (const std::string& path : program.countFiles)
    if (!addFile(path, sums))
      std::fprintf(stderr, "verdigris cover: %s is of another version of Verdigris, and left out\n", path.c_str());
  return sums;
}

// The lock keeps two that join apart. The joined file is there before the others go: of a run that is stopped in
// between some counts are twice as high.
void join(const std::string& folder, const Recorded& program, size_t counters) {
  if (program.countFiles.size() < 2) return;
  const FileByName guard(folder + "/.lock", O_RDWR | O_CREAT);
  if (*guard < 0 || flock(*guard, LOCK_EX)) return;
  std::vector<uint64_t> sums(counters);
  std::vector<std::string> joined;
  for (const std::string& path : program.countFiles)
    if (!lives(folder, processOf(path)) && addFile(path, sums)) joined.push_back(path);
  if (joined.size() < 2) return;
  const std::string path = folder + "/" + format::countsName(program.name, "all", 0), draft = path + ".new";
  if (!writeSums(draft, sums)) return static_cast<void>(unlink(draft.c_str()));
  if (rename(draft.c_str(), path.c_str())) return;
  for (const std::string& old : joined) {
    if (old == path) continue;
    unlink(old.c_str());
    unlink((folder + "/" + processOf(old) + format::kLockEnd).c_str());
  }
}

}  // namespace vg::tools::cover
