#include "activity/summary.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "activity/output_name.h"
#include "activity/timeline_file.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/system/file_size_guard.h"

namespace vg::activity {
namespace {

constexpr size_t kMostNames = 4096, kMostGaps = 5, kCandidates = 64;

Total& of(Summary::Totals& totals, const std::string& name) {
  if (const auto found = totals.find(name); found != totals.end()) return found->second;
  return totals[totals.size() < kMostNames ? name : "(others)"];
}

void writeAll(int file, std::string_view text, const std::string& path) {
  const FileSizeGuard guard;
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<size_t>(written));
    } else if (errno != EINTR) {
      VG_LOG(Error, "VERDIGRIS_SUMMARY: cannot write %s: %s", path.c_str(), std::strerror(errno));
      return;
    }
  }
}

}  // namespace

void Total::add(uint64_t took, uint64_t moved) {
  ++count;
  nanoseconds += took;
  bytes += moved;
  shortest = std::min(shortest, took);
  longest = std::max(longest, took);
}

uint64_t DeviceSummary::overlap() const {
  const uint64_t both = kernels.busy() + copies.busy(), either = any.busy();
  return both > either ? both - either : 0;
}

uint64_t DeviceSummary::unusedOverlap() const {
  const uint64_t possible = std::min(kernels.busy(), copies.busy());
  return possible - std::min(possible, overlap());
}

std::vector<Summary::Row> Summary::top(const Totals& totals, size_t most) {
  std::vector<Row> rows(totals.begin(), totals.end());
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.second.nanoseconds > b.second.nanoseconds; });
  if (rows.size() > most) rows.resize(most);
  return rows;
}

void Summary::take(const Record& record) {
  if (record.kind == RecordKind::Work) return take(record.work);
  if (record.kind == RecordKind::Call)
    of(calls_, record.call.describe().symbol).add(record.call.end - record.call.begin, 0);
  if (record.kind == RecordKind::Memory && record.memory.ofDevice) {
    uint64_t& peak = devices_[record.memory.device].peakMemory;
    peak = std::max(peak, record.memory.inUse);
  }
  if (record.kind == RecordKind::Name && record.name.what == Named::Device)
    devices_[record.name.device].name = record.name.name.view();
}

// Graphs are made of work that is counted by itself, and host functions are the host's.
void Summary::take(const Work& work) {
  if (work.kind == WorkKind::Graph || work.kind == WorkKind::HostFunction) return;
  const bool kernel = work.kind == WorkKind::Kernel;
  const std::string name = kernel ? names_.shortName(work.kernel ? work.kernel->name : "")
                                  : std::string(titleOf(work)) + (work.pageable ? " (pageable)" : "");
  of(kernel ? kernels_ : transfers_, name).add(work.end - work.begin, work.bytes);
  DeviceSummary& device = devices_[work.origin.device];
  noteGap(device, work, name);
  device.first = std::min(device.first, work.begin);
  device.last = std::max(device.last, work.end);
  device.any.add(work.begin, work.end);
  (kernel ? device.kernels : device.copies).add(work.begin, work.end);
}

// Work of several streams comes in any order, so a gap may be filled later: keepTrueGaps() knows.
void Summary::noteGap(DeviceSummary& device, const Work& work, const std::string& name) {
  if (device.latestEnd && work.begin > device.latestEnd) {
    std::vector<Gap>& gaps = device.gaps;
    const Gap gap{device.latestEnd, work.begin, device.latest, name};
    const auto longer = [](const Gap& a, const Gap& b) { return a.end - a.begin > b.end - b.begin; };
    gaps.insert(std::upper_bound(gaps.begin(), gaps.end(), gap, longer), gap);
    if (gaps.size() > kCandidates) gaps.pop_back();
  }
  if (work.end < device.latestEnd) return;
  device.latestEnd = work.end;
  device.latest = name;
}

void DeviceSummary::keepTrueGaps() {
  std::erase_if(gaps, [this](const Gap& gap) { return !any.idle(gap.begin, gap.end); });
  if (gaps.size() > kMostGaps) gaps.resize(kMostGaps);
}

void Summary::finish() {
  for (auto& [number, device] : devices_) device.keepTrueGaps();
  for (const std::string& output : outputs_) write(output);
}

void Summary::write(const std::string& output) const {
  if (truthy(output)) return writeAll(STDERR_FILENO, textOf(*this), "standard error");
  const bool page = output.size() > 5 && output.compare(output.size() - 5, 5, ".html") == 0;
  std::string path;
  const int file = openOutput(output, keep_, &path);
  if (file < 0) {
    VG_LOG(Error, "VERDIGRIS_SUMMARY: cannot write %s: %s", path.c_str(), std::strerror(errno));
    return;
  }
  writeAll(file, page ? pageOf(*this) : textOf(*this), path);
  ::close(file);
}

}  // namespace vg::activity
