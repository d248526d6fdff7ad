// An adversary of the library's own memory: whatever it has mapped to write to since the program began (tables,
// handles, records, heaps, code, variables, stacks of its threads) is none that a copy, a fill or a kernel may touch,
// at its first and last byte and one byte to either side. What CUDA allocates is left out, and what malloc gives, which
// comes from one place here.
#include <cuda.h>
#include <fcntl.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

int failures = 0, tried = 0;
bool tells = true;

void must(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::printf("%s answers %d\n", what, result);
  std::exit(2);
}
#define MUST(call) must(call, #call)

struct Mapping {
  uintptr_t start, end;
  bool writable;
  char name[128];
};

// Without malloc, which may map.
constexpr int kMost = 4096;
Mapping before[kMost], after[kMost];
int list(Mapping* all) {
  static char text[1 << 20];
  const int file = open("/proc/self/maps", 0);
  size_t length = 0;
  for (ssize_t n; (n = read(file, text + length, sizeof text - 1 - length)) > 0;) length += static_cast<size_t>(n);
  close(file);
  text[length] = 0;
  int count = 0;
  for (char* line = text; *line && count < kMost;) {
    char* const end = std::strchr(line, '\n');
    *end = 0;
    Mapping& one = all[count];
    char rights[5] = "";
    one.name[0] = 0;
    if (std::sscanf(line, "%lx-%lx %4s %*s %*s %*s %127s", &one.start, &one.end, rights, one.name) >= 3) {
      one.writable = rights[1] == 'w';
      ++count;
    }
    line = end + 1;
  }
  return count;
}

constexpr char kPtx[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n.extern .func (.param .b64 r) malloc (.param .b64 n);\n"
    ".visible .entry touch(.param .u64 p0)\n{ .reg .b64 %a; .reg .b32 %r; ld.param.u64 %a, [p0]; ld.global.u8 %r, "
    "[%a];\n"
    "st.global.u8 [%a], %r; ret; }\n"
    ".visible .entry wait(.param .u64 p0)\n{ .reg .b64 %a<3>; .reg .b32 %r<3>; .shared .b8 s[4096];\n"
    "ld.param.u64 %a0, [p0]; mov.u32 %r0, %tid.x; st.shared.u32 [s], %r0; bar.sync 0; ld.shared.u32 %r1, [s];\n"
    "st.global.u32 [%a0], %r1;\n{ .param .b64 n; .param .b64 r; st.param.b64 [n], 64; call (r), malloc, (n);\n"
    "ld.param.b64 %a1, [r]; }\nst.global.u64 [%a0+8], %a1; ret; }\n";

struct Scene {
  CUdeviceptr memory = 0;
  CUfunction touch = nullptr;
  std::vector<uintptr_t> handles;

  Scene() {
    CUdevice device = 0;
    CUcontext context = nullptr;
    CUmodule module = nullptr;
    CUfunction wait = nullptr;
    CUstream stream = nullptr;
    CUevent event = nullptr;
    CUgraph graph = nullptr;
    CUarray array = nullptr;
    void* locked = nullptr;
    CUdeviceptr ordered = 0, managed = 0;
    MUST(cuInit(0));
    MUST(cuDeviceGet(&device, 0));
    MUST(cuDevicePrimaryCtxRetain(&context, device));
    MUST(cuCtxSetCurrent(context));
    MUST(cuMemAlloc(&memory, 1 << 20));
    MUST(cuStreamCreate(&stream, 0));
    MUST(cuEventCreate(&event, 0));
    MUST(cuGraphCreate(&graph, 0));
    CUDA_ARRAY_DESCRIPTOR description{64, 64, CU_AD_FORMAT_FLOAT, 1};
    MUST(cuArrayCreate(&array, &description));
    MUST(cuMemHostAlloc(&locked, 4096, 0));
    MUST(cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL));
    MUST(cuMemAllocAsync(&ordered, 4096, stream));
    MUST(cuModuleLoadData(&module, kPtx));
    MUST(cuModuleGetFunction(&touch, module, "touch"));
    MUST(cuModuleGetFunction(&wait, module, "wait"));
    CUdeviceptr argument = memory;
    void* parameters[] = {&argument};
    for (int round = 0; round < 4; ++round) {
      MUST(cuMemsetD8Async(memory, 1, 1 << 20, stream));
      MUST(cuLaunchKernel(wait, 64, 1, 1, 256, 1, 1, 0, stream, parameters, nullptr));
    }
    MUST(cuLaunchKernel(touch, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr));
    MUST(cuCtxSynchronize());
    for (const void* const handle :
         {static_cast<void*>(context), static_cast<void*>(stream), static_cast<void*>(event), static_cast<void*>(graph),
          static_cast<void*>(array), static_cast<void*>(module), static_cast<void*>(touch)})
      handles.push_back(reinterpret_cast<uintptr_t>(handle));
  }
};

bool isCudas(uintptr_t address) {
  unsigned type = 0;
  return cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) == CUDA_SUCCESS;
}

void refuse(CUresult result, const char* what, uintptr_t address, const char* where) {
  ++tried;
  if (result != CUDA_SUCCESS) return;
  if (tells) std::printf("%s succeeds at %#lx (%s)\n", what, address, where);
  ++failures;
}

// Two bytes at a time, of which one at least is the library's.
void attack(const Scene& scene, uintptr_t address, const char* where) {
  auto* const host = reinterpret_cast<void*>(address);
  unsigned char kept[2];
  const iovec to{kept, 1}, from{host, 1};
  if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != 1) return;  // gone, as stacks of threads are
  refuse(cuMemcpyHtoD(scene.memory, host, 1), "cuMemcpyHtoD", address, where);
  refuse(cuMemcpyDtoH(host, scene.memory, 1), "cuMemcpyDtoH", address, where);
  refuse(cuMemcpy(scene.memory, address, 1), "cuMemcpy from there", address, where);
  refuse(cuMemcpy(address, scene.memory, 1), "cuMemcpy to there", address, where);
  refuse(cuMemcpyHtoDAsync(scene.memory, host, 1, nullptr), "cuMemcpyHtoDAsync", address, where);
  refuse(cuMemcpyDtoHAsync(host, scene.memory, 1, nullptr), "cuMemcpyDtoHAsync", address, where);
  refuse(cuMemsetD8(address, 1, 1), "cuMemsetD8", address, where);
  refuse(cuMemsetD8Async(address, 1, 1, nullptr), "cuMemsetD8Async", address, where);
  auto* const page = reinterpret_cast<void*>(address & ~uintptr_t{4095});
  const CUresult registered = cuMemHostRegister(page, 4096, 0);
  refuse(registered, "cuMemHostRegister", address, where);
  if (!registered) MUST(cuMemHostUnregister(page));
  CUDA_MEMCPY2D box{};
  box.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
  box.srcDevice = address;
  box.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  box.dstDevice = scene.memory;
  box.WidthInBytes = box.Height = 1;
  refuse(cuMemcpy2D(&box), "cuMemcpy2D from there", address, where);
  std::swap(box.srcDevice, box.dstDevice);
  refuse(cuMemcpy2D(&box), "cuMemcpy2D to there", address, where);
}

// One that begins before a piece, and one that ends behind it.
void attackOver(const Scene& scene, uintptr_t address, const char* where) {
  auto* const host = reinterpret_cast<void*>(address);
  refuse(cuMemcpyHtoD(scene.memory, host, 2), "cuMemcpyHtoD over the border", address, where);
  refuse(cuMemcpyDtoH(host, scene.memory, 2), "cuMemcpyDtoH over the border", address, where);
  refuse(cuMemsetD8(address, 1, 2), "cuMemsetD8 over the border", address, where);
}

// A kernel that touches it ends with error 700, in a process of its own.
void attackByKernel(uintptr_t offset, const char* where, size_t handle) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (!child) {
    alarm(60);
    const Scene scene;
    CUdeviceptr argument = scene.handles[handle] + offset;
    void* parameters[] = {&argument};
    const CUresult launched = cuLaunchKernel(scene.touch, 1, 1, 1, 1, 1, 1, 0, nullptr, parameters, nullptr);
    const CUresult ended = cuCtxSynchronize();
    std::_Exit(launched == CUDA_ERROR_ILLEGAL_ADDRESS || ended == CUDA_ERROR_ILLEGAL_ADDRESS ? 0 : 9);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ++tried;
  if (!status) return;
  std::printf("a kernel at %s + %zd: ended with %#x\n", where, static_cast<ssize_t>(offset), status);
  ++failures;
}

bool was(const Mapping& one, int count) {
  for (int i = 0; i < count; ++i)
    if (before[i].start <= one.start && one.end <= before[i].end) return true;
  return false;
}

bool isThere(const Mapping& one) {
  static Mapping now[kMost];
  const int count = list(now);
  for (int i = 0; i < count; ++i)
    if (now[i].start <= one.start && one.end <= now[i].end) return true;
  return false;
}

void attackPiece(const Scene& scene, const Mapping& one) {
  attack(scene, one.start, one.name);
  attack(scene, one.start + (one.end - one.start) / 2, one.name);
  attack(scene, one.end - 1, one.name);
  attackOver(scene, one.start - 1, one.name);
  attackOver(scene, one.end - 1, one.name);
}

// The stack of a thread is the library's while the thread does something. One that has not begun, or has ended (and
// whose stack libc does not keep, see CMakeLists.txt), is waited for.
void attackUntilSettled(const Scene& scene, const Mapping& one) {
  const int sure = failures;
  for (int round = 0; round < 20; ++round) {
    failures = sure;
    if (!isThere(one)) return;
    tells = round == 19;
    attackPiece(scene, one);
    tells = true;
    if (failures == sure) return;
    usleep(100000);
  }
  std::printf("the piece is %#lx to %#lx\n", one.start, one.end);
}

}  // namespace

int main() {
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_MMAP_MAX, 0);
  const char* const kHandles[] = {"a context", "a stream", "an event", "a graph", "an array", "a module", "a function"};
  for (size_t handle = 0; handle < 7; ++handle) attackByKernel(0, kHandles[handle], handle);
  for (const uintptr_t offset : {uintptr_t{7}, ~uintptr_t{0}, uintptr_t{4096}}) attackByKernel(offset, "a stream", 1);
  const int old = list(before);
  const Scene scene;
  uintptr_t heap = 0;
  MUST(cuMemcpyDtoH(&heap, scene.memory + 8, sizeof heap));
  const int count = list(after);
  int pieces = 0;
  for (int i = 0; i < count; ++i) {
    const Mapping& one = after[i];
    if (!one.writable || was(one, old) || !std::strcmp(one.name, "[heap]") || !std::strcmp(one.name, "[stack]"))
      continue;
    if (isCudas(one.start) || isCudas(one.end - 1)) continue;
    if (heap - one.start < one.end - one.start) continue;  // the program's, by malloc in a kernel
    ++pieces;
    attackUntilSettled(scene, one);
  }
  for (size_t handle = 0; handle < scene.handles.size(); ++handle)
    attack(scene, scene.handles[handle], kHandles[handle]);
  refuse(pieces < 3 ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN, "finding the library's memory", 0, "");
  MUST(cuMemsetD8(scene.memory, 2, 1 << 20));  // all is as it was
  std::printf("%d pieces, %d attempts, %d that succeeded\n", pieces, tried, failures);
  return failures != 0;
}
