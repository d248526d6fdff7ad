// Sequences of random calls of the driver API, most valid and many slightly wrong, and one line for each call:
//
//     call_sequences LIBRARY FIRST END [FILE]     seeds FIRST to END - 1
//
// The same program runs with any libcuda.so.1; compare_calls says where two transcripts differ. Seeds run one after
// another in a child, which is replaced when a seed ends it. Exits with 1 when one did, or when work of a sequence
// failed for good.
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "families.h"
#include "objects.h"

namespace calls {
namespace {

constexpr unsigned kSecondsUntilHung = 60;
constexpr int kNoDriver = 91, kStickyError = 80;

struct Area {
  const char* name;
  int operations;
  std::vector<Weighted> families;
};

// A seed's remainder says its area, so any range of seeds has something of each.
std::vector<Area> allAreas() {
  return {
      {"memory", 70, {{25, allocate}, {60, callMemory}, {10, callManagedMemory}, {8, callCopies}, {2, createStream}}},
      {"copies", 70, {{14, allocate}, {10, createSimpleArray}, {60, callCopies}, {12, callMemory}, {2, createStream}}},
      {"arrays", 80, {{1, callArrays}}},
      {"textures",
       100,
       {{12, allocate}, {10, createSimpleArray}, {20, callArrays}, {80, callTextures}, {20, callTextureReferences}}},
      {"virtual memory", 80, {{60, callVirtualMemory}, {2, allocate}}},
      {"pools", 70, {{60, callPools}, {3, createStream}}},
      {"streams", 70, {{60, callStreams}, {5, allocate}}},
      {"captures", 60, {{15, createStream}, {40, callCaptures}, {30, callStreams}, {4, allocate}}},
      {"contexts", 50, {{1, callContexts}}},
      {"modules", 60, {{18, callModules}, {14, callLibraries}, {25, callFunctions}, {6, callLinks}, {8, loadModule}}},
      {"launches",
       60,
       {{10, callLibraries},
        {20, callFunctions},
        {60, callLaunches},
        {14, loadModule},
        {8, allocate},
        {2, createStream}}},
      {"tensor maps", 150, {{1, callTensorMaps}}},
      {"graphs", 90, {{40, callGraphs}, {30, callGraphNodes}, {6, loadModule}, {8, allocate}, {2, createEvent}}},
      {"executable graphs",
       90,
       {{25, callGraphs},
        {25, callGraphNodes},
        {30, callExecutables},
        {6, loadModule},
        {8, allocate},
        {2, createStream}}},
      {"devices", 80, {{60, callDevices}, {8, allocate}}},
  };
}

void releaseAll() {
  CALL(cuCtxSetCurrent, primary);
  releaseStreams();
  releaseContexts();
  releaseDevices();
  releaseGraphs();
  releaseModules();
  releaseLibraries();
  releaseTextures();
  releaseTextureReferences();
  releaseArrays();
  releasePools();
  releaseVirtualMemory();
  releaseMemory();
}

void runSequence(const Area& area, unsigned seed) {
  for (int place = 0; place < area.operations; ++place) {
    beginOperation(seed, static_cast<unsigned>(place));
    pickOf(area.families);
    endLine();
  }
}

[[noreturn]] void runSeeds(const char* path, unsigned first, unsigned end) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  openLibrary(path);
  if (CALL(cuInit, 0) || CALL(cuDevicePrimaryCtxRetain, &primary, 0) || CALL(cuCtxSetCurrent, primary)) {
    std::fprintf(stderr, "the driver does not start\n");
    _exit(kNoDriver);
  }
  void* const around = mmap(nullptr, 3 * kPageableBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  usePageable(static_cast<char*>(around) + kPageableBytes);
  releaseAll();  // learns the limits that later ones set back
  const std::vector<Area> areas = allAreas();
  for (unsigned seed = first; seed < end; ++seed) {
    *progress = {.seed = seed, .line = 0, .call = {}};
    alarm(kSecondsUntilHung);
    std::memset(around, 0x77, 3 * kPageableBytes);
    runSequence(areas[seed % areas.size()], seed);
    beginLine("release");
    noteLine();
    releaseAll();
    const CUresult left = CALL(cuCtxSynchronize);
    if (left == CUDA_SUCCESS) continue;
    answered(left);
    endLine();
    progress->seed = seed + 1;
    _exit(kStickyError);
  }
  progress->seed = end;
  _exit(0);
}

// Returns whether all seeds came to their end.
bool runAll(const char* path, unsigned first, unsigned end) {
  bool allWell = true;
  while (first < end) {
    *progress = {.seed = first, .line = 0, .call = {}};
    std::fflush(transcript);
    const pid_t child = fork();
    if (child == 0) runSeeds(path, first, end);
    int status = 0;
    waitpid(child, &status, 0);
    first = progress->seed;
    if (first == end) break;
    // Work at wild addresses ends a context, as with a real driver: the next seeds have a process of their own.
    if (WIFEXITED(status) && WEXITSTATUS(status) == kStickyError) continue;
    allWell = false;
    if (!progress->call[0]) return false;  // the driver did not start
    const std::string how = WIFSIGNALED(status) ? std::string("killed: ") + strsignal(WTERMSIG(status)) : "exited";
    std::fseek(transcript, 0, SEEK_END);
    std::fprintf(transcript, "%s\t%s\t\n", progress->call, how.c_str());
    const std::vector<Area> areas = allAreas();
    std::fprintf(stderr, "%s (%s): %s\n", how.c_str(), areas[first % areas.size()].name, progress->call);
    ++first;
  }
  return allWell;
}

}  // namespace
}  // namespace calls

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "call_sequences LIBRARY FIRST END [FILE]\n");
    return 2;
  }
  using namespace calls;
  transcript = argc > 4 ? std::fopen(argv[4], "w") : stdout;
  progress = static_cast<Progress*>(
      mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (!transcript || progress == MAP_FAILED) return 2;
  const auto first = static_cast<unsigned>(std::strtoul(argv[2], nullptr, 10));
  const auto end = static_cast<unsigned>(std::strtoul(argv[3], nullptr, 10));
  return runAll(argv[1], first, end) ? 0 : 1;
}
