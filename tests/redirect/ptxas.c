/* Stands in for ptxas and nvlink: it writes native code, whatever it is given. Called nvcc, it runs the command in its
   first argument as nvcc runs ptxas, and prints the others. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int count, char** words) {
  const char* name = strrchr(words[0], '/');
  if (!strcmp(name ? name + 1 : words[0], "nvcc")) {
    for (int i = 2; i < count; ++i) printf("%s ", words[i]);
    fflush(stdout);
    return system(words[1]) ? 1 : 0;
  }
  for (int i = 1; i < count; ++i) {
    if (!strcmp(words[i], "--version")) return puts("release 13.0, V13.0.88") < 0;
    if (strcmp(words[i], "-o") || i + 1 == count) continue;
    FILE* out = fopen(words[i + 1], "wb");
    if (!out) return 1;
    fputs("\177ELF native", out);
    return fclose(out);
  }
  return 1;
}
