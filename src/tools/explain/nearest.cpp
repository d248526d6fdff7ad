#include "tools/explain/nearest.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <tuple>

namespace vg::tools::knowledge {
namespace {

constexpr size_t kShown = 5;

bool same(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

// Letters that have to be changed, added or left out.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (const char c : a) {
    size_t diagonal = row[0]++;
    for (size_t i = 0; i < b.size(); ++i) {
      const size_t changed = diagonal + !same(c, b[i]);
      diagonal = row[i + 1];
      row[i + 1] = std::min({changed, row[i] + 1, row[i + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::vector<std::string_view> nearest(std::string_view word, const std::set<std::string_view>& names) {
  std::vector<std::tuple<bool, size_t, std::string_view>> found;
  for (const std::string_view name : names) {
    const bool within = std::search(name.begin(), name.end(), word.begin(), word.end(), same) != name.end();
    found.emplace_back(!within, distance(word, name), name);
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string_view> best;
  for (size_t i = 0; i < found.size() && i < kShown; ++i) best.push_back(std::get<std::string_view>(found[i]));
  return best;
}

std::string_view asSpelt(std::string_view word, const std::set<std::string_view>& names) {
  if (names.count(word)) return word;
  for (const std::string_view name : names)
    if (std::equal(name.begin(), name.end(), word.begin(), word.end(), same)) return name;
  return word;
}

}  // namespace vg::tools::knowledge
