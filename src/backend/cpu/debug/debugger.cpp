#include "backend/cpu/debug/debugger.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "backend/cpu/code/coverage.h"
#include "backend/cpu/code/kernel_code.h"
#include "backend/cpu/debug/debug_facts.h"
#include "backend/cpu/debug/debug_object.h"
#include "base/settings.h"
#include "base/sync/mutex.h"

// The interface as GDB's manual has it: a debugger stops at the function and reads the list.
extern "C" {
struct jit_code_entry {
  jit_code_entry* next_entry;
  jit_code_entry* prev_entry;
  const char* symfile_addr;
  uint64_t symfile_size;
};
struct jit_descriptor {
  uint32_t version;
  uint32_t action_flag;
  jit_code_entry* relevant_entry;
  jit_code_entry* first_entry;
};
// NOLINTBEGIN(bugprone-reserved-identifier): names of the interface
// Protected: other libraries of the process have a list of their own by the same name.
__attribute__((visibility("protected"), used)) constinit jit_descriptor __jit_debug_descriptor = {1, 0, nullptr,
                                                                                                  nullptr};
__attribute__((visibility("protected"), noinline, used)) void __jit_debug_register_code() {
  asm volatile("" ::: "memory");
}
// NOLINTEND(bugprone-reserved-identifier)
}

namespace vg::backend::cpu::debugger {

// Kernels on the debugger's list, for its script: where their code is, and what there is to know of them as JSON.
struct KernelFacts {
  KernelFacts* next;
  uint64_t start, size;
  const char* facts;
};
static constexpr uint32_t kThreads = coverage::ThreadNumber::kMost;
extern "C" {
__attribute__((visibility("protected"), used)) constinit KernelFacts* volatile verdigris_debug_kernels = nullptr;
__attribute__((visibility("protected"), used)) constinit Standing verdigris_debug_threads[kThreads] = {};
}
// As src/gdb/verdigris-gdb.py reads them.
static_assert(kThreads == 1024 && sizeof(Standing) == 24 && offsetof(ptx::BlockState, launch) == 0 &&
              offsetof(ptx::BlockState, blockIndex) == 8 && offsetof(ptx::BlockState, blocks) == 68 &&
              offsetof(ptx::BlockState, warp) == 72 && offsetof(ptx::BlockState, shared) == 24 &&
              offsetof(ptx::BlockState, sharedOffset) == 44 && offsetof(ptx::BlockState, kept) == 104 &&
              offsetof(ptx::KernelLaunch, globals) == 8 && offsetof(ptx::KernelLaunch, gridSize) == 16 &&
              offsetof(ptx::KernelLaunch, blockSize) == 28 && offsetof(ptx::KernelLaunch, threadsPerBlock) == 40);

namespace {

enum Action : uint32_t { Nothing, Register, Unregister };

constinit Mutex listMutex;

void tell(Action action, jit_code_entry* entry) {
  __jit_debug_descriptor.action_flag = action;
  __jit_debug_descriptor.relevant_entry = entry;
  __jit_debug_register_code();
  __jit_debug_descriptor.action_flag = Nothing;
}

class Entry final : public Shown {
 public:
  Entry(std::vector<std::byte> object, const LoadedKernel& kernel, std::string facts)
      : object_(std::move(object)), text_(std::move(facts)) {
    facts_ = {nullptr, reinterpret_cast<uint64_t>(kernel.code()), kernel.textSize(), text_.c_str()};
    entry_.symfile_addr = reinterpret_cast<const char*>(object_.data());
    entry_.symfile_size = object_.size();
    const MutexLock lock(listMutex);
    facts_.next = verdigris_debug_kernels;
    verdigris_debug_kernels = &facts_;
    entry_.next_entry = __jit_debug_descriptor.first_entry;
    entry_.prev_entry = nullptr;
    if (entry_.next_entry) entry_.next_entry->prev_entry = &entry_;
    __jit_debug_descriptor.first_entry = &entry_;
    tell(Register, &entry_);
  }
  ~Entry() override {
    const MutexLock lock(listMutex);
    if (verdigris_debug_kernels == &facts_) {
      verdigris_debug_kernels = facts_.next;
    } else {
      KernelFacts* before = verdigris_debug_kernels;
      while (before->next != &facts_) before = before->next;
      before->next = facts_.next;
    }
    (entry_.prev_entry ? entry_.prev_entry->next_entry : __jit_debug_descriptor.first_entry) = entry_.next_entry;
    if (entry_.next_entry) entry_.next_entry->prev_entry = entry_.prev_entry;
    tell(Unregister, &entry_);
  }

 private:
  const std::vector<std::byte> object_;
  const std::string text_;
  jit_code_entry entry_{};
  KernelFacts facts_{};
};

// What the source of each PTX line is; one text's lines may be another one's of a linked module, so the kernel's own
// function goes first.
using Places = std::map<uint32_t, const ptx::SourceLocation*>;
Places placesOf(const ptx::Module& module, uint32_t function) {
  Places places;
  const auto add = [&](const ptx::Function& f) {
    for (const ptx::Instruction& i : f.body)
      if (i.location && module.locations[i.location - 1].line)
        places.try_emplace(i.line, &module.locations[i.location - 1]);
  };
  add(module.functions[function]);
  for (const ptx::Function& f : module.functions) add(f);
  return places;
}

uint32_t numberOf(const std::string& file, std::vector<std::string>& files) {
  const auto known = std::ranges::find(files, file);
  if (known != files.end()) return static_cast<uint32_t>(known - files.begin()) + 1;
  files.push_back(file);
  return static_cast<uint32_t>(files.size());
}

// A block is compiled for lanes that are all there, for some of them, and for those that went one way. Each copy notes
// where lanes are before it begins.
void describeCopies(const LoadedKernel& kernel, DebugFunction& out) {
  std::set<uint32_t> seen;
  bool begins = false;
  for (const ptx::LineEntry& line : kernel.lines()) {
    if (line.ptxLine & ptx::kNoted) {
      begins |= !seen.insert(line.ptxLine).second;
      if (begins) seen = {line.ptxLine};
    } else if (std::exchange(begins, false)) {
      out.copies.push_back(out.start + line.codeOffset);
    }
  }
}

// A file with a text, which a debugger shows.
std::string textFile(const std::string& text) {
  std::string folder = kernelCacheFolder();
  if (folder.empty()) folder = "/tmp";
  char name[40];
  std::snprintf(name, sizeof name, "/%016zx.ptx", std::hash<std::string>()(text));
  std::string path = folder + name;
  if (access(path.c_str(), R_OK)) std::ofstream(path, std::ios::binary) << text;
  return path;
}

// Rows of lines of the source, also where a copy goes on with the line before it. Where the text has none, of the text.
void describeLines(const LoadedKernel& kernel, const ptx::Module& module, uint32_t function,
                   const std::vector<std::string>& texts, DebugFunction& out) {
  const ptx::Function& f = module.functions[function];
  const Places places = placesOf(module, function);
  const bool hasSource = std::ranges::any_of(f.body, [](const ptx::Instruction& i) { return i.location != 0; });
  const auto add = [&](uint64_t address, uint32_t ptxLine) {
    const auto place = places.find(ptxLine);
    if (hasSource && place == places.end()) return;
    const std::string& file = hasSource ? module.files[place->second->file] : out.files[0];
    const DebugRow row{address, numberOf(file, out.files), hasSource ? place->second->line : ptxLine};
    const bool isSame = !out.rows.empty() && out.rows.back().file == row.file && out.rows.back().line == row.line;
    if (isSame && !std::ranges::binary_search(out.copies, address)) return;
    out.rows.push_back(row);
  };
  if (!hasSource) out.files.push_back(textFile(texts[0]));
  if (!f.body.empty()) add(out.start, f.body[0].line);
  for (const ptx::LineEntry& line : kernel.lines())
    if (!(line.ptxLine & ptx::kNoted)) add(out.start + line.codeOffset, line.ptxLine);
}

}  // namespace

Standing* standing(uint32_t thread) {
  if (!on()) return nullptr;
  verdigris_debug_threads[thread].thread = static_cast<uint64_t>(gettid());
  return &verdigris_debug_threads[thread];
}

bool on() { return truthy(settings().debug); }

std::unique_ptr<Shown> show(const LoadedKernel& kernel, const ptx::Module& module, uint32_t function,
                            const std::vector<std::string>& texts) {
  if (!kernel.textSize()) return nullptr;
  DebugFunction shown;
  shown.name = module.functions[function].name;
  shown.start = reinterpret_cast<uint64_t>(kernel.code());
  shown.size = kernel.textSize();
  describeCopies(kernel, shown);
  describeLines(kernel, module, function, texts, shown);
  return std::make_unique<Entry>(makeDebugObject(shown), kernel, debugFacts(kernel, module, function, texts));
}

}  // namespace vg::backend::cpu::debugger
