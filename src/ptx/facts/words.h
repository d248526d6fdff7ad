// The words and signs of a PTX text, without parsing it: for who changes a text in a few places.
#pragma once

#include <cctype>
#include <string_view>

namespace vg::ptx {

// Goes through the words and signs of PTX; comments, strings and white space lie between them.
class Words {
 public:
  explicit Words(std::string_view text) : text_(text) {}

  // The next one; empty at the end.
  std::string_view next() {
    skip();
    const size_t begin = at_;
    while (at_ < text_.size() && inWord(text_[at_])) ++at_;
    if (at_ == begin && at_ < text_.size()) ++at_;
    return text_.substr(begin, at_ - begin);
  }
  // Where the last one begins.
  size_t begin(std::string_view word) const { return static_cast<size_t>(word.data() - text_.data()); }

 private:
  static bool inWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '.'; }
  void skip() {
    while (at_ < text_.size()) {
      if (std::isspace(static_cast<unsigned char>(text_[at_])))
        ++at_;
      else if (text_.substr(at_, 2) == "//")
        behind("\n", 2);
      else if (text_.substr(at_, 2) == "/*")
        behind("*/", 2);
      else if (text_[at_] == '"')
        behind("\"", 1);
      else
        return;
    }
  }
  void behind(std::string_view end, size_t from) {
    const size_t found = text_.find(end, at_ + from);
    at_ = found == text_.npos ? text_.size() : found + end.size();
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace vg::ptx
