#include "tools/cover/lcov.h"

#include <functional>

namespace vg::tools::cover {
namespace {

class Writer {
 public:
  std::string text;

  void line(const char* tag, std::initializer_list<std::string> fields) {
    text += tag;
    const char* before = ":";
    for (const std::string& field : fields) {
      text += before + field;
      before = ",";
    }
    text += "\n";
  }
  void number(const char* tag, size_t value) { line(tag, {std::to_string(value)}); }
};

void functions(Writer& out, const SourceFile& file, const Totals& totals) {
  for (const auto& [name, function] : file.functions) out.line("FN", {std::to_string(function.line), name});
  for (const auto& [name, function] : file.functions) out.line("FNDA", {std::to_string(function.lanes), name});
  out.number("FNF", totals.functions);
  out.number("FNH", totals.functionsHit);
}

// A branch that no lane came to has dashes, which tells it from one whose lanes all went the other way.
void branches(Writer& out, const SourceFile& file, const Totals& totals) {
  uint32_t number = 0, line = 0;
  for (const auto& [place, ways] : file.branches) {
    number = place.line == line ? number + 1 : 0;
    line = place.line;
    uint64_t all = 0;
    for (const uint64_t lanes : ways) all += lanes;
    for (size_t way = 0; way < ways.size(); ++way)
      out.line("BRDA", {std::to_string(line), std::to_string(number), std::to_string(way),
                        all ? std::to_string(ways[way]) : "-"});
  }
  out.number("BRF", totals.branches);
  out.number("BRH", totals.branchesHit);
}

void lines(Writer& out, const SourceFile& file, const Totals& totals) {
  for (const auto& [line, lanes] : file.lines) out.line("DA", {std::to_string(line), std::to_string(lanes)});
  out.number("LF", totals.lines);
  out.number("LH", totals.linesHit);
}

}  // namespace

std::string lcov(const Report& report) {
  Writer out;
  for (const auto& [path, file] : report) {
    const Totals totals = totalsOf(file);
    out.text += "TN:\n";
    out.line("SF", {path});
    functions(out, file, totals);
    branches(out, file, totals);
    lines(out, file, totals);
    out.text += "end_of_record\n";
  }
  return std::move(out.text);
}

}  // namespace vg::tools::cover
