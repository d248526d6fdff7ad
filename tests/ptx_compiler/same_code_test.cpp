// The same PTX becomes the same bytes in every process: no address, and nothing that was compiled before, decides what
// code is made. Two processes, each with addresses of its own, compile all kernels, one of them in the opposite order
// and in memory that was full of noise; then the code is compared.
//
//   ptx_compiler_same_code [-w] [-s N/M] [-d DIR] FILE...
//   -w      good and quick code, three shapes of blocks, every target; otherwise one of these for each kernel, by turns
//   -s N/M  only every M-th kernel, from the N-th on (from 0)
//   -d DIR  dumps into DIR/forwards and DIR/backwards
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/text/entry_bodies.h"
#include "ptx_compiler/harness.h"

using namespace vg::ptx;
using namespace vg::ptx::test;

namespace {

struct Options {
  bool whole = false;
  uint32_t part = 0, parts = 1;
  std::string dump;
  std::vector<std::string> files;
};

// One compile.
struct Item {
  std::string text, entry, label;
  const Target* target;
  Shape3 block;
  uint32_t flags;
};

const std::vector<Shape3>& shapes() {
  static const std::vector<Shape3> all = {{64, 1, 1}, {33, 1, 1}, {16, 16, 1}};
  return all;
}

std::string contentOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// --- What is compiled --------------------------------------------------------------------------------------------

std::vector<Item> waysOf(const std::string& text, const std::string& entry, const std::string& label) {
  std::vector<Item> all;
  for (const Target& target : allTargets())
    for (const Shape3& block : shapes())
      for (const uint32_t flags : {0u, kMayBeQuick | kQuickAnyway})
        all.push_back({text, entry,
                       label + " " + target.name + " " + std::to_string(block.x) + "x" + std::to_string(block.y) +
                           (flags ? " quick" : " good"),
                       &target, block, flags});
  return all;
}

std::vector<Item> itemsOf(const Options& options) {
  std::vector<Item> items;
  uint32_t number = 0;
  for (const std::string& path : options.files) {
    const std::string text = contentOf(path);
    const EntryBodies entries(text);
    for (const EntryBodies::Body& body : entries.bodies()) {
      const uint32_t n = number++;
      if (n % options.parts != options.part) continue;
      std::vector<Item> ways =
          waysOf(entries.withOnly(body.name), std::string(body.name), path + " " + std::string(body.name));
      if (!options.whole) ways = {ways[n * 7 % ways.size()]};
      items.insert(items.end(), ways.begin(), ways.end());
    }
  }
  return items;
}

// --- In the processes --------------------------------------------------------------------------------------------

uint64_t hashOf(const std::vector<uint8_t>& bytes) {
  uint64_t hash = 14695981039346656037u;
  for (const uint8_t byte : bytes) hash = (hash ^ byte) * 1099511628211u;
  return hash;
}

void compileAll(const Options& options, bool backwards) {
  std::vector<Item> items = itemsOf(options);
  if (backwards) {
    lendNoise(1);
    std::reverse(items.begin(), items.end());
  }
  const std::string folder = options.dump + (backwards ? "/backwards" : "/forwards");
  for (const Item& item : items) {
    CompiledKernel kernel;
    const int status = kernel.compile(item.text, item.entry, *item.target, item.block, nullptr,
                                      options.dump.empty() ? nullptr : folder.c_str(), item.flags);
    std::printf("%016llx\t%s\n", status ? 0ull : static_cast<unsigned long long>(hashOf(encode(kernel.blob))),
                item.label.c_str());
  }
}

// --- Above them --------------------------------------------------------------------------------------------------

using Hashes = std::map<std::string, std::string>;  // of what was made, by label

FILE* start(char** argv, const char* order, pid_t* child) {
  int ends[2];
  if (pipe(ends)) return nullptr;
  std::vector<char*> arguments{argv[0], const_cast<char*>("--compile"), const_cast<char*>(order)};
  for (char** a = argv + 1; *a; ++a) arguments.push_back(*a);
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  posix_spawn_file_actions_addclose(&actions, ends[1]);
  const int failed = posix_spawn(child, "/proc/self/exe", &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  return failed ? nullptr : fdopen(ends[0], "r");
}

bool collect(FILE* from, pid_t child, Hashes& out) {
  if (!from) return false;
  char* line = nullptr;
  size_t room = 0;
  for (ssize_t length; (length = getline(&line, &room, from)) > 17;)
    out[std::string(line + 17, static_cast<size_t>(length) - 18)] = std::string(line, 16);
  std::free(line);
  std::fclose(from);
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

int compareProcesses(char** argv) {
  pid_t children[2];
  FILE* const first = start(argv, "forwards", &children[0]);
  FILE* const second = start(argv, "backwards", &children[1]);
  Hashes forwards, backwards;
  const bool one = collect(first, children[0], forwards), other = collect(second, children[1], backwards);
  if (!one || !other) return std::printf("a compiling process failed\n"), 2;
  unsigned differ = 0, refused = 0;
  for (const auto& [label, hash] : forwards) {
    refused += hash == std::string(16, '0');
    if (backwards[label] == hash) continue;
    ++differ;
    std::printf("differs: %s\n", label.c_str());
  }
  std::printf("%zu compiles, %u refused, %u differ\n", forwards.size(), refused, differ);
  if (forwards.empty() || refused * 4 > forwards.size()) return std::printf("too little was compiled\n"), 2;
  return differ != 0;
}

Options optionsOf(int argc, char** argv, int from) {
  Options options;
  for (int a = from; a < argc; ++a) {
    const std::string_view word = argv[a];
    if (word == "-w")
      options.whole = true;
    else if (word == "-d" && a + 1 < argc)
      options.dump = argv[++a];
    else if (word == "-s" && a + 1 < argc && std::sscanf(argv[a + 1], "%u/%u", &options.part, &options.parts) == 2)
      ++a;
    else
      options.files.emplace_back(word);
  }
  options.parts = std::max(options.parts, 1u);
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || std::string_view(argv[1]) != "--compile") return compareProcesses(argv);
  const Options options = optionsOf(argc, argv, 3);
  if (!options.dump.empty()) mkdir(options.dump.c_str(), 0777);
  compileAll(options, std::string_view(argv[2]) == "backwards");
  return 0;
}
