#include "images/stand_ins.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <unordered_set>

#include "base/log.h"
#include "base/settings.h"
#include "base/undying.h"
#include "images/container.h"
#include "images/elf_file.h"
#include "images/read_file.h"

namespace vg::images {
namespace {

namespace fs = std::filesystem;

bool isFile(const fs::directory_entry& entry) {
  std::error_code error;
  return entry.is_regular_file(error);
}

// In an order that does not depend on the file system.
std::vector<std::string> ptxFiles(const std::string& folder, std::error_code& error) {
  std::vector<std::string> paths;
  for (fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, error), end;
       !error && at != end; at.increment(error))
    if (at->path().extension() == ".ptx" && isFile(*at)) paths.push_back(at->path().string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

bool isNamePart(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%'; }

// The word that begins behind white space after `at`.
std::string_view wordAfter(std::string_view text, size_t at) {
  while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at]))) ++at;
  size_t end = at;
  while (end < text.size() && isNamePart(text[end])) ++end;
  return text.substr(at, end - at);
}

constexpr std::string_view kTarget = ".target", kEntry = ".entry", kArchitecture = "sm_";

std::string_view architectureOf(std::string_view text) {
  const size_t at = text.find(kTarget);
  const std::string_view word = at == text.npos ? std::string_view() : wordAfter(text, at + kTarget.size());
  return word.starts_with(kArchitecture) ? word.substr(kArchitecture.size()) : std::string_view();
}

}  // namespace

std::vector<std::string_view> kernelsOf(std::string_view text) {
  std::vector<std::string_view> names;
  for (size_t at = text.find(kEntry); at != text.npos; at = text.find(kEntry, at + kEntry.size()))
    if (const std::string_view name = wordAfter(text, at + kEntry.size()); !name.empty()) names.push_back(name);
  return names;
}

std::vector<std::string> kernelsOfNative(std::string_view code) {
  std::vector<std::string> names;
  const Result<ElfFile> file = ElfFile::read(reinterpret_cast<const std::byte*>(code.data()), code.size());
  if (!file.ok()) return names;
  const Result<std::vector<ElfSymbol>> symbols = file.value().symbols();
  if (!symbols.ok()) return names;
  for (const ElfSymbol& symbol : symbols.value())
    if (isKernel(symbol)) names.emplace_back(symbol.name);
  return names;
}

StandIns::StandIns(const std::string& folder) : folder_(folder) {
  const MutexLock lock(mutex_);
  addNewFiles();
  if (error_) VG_LOG(Warn, "VERDIGRIS_IMAGES: %s cannot be read: %s", folder_.c_str(), error_.message().c_str());
}

// A file that is being written is read again when it has grown: its version was asked for before it was read.
bool StandIns::addNewFiles() {
  const size_t before = files_.size();
  for (const std::string& path : ptxFiles(folder_, error_)) {
    std::error_code timeError, sizeError;
    const Version version{fs::last_write_time(path, timeError), fs::file_size(path, sizeError)};
    const auto seen = seen_.find(path);
    if (timeError || sizeError || (seen != seen_.end() && seen->second == version)) continue;
    if (seen != seen_.end()) forget(path);
    add(path);
    seen_.insert_or_assign(path, version);
  }
  if (files_.size() == before && before) return false;
  VG_LOG(Info, "VERDIGRIS_IMAGES: %zu files of %s define %zu kernels", count(), folder_.c_str(), byKernel_.size());
  return files_.size() != before;
}

size_t StandIns::files() {
  const MutexLock lock(mutex_);
  return count();
}

size_t StandIns::count() const {
  return static_cast<size_t>(std::ranges::count_if(files_, [](const File& file) { return !file.path.empty(); }));
}

void StandIns::forget(const std::string& path) {
  for (size_t i = 0; i < files_.size(); ++i) {
    if (files_[i].path != path) continue;
    files_[i].path.clear();
    for (auto& [name, files] : byKernel_) std::erase(files, i);
  }
}

void StandIns::add(const std::string& path) {
  const Result<std::string> text = readFile(path);
  const std::string architecture(text.ok() ? architectureOf(text.value()) : std::string_view());
  if (architecture.empty()) {
    VG_LOG(Warn, "VERDIGRIS_IMAGES: %s is no PTX: it %s", path.c_str(),
           text.ok() ? "names no target such as sm_90" : "cannot be read");
    return;
  }
  const char last = architecture.back();
  files_.push_back({path, static_cast<uint32_t>(std::atoi(architecture.c_str())), std::isalpha(last) ? last : char{0}});
  for (const std::string_view name : kernelsOf(text.value())) byKernel_[std::string(name)].push_back(files_.size() - 1);
}

bool StandIns::better(size_t one, size_t than, const std::unordered_map<size_t, size_t>& counts) const {
  const size_t has = counts.at(one), other = counts.at(than);
  if (has != other) return has > other;
  return files_[one].target != files_[than].target ? files_[one].target > files_[than].target : one < than;
}

std::optional<StandIn> StandIns::find(const std::vector<std::string>& kernels, uint32_t capability) {
  const MutexLock lock(mutex_);
  std::optional<StandIn> found = findKnown(kernels, capability);
  if ((!found || !found->missing.empty()) && addNewFiles()) found = findKnown(kernels, capability);
  return found;
}

std::optional<StandIn> StandIns::findKnown(const std::vector<std::string>& kernels, uint32_t capability) const {
  std::unordered_map<size_t, size_t> counts;  // file -> how many of the kernels it has
  for (const std::string& kernel : kernels)
    if (const auto found = byKernel_.find(kernel); found != byKernel_.end())
      for (const size_t file : found->second)
        if (targetFits(files_[file].target, files_[file].suffix, capability)) ++counts[file];
  if (counts.empty()) return std::nullopt;
  size_t chosen = counts.begin()->first;
  for (const auto& [file, count] : counts)
    if (better(file, chosen, counts)) chosen = file;
  Result<std::string> text = readFile(files_[chosen].path);
  if (!text.ok()) {
    VG_LOG(Warn, "VERDIGRIS_IMAGES: %s cannot be read any more", files_[chosen].path.c_str());
    return std::nullopt;
  }
  StandIn result{files_[chosen].path, std::move(text).value(), files_[chosen].target, {}};
  const std::vector<std::string_view> names = kernelsOf(result.text);  // it may have been written again
  const std::unordered_set<std::string_view> defined(names.begin(), names.end());
  for (const std::string& kernel : kernels) {
    if (!defined.contains(kernel)) result.missing.push_back(kernel);
  }
  return result;
}

StandIns* standIns() {
  if (settings().images.empty()) return nullptr;
  return &undyingFrom<StandIns>([] { return StandIns(settings().images); });
}

}  // namespace vg::images
