// Every live entry point called with null, stale, foreign and made-up arguments of the right types: each call must come
// back with a result that has a name, and neither crash nor hang. Memory the calls may write is real; what a caller
// could never promise (a pointer to nowhere where the API writes) is not tried.
//
// Each entry point runs in a process of its own, so that a crash names its culprit. The calls are the same in each run.
#include <cuda.h>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "api/entry/interop.h"

// Of cudaProfiler.h.
extern "C" CUresult cuProfilerInitialize(const char* configFile, const char* outputFile, CUoutput_mode outputMode);
extern "C" CUresult cuProfilerStart();
extern "C" CUresult cuProfilerStop();

namespace {

constexpr int kRounds = 300;
constexpr int kCallsInSequence = 3000;
constexpr unsigned kSecondsUntilHung = 60;
constexpr size_t kScratchBytes = size_t{256} << 20;

const char kPtx[] =
    ".version 7.0\n.target sm_50\n.address_size 64\n.global .u32 word;\n.visible .entry nothing() { ret; }\n";

void* library = nullptr;

template <class Function>
Function* find(const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

// What the arguments are drawn from: living and dead objects, and memory that any call may write.
struct World {
  std::mt19937 random{20240607};
  std::byte* scratch = nullptr;
  std::vector<const void*> handles;
  std::vector<CUdeviceptr> addresses;
  unsigned succeeded = 0;
  bool movesMemory = false;  // sizes must stay within what the host's end of the copy has

  unsigned pick(size_t count) { return static_cast<unsigned>(random() % count); }
  template <class T, size_t kCount>
  T oneOf(const T (&values)[kCount]) {
    return values[pick(kCount)];
  }
};

World world;

#define MUST(call)                                                \
  if (const CUresult result = call) {                             \
    std::fprintf(stderr, "%s answered %d\n", #call, (int)result); \
    _exit(100);                                                   \
  }
#define FIND(name) find<decltype(::name)>(#name)

template <class Return, class... Args>
Return callback(Args...) {
  return Return();
}

void makeWorld() {
  world.scratch = static_cast<std::byte*>(
      mmap(nullptr, kScratchBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  CUcontext primary, created;
  MUST(FIND(cuInit)(0));
  MUST(FIND(cuCtxCreate_v2)(&created, 0, 0));
  MUST(FIND(cuDevicePrimaryCtxRetain)(&primary, 0));
  MUST(FIND(cuCtxSetCurrent)(primary));
  CUstream stream, deadStream;
  CUevent event, deadEvent;
  MUST(FIND(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
  MUST(FIND(cuStreamCreate)(&deadStream, 0));
  MUST(FIND(cuStreamDestroy_v2)(deadStream));
  MUST(FIND(cuEventCreate)(&event, 0));
  MUST(FIND(cuEventCreate)(&deadEvent, 0));
  MUST(FIND(cuEventDestroy_v2)(deadEvent));
  CUmodule module, deadModule;
  CUfunction function, deadFunction;
  MUST(FIND(cuModuleLoadData)(&module, kPtx));
  MUST(FIND(cuModuleGetFunction)(&function, module, "nothing"));
  MUST(FIND(cuModuleLoadData)(&deadModule, kPtx));
  MUST(FIND(cuModuleGetFunction)(&deadFunction, deadModule, "nothing"));
  MUST(FIND(cuModuleUnload)(deadModule));
  CUlibrary loaded;
  CUkernel kernel;
  MUST(FIND(cuLibraryLoadData)(&loaded, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0));
  MUST(FIND(cuLibraryGetKernel)(&kernel, loaded, "nothing"));
  CUmemoryPool pool;
  MUST(FIND(cuDeviceGetDefaultMemPool)(&pool, 0));
  CUdeviceptr device, freed, managed;
  void* pinned;
  MUST(FIND(cuMemAlloc_v2)(&device, 4096));
  MUST(FIND(cuMemAlloc_v2)(&freed, 4096));
  MUST(FIND(cuMemFree_v2)(freed));
  MUST(FIND(cuMemAllocManaged)(&managed, 4096, CU_MEM_ATTACH_GLOBAL));
  MUST(FIND(cuMemHostAlloc)(&pinned, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
  CUgraph graph, deadGraph;
  CUgraphNode node, deadNode;
  CUgraphExec executable, deadExecutable;
  CUuserObject userObject;
  MUST(FIND(cuGraphCreate)(&graph, 0));
  MUST(FIND(cuGraphAddEmptyNode)(&node, graph, nullptr, 0));
  MUST(FIND(cuGraphInstantiateWithFlags)(&executable, graph, 0));
  MUST(FIND(cuGraphCreate)(&deadGraph, 0));
  MUST(FIND(cuGraphAddEmptyNode)(&deadNode, deadGraph, nullptr, 0));
  MUST(FIND(cuGraphInstantiateWithFlags)(&deadExecutable, deadGraph, 0));
  MUST(FIND(cuGraphExecDestroy)(deadExecutable));
  MUST(FIND(cuGraphDestroy)(deadGraph));
  MUST(FIND(cuUserObjectCreate)(&userObject, nullptr, &callback<void, void*>, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
  world.handles = {nullptr,
                   graph,
                   deadGraph,
                   node,
                   deadNode,
                   executable,
                   deadExecutable,
                   userObject,
                   primary,
                   created,
                   stream,
                   deadStream,
                   event,
                   deadEvent,
                   module,
                   deadModule,
                   function,
                   deadFunction,
                   loaded,
                   kernel,
                   pool,
                   pinned,
                   world.scratch,
                   reinterpret_cast<const void*>(1),
                   reinterpret_cast<const void*>(2),
                   reinterpret_cast<const void*>(16),
                   reinterpret_cast<const void*>(~uintptr_t{0}),
                   reinterpret_cast<const char*>(stream) + 8};
  world.addresses = {0,
                     device,
                     device + 4,
                     device + 4095,
                     device + 4096,
                     freed,
                     managed,
                     managed + 100,
                     reinterpret_cast<CUdeviceptr>(pinned),
                     reinterpret_cast<CUdeviceptr>(world.scratch),
                     1,
                     16};
}

template <class T>
concept Complete = requires {
  sizeof(T);
};

// An argument of type T.
template <class T>
struct Draw {
  static T value() {
    if constexpr (std::is_enum_v<T>) {
      const int values[] = {0, 1, 2, 3, 4, 7, 20, 100, -1, 0x7fffffff};
      return static_cast<T>(world.oneOf(values));
    } else if constexpr (std::is_same_v<T, unsigned long long>) {
      // A copy takes what is nobody's for the caller's own memory: addresses of nothing come last and are left out
      // there.
      return world.addresses[world.pick(world.addresses.size() - (world.movesMemory ? 2 : 0))];
    } else if constexpr (std::is_floating_point_v<T>) {
      const T values[] = {0, 1, -1, static_cast<T>(1e30)};
      return world.oneOf(values);
    } else if constexpr (std::is_integral_v<T> && sizeof(T) == 8) {
      const unsigned long long values[] = {0, 1, 3, 4, 64, 4096, 4097, 1u << 20, ~0ull, 1ull << 62};
      const unsigned long long drawn = world.oneOf(values);
      return static_cast<T>(world.movesMemory ? drawn % (1u << 21) : drawn);
    } else if constexpr (std::is_integral_v<T>) {
      const int values[] = {0, 1, 2, 3, 5, 32, 1024, 65536, -1};
      const int drawn = world.oneOf(values);
      return static_cast<T>(std::is_unsigned_v<T> && drawn < 0 ? 9 : drawn);  // counts beyond the memory given are lies
    } else {
      T value;  // a structure by value
      std::memset(&value, 0, sizeof value);
      return value;
    }
  }
};

template <class T>
struct Draw<T*> {
  static T* value() {
    if constexpr (std::is_same_v<T, const char>) {
      static const std::string kLong(5000, 'x');
      const char* const values[] = {nullptr, "", "nothing", "word", "/no/such/file", kLong.c_str()};
      return world.oneOf(values);
    } else if constexpr (std::is_void_v<T> || Complete<T>) {
      if (world.pick(4) == 0) return nullptr;
      // A corner of its own for each argument, cleared, so that pointers inside it are null.
      std::byte* const corner = world.scratch + (size_t{world.pick(8)} << 24);
      std::memset(corner, 0, 4096);
      if (!std::is_pointer_v<T> && world.pick(3) == 0) corner[0] = static_cast<std::byte>(world.pick(16));
      return reinterpret_cast<T*>(corner);
    } else {
      return reinterpret_cast<T*>(const_cast<void*>(world.handles[world.pick(world.handles.size())]));
    }
  }
};

template <class Return, class... Args>
struct Draw<Return (*)(Args...)> {
  static auto value() -> Return (*)(Args...) { return world.pick(2) ? nullptr : &callback<Return, Args...>; }
};

template <class... Args>
void attack(const char* name, CUresult (*)(Args...)) {
  auto* const function = find<CUresult(Args...)>(name);
  static auto* const resultName = FIND(cuGetErrorName);
  for (const char* writer : {"cuMemcpy", "cuMemset", "cuMemRangeGet", "cuMemGetLocationInfo"})
    if ((world.movesMemory = !std::strncmp(name, writer, std::strlen(writer)))) break;
  std::tuple<Args...> arguments{Draw<Args>::value()...};
  const CUresult result = std::apply(function, arguments);
  world.succeeded += result == CUDA_SUCCESS;
  const char* text = nullptr;
  if (resultName(result, &text) == CUDA_SUCCESS) return;
  std::fprintf(stderr, "%s answered %d, which is no result\n", name, static_cast<int>(result));
  _exit(101);
}

struct EntryPoint {
  const char* name;
  void (*attack)();
};

#define CU_LIVE(name, since, needs, twin, params, args) \
  {#name, [] { attack(#name, static_cast<decltype(&::name)>(nullptr)); }},
#define CU_STUB(name, since, needs, twin, params, args)
const EntryPoint kLive[] = {
#include "api/entry/entry_points.inc"
};

// Runs `body` in a process of its own, with a driver and the world in it.
void inOwnProcess(const std::string& what, void (*body)(unsigned), unsigned argument) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(kSecondsUntilHung);
    setenv("VERDIGRIS_LOG", "off", 1);
    setenv("VERDIGRIS_MEMORY", "256MiB", 1);
    library = dlopen(LIBCUDA, RTLD_NOW);
    if (!library) _exit(99);
    makeWorld();
    body(argument);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << what << " was ended by signal " << WTERMSIG(status) << " ("
                                 << strsignal(WTERMSIG(status)) << ")";
  EXPECT_EQ(WEXITSTATUS(status), 0) << what;
}

class HostileCalls : public testing::TestWithParam<unsigned> {};

TEST_P(HostileCalls, ComeBackWithAResult) {
  const auto body = [](unsigned which) {
    for (int round = 0; round < kRounds; ++round) kLive[which].attack();
  };
  inOwnProcess(kLive[GetParam()].name, body, GetParam());
}

INSTANTIATE_TEST_SUITE_P(EntryPoints, HostileCalls, testing::Range(0u, static_cast<unsigned>(std::size(kLive))),
                         [](const auto& info) { return std::string(kLive[info.param].name); });

// Waiting for a value that nobody writes is what these are for.
bool mayBlockForEver(const char* name) { return std::strstr(name, "WaitValue") || std::strstr(name, "BatchMemOp"); }

// Calls that take the current context away, or leave it in error, would otherwise make all later ones fail at the door.
void restoreContext() {
  const CUresult state = FIND(cuStreamQuery)(nullptr);
  if (state != CUDA_SUCCESS && state != CUDA_ERROR_NOT_READY) FIND(cuDevicePrimaryCtxReset)(0);
  CUcontext primary;
  if (FIND(cuDevicePrimaryCtxRetain)(&primary, 0) == CUDA_SUCCESS) FIND(cuCtxSetCurrent)(primary);
}

class HostileSequences : public testing::TestWithParam<unsigned> {};

// All entry points in one process, one after the other at random: objects die while others still refer to them.
TEST_P(HostileSequences, LeaveTheProcessAlive) {
  const auto body = [](unsigned seed) {
    world.random.seed(seed);
    for (int call = 0; call < kCallsInSequence; ++call) {
      const EntryPoint& entry = kLive[world.pick(std::size(kLive))];
      if (mayBlockForEver(entry.name)) continue;
      if (std::getenv("HOSTILE_VERBOSE")) std::fprintf(stderr, "%d %s\n", call, entry.name);
      if (call % 8 == 0) restoreContext();
      entry.attack();
    }
    if (world.succeeded < kCallsInSequence / 20) {
      std::fprintf(stderr, "only %u calls succeeded: this tests nothing\n", world.succeeded);
      _exit(102);
    }
  };
  inOwnProcess("seed " + std::to_string(GetParam()) + " (HOSTILE_VERBOSE=1 names each call)", body, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Seeds, HostileSequences, testing::Range(1u, 21u));

}  // namespace
