#include "check/reports/caller.h"

#include <dlfcn.h>
#include <elf.h>
#include <unwind.h>

#include <algorithm>
#include <cstdio>

#include "base/text/plain_names.h"
#include "check/reports/host_lines.h"

namespace vg::check {
namespace {

constexpr size_t kShown = 6;

struct Walk {
  uintptr_t* next;
  uintptr_t* end;
};

_Unwind_Reason_Code visit(_Unwind_Context* context, void* state) {
  auto& walk = *static_cast<Walk*>(state);
  if (walk.next == walk.end) return _URC_END_OF_STACK;
  // A frame that a signal interrupted is at the instruction, not behind a call.
  int atInstruction = 0;
  const uintptr_t address = _Unwind_GetIPInfo(context, &atInstruction);
  *walk.next++ = address + (atInstruction ? 1 : 0);
  return _URC_NO_REASON;
}

std::string nameOf(uintptr_t address, const Dl_info& info) {
  char text[64];
  std::snprintf(text, sizeof text, "0x%zx", address - reinterpret_cast<uintptr_t>(info.dli_fbase));
  std::string name = text;
  if (info.dli_sname) name += " (" + plainName(info.dli_sname) + ")";
  const std::string file = info.dli_fname ? info.dli_fname : "?";
  return file.substr(file.rfind('/') + 1) + "+" + name;
}

// The address as the file's own tables count it.
uint64_t addressInFile(uintptr_t address, const Dl_info& info) {
  const auto& header = *static_cast<const Elf64_Ehdr*>(info.dli_fbase);
  return header.e_type == ET_EXEC ? address : address - reinterpret_cast<uintptr_t>(info.dli_fbase);
}

std::string lineOf(uintptr_t address, const Dl_info& info) {
  return info.dli_fname ? hostLine(info.dli_fname, addressInFile(address, info)) : "";
}

}  // namespace

Caller Caller::here() {
  Caller caller;
  Walk walk{caller.frames_.data(), caller.frames_.data() + kDepth};
  _Unwind_Backtrace(visit, &walk);
  return caller;
}

Caller Caller::at(uintptr_t instruction) {
  Caller caller = here();
  const auto found = std::find(caller.frames_.begin(), caller.frames_.end(), instruction + 1);
  if (found == caller.frames_.end()) {
    caller.frames_ = {instruction + 1};
    return caller;
  }
  std::fill(std::move(found, caller.frames_.end(), caller.frames_.begin()), caller.frames_.end(), 0);
  return caller;
}

uint64_t Caller::hash() const {
  uint64_t all = 14695981039346656037u;
  for (const uintptr_t frame : frames_) all = (all ^ frame) * 1099511628211u;
  return all;
}

std::string Caller::library() const {
  Dl_info own{};
  dladdr(reinterpret_cast<const void*>(&Caller::here), &own);
  for (const uintptr_t frame : frames_) {
    Dl_info info{};
    if (!frame || !dladdr(reinterpret_cast<const void*>(frame - 1), &info) || !info.dli_fname) continue;
    const std::string path = info.dli_fname, file = path.substr(path.rfind('/') + 1);
    if (info.dli_fbase != own.dli_fbase && !file.starts_with("libcudart.")) return file;
  }
  return {};
}

// Where some have source lines, what those call that have none is left out: runtimes.
std::string Caller::text() const {
  Dl_info own{};
  dladdr(reinterpret_cast<const void*>(&Caller::here), &own);
  std::string named, lined;
  size_t shown = 0, linedShown = 0;
  for (const uintptr_t frame : frames_) {
    Dl_info info{};
    if (!frame || shown == kShown) break;
    // The return address: the byte before it belongs to the call.
    if (!dladdr(reinterpret_cast<const void*>(frame - 1), &info) || info.dli_fbase == own.dli_fbase) continue;
    const std::string line = lineOf(frame - 1, info), name = nameOf(frame - 1, info);
    named += (shown++ ? ", " : "") + name;
    if (!line.empty() || !lined.empty()) lined += (linedShown++ ? ", " : "") + (line.empty() ? name : line);
  }
  return lined.empty() ? named : lined;
}

}  // namespace vg::check
