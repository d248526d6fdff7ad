/* Opens libcuda.so.1 as a CUDA program does and prints where it was found, then its own arguments. Returns 7. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  Dl_info info;
  void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  void* const symbol = library ? dlsym(library, "cuInit") : NULL;
  printf("driver %s\n", symbol && dladdr(symbol, &info) ? info.dli_fname : "none");
  for (int i = 1; i < argc; ++i) printf("argument %s\n", argv[i]);
  return 7;
}
