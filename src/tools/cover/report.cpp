#include "tools/cover/report.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <tuple>

#include "ptx/abi/device_runtime.h"
#include "ptx/facts/coverage.h"
#include "ptx/text/opcodes.h"
#include "ptx/text/parser.h"
#include "tools/cover/places.h"

namespace vg::tools::cover {
namespace {

namespace plans = ptx::coverage;

constexpr uint32_t kFarthest = 400;  // instructions between a branch and what made its predicate

// A program's texts as the library read them.
struct Parsed {
  ptx::Module module;
  std::vector<ptx::Module> alone;  // the texts by themselves
};

std::optional<Parsed> parse(const Recorded& program) {
  Parsed parsed;
  std::vector<ptx::Module> linked;
  for (const std::string& text : program.texts) {
    std::string log;
    Result<ptx::Module> module = ptx::parse(text, &log);
    if (!module.ok()) return {};
    parsed.alone.push_back(*module);
    linked.push_back(std::move(*module));
  }
  if (linked.size() == 1) {
    parsed.module = std::move(linked[0]);
    return parsed;
  }
  Result<ptx::Module> whole = ptx::link(std::move(linked));
  if (!whole.ok()) return {};
  parsed.module = std::move(*whole);
  return parsed;
}

// Which text a function came from: linking may have given it another name.
std::optional<size_t> originOf(const Parsed& parsed, const ptx::Function& f) {
  if (parsed.alone.size() == 1) return 0;
  const std::string name = f.name.substr(0, f.name.rfind('$'));
  for (size_t n = 0; n < parsed.alone.size(); ++n)
    for (const ptx::Function& other : parsed.alone[n].functions)
      if (!other.isDeclaration && other.line == f.line && other.body.size() == f.body.size() &&
          (other.name == f.name || other.name == name))
        return n;
  return {};
}

// One inlined copy of a function, as far as line information tells them apart.
using Site = std::tuple<uint32_t, uint32_t, std::string>;  // caller's file and line, name
Site siteOf(const Place& place) { return {place.callerFile, place.callerLine, place.function}; }

std::string pathOf(const std::string& name) { return std::filesystem::path(name).lexically_normal(); }

// Of the comparison that a predicate was made by.
uint64_t formOf(const ptx::Function& f, uint32_t branch, size_t ways) {
  const ptx::Instruction& i = f.body[branch];
  std::string form = std::to_string(ways) + (i.guardNegated ? "!" : "");
  for (uint32_t n = branch; n-- > 0 && branch - n < kFarthest && i.guard >= 0;) {
    const ptx::Instruction& made = f.body[n];
    const uint32_t destinations = ptx::destinationCount(made);
    const auto writes = [&](uint32_t k) {
      const ptx::Operand& o = f.operands[made.first + k];
      return o.kind == ptx::Operand::Kind::Register && o.reg == static_cast<uint32_t>(i.guard);
    };
    if (!(destinations > 0 && writes(0)) && !(destinations > 1 && writes(1))) continue;
    form += ptx::nameOf(made.op) + made.mods.to_string();
    break;
  }
  return std::hash<std::string>()(form);
}

void add(std::vector<uint64_t>& ways, const std::vector<uint64_t>& more) {
  if (ways.size() < more.size()) ways.resize(more.size());
  for (size_t n = 0; n < more.size(); ++n) ways[n] += more[n];
}

uint64_t sum(const std::vector<uint64_t>& ways) {
  uint64_t all = 0;
  for (const uint64_t way : ways) all += way;
  return all;
}

std::vector<uint64_t> lanesBy(const plans::Branch& branch, const std::vector<uint64_t>& counts) {
  std::vector<uint64_t> ways;
  for (const plans::Way& way : branch.ways) ways.push_back(way.of(counts.data()));
  return ways;
}

// A function whose instructions have places in source files.
class LinedFunction {
 public:
  LinedFunction(const ptx::Function& f, const plans::FunctionPlan& plan, const Places& places,
                const std::vector<uint64_t>& counts, Report& report)
      : f_(f), plan_(plan), places_(places), counts_(counts), report_(report) {}

  // False when no instruction has a place.
  bool run() {
    for (const plans::Block& block : plan_.blocks) countBlock(block);
    if (lines_.empty()) return false;
    for (const plans::Branch& branch : plan_.branches) countBranch(branch);
    countLines();
    for (const auto& [site, entered] : entered_) countFunction(site, entered);
    return true;
  }

 private:
  using Line = std::tuple<Site, uint32_t, uint32_t>;  // file, line
  struct Entered {
    uint32_t file, line;
    uint64_t lanes;
  };

  SourceFile& fileOf(uint32_t number) { return report_[pathOf(places_.file(number))]; }
  const Place* placeOf(uint32_t instruction) const { return places_.at(f_.body[instruction].line, f_.line); }

  // A line from which a function was inlined has run if that has, even where nothing is left of the call itself.
  void countLines() {
    std::map<std::pair<uint32_t, uint32_t>, uint64_t> lines;  // by file and line
    for (const auto& [at, lanes] : lines_) lines[{std::get<1>(at), std::get<2>(at)}] += lanes;
    for (const auto& [at, lanes] : calls_) lines[at] = std::max(lines[at], lanes);
    for (const auto& [at, lanes] : lines) fileOf(at.first).lines[at.second] += lanes;
  }

  // A line has run as often as the block of it that ran most.
  void countBlock(const plans::Block& block) {
    for (uint32_t n = block.begin; n < block.end; ++n) {
      const Place* const place = placeOf(n);
      if (!place) continue;
      if (place->callerLine) {
        uint64_t& caller = calls_[{place->callerFile, place->callerLine}];
        caller = std::max(caller, counts_[block.counter]);
      }
      uint64_t& lanes = lines_[{siteOf(*place), place->file, place->line}];
      lanes = std::max(lanes, counts_[block.counter]);
      auto [entered, first] =
          entered_.try_emplace(siteOf(*place), Entered{place->file, place->line, counts_[block.counter]});
      if (!first && entered->second.file == place->file)
        entered->second.line = std::min(entered->second.line, place->line);
    }
  }

  // Copies in an unrolled loop ran as often as their branches all together.
  void countBranch(const plans::Branch& branch) {
    const Place* const place = placeOf(branch.instruction);
    if (!place) return;
    const std::vector<uint64_t> lanes = lanesBy(branch, counts_);
    const BranchPlace key{place->line, place->column, formOf(f_, branch.instruction, lanes.size())};
    add(fileOf(place->file).branches[key], lanes);
    std::vector<uint64_t>& ofSite = branches_[{siteOf(*place), place->file, key}];
    add(ofSite, lanes);
    uint64_t& line = lines_[{siteOf(*place), place->file, place->line}];
    line = std::max(line, sum(ofSite));
  }

  void countFunction(const Site& site, const Entered& entered) {
    const std::string& inlined = std::get<2>(site);
    if (inlined.empty() && std::get<1>(site)) return;  // by whom it was inlined is known, not which it is
    FunctionCount& function = fileOf(entered.file).functions[inlined.empty() ? f_.name : inlined];
    function.line = function.line ? std::min(function.line, entered.line) : entered.line;
    function.lanes += inlined.empty() ? counts_[plan_.blocks[0].counter] : entered.lanes;
  }

  const ptx::Function& f_;
  const plans::FunctionPlan& plan_;
  const Places& places_;
  const std::vector<uint64_t>& counts_;
  Report& report_;
  std::map<Line, uint64_t> lines_;
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> calls_;  // lines that inlined something, by file and line
  std::map<std::tuple<Site, uint32_t, BranchPlace>, std::vector<uint64_t>> branches_;
  std::map<Site, Entered> entered_;
};

void addPtxFunction(SourceFile& file, const ptx::Function& f, const plans::FunctionPlan& plan,
                    const std::vector<uint64_t>& counts) {
  file.isPtx = true;
  for (const plans::Block& block : plan.blocks)
    for (uint32_t n = block.begin; n < block.end; ++n) {
      uint64_t& lanes = file.lines[f.body[n].line];
      lanes = std::max(lanes, counts[block.counter]);
    }
  for (const plans::Branch& branch : plan.branches)
    add(file.branches[{f.body[branch.instruction].line, branch.instruction, 0}], lanesBy(branch, counts));
  file.functions[f.name] = {f.line, counts[plan.blocks[0].counter]};
}

void writeText(const std::string& folder, const std::string& path, const std::string& text) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  if (!out.flush()) std::fprintf(stderr, "verdigris cover: cannot write %s\n", path.c_str());
}

// What the library adds to programs (ptx/abi/device_runtime.h, grid_functions.h).
bool isOwnText(const std::string& text) {
  return text.find(ptx::kDeviceRuntimeCall) != text.npos ||
         text.find(".weak .func (.param .b64 result) cudaCGGetIntrinsicHandle") != text.npos;
}

bool below(const std::string& path, const std::string& folder) {
  const std::string whole = std::filesystem::path(folder).lexically_normal();
  return path.starts_with(whole) && (path.size() == whole.size() || whole.ends_with('/') || path[whole.size()] == '/');
}

bool belowAny(const std::string& path, const std::vector<std::string>& folders) {
  return std::ranges::any_of(folders, [&](const std::string& folder) { return below(path, folder); });
}

}  // namespace

void addProgram(Report& report, const Recorded& program, const std::string& countsFolder,
                const std::string& ptxFolder) {
  const std::optional<Parsed> parsed = parse(program);
  if (!parsed) {
    std::fprintf(stderr, "verdigris cover: the PTX %s cannot be read, and is left out\n", program.name.c_str());
    return;
  }
  const plans::Plan plan = plans::planOf(parsed->module);
  const std::vector<uint64_t> counts = sumOf(program, plan.counters);
  join(countsFolder, program, plan.counters);
  std::vector<Places> places;
  for (const std::string& text : program.texts) places.emplace_back(text);
  for (size_t n = 0; n < plan.functions.size(); ++n) {
    const ptx::Function& f = parsed->module.functions[n];
    if (plan.functions[n].blocks.empty()) continue;
    const std::optional<size_t> text = originOf(*parsed, f);
    if (!text || isOwnText(program.texts[*text])) continue;
    if (LinedFunction(f, plan.functions[n], places[*text], counts, report).run()) continue;
    const std::string path = ptxFolder + "/" + program.name.substr(0, 16) + "." + std::to_string(*text) + ".ptx";
    const auto [file, fresh] = report.try_emplace(path);
    if (fresh) writeText(ptxFolder, path, program.texts[*text]);
    addPtxFunction(file->second, f, plan.functions[n], counts);
  }
}

void filter(Report& report, const std::vector<std::string>& only, const std::vector<std::string>& skip) {
  std::erase_if(report, [&](const auto& file) {
    return (!only.empty() && !belowAny(file.first, only)) || belowAny(file.first, skip);
  });
}

Totals& Totals::operator+=(const Totals& other) {
  lines += other.lines, linesHit += other.linesHit;
  branches += other.branches, branchesHit += other.branchesHit;
  functions += other.functions, functionsHit += other.functionsHit;
  return *this;
}

Totals totalsOf(const SourceFile& file) {
  Totals totals;
  for (const auto& [line, lanes] : file.lines) ++totals.lines, totals.linesHit += lanes != 0;
  for (const auto& [place, ways] : file.branches)
    for (const uint64_t lanes : ways) ++totals.branches, totals.branchesHit += lanes != 0;
  for (const auto& [name, function] : file.functions) ++totals.functions, totals.functionsHit += function.lanes != 0;
  return totals;
}

Totals totalsOf(const Report& report) {
  Totals totals;
  for (const auto& [path, file] : report) totals += totalsOf(file);
  return totals;
}

}  // namespace vg::tools::cover
