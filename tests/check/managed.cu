// Races of host code on managed memory, each in a case of its own, and programs that do nothing wrong. Run it with the
// name of a case, in checked mode; lines of both sides of a race are marked with HERE or OTHER and the case.
#include <fcntl.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <cuda/atomic>

#define CHECK(call)                                                         \
  do {                                                                      \
    const cudaError_t checked_ = (call);                                    \
    if (checked_ != cudaSuccess) {                                          \
      std::printf("line %d: %s\n", __LINE__, cudaGetErrorString(checked_)); \
      std::exit(2);                                                         \
    }                                                                       \
  } while (0)

constexpr int kBlocks = 8, kThreads = 128, kCount = kBlocks * kThreads;

static __device__ int self() { return blockIdx.x * blockDim.x + threadIdx.x; }

__global__ void fill(int* data, int value) {
  data[self()] = value + self();  // OTHER fill
}
__global__ void sum(const int* data, int* out) {
  out[self()] = data[self()];  // OTHER sum
}
__global__ void fillEven(int* data) { data[2 * self()] = self(); }
__global__ void fillBytes(unsigned char* data) {
  data[2 * self()] = 1;  // OTHER oneByteOfMany
}
__managed__ int variable[kCount];
__global__ void fillVariable() {
  variable[self()] = self();  // OTHER hostReadsVariable
}

constexpr size_t kPageInts = 1024;
// Reads and writes pages in turn.
__global__ void readAndWritePagesInTurn(int* data, size_t pages) {
  const size_t page = size_t{2} * self();
  if (page + 1 >= pages) return;
  data[(page + 1) * kPageInts] = data[page * kPageInts] + 1;  // OTHER pagesInTurn
}
__global__ void writePages(int* data, size_t pages, int first, int step) {
  const size_t page = static_cast<size_t>(first) + static_cast<size_t>(step) * self();
  if (page < pages) data[page * kPageInts] = 1;
}

// The device tells the host.
__global__ void writeAndTell(int* data, int* flag) {
  data[self()] = self();
  __threadfence_system();
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd_system(flag, 1);
}
__global__ void tellByRelease(int* data, cuda::atomic<int, cuda::thread_scope_system>* flag) {
  data[threadIdx.x] = threadIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) flag->store(1, cuda::memory_order_release);
}
// The host tells the device, which answers.
__global__ void waitAndAnswer(int* data, volatile int* go, volatile int* done) {
  if (threadIdx.x == 0)
    while (!*go) {
    }
  __syncthreads();
  __threadfence_system();
  data[threadIdx.x] += 1;
  __threadfence_system();
  __syncthreads();
  if (threadIdx.x == 0) *done = 1;
}
__global__ void countInFlight(int* counter) { atomicAdd_system(counter, 1); }

static int* managed(size_t count, unsigned flags = cudaMemAttachGlobal) {
  int* data = nullptr;
  CHECK(cudaMallocManaged(&data, count * sizeof(int), flags));
  std::memset(data, 0, count * sizeof(int));
  return data;
}
static cudaStream_t stream() {
  cudaStream_t made;
  CHECK(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking));
  return made;
}
static long total(const int* data, size_t count) { return std::accumulate(data, data + count, 0L); }
static volatile long kept;

// The system allows a process 65530 mappings.
static void expectFewMappings() {
  std::FILE* const maps = std::fopen("/proc/self/maps", "r");
  int lines = 0;
  for (int c; maps && (c = std::fgetc(maps)) != EOF;) lines += c == '\n';
  std::fclose(maps);
  if (lines < 26'000) return;
  std::printf("%d mappings\n", lines);
  std::exit(3);
}
// Where the machine is busy, a launch of so much returns before its work has ended.
static void awaitClosed(const void* page) {
  for (bool closed = false; !closed; usleep(1000)) {
    std::FILE* const maps = std::fopen("/proc/self/maps", "r");
    char line[512], readable;
    while (maps && std::fgets(line, sizeof line, maps)) {
      unsigned long from, end;
      if (std::sscanf(line, "%lx-%lx %c", &from, &end, &readable) != 3) continue;
      const auto address = reinterpret_cast<unsigned long>(page);
      closed |= address >= from && address < end && readable == '-';
    }
    std::fclose(maps);
  }
}
constexpr size_t kManyPages = 30'000;
static int* memoryOfManyPages() {
  int* data = nullptr;
  CHECK(cudaMallocManaged(&data, kManyPages * kPageInts * sizeof(int)));
  return data;
}
static unsigned blocksFor(size_t pages) { return (pages + kThreads - 1) / kThreads; }

// Pages that work opens in turn, and pages of which the host knows every other one.
static void byPagesInTurn(cudaStream_t s, cudaStream_t t) {
  int* const many = memoryOfManyPages();
  writePages<<<blocksFor(kManyPages), kThreads, 0, s>>>(many, kManyPages, 0, 1);
  writePages<<<blocksFor(kManyPages / 2), kThreads, 0, s>>>(many, kManyPages, 0, 2);
  expectFewMappings();
  CHECK(cudaStreamSynchronize(s));
  writePages<<<blocksFor(kManyPages / 2), kThreads, 0, s>>>(many, kManyPages, 0, 2);
  writePages<<<blocksFor(kManyPages / 2), kThreads, 0, t>>>(many, kManyPages, 1, 2);
  CHECK(cudaStreamSynchronize(s));
  expectFewMappings();
  for (size_t page = 0; page < kManyPages; page += 2) many[page * kPageInts] = 2;
  CHECK(cudaStreamSynchronize(t));
  for (size_t page = 1; page < kManyPages; page += 2) many[page * kPageInts] = 2;
  CHECK(cudaFree(many));
}

static void faulty(const std::string& name) {
  const auto is = [&](const char* other) { return name == other; };
  int *const data = managed(2 * kCount), *const out = managed(kCount);
  const cudaStream_t s = stream(), t = stream();
  if (is("hostReads")) {
    fill<<<kBlocks, kThreads, 0, s>>>(data, 1);
    kept = data[17];  // HERE hostReads
  }
  if (is("hostWrites")) {
    fill<<<kBlocks, kThreads, 0, s>>>(data, 1);
    data[17] = -5;  // HERE hostWrites
  }
  if (is("hostWritesWhatIsRead")) {
    sum<<<kBlocks, kThreads, 0, s>>>(data, out);
    data[3] = 8;  // HERE hostWritesWhatIsRead
  }
  if (is("hostIncrements")) {
    fill<<<kBlocks, kThreads, 0, s>>>(data, 1);
    data[kCount - 1] += 7;  // HERE hostIncrements
  }
  if (is("hostFills")) {
    fill<<<kBlocks, kThreads, 0, s>>>(data, 1);
    std::memset(data, 0xff, kCount * sizeof(int));  // HERE hostFills
  }
  if (is("otherStreamAwaited")) {
    fill<<<kBlocks, kThreads, 0, s>>>(data, 1);
    CHECK(cudaStreamSynchronize(t));
    kept = data[1];  // HERE otherStreamAwaited
  }
  if (is("eventTooEarly")) {
    cudaEvent_t event;
    CHECK(cudaEventCreate(&event));
    CHECK(cudaEventRecord(event, s));
    fill<<<kBlocks, kThreads, 0, s>>>(data, 1);
    CHECK(cudaEventSynchronize(event));
    kept = data[1];  // HERE eventTooEarly
  }
  if (is("otherThread")) {
    fill<<<kBlocks, kThreads, 0, s>>>(data, 1);
    std::thread([&] {
      kept = data[64];  // HERE otherThread
    }).join();
  }
  if (is("hostReadsVariable")) {
    fillVariable<<<kBlocks, kThreads, 0, s>>>();
    kept = variable[5];  // HERE hostReadsVariable
  }
  if (is("hostReadsBesideCopy")) {
    int* other = nullptr;
    CHECK(cudaMalloc(&other, kCount * sizeof(int)));
    CHECK(cudaMemsetAsync(other, 1, kCount * sizeof(int), s));
    CHECK(cudaMemcpyAsync(data, other, kCount * sizeof(int), cudaMemcpyDefault, s));  // OTHER hostReadsBesideCopy
    kept = data[9];                                                                   // HERE hostReadsBesideCopy
  }
  if (is("hostWritesSourceOfCopy")) {
    int* other = nullptr;
    CHECK(cudaMalloc(&other, kCount * sizeof(int)));
    CHECK(cudaMemcpyAsync(other, data, kCount * sizeof(int), cudaMemcpyDefault, s));  // OTHER hostWritesSourceOfCopy
    data[9] = 4;                                                                      // HERE hostWritesSourceOfCopy
  }
  if (is("hostReadsBesideFill")) {
    CHECK(cudaMemsetAsync(data, 1, kCount * sizeof(int), s));  // OTHER hostReadsBesideFill
    kept = data[9];                                            // HERE hostReadsBesideFill
  }
  if (is("pagesInTurn")) {
    int* const many = memoryOfManyPages();
    readAndWritePagesInTurn<<<blocksFor(kManyPages / 2), kThreads, 0, s>>>(many, kManyPages);
    awaitClosed(many + (kManyPages - 1) * kPageInts);
    expectFewMappings();
    kept = many[(kManyPages - 1) * kPageInts];  // HERE pagesInTurn
    kept = many[(kManyPages - 2) * kPageInts];  // which was only read
  }
  if (is("hostReadsBesideGraph")) {
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    CHECK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    fill<<<kBlocks, kThreads, 0, s>>>(data, 1);
    sum<<<kBlocks, kThreads, 0, s>>>(data, out);
    CHECK(cudaStreamEndCapture(s, &graph));
    CHECK(cudaGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
    CHECK(cudaGraphLaunch(executable, s));
    kept = data[9];  // HERE hostReadsBesideGraph
  }
  if (is("attachedToAnother")) {
    CHECK(cudaStreamAttachMemAsync(t, data));
    CHECK(cudaStreamSynchronize(t));
    fill<<<kBlocks, kThreads, 0, s>>>(data, 1);
    CHECK(cudaStreamSynchronize(t));
    kept = data[2];  // HERE attachedToAnother
  }
  if (is("oneByteOfMany")) {
    auto* const bytes = reinterpret_cast<unsigned char*>(data);
    fillBytes<<<kBlocks, kThreads, 0, s>>>(bytes);
    kept = bytes[2 * 100];  // HERE oneByteOfMany
  }
  CHECK(cudaDeviceSynchronize());
}

static void tell(int* data, int* flag, int* go) {
  volatile int *const told = flag, *const start = go;
  for (int round = 0; round < 3; ++round) {
    *told = 0;
    writeAndTell<<<kBlocks, kThreads, 0, stream()>>>(data, flag);
    while (*told != kBlocks) {
    }
    kept = total(data, kCount);
    std::memset(data, 0, kCount * sizeof(int));
  }
  *told = 0;
  waitAndAnswer<<<1, kThreads, 0, stream()>>>(data, go, flag);
  data[7] = 100;
  std::atomic_thread_fence(std::memory_order_seq_cst);
  *start = 1;
  while (!*told) {
  }
  if (data[7] != 101) std::printf("the kernel did not see the host's store\n");
  data[7] = 0;
}

static void releases(int* data, int* place) {
  auto* const flag = new (place) cuda::atomic<int, cuda::thread_scope_system>(0);
  tellByRelease<<<1, kThreads, 0, stream()>>>(data, flag);
  while (!flag->load(cuda::memory_order_acquire)) {
  }
  kept = total(data, kThreads);
}

static void byFiles(int* data, int* other) {
  char path[] = "/tmp/managed-XXXXXX";
  const int file = mkstemp(path);
  unlink(path);
  fill<<<kBlocks, kThreads, 0, stream()>>>(data, 1);
  if (write(file, other, kCount * sizeof(int)) != kCount * sizeof(int)) std::printf("write failed\n");
  if (pread(file, other, kCount * sizeof(int), 0) != kCount * sizeof(int)) std::printf("read failed\n");
  CHECK(cudaDeviceSynchronize());
  if (write(file, data, kCount * sizeof(int)) != kCount * sizeof(int)) std::printf("later write failed\n");
  if (pread(file, data, kCount * sizeof(int), 0) != kCount * sizeof(int)) std::printf("later read failed\n");
}

static void byThreads(int* data) {
  std::mutex mutex;
  std::condition_variable changed;
  bool over = false;
  const cudaStream_t s = stream();
  std::thread waits([&] {
    fill<<<kBlocks, kThreads, 0, s>>>(data, 1);
    CHECK(cudaStreamSynchronize(s));
    const std::lock_guard lock(mutex);
    over = true;
    changed.notify_one();
  });
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return over; });
  data[3] = 4;
  kept = total(data, kCount);
  waits.join();
}

// The same page, launch after launch, with and without the host's own copies in between.
static void manyLaunches(int* data) {
  const cudaStream_t s = stream(), t = stream();
  std::vector<int> host(64);
  for (int round = 0; round < 1500; ++round) {
    countInFlight<<<1, 32, 0, s>>>(data);
    fill<<<1, 32, 0, t>>>(data + 512, round);
    if (round % 3 == 0) CHECK(cudaMemcpy(host.data(), data + 256, 256, cudaMemcpyDefault));
    if (round % 5 == 0) CHECK(cudaMemsetAsync(data + 384, round, 64, s));
  }
  CHECK(cudaStreamSynchronize(s));
  if (data[0] != 1500 * 32) std::exit(4);
}

// Threads store what memory has while another one launches and waits: pages are closed, and known, under their hands.
static void byManyThreads() {
  constexpr int kWords = 1 << 16;
  int* const words = managed(kWords);
  fill<<<kWords / kThreads, kThreads>>>(words, 1);
  CHECK(cudaDeviceSynchronize());
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 3; ++seed)
    threads.emplace_back([&stop, words, state = seed]() mutable {
      while (!stop) {
        state = state * 1664525 + 1013904223;
        const int word = static_cast<int>((state >> 8) % kWords);
        static_cast<volatile int*>(words)[word] = 1 + word;
      }
    });
  for (int round = 0; round < 100; ++round) {
    fill<<<kWords / kThreads, kThreads>>>(words, 1);
    if (round % 3 == 0) CHECK(cudaDeviceSynchronize());
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

// The first half of each page is known to the host, the second one is not.
static char* halfKnown(size_t pages) {
  int* const words = managed(pages * 1024);
  fill<<<static_cast<unsigned>(pages * 1024 / kThreads), kThreads>>>(words, 1);
  CHECK(cudaDeviceSynchronize());
  return reinterpret_cast<char*>(words);
}
__global__ void touchRows(char* data, size_t pitch, int rows) {
  if (self() < rows) data[size_t(self()) * pitch] = 1;
}

static int* ticked;
static std::atomic<int> ticks;
static void tick(int) {
  kept = ticked[5];
  ticked[7] = ticked[7] + 1;
  ++ticks;
}
static void whileSignalsCome(int*) {
  constexpr size_t kPages = 16;
  char* const bytes = halfKnown(kPages);
  int* const words = reinterpret_cast<int*>(bytes);
  ticked = words;
  struct sigaction action {};
  action.sa_handler = tick;
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  const itimerval often{{0, 300}, {0, 300}}, never{};
  const cudaStream_t s = stream();
  setitimer(ITIMER_REAL, &often, nullptr);
  long sum = 0;
  for (int round = 0; round < 60 || ticks < 20; ++round) {
    if (round < 60 && round % 10 == 0) touchRows<<<1, kPages, 0, s>>>(bytes + 4000, 4096, kPages);
    for (size_t page = 0; page < kPages; ++page)
      for (int k = 8; k < 14; ++k) sum += words[page * 1024 + k]++;
  }
  setitimer(ITIMER_REAL, &never, nullptr);
  kept = sum;
}

// Children read what work of the parent has closed, whatever its other threads were doing.
static void beforeForks(int*) {
  constexpr size_t kPages = 16;
  char* const bytes = halfKnown(kPages);
  const cudaStream_t s = stream();
  std::atomic<bool> stop{false};
  std::thread other([&] {
    for (int round = 0; !stop; ++round) {
      touchRows<<<1, kPages, 0, s>>>(bytes + 4000, 4096, kPages);
      if (round % 3 == 0) cudaStreamSynchronize(s);
    }
  });
  int wrong = 0;
  for (int round = 0; round < 30; ++round) {
    const pid_t child = fork();
    if (!child) {
      alarm(20);
      int seen = 0;
      for (size_t page = 0; page < kPages; ++page) seen += reinterpret_cast<int*>(bytes)[page * 1024] != 0;
      reinterpret_cast<int*>(bytes)[3] = seen;
      _exit(seen == int(kPages) && reinterpret_cast<int*>(bytes)[3] == seen ? 0 : 1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    wrong += status != 0;
  }
  stop = true;
  other.join();
  if (wrong) std::exit(5);
}

// More pages apart from each other than the system has mappings for.
static void manyPages() {
  constexpr int kRows = 40000;
  char* const data = reinterpret_cast<char*>(managed(size_t{kRows} * 2048));
  const cudaStream_t s = stream();
  touchRows<<<(kRows + kThreads - 1) / kThreads, kThreads, 0, s>>>(data, 8192, kRows);
  std::thread([] { kept = 1; }).join();
  std::vector<char> memory(1 << 22, 1);
  touchRows<<<(kRows + kThreads - 1) / kThreads, kThreads, 0, s>>>(data, 8192, kRows);
  CHECK(cudaStreamSynchronize(s));
  long sum = 0;
  for (int row = 0; row < kRows; ++row) sum += data[size_t(row) * 8192];
  if (sum != kRows) std::exit(6);
  kept = memory[17];
}

// An instruction that reads half of what its registers hold, and one whose operand lies in two pages.
static void byVectors(bool half) {
  char* const data = reinterpret_cast<char*>(managed(4096));
  const cudaStream_t s = stream(), t = stream();
  char* const begin = half ? data + 8192 : data + 4096 - 8;
  const int known = half ? 8 : 16;
  touchRows<<<1, 32, 0, s>>>(begin, 1, known);
  CHECK(cudaStreamSynchronize(s));
  touchRows<<<1, 32, 0, t>>>(begin + known, 1, 8);
#ifdef __x86_64__
  double values[2];
  if (half)
    asm volatile("cvtps2pd (%0), %%xmm0\n\tmovupd %%xmm0, %1" ::"r"(begin), "m"(values) : "xmm0", "memory");
  else
    asm volatile("movupd (%0), %%xmm0\n\tmovupd %%xmm0, %1" ::"r"(begin), "m"(values) : "xmm0", "memory");
#endif
}

static void fine(const std::string& name) {
  const auto is = [&](const char* other) { return name == other; };
  int *const data = managed(2 * kCount), *const out = managed(kCount), *const word = managed(1), *const go = managed(1);
  const cudaStream_t s = stream(), t = stream();
  if (is("fineTurns"))
    for (int round = 0; round < 20; ++round) {
      for (int k = 0; k < kCount; ++k) data[k] = round;
      fill<<<kBlocks, kThreads, 0, s>>>(data, round);
      sum<<<kBlocks, kThreads, 0, s>>>(data, out);
      CHECK(cudaStreamSynchronize(s));
      kept = total(out, kCount);
    }
  if (is("fineEvent")) {
    cudaEvent_t event;
    CHECK(cudaEventCreate(&event));
    fill<<<kBlocks, kThreads, 0, s>>>(data, 1);
    CHECK(cudaEventRecord(event, s));
    sum<<<kBlocks, kThreads, 0, t>>>(out, out);
    while (cudaEventQuery(event) != cudaSuccess) {
    }
    kept = total(data, kCount);
    data[4] = 3;
  }
  if (is("fineOtherBytes")) {
    fillEven<<<kBlocks / 2, kThreads, 0, s>>>(data);
    for (int k = 1; k < kCount; k += 2) data[k] = k;
    kept = data[1];
    auto* const bytes = reinterpret_cast<unsigned char*>(out);
    fillBytes<<<kBlocks, kThreads, 0, s>>>(bytes);
    for (int k = 1; k < 2 * kCount; k += 2) bytes[k] = 2;
  }
  if (is("fineBothRead")) {
    sum<<<kBlocks, kThreads, 0, s>>>(data, out);
    kept = total(data, kCount);
  }
  if (is("fineOtherAllocation")) {
    fill<<<kBlocks, kThreads, 0, s>>>(data, 1);
    for (int k = 0; k < kCount; ++k) out[k] = k;
    *word = 1;
  }
  if (is("fineFlags")) tell(data, word, go);
  if (is("fineRelease")) releases(data, word);
  if (is("fineCounter")) {
    for (int k = 0; k < 10; ++k) countInFlight<<<kBlocks, kThreads, 0, s>>>(word);
    for (int k = 0; k < 10; ++k) kept = *static_cast<volatile int*>(word);
    cuda::atomic_ref<int, cuda::thread_scope_system>(*word).fetch_add(1);
  }
  if (is("fineHostFunction")) {
    static std::atomic<bool> called;
    static int* seen = data;
    fill<<<kBlocks, kThreads, 0, s>>>(data, 1);
    CHECK(cudaLaunchHostFunc(
        s,
        [](void*) {
          kept = seen[5];
          seen[5] = 1;
          called = true;
        },
        nullptr));
    while (!called) {
    }
    data[6] = 1;
  }
  if (is("finePinnedWord")) {
    int *host = nullptr, *ones = nullptr;
    CHECK(cudaMallocHost(&host, sizeof(int)));
    CHECK(cudaMalloc(&ones, sizeof(int)));
    CHECK(cudaMemset(ones, 1, sizeof(int)));
    CHECK(cudaDeviceSynchronize());
    *host = 0;
    fill<<<kBlocks, kThreads, 0, s>>>(data, 1);
    CHECK(cudaMemcpyAsync(host, ones, sizeof(int), cudaMemcpyDeviceToHost, s));
    while (!*static_cast<volatile int*>(host)) {
    }
    kept = total(data, kCount);
  }
  if (is("fineSameValue")) {
    fill<<<kBlocks, kThreads, 0, s>>>(data, 1);
    data[4] = 5;
  }
  if (is("fineSameValueByThreads")) byManyThreads();
  if (is("fineAttached")) {
    CHECK(cudaStreamAttachMemAsync(s, data, 0, cudaMemAttachSingle));
    CHECK(cudaStreamAttachMemAsync(t, out, 0, cudaMemAttachSingle));
    fill<<<kBlocks, kThreads, 0, s>>>(data, 1);
    out[1] = 1;
    CHECK(cudaStreamSynchronize(s));
    kept = total(data, kCount);
  }
  if (is("fineAdvised")) {
    cudaMemLocation device{cudaMemLocationTypeDevice, 0};
    CHECK(cudaMemAdvise(data, kCount * sizeof(int), cudaMemAdviseSetReadMostly, device));
    CHECK(cudaMemPrefetchAsync(data, kCount * sizeof(int), device, 0, s));
    sum<<<kBlocks, kThreads, 0, s>>>(data, out);
    kept = total(data, kCount);
  }
  if (is("fineFree")) {
    fill<<<kBlocks, kThreads, 0, s>>>(data, 1);
    CHECK(cudaFree(data));
    int* const again = managed(2 * kCount);
    kept = total(again, kCount);
  }
  if (is("fineManyLaunches")) manyLaunches(data);
  if (is("fineSignals")) whileSignalsCome(data);
  if (is("fineFork")) beforeForks(data);
  if (is("fineManyPages")) manyPages();
  if (is("fineHalfOperand") || is("fineAcrossPages")) byVectors(is("fineHalfOperand"));
  if (is("fineWordByFill") || is("fineWordOfBoth")) {
    int* host = out;
    if (is("fineWordByFill")) CHECK(cudaMallocHost(&host, sizeof(int)));
    *host = 0;
    fill<<<kBlocks, kThreads, 0, s>>>(data, 1);
    CHECK(cudaMemsetAsync(host, 1, sizeof(int), s));
    while (!*static_cast<volatile int*>(host)) {
    }
    kept = total(data, kCount);
  }
  if (is("fineElapsed")) {
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaEventRecord(begin, s));
    fill<<<kBlocks, kThreads, 0, s>>>(data, 1);
    CHECK(cudaEventRecord(end, s));
    float milliseconds = 0;
    while (cudaEventElapsedTime(&milliseconds, begin, end) != cudaSuccess) {
    }
    kept = total(data, kCount);
  }
  if (is("finePagesInTurn")) byPagesInTurn(s, t);
  if (is("fineFiles")) byFiles(data, out);
  if (is("fineThreads")) byThreads(data);
  if (is("fineCopies")) {
    std::vector<int> host(kCount, 3);
    CHECK(cudaMemcpy(data, host.data(), kCount * sizeof(int), cudaMemcpyDefault));
    data[1] = 2;
    CHECK(cudaMemcpy(out, data, kCount * sizeof(int), cudaMemcpyDefault));
    CHECK(cudaDeviceSynchronize());
    kept = total(out, kCount);
    CHECK(cudaMemset(data, 0, kCount * sizeof(int)));
    CHECK(cudaDeviceSynchronize());
    data[1] = 2;
  }
  CHECK(cudaDeviceSynchronize());
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::strncmp(argv[1], "fine", 4) ? faulty(argv[1]) : fine(argv[1]);
  std::printf("end: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
  return 0;
}
