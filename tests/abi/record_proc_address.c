/* Prints what a driver library's cuGetProcAddress_v2 answers:
 *   name  flags  version  result  status  symbol
 * for each name and flags at the lowest version asked, and again at each version where the answer changes.
 * `result` is the CUresult, `status` the CUdriverProcAddressQueryResult, `symbol` the exported name of the address
 * ('-' for none, '?' for an address that no export has). The questions are every base name of the symbol list given,
 * and some names that no driver knows, for CUDA versions around each point where an answer may change.
 *
 *   record_proc_address LIBRARY driver_symbols.txt > proc_address_record.tsv
 */
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef CUresult (*Search)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);

/* Every CUDA version in which an entry point appeared, the version before each, and some that never were. */
static const int kVersions[] = {-1,    0,     1,     1999,  2000,  2010,  2020,  2030,  2999,  3000,  3010,  3020,
                                3999,  4000,  4010,  4020,  4999,  5000,  5050,  5999,  6000,  6050,  6999,  7000,
                                7050,  7999,  8000,  8999,  9000,  9010,  9020,  9999,  10000, 10010, 10020, 10999,
                                11000, 11010, 11020, 11030, 11040, 11050, 11060, 11070, 11080, 11999, 12000, 12010,
                                12020, 12030, 12040, 12050, 12060, 12070, 12080, 12090, 12999, 13000, 13010, 99999};

static int isTwin(const char* name) {
  const size_t length = strlen(name);
  return length > 5 && (!strcmp(name + length - 5, "_ptds") || !strcmp(name + length - 5, "_ptsz"));
}

typedef struct {
  int result, status;
  const char* symbol;
} Answer;

static Answer ask(Search search, const char* name, int version, unsigned long long flags) {
  void* address = (void*)0x1; /* shows whether a refusal writes it */
  CUdriverProcAddressQueryResult status = (CUdriverProcAddressQueryResult)99;
  const CUresult result = search(name, &address, version, flags, &status);
  Answer answer = {(int)result, (int)status, "-"};
  Dl_info info;
  if (address == (void*)0x1)
    answer.symbol = "untouched";
  else if (address)
    answer.symbol = dladdr(address, &info) && info.dli_sname && info.dli_saddr == address ? info.dli_sname : "?";
  return answer;
}

static void print(const char* name, unsigned long long flags, int version, Answer answer) {
  printf("%s\t%llu\t%d\t%d\t%d\t%s\n", name[0] ? name : "(empty)", flags, version, answer.result, answer.status,
         answer.symbol);
}

static void record(Search search, const char* name, unsigned long long flags) {
  Answer last = {-1, -1, ""};
  for (size_t v = 0; v < sizeof kVersions / sizeof kVersions[0]; ++v) {
    const Answer now = ask(search, name, kVersions[v], flags);
    if (now.result == last.result && now.status == last.status && !strcmp(now.symbol, last.symbol)) continue;
    print(name, flags, kVersions[v], now);
    last = now;
  }
}

int main(int argc, char** argv) {
  static char seen[2048][96];
  size_t seenCount = 0;
  if (argc != 3) return fprintf(stderr, "usage: %s LIBRARY SYMBOL_LIST\n", argv[0]), 2;
  void* library = dlopen(argv[1], RTLD_NOW);
  if (!library) return fprintf(stderr, "%s\n", dlerror()), 1;
  Search search = (Search)dlsym(library, "cuGetProcAddress_v2");
  FILE* list = fopen(argv[2], "r");
  if (!search || !list) return fprintf(stderr, "no cuGetProcAddress_v2, or no %s\n", argv[2]), 1;

  setvbuf(stdout, NULL, _IOLBF, 0);
  printf("name\tflags\tversion\tresult\tstatus\tsymbol\n");
  char line[96];
  while (fgets(line, sizeof line, list)) {
    line[strcspn(line, "\n")] = 0;
    if (isTwin(line)) continue;
    char* suffix = strstr(line, "_v");
    if (suffix && strspn(suffix + 2, "0123456789") == strlen(suffix + 2)) *suffix = 0;
    int known = 0;
    for (size_t i = 0; i < seenCount && !known; ++i) known = !strcmp(seen[i], line);
    if (known || seenCount == sizeof seen / sizeof seen[0]) continue;
    strcpy(seen[seenCount++], line);
    for (unsigned long long flags = 0; flags <= 2; ++flags) record(search, line, flags);
  }
  static const char* const odd[] = {"",
                                    "cu",
                                    "cuNoSuchThing",
                                    "cuMemAlloc_v2",
                                    "cumemalloc",
                                    "cuMemAlloc ",
                                    "cuMemcpyHtoD_v2_ptds",
                                    "cudaMalloc",
                                    "cuMemcpy_ptds"};
  for (size_t i = 0; i < sizeof odd / sizeof odd[0]; ++i)
    for (unsigned long long flags = 0; flags <= 2; ++flags) record(search, odd[i], flags);
  for (unsigned long long flags = 3; flags <= 8; ++flags) {
    record(search, "cuMemcpy", flags);
    record(search, "cuNoSuchThing", flags);
  }
  return 0;
}
