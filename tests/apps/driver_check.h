// Checks for the programs of the driver API.
#pragma once

#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void expectCode(const char* file, int line, const char* call, CUresult seen, CUresult expected) {
  const char* name = "?";
  if (seen == expected) return;
  cuGetErrorName(seen, &name);
  fprintf(stderr, "%s:%d: %s gave %d (%s), not %d\n", file, line, call, (int)seen, name, (int)expected);
  exit(1);
}

#define EXPECT_CODE(call, expected) expectCode(__FILE__, __LINE__, #call, (call), (expected))
#define CHECK(call) EXPECT_CODE(call, CUDA_SUCCESS)

#define EXPECT(condition)                                                     \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                                \
    }                                                                         \
  } while (0)

static inline int passed(void) {
  puts("OK");
  return 0;
}
