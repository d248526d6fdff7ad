/* Stands in for NVRTC: programs are numbers, the odd ones were compiled for a real architecture. */
#include <stddef.h>
#include <string.h>

static const char ptx[] = ".version 8.0 // of nvrtc", native[] = "\177ELF native code, longer than the text";

int nvrtcGetCUBINSize(void* program, size_t* size) {
  *size = (size_t)program % 2 ? sizeof native : 0;
  return program ? 0 : 4;
}
int nvrtcGetCUBIN(void* program, char* to) {
  if ((size_t)program % 2) memcpy(to, native, sizeof native);
  return program ? 0 : 4;
}
int nvrtcGetPTXSize(void* program, size_t* size) {
  *size = sizeof ptx;
  return program ? 0 : 4;
}
int nvrtcGetPTX(void* program, char* to) {
  memcpy(to, ptx, sizeof ptx);
  return program ? 0 : 4;
}
