#include "tools/explain/index.h"

#include <cctype>
#include <cstdlib>

#include "tools/explain/texts.h"

namespace vg::tools::knowledge {
namespace {

bool isWordPart(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Cells of a row, as many as `count` at least.
Words cellsOf(std::string_view line, std::string_view separator, size_t count) {
  Words cells = split(line, separator);
  cells.resize(std::max(cells.size(), count));
  return cells;
}

Words listOf(std::string_view cell) { return split(cell, "; "); }

void addRow(Index& index, std::string_view line) {
  const Words cells = cellsOf(line, "\t", 8);
  const std::string_view kind = cells[0], name = cells[1];
  if (kind == "entry") {
    index.entries.push_back({name, cells[2] == "live", std::atoi(std::string(cells[3]).c_str()), cells[4], cells[5],
                             listOf(cells[6]), listOf(cells[7])});
  } else if (kind == "rule") {
    index.rules.push_back(
        {name, listOf(cells[2]), listOf(cells[3]), listOf(cells[4]), cells[5], listOf(cells[6]), cells[7], {}, {}, {}});
  } else if (kind == "error") {
    index.errors.push_back({name, listOf(cells[2])});
  } else if (kind == "setting") {
    index.settings.push_back({name, listOf(cells[2]), listOf(cells[3])});
  }
}

void addRuleTexts(Index& index) {
  std::map<std::string_view, Words> rows;
  for (const std::string_view line : split(texts().rules, "\n")) {
    Words cells = cellsOf(line, "\t", 4);
    rows[cells[0]] = std::move(cells);
  }
  for (Rule& rule : index.rules) {
    const Words& cells = rows[rule.id];
    if (cells.empty()) continue;
    rule.subject = cells[1], rule.kind = cells[2], rule.text = cells[3];
  }
}

// Cells of "| a | b |", without the bars at both ends.
Words cellsOfTable(std::string_view line, size_t count) {
  if (line.size() < 4 || line.substr(0, 2) != "| ") return {};
  line.remove_prefix(2);
  line.remove_suffix(line.substr(line.size() - 2) == " |" ? 2 : 0);
  return cellsOf(line, " | ", count);
}

void addBehaviour(Index& index) {
  for (const std::string_view line : split(texts().behaviour, "\n")) {
    const Words cells = cellsOfTable(line, 5);
    if (!cells.empty() && !cells[0].empty() && cells[0] != "No." && cells[0] != "---")
      index.behaviour.push_back({cells[0], cells[1], cells[2], cells[4]});
  }
}

void addSettingTexts(Index& index) {
  for (const std::string_view line : split(texts().settings, "\n")) {
    const Words cells = cellsOfTable(line, 2);
    if (!cells.empty() && cells[0].size() > 2 && cells[0][0] == '`')
      index.settingTexts[cells[0].substr(1, cells[0].size() - 2)] = cells[1];
  }
}

bool endsWith(std::string_view text, std::string_view end) {
  return text.size() > end.size() && text.substr(text.size() - end.size()) == end;
}

}  // namespace

Words split(std::string_view text, std::string_view separator) {
  Words parts;
  while (!text.empty()) {
    const size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    text = at == text.npos ? std::string_view() : text.substr(at + separator.size());
  }
  return parts;
}

Index readIndex() {
  Index index;
  for (const std::string_view line : split(texts().index, "\n")) addRow(index, line);
  addRuleTexts(index);
  addBehaviour(index);
  addSettingTexts(index);
  return index;
}

std::string_view baseOf(std::string_view name) {
  for (const std::string_view twin : {"_ptsz", "_ptds"})
    if (endsWith(name, twin)) name.remove_suffix(twin.size());
  const size_t at = name.rfind("_v");
  const bool version =
      at != name.npos && at + 2 < name.size() && name.find_first_not_of("0123456789", at + 2) == name.npos;
  return version ? name.substr(0, at) : name;
}

bool mentions(std::string_view text, std::string_view word) {
  for (size_t at = 0; (at = text.find(word, at)) != text.npos; ++at) {
    const std::string_view behind = text.substr(at + word.size());
    const bool versioned = behind.size() > 2 && behind[0] == '_' && behind[1] == 'v' && std::isdigit(behind[2]);
    if ((!at || !isWordPart(text[at - 1])) && (behind.empty() || !isWordPart(behind[0]) || versioned)) return true;
  }
  return false;
}

}  // namespace vg::tools::knowledge
