#include "check/memory/heap_leaks.h"

#include <cstdio>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/sync/mutex.h"
#include "base/text/plain_names.h"
#include "base/undying.h"
#include "check/reports/report.h"
#include "check/reports/words.h"

namespace vg::check::heap_leaks {
namespace {

// Where kernels allocate, in words: modules may be gone when it is told.
struct Site {
  FaultPlace place;
  std::string where;
};
using SiteKey = std::tuple<std::string, const ptx::Module*, uint32_t>;
struct Piece {
  const Site* site;
  uint64_t bytes;
};
struct All {
  Mutex mutex;
  std::map<SiteKey, Site> sites VG_GUARDED_BY(mutex);
  std::map<uint64_t, Piece> pieces VG_GUARDED_BY(mutex);  // by address
};
All& all() { return undying<All, All>(); }  // never destroyed

Site siteOf(const Place& place) {
  Site site;
  const ptx::Instruction* const at = place.module ? words::instructionAt(*place.module, place.line) : nullptr;
  site.place.kernel = plainName(place.kernel);
  site.place.ptxLine = place.line;
  if (at && at->location && at->location <= place.module->locations.size()) {
    const ptx::SourceLocation& source = place.module->locations[at->location - 1];
    if (source.file < place.module->files.size()) site.place.file = place.module->files[source.file];
    site.place.line = source.line;
  }
  site.where = "allocated in kernel " + site.place.kernel;
  if (at)
    site.where += " " + words::place(*place.module, *at);
  else if (place.line)
    site.where += " at PTX line " + std::to_string(place.line);
  return site;
}

struct Leak {
  uint64_t times = 0, bytes = 0;
};

void report(const std::map<const Site*, Leak>& leaks) {
  constexpr unsigned kKind = 1000;  // no thing of calls.cpp
  for (const auto& [site, leak] : leaks) {
    const FaultKey key{Tool::Leaks, kKind, site, site->place.ptxLine, 0, 0};
    bool isFirst = false;
    for (uint64_t k = 0; k < leak.times; ++k) isFirst |= isNew(key);
    if (!isFirst) continue;
    std::vector<std::string> details{site->where};
    if (leak.times > 1) details[0] += ", " + std::to_string(leak.times) + " times";
    describe(key, "memory of the device's heap was never freed: " + std::to_string(leak.bytes) + " bytes", details,
             site->place);
  }
}

}  // namespace

void allocated(uint64_t piece, uint64_t bytes, const Place& place) {
  if (!piece) return;
  const MutexLock lock(all().mutex);
  const auto [found, isNew] = all().sites.try_emplace({place.kernel, place.module, place.line});
  if (isNew) found->second = siteOf(place);
  all().pieces[piece] = {&found->second, bytes};
}

void released(uint64_t piece) {
  const MutexLock lock(all().mutex);
  all().pieces.erase(piece);
}

void freedWrongly(uint64_t address, const Place& place) {
  if (!wants(Tool::Memory)) return;
  constexpr unsigned kKind = 1001;
  const FaultKey key{Tool::Memory, kKind, place.module, place.line, 0, 0};
  if (!isNew(key)) return;
  const Site site = siteOf(place);
  char number[32];
  std::snprintf(number, sizeof number, "%#llx", static_cast<unsigned long long>(address));
  // "allocated in kernel ..." without its first word.
  describe(key, std::string("free of ") + number + ", which malloc did not return or which was freed before",
           {site.where.substr(sizeof "allocated")}, site.place);
}

void heapEnds(uint64_t start, uint64_t bytes) {
  std::map<const Site*, Leak> leaks;
  {
    const MutexLock lock(all().mutex);
    const auto first = all().pieces.lower_bound(start), end = all().pieces.lower_bound(start + bytes);
    for (auto piece = first; piece != end; ++piece) {
      Leak& leak = leaks[piece->second.site];
      ++leak.times;
      leak.bytes += piece->second.bytes;
    }
    all().pieces.erase(first, end);
  }
  report(leaks);
}

void reportAll() { heapEnds(0, ~uint64_t{0}); }

}  // namespace vg::check::heap_leaks
