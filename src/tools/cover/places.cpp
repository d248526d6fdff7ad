#include "tools/cover/places.h"

#include <algorithm>
#include <cstdlib>

namespace vg::tools::cover {
namespace {

constexpr std::string_view kSpace = " \t\r";
constexpr uint32_t kMostFiles = 1 << 20;

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

// Takes the number that the text begins with; 0 where there is none.
uint32_t takeNumber(std::string_view& text) {
  text = trimmed(text);
  uint64_t value = 0;
  while (!text.empty() && text[0] >= '0' && text[0] <= '9') {
    value = std::min<uint64_t>(value * 10 + static_cast<uint64_t>(text[0] - '0'), UINT32_MAX);
    text.remove_prefix(1);
  }
  return static_cast<uint32_t>(value);
}

// Takes a directive's name and the space behind it.
bool takeWord(std::string_view& line, std::string_view word) {
  if (!line.starts_with(word) || line.size() == word.size() || kSpace.find(line[word.size()]) == kSpace.npos)
    return false;
  line = trimmed(line.substr(word.size()));
  return true;
}

std::string_view behind(std::string_view text, std::string_view word) {
  const size_t at = text.find(word);
  return at == text.npos ? std::string_view() : trimmed(text.substr(at + word.size()));
}

}  // namespace

Places::Places(std::string_view text) {
  uint32_t number = 1;
  for (size_t at = 0; at < text.size(); ++number) {
    const size_t end = std::min(text.find('\n', at), text.size());
    readLine(trimmed(text.substr(at, end - at)), number);
    at = end + 1;
  }
  for (Place& place : places_) {
    const auto known = strings_.find(place.function);
    place.function = known == strings_.end() ? "" : known->second;
  }
}

void Places::readLine(std::string_view line, uint32_t number) {
  if (takeWord(line, ".loc")) return readLocation(line, number);
  if (takeWord(line, ".file")) {
    const uint32_t index = takeNumber(line);
    const size_t open = line.find('"'), close = line.find('"', open + 1);
    if (open == line.npos || close == line.npos || index > kMostFiles) return;
    if (files_.size() <= index) files_.resize(index + 1);
    files_[index] = line.substr(open + 1, close - open - 1);
  } else if (line.starts_with("$") && line.ends_with(":")) {
    label_ = line.substr(0, line.size() - 1);
  } else if (!label_.empty() && takeWord(line, ".b8")) {
    readBytes(line);
  } else if (!line.empty()) {
    label_.clear();
  }
}

// `file line column [, function_name label [+ n], inlined_at file line column]`
void Places::readLocation(std::string_view line, uint32_t number) {
  Place place;
  place.ptxLine = number;
  place.file = takeNumber(line);
  place.line = takeNumber(line);
  place.column = takeNumber(line);
  if (const std::string_view name = behind(line, "function_name"); !name.empty())
    place.function = trimmed(name.substr(0, name.find(',')));
  if (std::string_view caller = behind(line, "inlined_at"); !caller.empty()) {
    place.callerFile = takeNumber(caller);
    place.callerLine = takeNumber(caller);
  }
  places_.push_back(std::move(place));
}

void Places::readBytes(std::string_view line) {
  std::string& text = strings_[label_];
  for (;;) {
    const uint32_t byte = takeNumber(line);
    if (!byte) return label_.clear();
    text += static_cast<char>(byte);
    line = trimmed(line);
    if (!line.starts_with(",")) return;
    line.remove_prefix(1);
  }
}

const Place* Places::at(uint32_t ptxLine, uint32_t functionLine) const {
  const auto behind =
      std::ranges::upper_bound(places_, ptxLine, std::less<>(), [](const Place& place) { return place.ptxLine; });
  if (behind == places_.begin()) return nullptr;
  const Place& place = *std::prev(behind);
  return place.ptxLine > functionLine && place.line && place.file < files_.size() ? &place : nullptr;
}

const std::string& Places::file(uint32_t number) const { return files_[number]; }

}  // namespace vg::tools::cover
