#include "peer.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>

namespace {

void must(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "%s: %d\n", what, static_cast<int>(result));
  _exit(1);
}

// Those whose names begin with `except` do not count.
size_t entries(const char* folder, const char* containing = "", const std::string& except = "//") {
  size_t count = 0;
  DIR* dir = opendir(folder);
  while (const dirent* entry = dir ? readdir(dir) : nullptr)
    count += strstr(entry->d_name, containing) && strncmp(entry->d_name, except.c_str(), except.size()) != 0;
  if (dir) closedir(dir);
  return count;
}

size_t lines(const char* path) {
  std::ifstream file(path);
  size_t count = 0;
  for (std::string line; std::getline(file, line);) ++count;
  return count;
}

// Exports as many allocations as it is told, of 1 MiB and filled with their numbers, and lives until told to end.
void exporter(const Link& link) {
  int count;
  start();
  if (!link.receive(count)) return;
  std::vector<CUdeviceptr> all;
  for (int i = 0; i < count; ++i) {
    all.push_back(filled(1 << 20, 1000 + i));
    link.send(handleOf(all.back()));
  }
  while (link.await()) link.send(wordAt(all[0]));
}

// Exports and frees and writes without end.
void busyExporter(const Link& link) {
  start();
  for (uint32_t i = 0;; ++i) {
    const CUdeviceptr memory = filled(i % 3 ? 300 << 10 : 4 << 20, 7);
    link.send(handleOf(memory));
    cuMemsetD32(memory, 7, 64 << 10);
    if (i % 5 == 4) cuMemFree(memory);
  }
}

// Opens what it is given, adds one to the word with its number, closes; as often as it is given something.
void importer(const Link& link) {
  start();
  int number;
  if (!link.receive(number)) return;
  for (CUipcMemHandle handle; link.receive(handle);) {
    CUdeviceptr memory = 0;
    must(open(&memory, handle), "open");
    must(cuMemsetD32(memory + 4 * number, wordAt(memory + 4 * number) + 1, 1), "write");
    must(cuCtxSynchronize(), "synchronize");
    must(cuIpcCloseMemHandle(memory), "close");
    link.go();
  }
}

// Opens and closes without end.
void busyImporter(const Link& link) {
  start();
  CUipcMemHandle handle;
  if (!link.receive(handle)) return;
  link.go();
  for (;;) {
    CUdeviceptr memory = 0;
    must(open(&memory, handle), "open");
    cuMemsetD32(memory + 4096, 5, 1024);
    must(cuIpcCloseMemHandle(memory), "close");
  }
}

// Tries a handle as another user.
void stranger(const Link& link) {
  if (setgid(65534) || setuid(65534)) return (void)link.send(CUDA_ERROR_UNKNOWN);
  start();
  CUipcMemHandle handle;
  CUdeviceptr memory = 0;
  if (link.receive(handle)) link.send(open(&memory, handle));
}

// Tries every handle that differs from a good one in one bit; how many opened.
void forger(const Link& link) {
  start();
  CUipcMemHandle good;
  if (!link.receive(good)) return;
  int openedAll = 0;
  for (size_t bit = 0; bit < sizeof good * 8; ++bit) {
    CUipcMemHandle forged = good;
    reinterpret_cast<uint8_t*>(&forged)[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
    CUdeviceptr memory = 0;
    openedAll += open(&memory, forged) == CUDA_SUCCESS;
  }
  link.send(openedAll);
}

// Whether there is a thread for sharing, before and after the first export.
void threadCounter(const Link& link) {
  start();
  const auto threads = [] {
    for (const std::string& name : threadNames())
      if (name.rfind("vg-ipc", 0) == 0) return true;
    return false;
  };
  const CUdeviceptr memory = filled(4096, 1);
  link.send(threads());
  handleOf(memory);
  usleep(100000);  // a thread names itself
  link.send(threads());
}

void CUDA_CB pauseShortly(void*) { usleep(300); }
void CUDA_CB pauseLong(void*) { sleep(30); }

// Answers rounds of a game: waits for the other's event, adds one to every word, records its own.
void player(const Link& link) {
  start();
  CUipcMemHandle memoryHandle;
  CUipcEventHandle eventHandle;
  CUdeviceptr memory = 0;
  CUevent theirs = nullptr, ours = nullptr;
  CUstream stream = nullptr;
  must(cuEventCreate(&ours, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING), "event");
  must(cuIpcGetEventHandle(&eventHandle, ours), "event handle");
  link.send(eventHandle);
  if (!link.receive(memoryHandle) || !link.receive(eventHandle)) return;
  must(open(&memory, memoryHandle), "open");
  must(cuIpcOpenEventHandle(&theirs, eventHandle), "open event");
  must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "stream");
  for (uint32_t expected; link.receive(expected);) {
    must(cuStreamWaitEvent(stream, theirs, 0), "wait");
    static uint32_t word;
    must(cuMemcpyDtoHAsync(&word, memory, 4, stream), "read");
    must(cuStreamSynchronize(stream), "synchronize");
    must(word == expected ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN, "the word before");
    must(cuLaunchHostFunc(stream, pauseShortly, nullptr), "pause");
    must(cuMemsetD32Async(memory, expected + 1, 1024, stream), "fill");
    must(cuEventRecord(ours, stream), "record");
    link.go();
  }
}

// Records an event behind work that takes half a minute, and another one that is reached at once.
void recorder(const Link& link) {
  start();
  CUevent events[2];
  CUstream stream = nullptr;
  CUipcEventHandle handle;
  must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "stream");
  for (CUevent& event : events) {
    must(cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING), "event");
    must(cuIpcGetEventHandle(&handle, event), "event handle");
    link.send(handle);
  }
  must(cuEventRecord(events[1], stream), "record");
  must(cuLaunchHostFunc(stream, pauseLong, nullptr), "work");
  must(cuEventRecord(events[0], stream), "record");
  link.go();
  while (link.await()) {
  }
}

// Has memory of several kinds, and sends the sum of their first words whenever it is told to.
void worker(const Link& link) {
  start();
  const CUdeviceptr device = filled(8 << 20, 1000);
  std::vector<uint32_t> registered(1 << 20, 200), pageable(1 << 10, 30);
  must(cuMemHostRegister(registered.data(), registered.size() * 4, 0), "register");
  CUdeviceptr managed = 0;
  must(cuMemAllocManaged(&managed, 1 << 20, CU_MEM_ATTACH_GLOBAL), "managed");
  must(cuMemsetD32(managed, 4, 1 << 18), "fill");
  link.go();
  while (link.await())
    link.send(wordAt(device) + wordAt(reinterpret_cast<CUdeviceptr>(registered.data())) + wordAt(managed) +
              pageable[0]);
}

// Counts devices whenever it is told to, and never has a context.
void counter(const Link& link) {
  must(cuInit(0), "cuInit");
  link.go();
  int count = 0;
  while (link.await()) {
    must(cuDeviceGetCount(&count), "count");
    link.send(count);
  }
}

// Never calls the driver.
void idler(const Link& link) {
  link.go();
  link.await();
}

void CUDA_CB pauseHalf(void*) { usleep(500000); }

// Has work of half a second, again whenever it is told to.
void busyWorker(const Link& link) {
  start();
  do {
    must(cuLaunchHostFunc(nullptr, pauseHalf, nullptr), "work");
    link.go();
  } while (link.await());
}

// Has failed.
void failedWorker(const Link& link) {
  start();
  static const char kText[] = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry bad() { trap; ret; }\n";
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  must(cuModuleLoadData(&module, kText), "module");
  must(cuModuleGetFunction(&function, module, "bad"), "function");
  must(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr), "launch");
  link.send(cuCtxSynchronize());
  link.await();
}

// Locks the process that it is told, and ends.
void locker(const Link& link) {
  must(cuInit(0), "cuInit");
  pid_t process;
  link.go();
  if (link.receive(process)) link.send(cuCheckpointProcessLock(process, nullptr));
}

// The same as another user.
void foreignLocker(const Link& link) {
  const bool other = !setgid(65534) && !setuid(65534);
  locker(link);
  if (!other) link.send(CUDA_ERROR_UNKNOWN);
}

const std::map<std::string, void (*)(const Link&)> kRoles = {
    {"exporter", exporter},      {"busy-exporter", busyExporter},
    {"importer", importer},      {"busy-importer", busyImporter},
    {"stranger", stranger},      {"forger", forger},
    {"player", player},          {"thread-counter", threadCounter},
    {"recorder", recorder},      {"worker", worker},
    {"counter", counter},        {"idler", idler},
    {"busy-worker", busyWorker}, {"failed-worker", failedWorker},
    {"locker", locker},          {"foreign-locker", foreignLocker}};

}  // namespace

void start(int device) {
  CUcontext context;
  must(cuInit(0), "cuInit");
  must(cuDevicePrimaryCtxRetain(&context, device), "retain");
  must(cuCtxSetCurrent(context), "set current");
}

CUdeviceptr filled(size_t bytes, uint32_t value) {
  CUdeviceptr address = 0;
  must(cuMemAlloc(&address, bytes), "allocate");
  must(cuMemsetD32(address, value, bytes / 4), "fill");
  must(cuCtxSynchronize(), "synchronize");
  return address;
}

uint32_t wordAt(CUdeviceptr address) {
  uint32_t word = 0;
  must(cuMemcpyDtoH(&word, address, sizeof word), "read");
  return word;
}

CUipcMemHandle handleOf(CUdeviceptr address) {
  CUipcMemHandle handle;
  must(cuIpcGetMemHandle(&handle, address), "handle");
  return handle;
}

bool Link::sendBytes(const void* bytes, size_t count) const {
  return write(out_, bytes, count) == static_cast<ssize_t>(count);
}

bool Link::arrives(int milliseconds) const {
  pollfd polled{in_, POLLIN, 0};
  return poll(&polled, 1, milliseconds) == 1;
}

bool Link::receiveBytes(void* bytes, size_t count) const {
  auto* at = static_cast<char*>(bytes);
  for (size_t done = 0; done < count;) {
    const ssize_t got = read(in_, at + done, count - done);
    if (got <= 0) return false;
    done += static_cast<size_t>(got);
  }
  return true;
}

void Link::close() {
  if (in_ >= 0) ::close(in_);
  if (out_ >= 0) ::close(out_);
  in_ = out_ = -1;
}

Peer::Peer(const std::string& role) : process_(-1), link_(-1, -1) {
  int down[2], up[2];
  if (pipe2(down, O_CLOEXEC) || pipe2(up, O_CLOEXEC)) abort();
  process_ = fork();
  if (!process_) {
    dup2(down[0], 100);
    dup2(up[1], 101);
    const std::string argument = "--role=" + role;
    execl("/proc/self/exe", "peer", argument.c_str(), nullptr);
    _exit(127);
  }
  ::close(down[0]);
  ::close(up[1]);
  link_ = Link(up[0], down[1]);
}

Peer::~Peer() {
  if (process_ >= 0) join();
}

void Peer::end(int signal) {
  kill(process_, signal);
  waitpid(process_, nullptr, 0);
  process_ = -1;
  link_.close();
}

void Peer::join() {
  link_.close();
  int status = 0;
  waitpid(process_, &status, 0);
  process_ = -1;
  EXPECT_EQ(status, 0) << "of a peer process";
}

Footprint Footprint::now() {
  return {entries("/proc/self/fd"), lines("/proc/self/maps"), entries("/proc/self/task"),
          // What this user's processes tell each other is there as long as one of them lives.
          entries("/dev/shm", "verdigris", "verdigris-" + std::to_string(geteuid()) + "-")};
}

std::vector<std::string> threadNames() {
  std::vector<std::string> names;
  DIR* dir = opendir("/proc/self/task");
  while (const dirent* entry = dir ? readdir(dir) : nullptr) {
    std::ifstream file(std::string("/proc/self/task/") + entry->d_name + "/comm");
    std::string name;
    if (std::getline(file, name)) names.push_back(name);
  }
  if (dir) closedir(dir);
  return names;
}

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  constexpr char kRole[] = "--role=";
  if (argc == 2 && !strncmp(argv[1], kRole, sizeof kRole - 1)) {
    alarm(60);
    kRoles.at(argv[1] + sizeof kRole - 1)(Link(100, 101));
    return 0;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
