#include "tools/explain/texts.h"

#include <zstd.h>

#include <stdexcept>
#include <string>

#include "base/undying.h"

// The file that pack_texts made.
__asm__(
    ".section .rodata\n"
    "vgPackedTexts: .incbin \"" VERDIGRIS_PACKED_TEXTS
    "\"\n"
    "vgPackedTextsEnd:\n"
    ".previous\n");
extern "C" const char vgPackedTexts[], vgPackedTextsEnd[];

namespace vg::tools::knowledge {
namespace {

std::string unpacked() {
  const size_t packed = static_cast<size_t>(vgPackedTextsEnd - vgPackedTexts);
  std::string text(ZSTD_getFrameContentSize(vgPackedTexts, packed), '\0');
  if (ZSTD_decompress(text.data(), text.size(), vgPackedTexts, packed) != text.size())
    throw std::runtime_error("the texts of this command are damaged");
  return text;
}

Texts divided(std::string_view text) {
  const auto next = [&text] {
    const std::string_view part = text.substr(0, text.find('\0'));
    text.remove_prefix(part.size() + 1);
    return part;
  };
  Texts parts;
  for (std::string_view* part : {&parts.index, &parts.rules, &parts.behaviour, &parts.settings}) *part = next();
  return parts;
}

}  // namespace

const Texts& texts() {
  return undyingFrom<Texts>([] { return divided(undyingFrom<std::string>([] { return unpacked(); })); });
}

}  // namespace vg::tools::knowledge
