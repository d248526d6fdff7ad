/* Stands in for NVRTC: programs are numbers, the odd ones were compiled for a real architecture. Those that are created
   are their sources, which are the intermediate code too. */
#include <stddef.h>
#include <stdlib.h>
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

int nvrtcCreateProgram(void** program, const char* source, const char* name, int count, const char* const* headers,
                       const char* const* names) {
  (void)name, (void)count, (void)headers, (void)names;
  *program = strdup(source);
  return 0;
}
int nvrtcDestroyProgram(void** program) {
  free(*program);
  return 0;
}
int nvrtcCompileProgram(void* program, int count, const char* const* options) {
  (void)program;
  int intermediate = 0;
  for (int i = 0; i < count; ++i) intermediate |= !strcmp(options[i], "-dlto");
  return !intermediate;
}
int nvrtcGetLTOIRSize(void* program, size_t* size) {
  *size = strlen(program);
  return 0;
}
int nvrtcGetLTOIR(void* program, char* to) {
  memcpy(to, program, strlen(program));
  return 0;
}
