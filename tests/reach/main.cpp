// What kernels reach: every way to an address and every kind of access, in code and interpreted. Memory of the
// library's own is an illegal address. Memory of the host that nobody registered is an illegal address where the device
// does not report pageable access, and memory like any other where it does; all memory of CUDA's and what was
// registered is reached by both. A fault ends its process's work, so each has a process of its own.
//
//   reach_matrix [all]     all pairs; without it every origin once and every access once
#include <cuda.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "reach/kernels.h"

namespace {

using reach::Access;
using reach::Origin;

constexpr size_t kBytes = 8192;
int failures = 0;

void complain(const Origin& origin, const Access& access, const std::string& what) {
  std::printf("%s, %s: %s\n", origin.name, access.name, what.c_str());
  ++failures;
}

void must(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::printf("%s answers %d\n", what, result);
  std::exit(2);
}
#define MUST(call) must(call, #call)

struct Scene {
  CUdeviceptr record = 0, plain = 0;
  Scene() {
    CUdevice device = 0;
    CUcontext context = nullptr;
    MUST(cuInit(0));
    MUST(cuDeviceGet(&device, 0));
    MUST(cuDevicePrimaryCtxRetain(&context, device));
    MUST(cuCtxSetCurrent(context));
    MUST(cuMemAlloc(&record, 1024));
    MUST(cuMemAlloc(&plain, kBytes));
    MUST(cuMemsetD8(plain, 0, kBytes));
  }
  bool reachesAll() const {
    int value = 0;
    MUST(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, 0));
    return value;
  }
  CUresult run(const Origin& origin, const Access& access, CUdeviceptr address) const {
    uint64_t words[64] = {address, record, 0};
    for (size_t lane = 0; lane < 32; ++lane) words[8 + lane] = lane == 5 ? address : plain;
    MUST(cuMemcpyHtoD(record, words, 40 * 8));
    CUmodule module = nullptr;
    CUfunction kernel = nullptr;
    const std::string text = moduleOf(origin, access, static_cast<int64_t>(address - plain));
    MUST(cuModuleLoadData(&module, text.c_str()));
    MUST(cuModuleGetFunction(&kernel, module, "kernel"));
    CUdeviceptr held = 0;
    MUST(cuModuleGetGlobal(&held, nullptr, module, "held"));
    MUST(cuMemcpyHtoD(held, &address, sizeof address));
    uint64_t key = 0x7123456789abcdec, moved = address + key, p0 = address, p1 = record, p4 = plain;
    void* parameters[] = {&p0, &p1, &moved, &key, &p4};
    const CUresult launched = cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, nullptr, parameters, nullptr);
    const CUresult ended = cuCtxSynchronize();
    if (ended == CUDA_SUCCESS) MUST(cuModuleUnload(module));
    return launched != CUDA_SUCCESS ? launched : ended;
  }
};

CUdeviceptr addressOf(void* memory) { return reinterpret_cast<CUdeviceptr>(memory); }
void* newPages() { return mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }

// In a process of its own: 0 when the kernel ended as it must.
int hostMemory(const Origin& origin, const Access& access) {
  const Scene scene;
  auto* const host = static_cast<unsigned char*>(newPages());
  const CUresult ended = scene.run(origin, access, addressOf(host));
  bool written = false;
  for (size_t i = 0; i < kBytes; ++i) written |= host[i];
  if (scene.reachesAll()) {
    if (ended != CUDA_SUCCESS) complain(origin, access, "memory of the host gives " + std::to_string(ended));
    if (written != access.writes) complain(origin, access, "what is there is not what was written");
  } else {
    if (ended != CUDA_ERROR_ILLEGAL_ADDRESS) complain(origin, access, "no fault but " + std::to_string(ended));
    if (written) complain(origin, access, "memory of the host was written");
  }
  return failures != 0;
}

bool is(const char* variable, const char* value) {
  const char* const given = std::getenv(variable);
  return given && !std::strcmp(given, value);
}
template <size_t n>
bool isOneOf(const Origin& origin, const char* const (&names)[n]) {
  return std::any_of(names, names + n, [&](const char* name) { return !std::strcmp(name, origin.name); });
}

// Whether what is the library's own is told from what may be touched. Code that was made without tests knows it of
// parameters only.
bool knownForOwn(const Origin& origin, bool reached) {
  const bool tested = !reached || is("VERDIGRIS_KERNELS", "interpret") || !is("VERDIGRIS_PAGEABLE", "unguarded");
  return tested || isOneOf(origin, reach::kParameters);
}

int ownMemory(const Origin& origin, const Access& access) {
  const Scene scene;
  CUstream stream = nullptr;
  MUST(cuStreamCreate(&stream, 0));
  const CUresult ended = scene.run(origin, access, reinterpret_cast<CUdeviceptr>(stream) & ~CUdeviceptr{15});
  if (ended != CUDA_ERROR_ILLEGAL_ADDRESS)
    complain(origin, access, "of memory of the library's own no fault but " + std::to_string(ended));
  return failures != 0;
}

// Runs `body` in a process of its own; its exit status, and what it said on stderr.
template <class Body>
int apart(Body body, std::string& said) {
  int ends[2];
  std::fflush(stdout);
  if (pipe(ends)) std::exit(2);
  const pid_t child = fork();
  if (!child) {
    dup2(ends[1], 2);
    close(ends[0]), close(ends[1]);
    alarm(60);
    const int status = body();
    std::fflush(stdout);
    _exit(status);
  }
  close(ends[1]);
  char bytes[4096];
  for (ssize_t n; (n = read(ends[0], bytes, sizeof bytes)) > 0;) said.append(bytes, static_cast<size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

bool reachesAll() {
  std::string said;
  return apart([] { return static_cast<int>(Scene().reachesAll()); }, said);
}

void tryHostMemory(const Origin& origin, const Access& access, bool reached) {
  std::string said;
  if (const int status = apart([&] { return hostMemory(origin, access); }, said))
    complain(origin, access, "ended with " + std::to_string(status) + ": " + said);
  else if (!reached && said.find("does not reach") == std::string::npos)
    complain(origin, access, "the log does not say why: " + said);
}

void tryOwnMemory(const Origin& origin, const Access& access) {
  std::string said;
  if (const int status = apart([&] { return ownMemory(origin, access); }, said))
    complain(origin, access, "memory of the library's own: ended with " + std::to_string(status) + ": " + said);
}

// Every origin with the first access and every access with a loaded address, or all pairs.
bool chosen(const Origin& origin, const Access& access, bool everyPair) {
  return fit(origin, access) && (everyPair || &origin == &reach::kOrigins[1] || &access == &reach::kAccesses[0]);
}

struct Memory {
  const char* name;
  CUdeviceptr address;
};

std::vector<Memory> allKinds(const Scene& scene) {
  std::vector<Memory> all{{"device", scene.plain + 4096}};
  CUdeviceptr managed = 0, ordered = 0, mapped = 0;
  void *locked = nullptr, *registered = newPages();
  MUST(cuMemAllocManaged(&managed, kBytes, CU_MEM_ATTACH_GLOBAL));
  MUST(cuMemAllocAsync(&ordered, kBytes, nullptr));
  MUST(cuMemHostAlloc(&locked, kBytes, 0));
  MUST(cuMemHostRegister(registered, kBytes, 0));
  MUST(cuMemHostGetDevicePointer(&mapped, registered, 0));
  all.push_back({"managed", managed});
  all.push_back({"of a pool", ordered});
  all.push_back({"page-locked", addressOf(locked)});
  all.push_back({"registered", mapped});
  return all;
}

// In one process, as nothing fails.
int everythingElse(bool everyPair) {
  const Scene scene;
  for (const Memory& memory : allKinds(scene))
    for (const Origin& origin : reach::kOrigins)
      for (const Access& access : reach::kAccesses) {
        if (!chosen(origin, access, everyPair)) continue;
        if (const CUresult ended = scene.run(origin, access, memory.address)) {
          complain(origin, access, std::string(memory.name) + " memory gives " + std::to_string(ended));
          return 1;
        }
      }
  return failures != 0;
}

}  // namespace

int main(int argc, char** argv) {
  const bool everyPair = argc > 1 && !std::strcmp(argv[1], "all");
  const bool reached = reachesAll();
  int tried = 0;
  for (const Origin& origin : reach::kOrigins)
    for (const Access& access : reach::kAccesses) {
      if (!chosen(origin, access, everyPair)) continue;
      tryHostMemory(origin, access, reached);
      if (knownForOwn(origin, reached)) tryOwnMemory(origin, access);
      ++tried;
    }
  std::string said;
  if (const int status = apart([&] { return everythingElse(everyPair); }, said)) {
    std::printf("memory that is reached: ended with %d: %s\n", status, said.c_str());
    ++failures;
  }
  std::printf("%d ways to memory of the host, %s: %d failures\n", tried, reached ? "reached" : "refused", failures);
  return failures != 0;
}
