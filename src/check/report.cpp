#include "check/report.h"

#include <fcntl.h>
#include <unistd.h>

#include <map>

#include "base/mutex.h"
#include "base/settings.h"
#include "base/undying.h"

namespace vg::check {
namespace {

constexpr size_t kPrinted = 100;  // distinct faults that are printed; the others are only counted

struct Fault {
  uint64_t count = 0, taken = 0;
  std::string headline, text;
};
struct Faults {
  Mutex mutex;
  std::map<FaultKey, Fault> all VG_GUARDED_BY(mutex);
  std::vector<FaultKey> order VG_GUARDED_BY(mutex);  // as they were found
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

}  // namespace

bool isNew(const FaultKey& key) {
  Faults& f = faults();
  const MutexLock lock(f.mutex);
  Fault& fault = f.all[key];
  if (fault.count++) return false;
  f.order.push_back(key);
  return true;
}

void describe(const FaultKey& key, const std::string& headline, const std::vector<std::string>& details) {
  Faults& f = faults();
  const MutexLock lock(f.mutex);
  f.all[key].headline = headline + (details.empty() ? "" : " " + details.front());
  f.all[key].text = headline;
  for (const std::string& line : details) f.all[key].text += "\n    " + line;
  if (f.order.size() > kPrinted) return;
  std::string text = std::string(kPrefix) + nameOf(key.tool) + ": " + headline + "\n";
  for (const std::string& line : details) text += std::string(kPrefix) + "    " + line + "\n";
  print(text);
}

size_t distinctFaults() {
  Faults& f = faults();
  const MutexLock lock(f.mutex);
  return f.order.size();
}

void takeNewFaults(void (*visit)(void* state, const char* tool, const char* text, uint64_t times), void* state) {
  Faults& f = faults();
  const MutexLock lock(f.mutex);
  for (const FaultKey& key : f.order) {
    Fault& fault = f.all[key];
    if (fault.count == fault.taken) continue;
    visit(state, nameOf(key.tool), fault.text.c_str(), fault.count - fault.taken);
    fault.taken = fault.count;
  }
}

void summarise() {
  Faults& f = faults();
  const MutexLock lock(f.mutex);
  std::string text;
  uint64_t all = 0;
  for (const FaultKey& key : f.order) all += f.all[key].count;
  text = kPrefix + std::to_string(f.order.size()) + (f.order.size() == 1 ? " fault" : " faults");
  if (!f.order.empty()) text += ", met " + std::to_string(all) + (all == 1 ? " time" : " times");
  text += "\n";
  for (const FaultKey& key : f.order) {
    const Fault& fault = f.all[key];
    text += kPrefix + std::string("    ") + std::to_string(fault.count) + " x " + nameOf(key.tool) + ": " +
            fault.headline + "\n";
  }
  print(text);
}

}  // namespace vg::check
