// Devices by their PCI ids, and what the environment changes: questions 143 and 198 to 201.
#include <ctype.h>
#include <pthread.h>
#include <unistd.h>

#include "questions.h"

static char id[16];

static void found(const char* name, const char* text) {
  CUdevice d = -7;
  CUresult r = D(cuDeviceGetByPCIBusId)(&d, text);
  fact(name, "%s%s", resultName(r), r ? "" : d == device ? ", the device" : ", another");
}

static void spellings(void) {
  start();
  char text[64];
  D(cuDeviceGetPCIBusId)(id, sizeof id, device);
  bool lower = false, upper = false;
  for (char* c = id; *c; ++c) {
    lower = lower || (isalpha((unsigned char)*c) && islower((unsigned char)*c));
    upper = upper || (isalpha((unsigned char)*c) && isupper((unsigned char)*c));
  }
  fact("Q198: has lower-case letters", "%s", YES(lower));
  fact("Q198: domain of four digits, function 0", "%s", YES(id[4] == ':' && !strcmp(id + 10, ".0")));
  RESULT("Q198: into NULL", D(cuDeviceGetPCIBusId)(NULL, 16, device));
  RESULT("Q198: length -1", D(cuDeviceGetPCIBusId)(text, -1, device));
  RESULT("Q198: device 99", D(cuDeviceGetPCIBusId)(text, 16, 99));
  found("Q199: as printed", id);
  for (size_t i = 0; i <= strlen(id); ++i) text[i] = (char)tolower((unsigned char)id[i]);
  found("Q199: lower case", text);
  for (size_t i = 0; i <= strlen(id); ++i) text[i] = (char)toupper((unsigned char)id[i]);
  found("Q199: upper case", text);
  snprintf(text, sizeof text, " %s", id);
  found("Q199: space before", text);
  snprintf(text, sizeof text, "%s ", id);
  found("Q199: space behind", text);
  snprintf(text, sizeof text, "%sx", id);
  found("Q199: letter behind", text);
  snprintf(text, sizeof text, "0000%s", id);
  found("Q199: eight digits of domain", text);
  found("Q199: without the domain", id + 5);
  snprintf(text, sizeof text, "%.7s", id + 3);
  found("Q199: colon before bus and device", text);
  snprintf(text, sizeof text, "%.5s", id + 5);
  found("Q199: bus and device", text);
  snprintf(text, sizeof text, "%.10s", id);
  found("Q199: without the function", text);
  snprintf(text, sizeof text, "%.10s.1", id);
  found("Q201: function 1", text);
  snprintf(text, sizeof text, "%.10s.8", id);
  found("Q201: function 8", text);
  CUdevice d = -7;
  found("Q199: absent, good form", "00ff:ff:1f.0");
  RESULT("Q199: into NULL", D(cuDeviceGetByPCIBusId)(NULL, id));
  fact("Q199: output of a failure", "%s",
       D(cuDeviceGetByPCIBusId)(&d, "zz") ? (d == -7 ? "left alone" : "changed") : "found");
}

static void hidden(void) {
  setenv("CUDA_VISIBLE_DEVICES", "", 1);
  int count = -1;
  CUdevice d;
  RESULT("Q200: cuInit with no device visible", D(cuInit)(0));
  RESULT("Q200: cuDeviceGetCount", D(cuDeviceGetCount)(&count));
  fact("Q200: count", "%d", count);
  RESULT("Q200: cuDeviceGetByPCIBusId", D(cuDeviceGetByPCIBusId)(&d, "0000:01:00.0"));
  CUdeviceptr p;
  RESULT("Q200: cuMemAlloc", D(cuMemAlloc_v2)(&p, 64));
}

static void forced(void) {
  setenv("CUDA_MANAGED_FORCE_DEVICE_ALLOC", "1", 1);
  start();
  CUdeviceptr v;
  RESULT("Q143: cuMemAllocManaged", D(cuMemAllocManaged)(&v, 1 << 20, CU_MEM_ATTACH_GLOBAL));
  fact("Q143: CPU can read it", "%s", YES(readable(host(v))));
  *(volatile int*)host(v) = 5;
  int back = 0;
  RESULT("Q143: copy of it", D(cuMemcpyDtoH_v2)(&back, v, 4));
  fact("Q143: what the CPU wrote", "%s", YES(back == 5));
}

static void forcedOddly(void) {
  setenv("CUDA_MANAGED_FORCE_DEVICE_ALLOC", "banana", 1);
  start();
  CUdeviceptr v;
  RESULT("Q143: with a value that is no number", D(cuMemAllocManaged)(&v, 1 << 20, CU_MEM_ATTACH_GLOBAL));
}

static CUdeviceptr within;
static volatile int fired, elsewhere, contextInside = -1, allocInside = -1;
static pthread_t registrar;

static void notified(CUasyncNotificationInfo* info, void* data, CUasyncCallbackHandle handle) {
  (void)info, (void)data, (void)handle;
  if (fired++) return;
  CUcontext current = NULL;
  elsewhere = !pthread_equal(pthread_self(), registrar);
  contextInside = D(cuCtxGetCurrent)(&current) ? 2 : current != NULL;
  allocInside = (int)D(cuMemAlloc_v2)(&within, 64);
}

static void notifications(void) {
  start();
  registrar = pthread_self();
  CUasyncCallbackHandle a = NULL, b = NULL;
  RESULT("Q202: register", D(cuDeviceRegisterAsyncNotification)(device, notified, NULL, &a));
  RESULT("Q202: register again", D(cuDeviceRegisterAsyncNotification)(device, notified, NULL, &b));
  fact("Q202: different handles", "%s", YES(a != b));
  RESULT("Q202: register at device 99", D(cuDeviceRegisterAsyncNotification)(99, notified, NULL, &b));
  CUdeviceptr p;
  size_t step = (size_t)4 << 30;
  while (step >= (2 << 20))
    if (D(cuMemAlloc_v2)(&p, step)) step /= 2;
  usleep(300000);
  fact("Q204: fired after cuMemAlloc until refusal", "%s", YES(fired > 0));
  if (fired) {
    fact("Q203: on another thread", "%s", YES(elsewhere));
    fact("Q203: context current inside", "%d", contextInside);
    fact("Q203: cuMemAlloc inside", "%s", resultName((CUresult)allocInside));
  }
  RESULT("Q202: unregister", D(cuDeviceUnregisterAsyncNotification)(device, a));
}

static void notificationElsewhere(void) {
  start();
  CUasyncCallbackHandle a = NULL;
  D(cuDeviceRegisterAsyncNotification)(device, notified, NULL, &a);
  RESULT("Q202: unregister at device 99", D(cuDeviceUnregisterAsyncNotification)(99, a));
}

static void notificationNowhere(void) {
  start();
  RESULT("Q202: register without a place for the handle",
         D(cuDeviceRegisterAsyncNotification)(device, notified, NULL, NULL));
}

// Whether the offset of an array in a 3D batch counts elements.
static void batchOffset(void) {
  start();
  CUarray a;
  CUstream s;
  D(cuStreamCreate)(&s, 0);
  makeArray(&a, 64, 4, 0, CU_AD_FORMAT_FLOAT, 1, 0);
  float zero[64] = {0}, one[4] = {1, 2, 3, 4}, back[64];
  D(cuMemcpyHtoA_v2)(a, 0, zero, 256);
  CUdeviceptr p = deviceBytes(64);
  D(cuMemcpyHtoD_v2)(p, one, 16);
  CUDA_MEMCPY3D_BATCH_OP op;
  memset(&op, 0, sizeof op);
  op.src.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
  op.src.op.ptr.ptr = p;
  op.dst.type = CU_MEMCPY_OPERAND_TYPE_ARRAY;
  op.dst.op.array.array = a;
  op.dst.op.array.offset.x = 3;
  op.extent.width = 2;
  op.extent.height = op.extent.depth = 1;
  op.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  RESULT("Q186: batch into an array at x 3, width 2", D(cuMemcpy3DBatchAsync_v2)(1, &op, 0, s));
  RESULT("Q186: its stream", D(cuStreamSynchronize)(s));
  D(cuMemcpyAtoH_v2)(back, a, 0, 256);
  int first = 0, last = 64;
  while (first < 64 && back[first] == 0) ++first;
  while (last > first && back[last - 1] == 0) --last;
  fact("Q186: elements written", "%d to %d", first, last);
}

const Group kQuestionDeviceGroups[] = {{"questions.devices.spellings", spellings},
                                       {"questions.devices.hidden", hidden},
                                       {"questions.devices.forced", forced},
                                       {"questions.devices.odd-value", forcedOddly},
                                       {"questions.notifications", notifications},
                                       {"questions.notification-elsewhere", notificationElsewhere},
                                       {"questions.notification-nowhere", notificationNowhere},
                                       {"questions.batch-offset", batchOffset},
                                       {NULL, NULL}};
