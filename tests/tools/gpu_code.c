/* A program that carries a fat binary, laid out by hand: FAT_PTX, FAT_SPECIFIC, FAT_NATIVE and FAT_DAMAGED say what is
 * in it. */
#include <stdint.h>
#include <stdio.h>

struct Entry {
  uint16_t kind, one;
  uint32_t headerSize;
  uint64_t payloadSize;
  uint32_t compressedSize, options;
  uint16_t minor, major;
  uint32_t target, nameOffset, nameLength;
  uint64_t flags, zero, unpackedSize;
  char payload[64];
};

#ifdef FAT_SPECIFIC
#define FLAGS 0x100011 /* for one architecture: sm_90a */
#else
#define FLAGS 0x11
#endif
#define ENTRY(kind, target) \
  { kind, 0x0101, 64, 64, 0, 0, 0, 9, target, 0, 0, FLAGS, 0, 0, ".version 9.0\n.target sm_75\n.address_size 64\n" }

struct Container {
  uint32_t magic;
  uint16_t version, headerSize;
  uint64_t size;
  struct Entry entries[2];
};

__attribute__((section(".nv_fatbin"), aligned(8), used))
const struct Container container = {0xBA55ED50,
                                    1,
                                    16,
#if defined(FAT_DAMAGED)
                                    1u << 20,
#else
                                    sizeof(struct Entry) * 2,
#endif
#if defined(FAT_SPECIFIC)
                                    {ENTRY(2, 90), ENTRY(1, 90)}};
#elif defined(FAT_PTX)
                                    {ENTRY(2, 90), ENTRY(1, 75)}};
#else
                                    {ENTRY(2, 80), ENTRY(2, 90)}};
#endif

/* What the CUDA runtime linked into a program has in it. */
const char* volatile driver = "libcuda.so.1";

int main(void) { return puts(driver) < 0; }
