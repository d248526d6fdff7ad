/* Stands in for nvJitLink: it takes anything, and makes PTX of it when -lto and -ptx ask for that, but not of native
   libraries and not of nothing. Its intermediate code has a function `helper`, which is in the PTX when a variable that
   keeps it is in other intermediate code. */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char native[] = "\177ELF linked", ptx[] = ".version 8.0 // linked again";
static const char kept[] =
    ".version 8.0 // linked again\n.func helper() { ret; }\n.visible .global .align 8 .u64 verdigris_keeps_helper = "
    "helper;\n";
static const char keeper[] = "(*verdigris_keeps_helper)() = helper;";
struct link {
  int keeps, lto, ptx, inputs, libraries, complete;
};

#define EXPORT_OLD_AND_NEW(name) extern __typeof__(name) __##name##_13_0 __attribute__((alias(#name)))

int nvJitLinkCreate(void** to, uint32_t count, const char** options) {
  struct link* made = calloc(1, sizeof *made);
  for (uint32_t i = 0; i < count; ++i) {
    made->lto |= !strcmp(options[i], "-lto");
    made->ptx |= !strcmp(options[i], "-ptx");
  }
  *to = made;
  return 0;
}
int nvJitLinkDestroy(void** link) {
  free(*link);
  return 0;
}
int nvJitLinkAddData(struct link* link, int type, const void* data, size_t size, const char* name) {
  (void)name;
  ++link->inputs;
  link->libraries += type == 6;
  link->keeps |= type == 3 && size > 20 && memmem(data, size, keeper, sizeof keeper - 1) != NULL;
  return size ? 0 : 1;
}
int nvJitLinkAddFile(struct link* link, int type, const char* path) {
  (void)type, (void)path;
  ++link->inputs;
  return 0;
}
int nvJitLinkComplete(struct link* link) {
  link->complete = link->inputs > 0 && !(link->ptx && link->libraries);
  return !link->complete;
}
int nvJitLinkGetLinkedCubinSize(struct link* link, size_t* size) {
  *size = sizeof native;
  return !link->complete;
}
int nvJitLinkGetLinkedCubin(struct link* link, void* to) {
  memcpy(to, native, sizeof native);
  return !link->complete;
}
int nvJitLinkGetLinkedPtxSize(struct link* link, size_t* size) {
  *size = link->keeps ? sizeof kept : sizeof ptx;
  return !(link->complete && link->lto && link->ptx);
}
int nvJitLinkGetLinkedPtx(struct link* link, char* to) {
  memcpy(to, link->keeps ? kept : ptx, link->keeps ? sizeof kept : sizeof ptx);
  return !(link->complete && link->lto && link->ptx);
}
EXPORT_OLD_AND_NEW(nvJitLinkCreate);
EXPORT_OLD_AND_NEW(nvJitLinkDestroy);
EXPORT_OLD_AND_NEW(nvJitLinkAddData);
EXPORT_OLD_AND_NEW(nvJitLinkComplete);
EXPORT_OLD_AND_NEW(nvJitLinkGetLinkedCubinSize);
EXPORT_OLD_AND_NEW(nvJitLinkGetLinkedCubin);
