// The summary as text and as a page.
#include <algorithm>

#include "activity/summary.h"
#include "base/text/format.h"
#include "base/text/markup.h"

namespace vg::activity {
namespace {

constexpr size_t kMostKernels = 15, kMostCopies = 10, kMostCalls = 10;

double percent(uint64_t part, uint64_t whole) {
  return whole ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0;
}

std::string rate(const Total& total) {
  if (!total.bytes) return "";
  return format("%.1f GB/s",
                static_cast<double>(total.bytes) / static_cast<double>(std::max<uint64_t>(total.nanoseconds, 1)));
}

uint64_t sum(const Summary::Totals& totals) {
  uint64_t nanoseconds = 0;
  for (const auto& [name, total] : totals) nanoseconds += total.nanoseconds;
  return nanoseconds;
}

// Cells of a table, the first row its head.
using Table = std::vector<std::vector<std::string>>;

Table tableOf(const Summary::Totals& totals, size_t most, bool moves) {
  Table table{{"time", "share", "count", "average", "shortest", "longest"}};
  if (moves) table[0].insert(table[0].end(), {"bytes", "rate"});
  table[0].push_back("name");
  const uint64_t all = sum(totals);
  for (const auto& [name, total] : Summary::top(totals, most)) {
    std::vector<std::string> row{durationText(total.nanoseconds), format("%.1f %%", percent(total.nanoseconds, all)),
                                 std::to_string(total.count),     durationText(total.nanoseconds / total.count),
                                 durationText(total.shortest),    durationText(total.longest)};
    if (moves) row.insert(row.end(), {bytesText(total.bytes), rate(total)});
    row.push_back(name);
    table.push_back(std::move(row));
  }
  return table;
}

struct Section {
  std::string title;
  std::vector<std::string> lines;
  Table table;
};

std::string part(uint64_t nanoseconds, uint64_t whole) {
  return durationText(nanoseconds) + format(" (%.1f %%)", percent(nanoseconds, whole));
}

Section sectionOf(unsigned number, const DeviceSummary& device) {
  Section section{format("Device %u: ", number) + device.name, {}, {}};
  const uint64_t span = device.span(), busy = std::min(device.any.busy(), span);
  if (span) {
    section.lines = {"from its first work to its last " + durationText(span) + ": busy " + part(busy, span) +
                         ", idle " + part(span - busy, span),
                     "kernels " + durationText(device.kernels.busy()) + ", copies and fills " +
                         durationText(device.copies.busy()) + ", side by side " + durationText(device.overlap()),
                     "unused overlap " + durationText(device.unusedOverlap()) +
                         ": so much shorter, were copies beside kernels wherever possible"};
  }
  if (device.peakMemory) section.lines.push_back("most memory in use " + bytesText(device.peakMemory));
  if (device.gaps.empty()) return section;
  section.table.push_back({"idle", "after", "before"});
  for (const Gap& gap : device.gaps)
    section.table.push_back({durationText(gap.end - gap.begin), gap.before, gap.after});
  return section;
}

std::vector<Section> sectionsOf(const Summary& summary) {
  std::vector<Section> sections;
  for (const auto& [number, device] : summary.devices()) sections.push_back(sectionOf(number, device));
  if (!summary.kernels().empty()) sections.push_back({"Kernels", {}, tableOf(summary.kernels(), kMostKernels, false)});
  if (!summary.transfers().empty())
    sections.push_back({"Copies and fills", {}, tableOf(summary.transfers(), kMostCopies, true)});
  if (!summary.calls().empty()) sections.push_back({"API calls", {}, tableOf(summary.calls(), kMostCalls, false)});
  if (summary.lostRecords())
    sections.push_back({format("%llu events came too fast and are not counted",
                               static_cast<unsigned long long>(summary.lostRecords())),
                        {},
                        {}});
  return sections;
}

std::string padded(const std::string& cell, size_t width, bool last) {
  return last ? cell : std::string(width > cell.size() ? width - cell.size() : 0, ' ') + cell + "  ";
}

// All columns but the last are aligned to the right.
std::string textOf(const Table& table) {
  std::vector<size_t> widths;
  for (const auto& row : table) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : table) {
    text += "  ";
    for (size_t i = 0; i < row.size(); ++i) text += padded(row[i], widths[i], i + 1 == row.size());
    text += '\n';
  }
  return text;
}

std::string pageOf(const Table& table) {
  std::string page = "<table>\n";
  for (size_t row = 0; row < table.size(); ++row) {
    page += "<tr>";
    for (const std::string& cell : table[row])
      page += (row ? "<td>" : "<th>") + escapedForMarkup(cell) + (row ? "</td>" : "</th>");
    page += "</tr>\n";
  }
  return page + "</table>\n";
}

constexpr const char* kPageBegin = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Verdigris: summary</title>
<style>
body { font: 15px/1.5 sans-serif; margin: 2em; color: #222; background: #fff; }
table { border-collapse: collapse; margin: 0.5em 0 1.5em; }
td, th { padding: 2px 10px; text-align: right; border-bottom: 1px solid #ddd; white-space: nowrap; }
td:last-child, th:last-child { text-align: left; font-family: monospace; white-space: normal; }
</style></head><body>
<h1>Where the time went</h1>
)";

}  // namespace

std::string durationText(uint64_t nanoseconds) {
  const auto value = static_cast<double>(nanoseconds);
  if (nanoseconds < 1'000) return format("%llu ns", static_cast<unsigned long long>(nanoseconds));
  if (nanoseconds < 1'000'000) return format("%.1f us", value / 1e3);
  if (nanoseconds < 1'000'000'000) return format("%.1f ms", value / 1e6);
  return format("%.2f s", value / 1e9);
}

std::string bytesText(uint64_t bytes) {
  const auto value = static_cast<double>(bytes);
  if (bytes < 1024) return format("%llu B", static_cast<unsigned long long>(bytes));
  if (bytes < 1024 * 1024) return format("%.1f KiB", value / 1024);
  if (bytes < 1024ull * 1024 * 1024) return format("%.1f MiB", value / (1024 * 1024));
  return format("%.2f GiB", value / (1024.0 * 1024 * 1024));
}

std::string textOf(const Summary& summary) {
  std::string text = "\nverdigris: where the time went\n";
  for (const Section& section : sectionsOf(summary)) {
    text += "\n" + section.title + "\n";
    for (const std::string& line : section.lines) text += "  " + line + "\n";
    text += textOf(section.table);
  }
  return text;
}

std::string pageOf(const Summary& summary) {
  std::string page = kPageBegin;
  for (const Section& section : sectionsOf(summary)) {
    page += "<h2>" + escapedForMarkup(section.title) + "</h2>\n";
    for (const std::string& line : section.lines) page += "<p>" + escapedForMarkup(line) + "</p>\n";
    if (!section.table.empty()) page += pageOf(section.table);
  }
  return page + "</body></html>\n";
}

}  // namespace vg::activity
