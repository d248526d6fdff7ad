#include "check/reports/words.h"

#include <bit>
#include <cstdio>

#include "base/text/plain_names.h"
#include "ptx/text/opcodes.h"

namespace vg::check::words {
namespace {

const char* spaceOf(const ptx::Access& access) {
  if (access.isShared) return "of shared memory at offset";
  switch (access.space) {
    case ptx::Space::Global:
      return "of global memory at";
    case ptx::Space::Local:
      return "of local memory at";
    case ptx::Space::Const:
      return "of constant memory at";
    case ptx::Space::Param:
      return "of parameters at";
    default:
      return "at";
  }
}

const char* kindOf(ptx::Access::Kind kind) {
  switch (kind) {
    case ptx::Access::Kind::Load:
      return "a load";
    case ptx::Access::Kind::Store:
      return "a store";
    case ptx::Access::Kind::Atomic:
      return "an atomic operation";
    case ptx::Access::Kind::Touch:
      return "an access";
  }
  return "";
}

}  // namespace

std::string access(const ptx::Access& access) {
  char text[160];
  std::snprintf(text, sizeof text, "%s of %zu bytes %s %#zx", kindOf(access.kind), size_t{access.bytes},
                spaceOf(access), size_t{access.address});
  return text;
}

std::string kernel(const ptx::Function& entry) { return plainName(entry.name); }

std::string place(const ptx::Module& module, const ptx::Instruction& at) {
  std::string text;
  const auto add = [&](const char* word, uint32_t file, uint32_t line) {
    if (file < module.files.size() && !module.files[file].empty())
      text += word + module.files[file] + ":" + std::to_string(line) + ", ";
  };
  if (at.location && at.location <= module.locations.size()) {
    const ptx::SourceLocation& source = module.locations[at.location - 1];
    add("at ", source.file, source.line);
    if (source.callerLine) add("called at ", source.callerFile, source.callerLine);
  }
  return text + "PTX line " + std::to_string(at.line);
}

const ptx::Instruction* instructionAt(const ptx::Module& module, uint32_t line) {
  for (const ptx::Function& function : module.functions)
    for (const ptx::Instruction& i : function.body)
      if (i.line == line) return &i;
  return nullptr;
}

FaultPlace placeOf(const ptx::Module& module, const ptx::Function& entry, const ptx::Instruction* at) {
  FaultPlace place;
  place.kernel = kernel(entry);
  if (!at) return place;
  place.ptxLine = at->line;
  if (!at->location || at->location > module.locations.size()) return place;
  const ptx::SourceLocation& source = module.locations[at->location - 1];
  if (source.file < module.files.size()) place.file = module.files[source.file];
  place.line = source.line;
  return place;
}

std::string operation(const ptx::Instruction& at) {
  if (ptx::isBarrier(at.op)) return "bar.warp.sync";
  return ptx::nameOf(at.op);
}

std::string lanes(uint32_t mask) {
  const int count = std::popcount(mask), first = std::countr_zero(mask), last = 31 - std::countl_zero(mask);
  if (count == 1) return "lane " + std::to_string(first);
  if (count == last - first + 1) return "lanes " + std::to_string(first) + " to " + std::to_string(last);
  return std::to_string(count) + " lanes";
}

std::string hex(uint32_t mask) {
  char text[16];
  std::snprintf(text, sizeof text, "%#x", mask);
  return text;
}

}  // namespace vg::check::words
