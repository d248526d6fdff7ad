#include "tools/cover/html.h"

#include <cstdio>
#include <fstream>
#include <vector>

#include "base/text/markup.h"
#include "base/text/plain_names.h"

namespace vg::tools::cover {
namespace {

constexpr char kStyle[] = R"(<style>
:root { --back: #fbfcfb; --card: #fff; --text: #1c2421; --soft: #66726d; --line: #dfe6e2; --hit: #2f8f6b; --miss: #c7432f;
  --hitback: #e7f4ee; --missback: #fdeae6; color-scheme: light dark; }
@media (prefers-color-scheme: dark) { :root { --back: #131817; --card: #1a211f; --text: #e3e9e6; --soft: #93a19b;
  --line: #2c3633; --hit: #4db88f; --miss: #ef7a66; --hitback: #17291f; --missback: #331c18; } }
body { margin: 0 auto; padding: 1.6rem 1.2rem 4rem; max-width: 90rem; background: var(--back); color: var(--text);
  font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.3rem; overflow-wrap: anywhere; } a { color: inherit; }
table { border-collapse: collapse; } .files, .functions { width: 100%; background: var(--card); margin: 1rem 0; }
.files td, .files th, .functions td, .functions th { border: 1px solid var(--line); padding: .3rem .7rem; text-align: left; }
.files .n, .functions .n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.bar { display: inline-block; width: 7rem; height: .6rem; background: var(--miss); border-radius: .3rem; overflow: hidden; }
.bar i { display: block; height: 100%; background: var(--hit); }
.soft { color: var(--soft); } .missing { color: var(--miss); font-weight: 600; }
.source { font: 13px/1.5 ui-monospace, monospace; width: 100%; background: var(--card); border: 1px solid var(--line); }
.source td { padding: 0 .6rem; white-space: pre; vertical-align: top; }
.source .l, .source .c { text-align: right; color: var(--soft); user-select: none; }
.source .l a { text-decoration: none; color: inherit; } .source .b { color: var(--hit); }
.source .b b { color: var(--miss); font-weight: 600; }
tr.hit .c { color: var(--hit); } tr.miss .c { color: var(--miss); }
tr.hit .t { background: var(--hitback); } tr.miss .t { background: var(--missback); }
td.t { width: 100%; }
</style>)";

std::string head(const std::string& title) {
  return "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
         "content=\"width=device-width, initial-scale=1\">\n<title>" +
         escapedForMarkup(title) + "</title>" + kStyle + "</head><body>\n";
}

// "87.5 %"; a dash where there is nothing.
std::string share(size_t hit, size_t all) {
  if (!all) return "-";
  char text[16];
  std::snprintf(text, sizeof text, "%.1f %%", 100.0 * static_cast<double>(hit) / static_cast<double>(all));
  return text;
}

std::string cell(const char* kind, const std::string& text) {
  return std::string("<td class=\"") + kind + "\">" + text + "</td>";
}

std::string ofAll(size_t hit, size_t all) {
  return cell("n", share(hit, all)) + cell("n soft", std::to_string(hit) + " of " + std::to_string(all));
}

std::string totalsCells(const Totals& t) {
  const std::string bar =
      "<td><span class=\"bar\"><i style=\"width:" + std::to_string(t.lines ? 100 * t.linesHit / t.lines : 0) +
      "%\"></i></span></td>";
  return bar + ofAll(t.linesHit, t.lines) + ofAll(t.branchesHit, t.branches) + ofAll(t.functionsHit, t.functions);
}

constexpr char kTotalsHead[] =
    "<th></th><th colspan=\"2\">lines</th><th colspan=\"2\">ways of branches</th><th colspan=\"2\">functions</th>";

std::string indexPage(const Report& report, const std::vector<std::string>& pages) {
  std::string out = head("Coverage of device code") +
                    "<h1>Coverage of device code</h1>\n<table class=\"files\"><tr><th>file</th>" + kTotalsHead +
                    "</tr>\n<tr><td><b>all</b></td>" + totalsCells(totalsOf(report)) + "</tr>\n";
  auto page = pages.begin();
  for (const auto& [path, file] : report)
    out += "<tr><td><a href=\"" + *page++ + "\">" + escapedForMarkup(path) + "</a></td>" + totalsCells(totalsOf(file)) +
           "</tr>\n";
  return out + "</table>\n<p class=\"soft\">Counts are of lanes: threads of kernels.</p></body></html>\n";
}

std::string linkTo(const std::string& line) { return "<a href=\"#l" + line + "\">" + line + "</a>"; }

std::string functionTable(const SourceFile& file) {
  std::string out = "<table class=\"functions\"><tr><th>function</th><th>line</th><th>lanes</th></tr>\n";
  for (const auto& [name, function] : file.functions) {
    const std::string line = std::to_string(function.line);
    out += "<tr>" + cell("", escapedForMarkup(plainName(name))) + cell("n", linkTo(line)) +
           cell(function.lanes ? "n" : "n missing", std::to_string(function.lanes)) + "</tr>\n";
  }
  return out + "</table>\n";
}

// "+120 -0": lanes that took it, and that did not; what no lane did stands out.
std::string branchMarks(const SourceFile& file, uint32_t line) {
  std::string out;
  for (auto at = file.branches.lower_bound({line, 0, 0}); at != file.branches.end() && at->first.line == line; ++at) {
    out += out.empty() ? "[" : " [";
    for (size_t way = 0; way < at->second.size(); ++way) {
      const std::string count = std::to_string(at->second[way]);
      out += (way ? " " : "") + (at->second[way] ? count : "<b>" + count + "</b>");
    }
    out += "]";
  }
  return out;
}

std::string sourceRow(const SourceFile& file, uint32_t line, const std::string& text) {
  const auto count = file.lines.find(line);
  const bool known = count != file.lines.end();
  const std::string number = std::to_string(line);
  return std::string("<tr id=\"l") + number + "\" class=\"" +
         (!known          ? ""
          : count->second ? "hit"
                          : "miss") +
         "\">" + cell("l", "<a href=\"#l" + number + "\">" + number + "</a>") +
         cell("c", known ? std::to_string(count->second) : "") + cell("b", branchMarks(file, line)) +
         cell("t", escapedForMarkup(text)) + "</tr>\n";
}

std::string filePage(const std::string& path, const SourceFile& file) {
  std::string out = head(path) + "<p><a href=\"index.html\">all files</a></p><h1>" + escapedForMarkup(path) +
                    "</h1>\n<table class=\"files\"><tr>" + kTotalsHead + "</tr>\n<tr>" + totalsCells(totalsOf(file)) +
                    "</tr></table>\n" + functionTable(file) +
                    "<p class=\"soft\">Line, lanes that ran it, lanes that went each way of its branches.</p>\n"
                    "<table class=\"source\">\n";
  std::ifstream in(path);
  std::string text;
  uint32_t line = 0;
  while (std::getline(in, text)) out += sourceRow(file, ++line, text);
  if (!line)
    out += "<tr><td colspan=\"4\" class=\"missing\">This file is not here; only its counts are known.</td></tr>\n";
  for (auto rest = file.lines.upper_bound(line); rest != file.lines.end(); ++rest)
    out += sourceRow(file, rest->first, "");
  return out + "</table></body></html>\n";
}

bool write(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
  return static_cast<bool>(out.flush());
}

}  // namespace

bool writePages(const Report& report, const std::string& folder) {
  std::vector<std::string> pages;
  for (const auto& [path, file] : report) {
    pages.push_back("file" + std::to_string(pages.size() + 1) + ".html");
    if (!write(folder + "/" + pages.back(), filePage(path, file))) return false;
  }
  return write(folder + "/index.html", indexPage(report, pages));
}

}  // namespace vg::tools::cover
