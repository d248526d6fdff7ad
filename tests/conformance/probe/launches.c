// Modules, launches and device faults.
#include "probe.h"

static CUresult go(CUfunction f, unsigned gx, unsigned bx, unsigned shared, void** arguments) {
  return D(cuLaunchKernel)(f, gx, 1, 1, bx, 1, 1, shared, 0, arguments, NULL);
}

static const char kNewer[] = ".version 9.0\n.target sm_121\n.address_size 64\n.visible .entry a() { ret; }\n";
static const char kFuture[] = ".version 99.0\n.target sm_50\n.address_size 64\n.visible .entry a() { ret; }\n";
static const char kFutureTarget[] = ".version 9.0\n.target sm_250\n.address_size 64\n.visible .entry a() { ret; }\n";
static const char kGood[] = ".version 6.5\n.target sm_50\n.address_size 64\n.visible .entry a() { ret; }\n";
static const char kUnknownOpcode[] =
    ".version 6.5\n.target sm_50\n.address_size 64\n.visible .entry a() { frob.u32 %r1; ret; }\n";
static const char kUndeclared[] =
    ".version 6.5\n.target sm_50\n.address_size 64\n.visible .entry a() { mov.u32 %r1, 1; ret; }\n";
static const char kUnresolved[] =
    ".version 6.5\n.target sm_50\n.address_size 64\n.extern .global .u32 missing;\n"
    ".visible .entry a() { .reg .u32 %r; ld.global.u32 %r, [missing]; st.global.u32 [missing], %r; ret; }\n";

static void loading(void) {
  start();
  CUmodule m;
  RESULT("good text", D(cuModuleLoadData)(&m, kGood));
  RESULT("empty text", D(cuModuleLoadData)(&m, ""));
  RESULT("words", D(cuModuleLoadData)(&m, "hello world"));
  RESULT("text for sm_121", D(cuModuleLoadData)(&m, kNewer));
  RESULT("ISA 99.0", D(cuModuleLoadData)(&m, kFuture));
  RESULT("target sm_250", D(cuModuleLoadData)(&m, kFutureTarget));
  RESULT("unknown opcode", D(cuModuleLoadData)(&m, kUnknownOpcode));
  RESULT("undeclared register", D(cuModuleLoadData)(&m, kUndeclared));
  RESULT("unresolved extern", D(cuModuleLoadData)(&m, kUnresolved));
  uint32_t fat[8] = {0xBA55ED50, 0x00100001, 0, 0};
  RESULT("container without entries", D(cuModuleLoadData)(&m, fat));
  uint64_t wrapper[3] = {0x00000001466243B1ull, (uint64_t)(uintptr_t)fat, 0};
  RESULT("wrapper around it", D(cuModuleLoadData)(&m, wrapper));
  uint32_t bad[8] = {0xBA55ED50, 0x00100009, 0, 0};
  RESULT("container of an unknown version", D(cuModuleLoadData)(&m, bad));
  unsigned char elf[64] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
  RESULT("ELF header of zeros", D(cuModuleLoadData)(&m, elf));
  RESULT("file that does not exist", D(cuModuleLoad)(&m, "/nonexistent/file.ptx"));
  RESULT("NULL file", D(cuModuleLoad)(&m, NULL));
  char log[4096] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, (void*)(uintptr_t)sizeof log};
  RESULT("unknown opcode with a log", D(cuModuleLoadDataEx)(&m, kUnknownOpcode, 2, options, values));
  fact("log has text", "%s", YES(log[0] != 0));
  CUfunction f;
  CUdeviceptr p;
  size_t n;
  D(cuModuleLoadData)(&m, kGood);
  RESULT("missing function", D(cuModuleGetFunction)(&f, m, "b"));
  RESULT("empty function name", D(cuModuleGetFunction)(&f, m, ""));
  RESULT("NULL function name", D(cuModuleGetFunction)(&f, m, NULL));
  RESULT("missing variable", D(cuModuleGetGlobal_v2)(&p, &n, m, "b"));
  RESULT("NULL module", D(cuModuleGetFunction)(&f, NULL, "a"));
  RESULT("unload NULL", D(cuModuleUnload)(NULL));
  RESULT("unload", D(cuModuleUnload)(m));
  CUlibrary l;
  CUkernel k;
  RESULT("library of good text", D(cuLibraryLoadData)(&l, kGood, NULL, NULL, 0, NULL, NULL, 0));
  RESULT("missing kernel", D(cuLibraryGetKernel)(&k, l, "b"));
  RESULT("kernel", D(cuLibraryGetKernel)(&k, l, "a"));
  RESULT("launch of a CUkernel", go((CUfunction)k, 1, 1, 0, NULL));
  RESULT("missing global of a library", D(cuLibraryGetGlobal)(&p, &n, l, "b"));
  RESULT("missing managed of a library", D(cuLibraryGetManaged)(&p, &n, l, "b"));
  RESULT("library of words", D(cuLibraryLoadData)(&l, "hello", NULL, NULL, 0, NULL, NULL, 0));
  RESULT("library of sm_121", D(cuLibraryLoadData)(&l, kNewer, NULL, NULL, 0, NULL, NULL, 0));
}

static void unloadedTwice(void) {
  start();
  CUmodule m;
  D(cuModuleLoadData)(&m, kGood);
  D(cuModuleUnload)(m);
  RESULT("second unload", D(cuModuleUnload)(m));
}

static void shapes(void) {
  start();
  CUfunction f = kernel("nop"), limited = kernel("limited"), required = kernel("required"), store = kernel("store"),
             shared = kernel("shared");
  RESULT("plain", go(f, 1, 1, 0, NULL));
  RESULT("grid 0", go(f, 0, 1, 0, NULL));
  RESULT("block 0", go(f, 1, 0, 0, NULL));
  RESULT("grid y 65536", D(cuLaunchKernel)(f, 1, 65536, 1, 1, 1, 1, 0, 0, NULL, NULL));
  RESULT("grid x 2^31", D(cuLaunchKernel)(f, 1u << 31, 1, 1, 1, 1, 1, 0, 0, NULL, NULL));
  RESULT("block 1024", go(f, 1, 1024, 0, NULL));
  RESULT("block 1025", go(f, 1, 1025, 0, NULL));
  RESULT("block 32x32x2", D(cuLaunchKernel)(f, 1, 1, 1, 32, 32, 2, 0, 0, NULL, NULL));
  RESULT("block z 65", D(cuLaunchKernel)(f, 1, 1, 1, 1, 1, 65, 0, 0, NULL, NULL));
  RESULT("maxntid exceeded", go(limited, 1, 65, 0, NULL));
  RESULT("maxntid met", go(limited, 1, 64, 0, NULL));
  RESULT("reqntid missed", go(required, 1, 31, 0, NULL));
  RESULT("reqntid met", go(required, 1, 32, 0, NULL));
  RESULT("48 KiB dynamic shared", go(f, 1, 1, 48 << 10, NULL));
  RESULT("48 KiB + 1 dynamic shared", go(f, 1, 1, (48 << 10) + 1, NULL));
  RESULT("48 KiB dynamic + 1 KiB static", go(shared, 1, 1, 48 << 10, NULL));
  RESULT("opt in to 227 KiB", D(cuFuncSetAttribute)(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 227 << 10));
  RESULT("227 KiB dynamic shared", go(f, 1, 1, 227 << 10, NULL));
  RESULT("opt in to 228 KiB", D(cuFuncSetAttribute)(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 228 << 10));
  RESULT("opt in to -1", D(cuFuncSetAttribute)(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, -1));
  RESULT("set a read-only attribute", D(cuFuncSetAttribute)(f, CU_FUNC_ATTRIBUTE_NUM_REGS, 4));
  RESULT("parameters NULL", go(store, 1, 1, 0, NULL));
  RESULT("NULL function", go(NULL, 1, 1, 0, NULL));
  CUdeviceptr target;
  D(cuMemAlloc_v2)(&target, 64);
  char buffer[16] = {0};
  memcpy(buffer, &target, sizeof target);
  size_t size = 12;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  void* both[] = {buffer, buffer};
  RESULT("kernelParams and extra", D(cuLaunchKernel)(store, 1, 1, 1, 1, 1, 1, 0, 0, both, extra));
  size = 8;
  RESULT("extra too small", D(cuLaunchKernel)(store, 1, 1, 1, 1, 1, 1, 0, 0, NULL, extra));
  RESULT("cooperative plain", D(cuLaunchCooperativeKernel)(f, 1, 1, 1, 32, 1, 1, 0, 0, NULL));
  RESULT("cooperative too large", D(cuLaunchCooperativeKernel)(f, 1 << 20, 1, 1, 1024, 1, 1, 0, 0, NULL));
  RESULT("still usable", D(cuCtxSynchronize)());
  int value;
  RESULT("unknown function attribute", D(cuFuncGetAttribute)(&value, (CUfunction_attribute)99, f));
  D(cuFuncGetAttribute)(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, limited);
  fact("maxThreadsPerBlock of maxntid 64", "%d", value);
  D(cuFuncGetAttribute)(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, shared);
  fact("static shared of 1 KiB", "%d", value);
  D(cuFuncGetAttribute)(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared);
  fact("max dynamic shared with 1 KiB static", "%d", value);
  D(cuFuncGetAttribute)(&value, CU_FUNC_ATTRIBUTE_PTX_VERSION, f);
  fact("PTX version of sm_50 text", "%d", value);
  size_t offset, bytes;
  RESULT("parameter 1", D(cuFuncGetParamInfo)(store, 1, &offset, &bytes));
  fact("its offset and size", "%zu %zu", offset, bytes);
  RESULT("parameter 2", D(cuFuncGetParamInfo)(store, 2, &offset, &bytes));
  RESULT("parameter 0 of nop", D(cuFuncGetParamInfo)(f, 0, &offset, &bytes));
}

static void foreignFunction(void) {
  start();
  CUcontext other;
  CUfunction f = kernel("nop");
  D(cuCtxCreate_v2)(&other, 0, device);
  RESULT("launch in another context", go(f, 1, 1, 0, NULL));
}

static void arithmetic(void) {
  start();
  CUdeviceptr p;
  D(cuMemAlloc_v2)(&p, 64);
  unsigned zero = 0;
  int out[3];
  void* arguments[] = {&p, &zero};
  RESULT("launch", go(kernel("divide"), 1, 1, 0, arguments));
  RESULT("synchronise", D(cuCtxSynchronize)());
  D(cuMemcpyDtoH_v2)(out, p, sizeof out);
  fact("7 / 0, 7 % 0, signed 7 / 0", "%d %d %d", out[0], out[1], out[2]);
}

// What a faulted context answers, by call.
static void afterwards(CUdeviceptr p, void* h, CUstream s, CUevent e) {
  CUdeviceptr q;
  size_t f, t;
  char m[64];
  CUmodule module;
  CUcontext c;
  RESULT("second cuCtxSynchronize", D(cuCtxSynchronize)());
  RESULT("cuMemAlloc", D(cuMemAlloc_v2)(&q, 64));
  RESULT("cuMemAlloc zero bytes", D(cuMemAlloc_v2)(&q, 0));
  RESULT("cuMemAlloc NULL", D(cuMemAlloc_v2)(NULL, 0));
  RESULT("cuMemGetInfo", D(cuMemGetInfo_v2)(&f, &t));
  RESULT("cuMemcpyHtoD", D(cuMemcpyHtoD_v2)(p, m, 4));
  RESULT("cuMemcpyDtoH", D(cuMemcpyDtoH_v2)(m, p, 4));
  RESULT("cuMemcpyHtoDAsync", D(cuMemcpyHtoDAsync_v2)(p, m, 4, s));
  RESULT("cuMemsetD8", D(cuMemsetD8_v2)(p, 0, 4));
  RESULT("cuLaunchKernel", go(kernel("nop"), 1, 1, 0, NULL));
  RESULT("cuStreamSynchronize", D(cuStreamSynchronize)(s));
  RESULT("cuStreamQuery", D(cuStreamQuery)(s));
  RESULT("cuEventQuery", D(cuEventQuery)(e));
  RESULT("cuEventRecord", D(cuEventRecord)(e, s));
  RESULT("cuEventSynchronize", D(cuEventSynchronize)(e));
  RESULT("cuStreamCreate", D(cuStreamCreate)(&s, 0));
  RESULT("cuEventCreate", D(cuEventCreate)(&e, 0));
  RESULT("cuModuleLoadData", D(cuModuleLoadData)(&module, kGood));
  unsigned type;
  RESULT("cuPointerGetAttribute", D(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p));
  RESULT("cuMemGetAddressRange", D(cuMemGetAddressRange_v2)(&q, &f, p));
  CUdevice d;
  RESULT("cuCtxGetDevice", D(cuCtxGetDevice)(&d));
  int value;
  RESULT("cuDeviceGetAttribute", D(cuDeviceGetAttribute)(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, device));
  RESULT("cuMemHostAlloc", D(cuMemHostAlloc)(&h, 64, 0));
  RESULT("cuMemFreeHost", D(cuMemFreeHost)(h));
  RESULT("cuMemFree", D(cuMemFree_v2)(p));
  RESULT("cuStreamDestroy", D(cuStreamDestroy_v2)(s));
  RESULT("cuEventDestroy", D(cuEventDestroy_v2)(e));
  RESULT("cuCtxCreate of another", D(cuCtxCreate_v2)(&c, 0, device));
  RESULT("cuMemAlloc there", D(cuMemAlloc_v2)(&q, 64));
  D(cuCtxSetCurrent)(context);
  RESULT("cuCtxDestroy", D(cuCtxDestroy_v2)(context));
  RESULT("cuCtxCreate after it", D(cuCtxCreate_v2)(&c, 0, device));
  RESULT("cuMemAlloc there", D(cuMemAlloc_v2)(&q, 64));
}

static void fault(const char* name, uint64_t address) {
  start();
  CUdeviceptr p;
  void* h;
  CUstream s;
  CUevent e;
  D(cuMemAlloc_v2)(&p, 4096);
  D(cuMemHostAlloc)(&h, 64, 0);
  D(cuStreamCreate)(&s, 0);
  D(cuEventCreate)(&e, 0);
  kernel("nop");
  unsigned value = 1;
  void* arguments[] = {&address, &value};
  RESULT("launch", D(cuLaunchKernel)(kernel(name), 1, 1, 1, 1, 1, 1, 0, s, arguments, NULL));
  RESULT("cuStreamSynchronize at first", D(cuStreamSynchronize)(s));
  afterwards(p, h, s, e);
}

static void wildStore(void) { fault("store", 0x123456789000ull); }
static void nullStore(void) { fault("store", 0); }
static void misaligned(void) {
  start();
  CUdeviceptr p;
  D(cuMemAlloc_v2)(&p, 64);
  p += 1;
  unsigned value = 1;
  void* arguments[] = {&p, &value};
  RESULT("launch", go(kernel("store"), 1, 1, 0, arguments));
  RESULT("cuCtxSynchronize", D(cuCtxSynchronize)());
}
static void trap(void) { fault("stop", 0); }

static void primaryReset(void) {
  CUcontext primary;
  D(cuInit)(0);
  D(cuDeviceGet)(&device, 0);
  D(cuDevicePrimaryCtxRetain)(&primary, device);
  D(cuCtxSetCurrent)(primary);
  uint64_t wild = 0x123456789000ull;
  unsigned value = 1;
  void* arguments[] = {&wild, &value};
  go(kernel("store"), 1, 1, 0, arguments);
  RESULT("cuCtxSynchronize", D(cuCtxSynchronize)());
  RESULT("cuDevicePrimaryCtxReset", D(cuDevicePrimaryCtxReset_v2)(device));
  CUdeviceptr p;
  RESULT("cuMemAlloc without a new retain", D(cuMemAlloc_v2)(&p, 64));
  unsigned flags;
  int active;
  D(cuDevicePrimaryCtxGetState)(device, &flags, &active);
  fact("active after reset", "%d", active);
  CUcontext again;
  RESULT("retain again", D(cuDevicePrimaryCtxRetain)(&again, device));
  fact("same handle", "%s", YES(again == primary));
  RESULT("cuMemAlloc afterwards", D(cuMemAlloc_v2)(&p, 64));
}

static void resetHealthy(void) {
  CUcontext primary, current, again;
  unsigned version, flags;
  int active;
  D(cuInit)(0);
  D(cuDeviceGet)(&device, 0);
  D(cuDevicePrimaryCtxGetState)(device, &flags, &active);
  fact("active at start", "%d %u", active, flags);
  RESULT("release never retained", D(cuDevicePrimaryCtxRelease_v2)(device));
  RESULT("reset never retained", D(cuDevicePrimaryCtxReset_v2)(device));
  D(cuDevicePrimaryCtxRetain)(&primary, device);
  RESULT("current after retain", D(cuCtxGetCurrent)(&current));
  fact("it", "%s", current ? "set" : "NULL");
  D(cuCtxSetCurrent)(primary);
  CUdeviceptr p;
  D(cuMemAlloc_v2)(&p, 64);
  CUstream s;
  D(cuStreamCreate)(&s, 0);
  RESULT("reset", D(cuDevicePrimaryCtxReset_v2)(device));
  RESULT("cuCtxGetCurrent", D(cuCtxGetCurrent)(&current));
  fact("current after reset", "%s", current == primary ? "primary" : current ? "other" : "NULL");
  RESULT("cuCtxGetApiVersion", D(cuCtxGetApiVersion)(primary, &version));
  RESULT("cuCtxGetDevice", D(cuCtxGetDevice)(&device));
  RESULT("cuCtxSetCurrent", D(cuCtxSetCurrent)(primary));
  RESULT("cuMemAlloc", D(cuMemAlloc_v2)(&p, 64));
  RESULT("cuCtxSynchronize", D(cuCtxSynchronize)());
  RESULT("retain", D(cuDevicePrimaryCtxRetain)(&again, device));
  fact("same handle", "%s", YES(again == primary));
  RESULT("cuMemFree of old memory", D(cuMemFree_v2)(p));
  RESULT("release", D(cuDevicePrimaryCtxRelease_v2)(device));
  RESULT("release once more", D(cuDevicePrimaryCtxRelease_v2)(device));
  RESULT("cuCtxDestroy of primary", D(cuCtxDestroy_v2)(primary));
}

const Group kLaunchGroups[] = {{"launch.loading", loading},
                               {"launch.unloaded-twice", unloadedTwice},
                               {"launch.shapes", shapes},
                               {"launch.foreign-function", foreignFunction},
                               {"launch.arithmetic", arithmetic},
                               {"fault.wild-store", wildStore},
                               {"fault.null-store", nullStore},
                               {"fault.misaligned", misaligned},
                               {"fault.trap", trap},
                               {"fault.primary-reset", primaryReset},
                               {"primary.reset", resetHealthy},
                               {NULL, NULL}};
