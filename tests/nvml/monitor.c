// A small monitoring program: it knows nothing of the driver API, and sees devices that CUDA_VISIBLE_DEVICES hides.
#include <stdio.h>
#include <stdlib.h>

typedef struct nvmlDevice_st* nvmlDevice_t;
typedef struct {
  unsigned long long total, free, used;
} nvmlMemory_t;
unsigned nvmlInit_v2(void);
unsigned nvmlShutdown(void);
unsigned nvmlDeviceGetCount_v2(unsigned* count);
unsigned nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t* device);
unsigned nvmlDeviceGetName(nvmlDevice_t device, char* name, unsigned length);
unsigned nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory);
const char* nvmlErrorString(unsigned code);

static void must(unsigned code, const char* what) {
  if (!code) return;
  fprintf(stderr, "%s: %s\n", what, nvmlErrorString(code));
  exit(1);
}

int main(int argc, char** argv) {
  unsigned count = 0;
  must(nvmlInit_v2(), "nvmlInit");
  must(nvmlDeviceGetCount_v2(&count), "nvmlDeviceGetCount");
  for (unsigned i = 0; i < count; ++i) {
    nvmlDevice_t device;
    char name[96];
    nvmlMemory_t memory;
    must(nvmlDeviceGetHandleByIndex_v2(i, &device), "nvmlDeviceGetHandleByIndex");
    must(nvmlDeviceGetName(device, name, sizeof name), "nvmlDeviceGetName");
    must(nvmlDeviceGetMemoryInfo(device, &memory), "nvmlDeviceGetMemoryInfo");
    printf("%u: %s, %llu of %llu MiB in use\n", i, name, memory.used >> 20, memory.total >> 20);
  }
  must(nvmlShutdown(), "nvmlShutdown");
  return argc > 1 && count != (unsigned)atoi(argv[1]);
}
