// Life in any process: each case is run in a process of its own, as `process_cases NAME`.
#include <dirent.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "driver.h"

namespace {

Driver driver;

std::set<std::string> entriesOf(const char* folder) {
  std::set<std::string> names;
  DIR* directory = opendir(folder);
  const int own = dirfd(directory);
  while (const dirent* entry = readdir(directory))
    if (entry->d_name[0] != '.' && entry->d_name != std::to_string(own)) names.insert(entry->d_name);
  closedir(directory);
  return names;
}
size_t threads() { return entriesOf("/proc/self/task").size(); }

std::string fieldOf(const std::string& file, const std::string& field) {
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);)
    if (line.rfind(field, 0) == 0) return line.substr(field.size());
  return "";
}

// Those that the library has started; sanitizers start some, too.
size_t ourThreads() {
  size_t count = 0;
  for (const std::string& thread : entriesOf("/proc/self/task"))
    count += fieldOf("/proc/self/task/" + thread + "/status", "Name:").find("vg-") != std::string::npos;
  return count;
}

void pause(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

// Runs `child` in a forked process and gives its exit status back; -1 when a signal ended it, -2 when it hung.
template <class Child>
int inChild(Child child) {
  const pid_t pid = fork();
  if (pid == 0) {
    child();
    std::exit(0);
  }
  for (int tenths = 0; tenths < 200; ++tenths) {
    int status = 0;
    if (waitpid(pid, &status, WNOHANG) == pid) return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    pause(100);
  }
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  return -2;
}

// A host function that holds its stream until told otherwise.
std::atomic<bool> held{false}, release{false};
void hold(void*) {
  held.store(true);
  while (!release.load()) pause(1);
}
void holdStream(CUstream stream) {
  EXPECT_OK(driver.cuLaunchHostFunc(stream, hold, nullptr));
  while (!held.load()) pause(1);
}

// Work that keeps a device busy for a while without end in sight.
CUdeviceptr startWork(size_t bytes = size_t{64} << 20) {
  CUdeviceptr memory = 0;
  CUstream stream = nullptr;
  EXPECT_OK(driver.cuMemAlloc_v2(&memory, bytes));
  EXPECT_OK(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  for (int round = 0; round < 20; ++round)
    EXPECT_OK(driver.cuMemsetD8Async(memory, static_cast<unsigned char>(round), bytes, stream));
  return memory;
}

std::atomic<int> environmentReads{0};

// ---- loading ----

void harmlessLoad() {
  const std::set<std::string> files = entriesOf("/proc/self/fd");
  const size_t before = mallinfo2().uordblks;
  environmentReads.store(0);
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  EXPECT(library);
  EXPECT(environmentReads.load() == 0);
  EXPECT(entriesOf("/proc/self/fd") == files);
  EXPECT(threads() == 1);
  // The C++ library takes 71 KiB for exceptions thrown without memory; the dynamic loader takes a little.
  const size_t growth = mallinfo2().uordblks - before;
  if (growth > 96 << 10) std::fprintf(stderr, "loading took %zu bytes\n", growth);
  EXPECT(growth <= 96 << 10);
  for (int signal = 1; signal < 32; ++signal) {
    struct sigaction action;
    if (sigaction(signal, nullptr, &action) == 0) EXPECT(action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN);
  }
}

void nothingBeforeInit() {
  driver.open();
  int number = 0;
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUdeviceptr memory = 0;
  EXPECT_OK(driver.cuDriverGetVersion(&number));
  EXPECT(number == CUDA_VERSION);
  const char* text = nullptr;
  EXPECT_OK(driver.cuGetErrorString(CUDA_ERROR_NOT_INITIALIZED, &text));
  EXPECT(text && *text);
  EXPECT_RESULT(driver.cuDeviceGetCount(&number), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_RESULT(driver.cuDeviceGetCount(nullptr), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_RESULT(driver.cuDeviceGet(&device, 0), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_RESULT(driver.cuCtxGetCurrent(&context), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_RESULT(driver.cuMemAlloc_v2(&memory, 16), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_RESULT(driver.cuCtxSynchronize(), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT(threads() == 1);
  EXPECT_RESULT(driver.cuInit(1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_RESULT(driver.cuDeviceGetCount(&number), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_OK(driver.cuInit(0));
  EXPECT_OK(driver.cuDeviceGetCount(&number));
  EXPECT(number >= 1);
  EXPECT_RESULT(driver.cuMemAlloc_v2(&memory, 16), CUDA_ERROR_INVALID_CONTEXT);
  for (int round = 0; round < 2000 && !ourThreads(); ++round) pause(1);  // a thread names itself
  EXPECT(ourThreads() == 1);  // one that other processes ask for checkpoints; workers start with the first work
}

void noDevice() {
  setenv("CUDA_VISIBLE_DEVICES", "", 1);
  driver.open();
  int count = 0;
  EXPECT_RESULT(driver.cuInit(0), CUDA_ERROR_NO_DEVICE);
  EXPECT_RESULT(driver.cuInit(0), CUDA_ERROR_NO_DEVICE);
  EXPECT_RESULT(driver.cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT(inChild([] { EXPECT_RESULT(driver.cuInit(0), CUDA_ERROR_NO_DEVICE); }) == 0);
}

void closeAndOpenAgain() {
  driver.open();
  driver.start();
  const auto address = driver.cuInit;
  CUdeviceptr memory = startWork();
  EXPECT(dlclose(driver.library) == 0);
  pause(20);  // threads of the library go on in code that must still be there
  driver.open();
  EXPECT(driver.cuInit == address);
  EXPECT_OK(driver.cuInit(0));
  EXPECT_OK(driver.cuCtxSynchronize());
  EXPECT_OK(driver.cuMemFree_v2(memory));
}

// ---- fork ----

void forkAfterInit() {
  driver.open();
  CUcontext context = driver.start();
  CUdeviceptr memory = startWork();
  EXPECT(inChild([&] {
           int count = 0;
           CUcontext current = nullptr;
           unsigned char byte = 0;
           EXPECT_RESULT(driver.cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
           EXPECT_RESULT(driver.cuInit(0), CUDA_ERROR_NOT_INITIALIZED);
           EXPECT_RESULT(driver.cuCtxGetCurrent(&current), CUDA_ERROR_NOT_INITIALIZED);
           EXPECT_RESULT(driver.cuCtxSynchronize(), CUDA_ERROR_NOT_INITIALIZED);
           EXPECT_RESULT(driver.cuMemcpyDtoH_v2(&byte, memory, 1), CUDA_ERROR_NOT_INITIALIZED);
           EXPECT_RESULT(driver.cuMemFree_v2(memory), CUDA_ERROR_NOT_INITIALIZED);
           EXPECT_RESULT(driver.cuDevicePrimaryCtxRelease_v2(0), CUDA_ERROR_NOT_INITIALIZED);
           EXPECT_OK(driver.cuDriverGetVersion(&count));
           // And in a child of the child.
           EXPECT(inChild([] { EXPECT_RESULT(driver.cuInit(0), CUDA_ERROR_NOT_INITIALIZED); }) == 0);
         }) == 0);
  EXPECT_OK(driver.cuCtxSynchronize());
  unsigned char byte = 0;
  EXPECT_OK(driver.cuMemcpyDtoH_v2(&byte, memory, 1));
  EXPECT(byte == 19);
  EXPECT_OK(driver.cuMemFree_v2(memory));
  EXPECT_OK(driver.cuCtxSetCurrent(context));
}

void forkWhileAHostFunctionRuns() {
  driver.open();
  driver.start();
  CUstream stream = nullptr;
  EXPECT_OK(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  holdStream(stream);
  EXPECT(inChild([] { EXPECT_RESULT(driver.cuCtxSynchronize(), CUDA_ERROR_NOT_INITIALIZED); }) == 0);
  release.store(true);
  EXPECT_OK(driver.cuCtxSynchronize());
}

void forkBeforeInit() {
  driver.open();
  EXPECT(inChild([] {
           driver.start();
           EXPECT_OK(driver.cuCtxSynchronize());
         }) == 0);
  driver.start();
  EXPECT(inChild([] { EXPECT_RESULT(driver.cuInit(0), CUDA_ERROR_NOT_INITIALIZED); }) == 0);
}

// Many forks while other threads are inside the library: no child may find a lock held or half of anything.
void forkUnderLoad() {
  driver.open();
  CUcontext context = driver.start();
  std::atomic<bool> stop{false};
  std::vector<std::thread> workers;
  for (int i = 0; i < 4; ++i)
    workers.emplace_back([&] {
      EXPECT_OK(driver.cuCtxSetCurrent(context));
      while (!stop.load()) {
        CUdeviceptr memory = 0;
        EXPECT_OK(driver.cuMemAlloc_v2(&memory, 4096));
        EXPECT_OK(driver.cuMemsetD8_v2(memory, 1, 4096));
        EXPECT_OK(driver.cuMemFree_v2(memory));
      }
    });
  for (int round = 0; round < 30; ++round)
    EXPECT(inChild([] {
             int count = 0;
             EXPECT_RESULT(driver.cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
           }) == 0);
  stop.store(true);
  for (std::thread& worker : workers) worker.join();
}

void forkAndExec() {
  driver.open();
  driver.start();
  startWork();
  EXPECT(inChild([] {
           execl("/bin/true", "true", static_cast<char*>(nullptr));
           std::_Exit(9);
         }) == 0);
  EXPECT(std::system("true") == 0);
  EXPECT_OK(driver.cuCtxSynchronize());
}

// Descriptors of the library do not pass to programs that the application starts.
void descriptorsStayHere() {
  const std::set<std::string> before = entriesOf("/proc/self/fd");
  driver.open();
  driver.start();
  startWork();
  EXPECT_OK(driver.cuCtxSynchronize());
  for (const std::string& name : entriesOf("/proc/self/fd")) {
    if (before.count(name)) continue;
    const int flags = fcntl(std::stoi(name), F_GETFD);
    EXPECT(flags < 0 || (flags & FD_CLOEXEC));
  }
}

// ---- exit ----

void exitWithWork() {
  driver.open();
  driver.start();
  startWork(size_t{256} << 20);
  std::exit(0);
}

void exitWhileAHostFunctionRuns() {
  driver.open();
  driver.start();
  CUstream stream = nullptr;
  EXPECT_OK(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  holdStream(stream);
  std::exit(0);
}

void exitFromAnotherThread() {
  driver.open();
  CUcontext context = driver.start();
  CUstream stream = nullptr;
  EXPECT_OK(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  holdStream(stream);
  std::thread([context] {
    EXPECT_OK(driver.cuCtxSetCurrent(context));
    pause(50);
    std::exit(0);
  }).detach();
  (void)driver.cuStreamSynchronize(stream);  // the main thread waits for what never ends
  EXPECT(!"the stream cannot have ended");
}

void* goingAway = nullptr;
constexpr size_t kGoingAway = size_t{64} << 20;

// What an application's destructors free while its last copies are still queued.
void exitFreesMemoryUnderWork() {
  std::atexit([] {
    EXPECT(munmap(goingAway, kGoingAway) == 0);
    pause(100);
  });
  goingAway = mmap(nullptr, kGoingAway, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  driver.open();
  driver.start();
  CUdeviceptr memory = 0;
  CUstream stream = nullptr;
  EXPECT_OK(driver.cuMemAlloc_v2(&memory, kGoingAway));
  EXPECT_OK(driver.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  (void)driver.cuMemHostRegister_v2(goingAway, kGoingAway, 0);  // refused where little may be locked
  for (int round = 0; round < 200; ++round)
    EXPECT_OK(driver.cuMemcpyDtoHAsync_v2(goingAway, memory, kGoingAway, stream));
  std::exit(0);
}

// A thread that waits for the device is joined while the process exits: it must not wait for ever.
void exitJoinsAWaitingThread() {
  static std::thread waiting;
  std::atexit([] { waiting.join(); });
  driver.open();
  CUcontext context = driver.start();
  startWork(size_t{256} << 20);
  waiting = std::thread([context] {
    (void)driver.cuCtxSetCurrent(context);
    (void)driver.cuCtxSynchronize();
  });
  pause(5);
  std::exit(0);
}

void quickExit() {
  driver.open();
  driver.start();
  startWork();
  std::quick_exit(0);
}

CUdeviceptr leftOver = 0;

void lateCalls() {
  int count = 0;
  EXPECT_RESULT(driver.cuDeviceGetCount(&count), CUDA_ERROR_DEINITIALIZED);
  EXPECT_RESULT(driver.cuInit(0), CUDA_ERROR_DEINITIALIZED);
  EXPECT_RESULT(driver.cuMemFree_v2(leftOver), CUDA_ERROR_DEINITIALIZED);
  EXPECT_RESULT(driver.cuLibraryUnload(nullptr), CUDA_ERROR_DEINITIALIZED);
  EXPECT_RESULT(driver.cuDevicePrimaryCtxRelease_v2(0), CUDA_ERROR_DEINITIALIZED);
  EXPECT_OK(driver.cuDriverGetVersion(&count));
}

void earlyCalls() {
  EXPECT_OK(driver.cuMemsetD8_v2(leftOver, 1, 16));
  EXPECT_OK(driver.cuCtxSynchronize());
}

// Handlers registered before cuInit run after the library has closed its gate, those registered later before it.
void callsInExitHandlers() {
  std::atexit(lateCalls);
  driver.open();
  driver.start();
  EXPECT_OK(driver.cuMemAlloc_v2(&leftOver, 4096));
  std::atexit(earlyCalls);
}

struct Late {
  bool armed = false;
  ~Late() {
    if (!armed) return;
    (void)driver.cuMemFree_v2(leftOver);
    (void)driver.cuCtxSynchronize();
    (void)driver.cuDevicePrimaryCtxRelease_v2(0);
  }
} late;

void callsInStaticDestructors() {
  driver.open();
  driver.start();
  EXPECT_OK(driver.cuMemAlloc_v2(&leftOver, 4096));
  startWork();
  late.armed = true;
}

// ---- threads ----

void hundredThreadsInitialise() {
  driver.open();
  constexpr int kThreads = 100;
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, nullptr, kThreads);
  std::vector<std::thread> all;
  for (int i = 0; i < kThreads; ++i)
    all.emplace_back([&] {
      pthread_barrier_wait(&barrier);
      int count = 0;
      EXPECT_OK(driver.cuInit(0));
      EXPECT_OK(driver.cuDeviceGetCount(&count));
      EXPECT(count >= 1);
      CUcontext context = nullptr;
      EXPECT_OK(driver.cuDevicePrimaryCtxRetain(&context, 0));
      EXPECT_OK(driver.cuCtxSetCurrent(context));
      CUdeviceptr memory = 0;
      EXPECT_OK(driver.cuMemAlloc_v2(&memory, 1024));
      EXPECT_OK(driver.cuMemFree_v2(memory));
      EXPECT_OK(driver.cuDevicePrimaryCtxRelease_v2(0));
    });
  for (std::thread& thread : all) thread.join();
}

void threadsComeAndGo() {
  driver.open();
  CUcontext context = driver.start();
  startWork();
  EXPECT_OK(driver.cuCtxSynchronize());
  const size_t before = threads();
  for (int round = 0; round < 300; ++round)
    std::thread([&] {
      for (int depth = 0; depth < 8; ++depth) EXPECT_OK(driver.cuCtxPushCurrent_v2(context));
      CUdeviceptr memory = 0;
      EXPECT_OK(driver.cuMemAlloc_v2(&memory, 64));
      EXPECT_OK(driver.cuMemsetD8Async(memory, 1, 64, CU_STREAM_PER_THREAD));
      EXPECT_OK(driver.cuStreamSynchronize(CU_STREAM_PER_THREAD));
      EXPECT_OK(driver.cuMemFree_v2(memory));
    }).join();
  EXPECT(threads() <= before + 2);
}

// ---- signals ----

std::atomic<int> alarms{0};
pid_t mainThread = 0;
std::atomic<bool> wrongThread{false};

void onAlarm(int) {
  alarms.fetch_add(1);
  if (gettid() != mainThread) wrongThread.store(true);
}

// Signals of the application reach its own threads only, and waiting survives being interrupted.
void signalsReachTheApplication() {
  mainThread = gettid();
  driver.open();
  driver.start();
  startWork();
  struct sigaction action {};
  action.sa_handler = onAlarm;
  EXPECT(sigaction(SIGALRM, &action, nullptr) == 0);
  itimerval timer{{0, 1000}, {0, 1000}};
  EXPECT(setitimer(ITIMER_REAL, &timer, nullptr) == 0);
  for (int round = 0; round < 5; ++round) {
    CUdeviceptr memory = startWork();
    EXPECT_OK(driver.cuCtxSynchronize());
    EXPECT_OK(driver.cuMemFree_v2(memory));
  }
  timer = {};
  setitimer(ITIMER_REAL, &timer, nullptr);
  EXPECT(alarms.load() > 0);
  EXPECT(!wrongThread.load());
  for (const std::string& thread : entriesOf("/proc/self/task")) {
    if (std::stoi(thread) == mainThread) continue;
    const std::string blocked = fieldOf("/proc/self/task/" + thread + "/status", "SigBlk:");
    const unsigned long long mask = std::stoull(blocked, nullptr, 16);
    for (int signal : {SIGALRM, SIGINT, SIGTERM, SIGCHLD, SIGUSR1, SIGPROF}) EXPECT(mask >> (signal - 1) & 1);
  }
}

void* guardedPage = nullptr;
std::atomic<int> faults{0};

void onFault(int, siginfo_t* info, void*) {
  EXPECT(info->si_addr == guardedPage);
  faults.fetch_add(1);
  mprotect(guardedPage, 4096, PROT_READ | PROT_WRITE);
}

// An application that handles its own faults goes on doing so, whether it began before the library or after.
void faultsOfTheApplicationAreItsOwn(bool before) {
  guardedPage = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  struct sigaction action {};
  action.sa_sigaction = onFault;
  action.sa_flags = SA_SIGINFO;
  if (before) EXPECT(sigaction(SIGSEGV, &action, nullptr) == 0);
  driver.open();
  driver.start();
  startWork();
  EXPECT_OK(driver.cuCtxSynchronize());
  if (!before) EXPECT(sigaction(SIGSEGV, &action, nullptr) == 0);
  *static_cast<volatile char*>(guardedPage) = 1;
  EXPECT(faults.load() == 1);
}
void faultHandlerBefore() { faultsOfTheApplicationAreItsOwn(true); }
void faultHandlerAfter() { faultsOfTheApplicationAreItsOwn(false); }

constexpr char kPoke[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry poke(.param .u64 at) {\n.reg .u64 %a;\n"
    "ld.param.u64 %a, [at]; st.global.u32 [%a], 1; ret; }\n";

// Launches that follow each other closely, and then the application's own handler, which would end the process: the
// kernel's fault is an error of the library's all the same.
void launchBehindNewHandler(int launches) {
  driver.open();
  driver.start();
  CUmodule module = nullptr;
  CUfunction poke = nullptr;
  CUdeviceptr memory = 0, nowhere = 8;
  EXPECT_OK(driver.cuModuleLoadData(&module, kPoke));
  EXPECT_OK(driver.cuModuleGetFunction(&poke, module, "poke"));
  EXPECT_OK(driver.cuMemAlloc_v2(&memory, 64));
  void* good[] = {&memory};
  void* bad[] = {&nowhere};
  struct sigaction action {};
  action.sa_handler = [](int) { std::_Exit(9); };
  for (int n = 0; n < launches; ++n)
    EXPECT_OK(driver.cuLaunchKernel(poke, 1, 1, 1, 1, 1, 1, 0, nullptr, good, nullptr));
  sigaction(SIGSEGV, &action, nullptr);
  const CUresult launched = driver.cuLaunchKernel(poke, 1, 1, 1, 1, 1, 1, 0, nullptr, bad, nullptr);
  const CUresult ended = driver.cuCtxSynchronize();
  std::_Exit(launched == CUDA_ERROR_ILLEGAL_ADDRESS || ended == CUDA_ERROR_ILLEGAL_ADDRESS ? 0 : 1);
}
void faultHandlerBetweenLaunches() {
  for (int launches = 0; launches < 1000; launches += 1 + launches / 8) {
    const pid_t child = fork();
    if (child == 0) launchBehindNewHandler(launches);
    int status = 0;
    EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
}

// ---- narrow surroundings ----

void fewDescriptors() {
  driver.open();
  int free = dup(0);
  EXPECT(free >= 0 && close(free) == 0);
  const rlimit limit{static_cast<rlim_t>(free), static_cast<rlim_t>(free)};  // not one is left
  EXPECT(setrlimit(RLIMIT_NOFILE, &limit) == 0);
  CUcontext context = nullptr;
  const CUresult result = driver.cuInit(0);
  if (result == CUDA_SUCCESS && driver.cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS) {
    EXPECT_OK(driver.cuCtxSetCurrent(context));
    CUdeviceptr memory = 0;
    const CUresult allocated = driver.cuMemAlloc_v2(&memory, 4096);  // either way, but no crash
    EXPECT(allocated == CUDA_SUCCESS || allocated == CUDA_ERROR_OUT_OF_MEMORY ||
           allocated == CUDA_ERROR_OPERATING_SYSTEM);
  }
}

struct Case {
  const char* name;
  void (*run)();
};
constexpr Case kCases[] = {
    {"harmless_load", harmlessLoad},
    {"nothing_before_init", nothingBeforeInit},
    {"no_device", noDevice},
    {"close_and_open_again", closeAndOpenAgain},
    {"fork_after_init", forkAfterInit},
    {"fork_while_a_host_function_runs", forkWhileAHostFunctionRuns},
    {"fork_before_init", forkBeforeInit},
    {"fork_under_load", forkUnderLoad},
    {"fork_and_exec", forkAndExec},
    {"descriptors_stay_here", descriptorsStayHere},
    {"exit_with_work", exitWithWork},
    {"exit_while_a_host_function_runs", exitWhileAHostFunctionRuns},
    {"exit_from_another_thread", exitFromAnotherThread},
    {"exit_frees_memory_under_work", exitFreesMemoryUnderWork},
    {"exit_joins_a_waiting_thread", exitJoinsAWaitingThread},
    {"quick_exit", quickExit},
    {"calls_in_exit_handlers", callsInExitHandlers},
    {"calls_in_static_destructors", callsInStaticDestructors},
    {"hundred_threads_initialise", hundredThreadsInitialise},
    {"threads_come_and_go", threadsComeAndGo},
    {"signals_reach_the_application", signalsReachTheApplication},
    {"fault_handler_before", faultHandlerBefore},
    {"fault_handler_after", faultHandlerAfter},
    {"fault_handler_between_launches", faultHandlerBetweenLaunches},
    {"few_descriptors", fewDescriptors},
};

}  // namespace

// Seen by the library too, since the program exports it: counts who asks for what.
extern "C" __attribute__((visibility("default"))) char* getenv(const char* name) {
  environmentReads.fetch_add(1);
  const size_t length = std::strlen(name);
  for (char** entry = environ; entry && *entry; ++entry)
    if (!std::strncmp(*entry, name, length) && (*entry)[length] == '=') return *entry + length + 1;
  return nullptr;
}

int main(int count, char** arguments) {
  for (const Case& one : kCases)
    if (count == 2 && !std::strcmp(arguments[1], one.name)) {
      one.run();
      return 0;
    }
  for (const Case& one : kCases) std::printf("%s\n", one.name);
  return count == 1 ? 0 : 2;
}
