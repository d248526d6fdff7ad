#include "check/reports/report_files.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "activity/json.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/text/markup.h"

namespace vg::check {
namespace {

using activity::appendJsonText;

constexpr const char* kMeanings[kToolCount] = {
    "An access outside of living memory, or one that is not aligned.",
    "Threads of a block that touch the same shared memory unordered.",
    "A barrier or warp operation that not everybody comes to.",
    "A read of memory that nobody has written.",
    "A barrier behind which threads of the block have ended.",
    "A call of the API that failed.",
    "Something that was made and never ended.",
};

std::string quoted(std::string_view text) {
  std::string out;
  appendJsonText(out, text);
  return out;
}

std::string detailsOf(const FaultRecord& record) {
  std::string text;
  for (const std::string& line : record.details) text += (text.empty() ? "" : "\n") + line;
  return text;
}

std::string field(const char* name, const std::string& value) {
  return value.empty() ? "" : ", " + quoted(name) + ": " + quoted(value);
}
std::string field(const char* name, uint64_t value) {
  return value ? ", " + quoted(name) + ": " + std::to_string(value) : "";
}

std::string jsonOf(const FaultRecord& record) {
  const FaultPlace& place = record.place;
  std::string text = "{\"tool\": " + quoted(nameOf(record.tool)) + ", \"message\": " + quoted(record.headline) +
                     ", \"times\": " + std::to_string(record.times) + field("kernel", place.kernel) +
                     field("file", place.file) + field("line", place.line) + field("ptxLine", place.ptxLine) +
                     ", \"details\": [";
  for (size_t k = 0; k < record.details.size(); ++k) text += (k ? ", " : "") + quoted(record.details[k]);
  return text + "]}";
}

std::string json(const std::vector<FaultRecord>& records) {
  std::string text = "[";
  for (const FaultRecord& record : records) text += (text.size() > 1 ? ",\n " : "\n ") + jsonOf(record);
  return text + "\n]\n";
}

std::string sarifOf(const FaultRecord& record) {
  const FaultPlace& place = record.place;
  std::string text =
      "{\"ruleId\": " + quoted(nameOf(record.tool)) +
      ", \"level\": \"error\", \"message\": {\"text\": " + quoted(record.headline + "\n" + detailsOf(record)) +
      "}, \"occurrenceCount\": " + std::to_string(record.times) + ", \"locations\": [";
  if (place.file.empty() && place.kernel.empty()) return text + "]}";
  text += "{";
  if (!place.file.empty())
    text += "\"physicalLocation\": {\"artifactLocation\": {\"uri\": " + quoted(place.file) +
            "}, \"region\": {\"startLine\": " + std::to_string(std::max(place.line, 1u)) + "}}";
  if (!place.kernel.empty())
    text += std::string(place.file.empty() ? "" : ", ") +
            "\"logicalLocations\": [{\"kind\": \"function\", \"name\": " + quoted(place.kernel) + "}]";
  return text + "}]}";
}

std::string sarif(const std::vector<FaultRecord>& records) {
  std::string text =
      "{\"$schema\": \"https://json.schemastore.org/sarif-2.1.0.json\", \"version\": \"2.1.0\", \"runs\": [{\n"
      " \"tool\": {\"driver\": {\"name\": \"verdigris check\", \"rules\": [";
  for (unsigned k = 0; k < std::size(kMeanings); ++k)
    text += std::string(k ? ",\n  " : "\n  ") + "{\"id\": " + quoted(nameOf(static_cast<Tool>(k))) +
            ", \"shortDescription\": {\"text\": " + quoted(kMeanings[k]) + "}}";
  text += "]}},\n \"results\": [";
  for (size_t k = 0; k < records.size(); ++k) text += (k ? ",\n  " : "\n  ") + sarifOf(records[k]);
  return text + "]\n}]}\n";
}

std::string junit(const std::vector<FaultRecord>& records) {
  const size_t tests = std::max<size_t>(records.size(), 1);
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"verdigris check\" tests=\"" +
                     std::to_string(tests) + "\" failures=\"" + std::to_string(records.size()) + "\">\n";
  if (records.empty()) text += "  <testcase classname=\"verdigris check\" name=\"no faults\"/>\n";
  for (const FaultRecord& record : records)
    text += "  <testcase classname=\"" + escapedForMarkup(nameOf(record.tool)) + "\" name=\"" +
            escapedForMarkup(record.headline) + "\"><failure message=\"met " + std::to_string(record.times) +
            " times\">" + escapedForMarkup(detailsOf(record)) + "</failure></testcase>\n";
  return text + "</testsuite>\n";
}

std::string plain(const std::vector<FaultRecord>& records) {
  std::string text;
  for (const FaultRecord& record : records) {
    text += std::to_string(record.times) + " x " + nameOf(record.tool) + ": " + record.headline + "\n";
    for (const std::string& line : record.details) text += "    " + line + "\n";
  }
  return text;
}

std::string written(const std::string& path, const std::vector<FaultRecord>& records) {
  if (path.ends_with(".json")) return json(records);
  if (path.ends_with(".sarif")) return sarif(records);
  if (path.ends_with(".xml")) return junit(records);
  return plain(records);
}

}  // namespace

void writeReportFiles(const std::vector<FaultRecord>& records) {
  for (const std::string& path : splitList(settings().checkOutput)) {
    std::ofstream file(path, std::ios::trunc);
    file << written(path, records);
    if (!file.flush()) VG_LOG(Warn, "VERDIGRIS_CHECK_OUTPUT=%s: %s", path.c_str(), std::strerror(errno));
  }
}

}  // namespace vg::check
