#include "tools/explain/page.h"

#include <cstdio>

namespace vg::tools::knowledge {
namespace {

constexpr size_t kWidth = 100, kLabel = 16;

void printLine(const std::string& line) { std::printf("%s\n", line.c_str()); }

}  // namespace

void printParagraph(std::string_view text, std::string_view first) {
  std::string line(first);
  size_t words = 0;
  for (const std::string_view word : split(text, " ")) {
    if (words && line.size() + 1 + word.size() > kWidth) {
      printLine(line);
      line = std::string(first.size(), ' ');
      words = 0;
    }
    if (words++) line += ' ';
    line += word;
  }
  printLine(line);
}

void printList(std::string_view label, const Words& items) {
  std::string head = "  " + std::string(label);
  for (const std::string_view item : items) {
    head.resize(2 + kLabel, ' ');
    printParagraph(item, head);
    head.clear();
  }
}

}  // namespace vg::tools::knowledge
