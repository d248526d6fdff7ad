// Question 3: every function of the memory module without a current context.
#include "questions.h"

static CUdeviceptr p;
static void* h;
static char m[4096];
static char* pageable;
static CUstream s;
static CUevent shareable;
static CUarray line, plane;
static CUmipmappedArray mips;

static void prepare(void) {
  start();
  p = deviceBytes(1 << 16);
  pageable = hostPages(4);
  D(cuMemHostAlloc)(&h, 4096, 0);
  D(cuStreamCreate)(&s, 0);
  D(cuEventCreate)(&shareable, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
  makeArray(&line, 64, 0, 0, CU_AD_FORMAT_FLOAT, 1, 0);
  makeArray(&plane, 64, 64, 0, CU_AD_FORMAT_FLOAT, 1, 0);
  CUDA_ARRAY3D_DESCRIPTOR_v2 d = {64, 64, 0, CU_AD_FORMAT_FLOAT, 1, 0};
  D(cuMipmappedArrayCreate)(&mips, &d, 3);
  D(cuMemHostRegister_v2)(pageable, 4096, 0);
  D(cuCtxSetCurrent)(NULL);
}

static void allocation(void) {
  prepare();
  CUdeviceptr q;
  size_t pitch;
  void* made;
  unsigned f;
  RESULT("Q3: cuMemAllocPitch", D(cuMemAllocPitch_v2)(&q, &pitch, 64, 4, 4));
  RESULT("Q3: cuMemAllocHost", D(cuMemAllocHost_v2)(&made, 64));
  RESULT("Q3: cuMemHostRegister", D(cuMemHostRegister_v2)(pageable + 8192, 4096, 0));
  RESULT("Q3: cuMemHostGetFlags", D(cuMemHostGetFlags)(&f, h));
  RESULT("Q3: cuMemHostUnregister", D(cuMemHostUnregister)(pageable));
  RESULT("Q3: cuMemAllocAsync on s", D(cuMemAllocAsync)(&q, 64, s));
  RESULT("Q3: cuMemAllocAsync on 0", D(cuMemAllocAsync)(&q, 64, 0));
  RESULT("Q3: cuStreamAttachMemAsync on 0", D(cuStreamAttachMemAsync)(0, p, 0, CU_MEM_ATTACH_GLOBAL));
}

static void fills(void) {
  prepare();
  RESULT("Q3: cuMemsetD16", D(cuMemsetD16_v2)(p, 1, 4));
  RESULT("Q3: cuMemsetD32", D(cuMemsetD32_v2)(p, 1, 4));
  RESULT("Q3: cuMemsetD2D8", D(cuMemsetD2D8_v2)(p, 64, 1, 4, 4));
  RESULT("Q3: cuMemsetD2D16", D(cuMemsetD2D16_v2)(p, 64, 1, 4, 4));
  RESULT("Q3: cuMemsetD2D32", D(cuMemsetD2D32_v2)(p, 64, 1, 4, 4));
  RESULT("Q3: cuMemsetD16Async on s", D(cuMemsetD16Async)(p, 1, 4, s));
  RESULT("Q3: cuMemsetD32Async on s", D(cuMemsetD32Async)(p, 1, 4, s));
  RESULT("Q3: cuMemsetD32Async on 0", D(cuMemsetD32Async)(p, 1, 4, 0));
  RESULT("Q3: cuMemsetD2D8Async on s", D(cuMemsetD2D8Async)(p, 64, 1, 4, 4, s));
  RESULT("Q3: cuMemsetD2D32Async on 0", D(cuMemsetD2D32Async)(p, 64, 1, 4, 4, 0));
}

static CUDA_MEMCPY2D_v2 rectangle(void) {
  CUDA_MEMCPY2D_v2 c;
  memset(&c, 0, sizeof c);
  c.srcMemoryType = CU_MEMORYTYPE_HOST;
  c.srcHost = m;
  c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  c.dstDevice = p;
  c.WidthInBytes = 16;
  c.Height = 4;
  return c;
}

static CUDA_MEMCPY3D_v2 box(void) {
  CUDA_MEMCPY3D_v2 c;
  memset(&c, 0, sizeof c);
  c.srcMemoryType = CU_MEMORYTYPE_HOST;
  c.srcHost = m;
  c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  c.dstDevice = p;
  c.WidthInBytes = 16;
  c.Height = 4;
  c.Depth = 2;
  return c;
}

static void copies(void) {
  prepare();
  CUDA_MEMCPY2D_v2 c2 = rectangle();
  CUDA_MEMCPY3D_v2 c3 = box();
  RESULT("Q3: cuMemcpy2D", D(cuMemcpy2D_v2)(&c2));
  RESULT("Q3: cuMemcpy2DUnaligned", D(cuMemcpy2DUnaligned_v2)(&c2));
  RESULT("Q3: cuMemcpy2DAsync on s", D(cuMemcpy2DAsync_v2)(&c2, s));
  RESULT("Q3: cuMemcpy2DAsync on 0", D(cuMemcpy2DAsync_v2)(&c2, 0));
  RESULT("Q3: cuMemcpy3D", D(cuMemcpy3D_v2)(&c3));
  RESULT("Q3: cuMemcpy3DAsync on s", D(cuMemcpy3DAsync_v2)(&c3, s));
  RESULT("Q3: cuMemcpyAsync on s", D(cuMemcpyAsync)(p, p + 64, 4, s));
  RESULT("Q3: cuMemcpyAsync on 0", D(cuMemcpyAsync)(p, p + 64, 4, 0));
  RESULT("Q3: cuMemcpyDtoHAsync on s", D(cuMemcpyDtoHAsync_v2)(m, p, 4, s));
  RESULT("Q3: cuMemcpyDtoDAsync on s", D(cuMemcpyDtoDAsync_v2)(p, p + 64, 4, s));
  RESULT("Q3: cuMemcpyPeerAsync on s", D(cuMemcpyPeerAsync)(p, context, p + 64, context, 4, s));
  RESULT("Q3: cuMemcpyHtoA", D(cuMemcpyHtoA_v2)(line, 0, m, 64));
  RESULT("Q3: cuMemcpyAtoH", D(cuMemcpyAtoH_v2)(m, line, 0, 64));
  RESULT("Q3: cuMemcpyDtoA", D(cuMemcpyDtoA_v2)(line, 0, p, 64));
  RESULT("Q3: cuMemcpyAtoD", D(cuMemcpyAtoD_v2)(p, line, 0, 64));
  RESULT("Q3: cuMemcpyAtoA", D(cuMemcpyAtoA_v2)(line, 0, line, 128, 64));
  RESULT("Q3: cuMemcpyHtoAAsync on s", D(cuMemcpyHtoAAsync_v2)(line, 0, m, 64, s));
  RESULT("Q3: cuMemcpyAtoHAsync on s", D(cuMemcpyAtoHAsync_v2)(m, line, 0, 64, s));
  RESULT("Q3: cuMemcpyHtoAAsync on 0", D(cuMemcpyHtoAAsync_v2)(line, 0, m, 64, 0));
}

static void arrays(void) {
  prepare();
  CUarray a;
  CUmipmappedArray made;
  CUDA_ARRAY_DESCRIPTOR_v2 d2 = {64, 64, CU_AD_FORMAT_FLOAT, 1};
  CUDA_ARRAY3D_DESCRIPTOR_v2 d3 = {64, 64, 0, CU_AD_FORMAT_FLOAT, 1, 0};
  CUDA_ARRAY_MEMORY_REQUIREMENTS required;
  CUDA_ARRAY_SPARSE_PROPERTIES sparse;
  RESULT("Q3: cuArrayCreate", D(cuArrayCreate_v2)(&a, &d2));
  RESULT("Q3: cuArray3DCreate", D(cuArray3DCreate_v2)(&a, &d3));
  RESULT("Q3: cuMipmappedArrayCreate", D(cuMipmappedArrayCreate)(&made, &d3, 2));
  RESULT("Q3: cuArrayGetDescriptor", D(cuArrayGetDescriptor_v2)(&d2, plane));
  RESULT("Q3: cuArray3DGetDescriptor", D(cuArray3DGetDescriptor_v2)(&d3, plane));
  RESULT("Q3: cuMipmappedArrayGetLevel", D(cuMipmappedArrayGetLevel)(&a, mips, 1));
  RESULT("Q3: cuArrayGetPlane of a plain array", D(cuArrayGetPlane)(&a, plane, 0));
  RESULT("Q3: cuArrayGetMemoryRequirements of a plain array",
         D(cuArrayGetMemoryRequirements)(&required, plane, device));
  RESULT("Q3: cuArrayGetSparseProperties of a plain array", D(cuArrayGetSparseProperties)(&sparse, plane));
  RESULT("Q3: cuArrayDestroy", D(cuArrayDestroy)(plane));
  RESULT("Q3: cuMipmappedArrayDestroy", D(cuMipmappedArrayDestroy)(mips));
}

static void sharing(void) {
  prepare();
  CUipcMemHandle memory;
  CUipcEventHandle event;
  int fd;
  RESULT("Q3: cuIpcGetMemHandle", D(cuIpcGetMemHandle)(&memory, p));
  RESULT("Q3: cuIpcGetEventHandle", D(cuIpcGetEventHandle)(&event, shareable));
  RESULT("Q3: cuMemGetHandleForAddressRange",
         D(cuMemGetHandleForAddressRange)(&fd, p, 65536, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0));
  CUdeviceptr q;
  memset(&memory, 0, sizeof memory);
  RESULT("Q3: cuIpcOpenMemHandle of zeros", D(cuIpcOpenMemHandle_v2)(&q, memory, 1));
  RESULT("Q3: cuIpcCloseMemHandle of own memory", D(cuIpcCloseMemHandle)(p));
  memset(&event, 0, sizeof event);
  CUevent opened;
  RESULT("Q3: cuIpcOpenEventHandle of zeros", D(cuIpcOpenEventHandle)(&opened, event));
}

const Group kQuestionContextGroups[] = {
    {"questions.context.allocation", allocation}, {"questions.context.fills", fills},
    {"questions.context.copies", copies},         {"questions.context.arrays", arrays},
    {"questions.context.sharing", sharing},       {NULL, NULL}};
