// Compiles every kernel of PTX files, each from a text of its own, and says what is refused and how long it takes.
//
//   ptx_compiler_sweep [OPTION...] FILE...       of PTX, or programs and libraries that hold some
//   -a      for all targets, also those that this machine cannot run
//   -e      only tries: no machine code is made, which takes most of the time
//   -s N/M  only every M-th kernel, from the N-th on (from 0)
//   -t      a table: kernel, KB of its text, milliseconds of processor time for quick code (what a launch waits for;
//           "good" where it gets good code at once) and for good code
//   -d DIR  dumps into a folder
#include <sys/resource.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "images/container.h"
#include "ptx/text/entry_bodies.h"
#include "ptx_compiler/harness.h"

using namespace vg::ptx;
using namespace vg::ptx::test;

namespace {

struct Options {
  bool allTargets = false, onlyTried = false, table = false;
  uint32_t part = 0, parts = 1;
  const char* dump = nullptr;
};

struct Totals {
  uint32_t compiled = 0, refused = 0, failed = 0;
  std::map<std::string, uint32_t> reasons;
};

// --- What is asked of each -------------------------------------------------------------------------------------------

double cpuMilliseconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto of = [](const timeval& t) { return double(t.tv_sec) * 1e3 + double(t.tv_usec) * 1e-3; };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

// What was said, without names and lines.
std::string reasonIn(const std::string& log) {
  const size_t from = log.find("not compiled: ");
  const std::string said = from == std::string::npos ? log : log.substr(from + 14);
  return said.substr(0, std::min(said.find(" (PTX line"), said.find('\n')));
}

void tryAll(const std::string& text, const std::string& name, const Options& options, Totals& totals) {
  for (const Target& target : options.allTargets ? allTargets() : targets())
    for (const Shape3& block :
         {Shape3{64, 1, 1}, Shape3{33, 1, 1}, Shape3{32, 5, 1}, Shape3{16, 16, 1}, Shape3{8, 8, 1}}) {
      if (options.onlyTried && block.x != 64 && block.x != 16)
        continue;  // what is refused does not hang on shapes much
      CompiledKernel kernel;
      std::string log;
      const int status =
          kernel.compile(text, name, target, block, &log, options.dump, options.onlyTried ? kOnlyTried : 0);
      if (status == CUDA_SUCCESS) {
        ++totals.compiled;
        continue;
      }
      status == CUDA_ERROR_NOT_SUPPORTED ? ++totals.refused : ++totals.failed;
      ++totals.reasons[std::string(target.name) + ": " + reasonIn(log)];
      std::printf("%s %s %ux%u: %d %s", name.c_str(), target.name, block.x, block.y, status, log.c_str());
      std::fflush(stdout);
      break;
    }
}

void addRow(const std::string& text, const std::string& name, size_t bytes, Totals& totals) {
  double took[2];
  CompiledKernel kernels[2];
  for (const bool good : {false, true}) {
    std::string log;
    const double before = cpuMilliseconds();
    const int status =
        kernels[good].compile(text, name, targets()[0], {64, 1, 1}, &log, nullptr, good ? 0 : kMayBeQuick);
    took[good] = cpuMilliseconds() - before;
    if (status != CUDA_SUCCESS) {
      ++totals.refused;
      return static_cast<void>(std::printf("%s\trefused: %s", name.c_str(), log.c_str()));
    }
  }
  ++totals.compiled;
  std::printf("%s\t%.1f\t%s\t%.1f\t%.1f\n", name.c_str(), double(bytes) / 1024,
              kernels[0].facts.quick ? "quick" : "good", took[0], took[1]);
  std::fflush(stdout);
}

void sweep(const std::string& text, const Options& options, uint32_t& number, Totals& totals) {
  const EntryBodies entries(text);
  for (const EntryBodies::Body& body : entries.bodies()) {
    if (number++ % options.parts != options.part) continue;
    const std::string own = entries.withOnly(body.name), name(body.name);
    options.table ? addRow(own, name, body.end - body.begin, totals) : tryAll(own, name, options, totals);
  }
}

// The texts in a file, each once: the whole of it, or those in its fat binaries.
std::set<std::string> textsIn(const std::string& file) {
  if (file.find(".version ") < 4096) return {file};
  std::set<std::string> texts;
  const auto* const bytes = reinterpret_cast<const std::byte*>(file.data());
  for (size_t at = 0; at + 16 <= file.size(); at += 8) {  // aligned, as the compiler has them
    const uint64_t size = vg::images::containerSize(bytes + at, file.size() - at);
    if (!size || size > file.size() - at) continue;
    const auto entries = vg::images::readContainer(bytes + at, size);
    for (const vg::images::Entry& entry : entries.ok() ? entries.value() : std::vector<vg::images::Entry>{})
      if (entry.kind == vg::images::EntryKind::Ptx)
        if (auto text = vg::images::unpack(entry); text.ok()) texts.insert(std::move(text).value());
  }
  return texts;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  int a = 1;
  for (; a < argc && argv[a][0] == '-'; ++a) {
    const std::string_view word = argv[a];
    if (word == "-a") options.allTargets = true;
    if (word == "-e") options.onlyTried = true;
    if (word == "-t") options.table = true;
    if (word == "-d" && a + 1 < argc) options.dump = argv[++a];
    if (word == "-s" && a + 1 < argc &&
        (std::sscanf(argv[++a], "%u/%u", &options.part, &options.parts) != 2 || !options.parts))
      return std::printf("-s wants N/M\n"), 2;
  }
  Totals totals;
  uint32_t number = 0;
  for (; a < argc; ++a) {
    std::ifstream file(argv[a], std::ios::binary);
    for (const std::string& text : textsIn({std::istreambuf_iterator<char>(file), {}}))
      sweep(text, options, number, totals);
  }
  for (const auto& [reason, count] : totals.reasons) std::printf("%6u %s\n", count, reason.c_str());
  std::printf("%u compiled, %u refused, %u failed\n", totals.compiled, totals.refused, totals.failed);
  return totals.failed != 0;
}
