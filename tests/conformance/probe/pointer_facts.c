// Every attribute of a pointer as facts.
#include "pool_probe.h"

static bool isAddress(int a) {
  return a == 1 || a == 3 || a == 4 || a == 7 || a == 11 || a == 17 || a == 19 || a == 20 || a == 23;
}

static void number(const char* name, const unsigned char* value) {
  uint32_t word;
  long long wide;
  memcpy(&word, value, 4);
  memcpy(&wide, value, 8);
  if (value[1] == 0x5a)
    fact(name, "%d (1 byte)", value[0]);
  else if (value[4] == 0x5a)
    fact(name, "%d (4 bytes)", (int32_t)word);
  else
    fact(name, "%lld (8 bytes)", wide);
}

void pointerFacts(const char* what, CUdeviceptr pointer) {
  for (int a = 1; a <= 21; ++a) {
    if (a == CU_POINTER_ATTRIBUTE_P2P_TOKENS) continue;
    unsigned char value[256];
    char name[80];
    memset(value, 0x5a, sizeof value);
    CUresult result = D(cuPointerGetAttribute)(value, (CUpointer_attribute)a, pointer);
    snprintf(name, sizeof name, "%s: attribute %d", what, a);
    uint64_t word;
    memcpy(&word, value, 8);
    if (result)
      fact(name, "%s", resultName(result));
    else if (isAddress(a))
      fact(name, "%s", word == pointer ? "same address" : word ? "other value" : "zero");
    else
      number(name, value);
  }
}
