#include "check/reports/report.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <map>

#include "base/settings.h"
#include "base/sync/mutex.h"
#include "base/undying.h"
#include "check/reports/report_files.h"
#include "check/reports/suppressions.h"

namespace vg::check {
namespace {

constexpr size_t kPrinted = 100;  // distinct faults that are printed; the others are only counted

struct Fault {
  uint64_t count = 0, taken = 0;
  bool leftOut = false;
  FaultRecord record;
};
struct Faults {
  Mutex mutex;
  std::map<FaultKey, Fault> all VG_GUARDED_BY(mutex);
  std::vector<FaultKey> order VG_GUARDED_BY(mutex);  // as they were found
  size_t leftOut VG_GUARDED_BY(mutex) = 0;           // of those
};
Faults& faults() {  // never destroyed: the process may end while kernels run
  return undying<Faults, Faults>();
}

int openOutput() {
  const std::string& path = settings().logFile;
  if (path.empty() || path == "stderr") return STDERR_FILENO;
  if (path == "stdout") return STDOUT_FILENO;
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  return file < 0 ? STDERR_FILENO : file;
}

// Each record in one piece, so that those of several threads do not mix.
void print(const std::string& text) {
  static const int output = openOutput();
  for (size_t at = 0; at < text.size();) {
    const ssize_t written = write(output, text.data() + at, text.size() - at);
    if (written <= 0) return;
    at += static_cast<size_t>(written);
  }
}

constexpr const char* kPrefix = "verdigris check: ";

size_t limit() {
  const std::string& text = settings().checkLimit;
  char* end = nullptr;
  const unsigned long number = std::strtoul(text.c_str(), &end, 10);
  return text.empty() || *end ? kPrinted : number;
}

std::string textOf(const FaultRecord& record) {
  std::string text = record.headline;
  for (const std::string& line : record.details) text += "\n    " + line;
  return text;
}

std::string counted(uint64_t number, const char* one, const char* many) {
  return std::to_string(number) + (number == 1 ? one : many);
}

std::string listed(const FaultRecord& record) {
  return kPrefix + std::string("    ") + std::to_string(record.times) + " x " + nameOf(record.tool) + ": " +
         record.headline + (record.details.empty() ? "" : " " + record.details.front()) + "\n";
}

// In the order in which they were found.
std::vector<FaultRecord> everything() {
  Faults& f = faults();
  const MutexLock lock(f.mutex);
  std::vector<FaultRecord> records;
  for (const FaultKey& key : f.order) {
    const Fault& fault = f.all[key];
    if (fault.leftOut) continue;
    records.push_back(fault.record);
    records.back().tool = key.tool;
    records.back().times = fault.count;
  }
  return records;
}

size_t countLeftOut() {
  const MutexLock lock(faults().mutex);
  return faults().leftOut;
}

}  // namespace

bool isKnown(const FaultKey& key) {
  const MutexLock lock(faults().mutex);
  return faults().all.contains(key);
}

bool isNew(const FaultKey& key) {
  Faults& f = faults();
  const MutexLock lock(f.mutex);
  Fault& fault = f.all[key];
  if (fault.count++) return false;
  f.order.push_back(key);
  return true;
}

void describe(const FaultKey& key, const std::string& headline, const std::vector<std::string>& details,
              const FaultPlace& place) {
  FaultRecord record{key.tool, 1, headline, details, place};
  const bool leftOut = isLeftOut(record);
  Faults& f = faults();
  const MutexLock lock(f.mutex);
  f.all[key].record = std::move(record);
  f.all[key].leftOut = leftOut;
  if (leftOut) ++f.leftOut;
  if (leftOut || f.order.size() - f.leftOut > limit()) return;
  std::string text = std::string(kPrefix) + nameOf(key.tool) + ": " + headline + "\n";
  for (const std::string& line : details) text += std::string(kPrefix) + "    " + line + "\n";
  print(text);
}

size_t distinctFaults() {
  Faults& f = faults();
  const MutexLock lock(f.mutex);
  return f.order.size() - f.leftOut;
}

void takeNewFaults(void (*visit)(void* state, const char* tool, const char* text, uint64_t times), void* state) {
  Faults& f = faults();
  const MutexLock lock(f.mutex);
  for (const FaultKey& key : f.order) {
    Fault& fault = f.all[key];
    if (fault.count == fault.taken || fault.leftOut) continue;
    visit(state, nameOf(key.tool), textOf(fault.record).c_str(), fault.count - fault.taken);
    fault.taken = fault.count;
  }
}

void summarise() {
  const std::vector<FaultRecord> records = everything();
  uint64_t all = 0;
  for (const FaultRecord& record : records) all += record.times;
  std::string text = kPrefix + counted(records.size(), " fault", " faults");
  if (!records.empty()) text += ", met " + counted(all, " time", " times");
  text += "\n";
  for (const FaultRecord& record : records) text += listed(record);
  if (const size_t leftOut = countLeftOut())
    text += kPrefix + counted(leftOut, " other was", " others were") + " left out, as the settings say\n";
  print(text);
  writeReportFiles(records);
}

}  // namespace vg::check
