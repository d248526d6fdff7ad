// What the groups of numbered questions share.
#include "questions.h"

#include <sys/mman.h>
#include <unistd.h>

CUdeviceptr deviceBytes(size_t bytes) {
  CUdeviceptr p = 0;
  D(cuMemAlloc_v2)(&p, bytes);
  return p;
}

char* hostPages(size_t count) {
  char* p = mmap(NULL, count * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(p, 1, count * 4096);
  return p;
}

bool readable(const void* p) {
  int ends[2];
  if (pipe(ends)) return false;
  const bool yes = write(ends[1], p, 1) == 1;
  close(ends[0]);
  close(ends[1]);
  return yes;
}

CUresult makeArray(CUarray* a, size_t width, size_t height, size_t depth, CUarray_format format, unsigned channels,
                   unsigned flags) {
  CUDA_ARRAY3D_DESCRIPTOR_v2 d = {width, height, depth, format, channels, flags};
  return D(cuArray3DCreate_v2)(a, &d);
}

void describeArray(const char* name, CUarray a) {
  CUDA_ARRAY3D_DESCRIPTOR_v2 d;
  memset(&d, 0x5a, sizeof d);
  CUresult r = D(cuArray3DGetDescriptor_v2)(&d, a);
  if (r)
    RESULT(name, r);
  else
    fact(name, "%zu %zu %zu format 0x%x channels %u flags 0x%x", d.Width, d.Height, d.Depth, d.Format, d.NumChannels,
         d.Flags);
}
