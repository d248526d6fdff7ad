#include "base/text/markup.h"

namespace vg {

std::string escapedForMarkup(std::string_view text) {
  std::string out;
  for (const char c : text) switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\t' && c != '\r' ? '?' : c;
    }
  return out;
}

}  // namespace vg
