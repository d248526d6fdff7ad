// Compiles every kernel of PTX files, each from a text of its own, and says what is refused and how long it takes.
//
//   ptx_compiler_sweep [OPTION...] FILE...       of PTX, or programs and libraries that hold some
//   -a      for all targets, also those that this machine cannot run
//   -e      only tries: no machine code is made, which takes most of the time
//   -s N/M  only every M-th kernel, from the N-th on (from 0)
//   -t      a table: kernel, KB of its text, milliseconds of processor time for quick code (what a launch waits for;
//           "good" where it gets good code at once) and for good code
//   -d DIR  dumps into a folder, and has LLVM's verifier on
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "images/container.h"
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

// --- Kernels one by one ----------------------------------------------------------------------------------------------

struct Range {
  size_t begin, end;
};

// Behind the brace that closes the first one from `at` on; PTX has no braces in strings that matter here.
size_t behindBraces(std::string_view text, size_t at) {
  size_t depth = 0;
  for (at = text.find('{', at); at < text.size(); ++at) {
    if (text[at] == '/' && text.substr(at, 2) == "//") at = std::min(text.find('\n', at), text.size() - 1);
    depth += text[at] == '{';
    if (text[at] == '}' && --depth == 0) return at + 1;
  }
  return text.size();
}

// Where the entries stand, with their linkage.
std::vector<Range> entriesOf(std::string_view text) {
  std::vector<Range> all;
  for (size_t at = text.find(".entry "); at != std::string_view::npos; at = text.find(".entry ", at)) {
    const size_t line = text.rfind('\n', at) + 1;  // npos + 1 is 0
    const size_t brace = text.find('{', at), semicolon = text.find(';', at);
    if (brace == std::string_view::npos || semicolon < brace) {  // a declaration, or in a comment
      at += 7;
      continue;
    }
    all.push_back({line, behindBraces(text, at)});
    at = all.back().end;
  }
  return all;
}

std::string withOnly(std::string_view text, const std::vector<Range>& entries, size_t kept) {
  std::string out;
  size_t at = 0;
  for (size_t n = 0; n < entries.size(); ++n) {
    if (n == kept) continue;
    out += text.substr(at, entries[n].begin - at);
    at = entries[n].end;
  }
  return out += text.substr(at);
}

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

void sweep(const char* path, const std::string& text, const Options& options, uint32_t& number, Totals& totals) {
  const std::vector<Range> entries = entriesOf(text);
  for (size_t n = 0; n < entries.size(); ++n) {
    if (number++ % options.parts != options.part) continue;
    std::string own = withOnly(text, entries, n), log;
    if (!parse(own).ok()) own = text;  // kernels may name each other
    auto module = parse(own, &log);
    if (!module.ok()) {
      ++totals.failed;
      std::printf("%s: %s", path, log.c_str());
      continue;
    }
    for (const Function& f : module->functions) {
      if (!f.isEntry || f.isDeclaration) continue;
      const size_t bytes = entries[n].end - entries[n].begin;
      options.table ? addRow(own, f.name, bytes, totals) : tryAll(own, f.name, options, totals);
    }
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
      sweep(argv[a], text, options, number, totals);
  }
  for (const auto& [reason, count] : totals.reasons) std::printf("%6u %s\n", count, reason.c_str());
  std::printf("%u compiled, %u refused, %u failed\n", totals.compiled, totals.refused, totals.failed);
  return totals.failed != 0;
}
