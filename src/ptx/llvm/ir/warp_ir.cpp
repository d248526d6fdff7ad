#include "ptx/llvm/ir/warp_ir.h"

#include <cstdarg>
#include <cstdio>

namespace vg::ptx::gen {

void unsupportedConstruct(uint32_t line, const char* format, ...) {
  char text[400];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  throw Unsupported{text, line};
}

uint32_t bitsOf(Class c) {
  switch (c) {
    case Class::Pred:
      return 1;
    case Class::I8:
      return 8;
    case Class::I16:
      return 16;
    case Class::I32:
    case Class::F32:
      return 32;
    case Class::I64:
    case Class::F64:
      return 64;
    case Class::I128:
      return 128;
  }
  return 0;
}

Class integerClass(uint32_t bits) {
  switch (bits) {
    case 1:
      return Class::Pred;
    case 8:
      return Class::I8;
    case 16:
      return Class::I16;
    case 32:
      return Class::I32;
    case 64:
      return Class::I64;
    default:
      return Class::I128;
  }
}

}  // namespace vg::ptx::gen
