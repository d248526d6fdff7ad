/* Makes the calls whose trace trace_test.cpp reads. */
#include <cuda.h>
#include <dlfcn.h>
#include <string.h>

static void* library;

/* POSIX promises that a pointer from dlsym may be copied into a pointer to a function. */
static void find(void* function, const char* name) {
  void* const address = dlsym(library, name);
  memcpy(function, &address, sizeof address);
}

int main(void) {
  int version = 0;
  const char* text = NULL;
  void* address = NULL;
  CUdriverProcAddressQueryResult status;
  CUresult (*init)(unsigned);
  CUresult (*driverVersion)(int*);
  CUresult (*errorName)(CUresult, const char**);
  CUresult (*deviceAttribute)(int*, CUdevice_attribute, CUdevice);
  CUresult (*procAddress)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);
  CUresult (*moduleLoad)(CUmodule*, const char*);

  library = dlopen(LIBCUDA, RTLD_NOW);
  if (!library) return 1;
  find(&init, "cuInit");
  find(&driverVersion, "cuDriverGetVersion");
  find(&errorName, "cuGetErrorName");
  find(&deviceAttribute, "cuDeviceGetAttribute");
  find(&procAddress, "cuGetProcAddress_v2");
  find(&moduleLoad, "cuModuleLoad");
  if (!init || !driverVersion || !errorName || !deviceAttribute || !procAddress || !moduleLoad) return 2;

  if (init(0) != CUDA_SUCCESS) return 3;
  driverVersion(&version);
  errorName(CUDA_ERROR_OUT_OF_MEMORY, &text);
  deviceAttribute(NULL, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0);
  procAddress("cuInit", &address, 13000, 0, &status);
  moduleLoad((CUmodule*)16, "no \"such\" file\n"); /* the trace must not follow the pointer to nowhere */
  return 0;
}
