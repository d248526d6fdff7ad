#include "ptx/llvm/emit/part.h"

namespace vg::ptx::gen {

void unsupported(const Instruction& i, const char* why) {
  std::string text = nameOf(i.ast->op);
  for (uint32_t n = 0; n < i.ast->typeCount; ++n) text += std::string(".") + nameOf(i.ast->types[n]);
  if (why) text += std::string(": ") + why;
  throw Unsupported{text, i.ast->line};
}

}  // namespace vg::ptx::gen
