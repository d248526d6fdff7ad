// Tensor maps: which arguments are taken, and what 128 bytes they become. First one argument after the other leaves a
// plain case, then many at once.
#include "probe.h"

enum { kMostRank = 5, kMostBytes = 128 };

typedef struct {
  CUtensorMap* map;
  unsigned type, rank, interleave, swizzle, promotion, fill;
  uint64_t address, dimensions[kMostRank + 1], strides[kMostRank];
  unsigned box[kMostRank + 1], elementStrides[kMostRank + 1];
  int lower[3], upper[3];  // of im2col
  unsigned channels, pixels;
  unsigned mode;        // of wide im2col
  const void* missing;  // the array that is not given, if any
  bool noMap;
} Case;

static unsigned char place[2 * kMostBytes] __attribute__((aligned(128)));

static Case plain(unsigned rank) {
  Case c = {.map = (CUtensorMap*)(void*)place,
            .type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
            .rank = rank,
            .address = 0x7f0000001000,
            .channels = 8,
            .pixels = 16};
  uint64_t stride = 256;
  for (unsigned d = 0; d <= kMostRank; ++d) {
    c.dimensions[d] = 64;
    c.box[d] = 4;
    c.elementStrides[d] = 1;
    if (d < kMostRank) c.strides[d] = stride;
    stride *= 64;
  }
  return c;
}

typedef enum { Tiled, Im2col, Wide } Form;

static CUresult encode(Form form, const Case* c) {
  CUtensorMap* const map = c->noMap ? NULL : c->map;
  void* const address = (void*)c->address;
  const cuuint64_t* const dimensions = c->missing == c->dimensions ? NULL : (const cuuint64_t*)c->dimensions;
  const cuuint64_t* const strides = c->missing == c->strides ? NULL : (const cuuint64_t*)c->strides;
  const cuuint32_t* const steps = c->missing == c->elementStrides ? NULL : c->elementStrides;
  switch (form) {
    case Tiled:
      return D(cuTensorMapEncodeTiled)(map, (CUtensorMapDataType)c->type, c->rank, address, dimensions, strides,
                                       c->missing == c->box ? NULL : c->box, steps,
                                       (CUtensorMapInterleave)c->interleave, (CUtensorMapSwizzle)c->swizzle,
                                       (CUtensorMapL2promotion)c->promotion, (CUtensorMapFloatOOBfill)c->fill);
    case Im2col:
      return D(cuTensorMapEncodeIm2col)(map, (CUtensorMapDataType)c->type, c->rank, address, dimensions, strides,
                                        c->lower, c->upper, c->channels, c->pixels, steps,
                                        (CUtensorMapInterleave)c->interleave, (CUtensorMapSwizzle)c->swizzle,
                                        (CUtensorMapL2promotion)c->promotion, (CUtensorMapFloatOOBfill)c->fill);
    default:
      return D(cuTensorMapEncodeIm2colWide)(
          map, (CUtensorMapDataType)c->type, c->rank, address, dimensions, strides, c->lower[0], c->upper[0],
          c->channels, c->pixels, steps, (CUtensorMapInterleave)c->interleave, (CUtensorMapIm2ColWideMode)c->mode,
          (CUtensorMapSwizzle)c->swizzle, (CUtensorMapL2promotion)c->promotion, (CUtensorMapFloatOOBfill)c->fill);
  }
}

// The result and, by number, the words of the map that are not 0.
static void ask(Form form, const Case* c, const char* name) {
  char text[600];
  memset(place, 0, sizeof place);
  const CUresult result = encode(form, c);
  int length = snprintf(text, sizeof text, "%s", resultName(result));
  uint32_t words[kMostBytes / 4];
  memcpy(words, (const void*)c->map, sizeof words);
  for (unsigned w = 0; result == CUDA_SUCCESS && w < kMostBytes / 4; ++w)
    if (words[w]) length += snprintf(text + length, sizeof text - (size_t)length, " %u:%x", w, words[w]);
  fact(name, "%s", text);
}

#define COUNT(list) (sizeof(list) / sizeof *(list))
// Asks with one field at each value of a list; `c` is its own again afterwards.
#define SWEEP(form, c, field, list)                                                             \
  for (size_t i_ = 0; i_ < COUNT(list); ++i_) {                                                 \
    Case changed_ = (c);                                                                        \
    char name_[96];                                                                             \
    changed_.field = (__typeof__(changed_.field))(list)[i_];                                    \
    snprintf(name_, sizeof name_, "rank %u, " #field " %lld", (c).rank, (long long)(list)[i_]); \
    ask(form, &changed_, name_);                                                                \
  }

static const long long kTypes[] = {-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 99};
static const long long kFew[] = {-1, 0, 1, 2, 3, 4, 5, 6, 7, 8};
static const long long kSizes[] = {0, 1, 2, 3, 1ll << 31, (1ll << 32) - 1, 1ll << 32, (1ll << 32) + 1, 1ll << 40};
static const long long kStrides[] = {0,
                                     8,
                                     16,
                                     24,
                                     32,
                                     48,
                                     64,
                                     240,
                                     256,
                                     1ll << 35,
                                     (1ll << 36) - 16,
                                     1ll << 36,
                                     (1ll << 40) - 16,
                                     (1ll << 40) - 32,
                                     1ll << 40};
static const long long kAddresses[] = {0,
                                       1,
                                       8,
                                       16,
                                       32,
                                       48,
                                       64,
                                       0x7f0000001008,
                                       0x7f0000001010,
                                       0x7f0000001020,
                                       0x00ffffffffffff80,
                                       0x0100000000000000,
                                       0x7fffffffffffff80};
static const long long kRanks[] = {0, 1, 2, 3, 4, 5, 6};

static void common(Form form, unsigned rank) {
  const Case c = plain(rank);
  SWEEP(form, c, type, kTypes)
  SWEEP(form, c, interleave, kFew)
  SWEEP(form, c, swizzle, kFew)
  SWEEP(form, c, promotion, kFew)
  SWEEP(form, c, fill, kFew)
  SWEEP(form, c, address, kAddresses)
  SWEEP(form, c, dimensions[0], kSizes)
  SWEEP(form, c, dimensions[rank - 1], kSizes)
  SWEEP(form, c, strides[0], kStrides)
  SWEEP(form, c, strides[1], kStrides)
  SWEEP(form, c, elementStrides[0], kFew)
  SWEEP(form, c, elementStrides[rank - 1], kFew)
  static const long long kAligned[] = {0, 8, 16, 32, 64, 96, 128};
  for (size_t i = 0; i < COUNT(kAligned); ++i) {
    Case moved = c;
    char name[64];
    moved.map = (CUtensorMap*)(void*)(place + (kAligned[i] < 128 ? kAligned[i] : 128));
    snprintf(name, sizeof name, "rank %u, map at %lld", rank, kAligned[i]);
    ask(form, &moved, name);
  }
}

// Not the corners: 580.159.04 crashes where one is NULL.
static void missing(Form form) {
  Case c = plain(4);
  c.noMap = true;
  ask(form, &c, "no map");
  c = plain(4);
  c.missing = c.dimensions;
  ask(form, &c, "no dimensions");
  c.missing = c.strides;
  ask(form, &c, "no strides");
  c.missing = c.elementStrides;
  ask(form, &c, "no element strides");
  c.missing = c.box;
  if (form == Tiled) ask(form, &c, "no box");
  c = plain(1);
  c.missing = c.strides;
  ask(form, &c, "rank 1, no strides");
}

// Every type with every interleave and swizzle, with pieces whose rows are just right and one step too long.
static void kinds(Form form) {
  static const unsigned kBytes[] = {1, 2, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4, 4, 4, 1, 1, 1};
  for (unsigned type = 0; type <= 16; ++type)
    for (unsigned interleave = 0; interleave <= 2; ++interleave)
      for (unsigned swizzle = 0; swizzle <= 6; ++swizzle)
        for (unsigned row = 16; row <= 256; row *= 2) {
          if (type > 2 && row != 32 && type < 13) continue;
          Case c = plain(4);
          char name[96];
          c.type = type;
          c.interleave = interleave;
          c.swizzle = swizzle;
          c.dimensions[0] = 256;
          for (unsigned d = 0; d < kMostRank; ++d) c.strides[d] *= 8;
          c.channels = c.box[0] = row / kBytes[type];
          snprintf(name, sizeof name, "type %u, interleave %u, swizzle %u, rows of %u", type, interleave, swizzle,
                   c.box[0]);
          ask(form, &c, name);
        }
}

static unsigned seed;
static unsigned pick(unsigned count) {
  seed = seed * 1664525u + 1013904223u;
  return (unsigned)((uint64_t)(seed >> 8) * count >> 24);
}
#define ONE_OF(list) (list)[pick(COUNT(list))]

// Many arguments at once, most of them allowed.
static Case some(void) {
  static const unsigned kSides[] = {1, 2, 4, 8, 16, 32, 64, 128, 255, 256, 257};
  static const unsigned kSteps[] = {1, 1, 1, 1, 2, 3, 8, 9};
  static const unsigned kSwizzles[] = {0, 0, 1, 2, 3, 4, 5, 6};
  static const unsigned kInterleaves[] = {0, 0, 0, 0, 1, 2};
  static const uint64_t kDimensions[] = {1, 3, 16, 64, 100, 4096, 1ull << 32};
  static const int kCorners[] = {-129, -128, -17, -16, -3, -1, 0, 1, 2, 15, 16, 127, 128};
  Case c = plain(1 + pick(5));
  c.type = pick(13);
  c.interleave = ONE_OF(kInterleaves);
  c.swizzle = ONE_OF(kSwizzles);
  c.promotion = pick(4);
  c.fill = pick(8) == 0;
  c.address = 0x7f0000001000 + 16 * pick(3);
  uint64_t stride = 16u << pick(6);
  for (unsigned d = 0; d < kMostRank; ++d) {
    c.dimensions[d] = ONE_OF(kDimensions);
    c.strides[d] = stride;
    stride *= 1 + pick(20);
    c.box[d] = d && pick(3) ? kSides[pick(5)] : ONE_OF(kSides);
    c.elementStrides[d] = ONE_OF(kSteps);
  }
  for (unsigned a = 0; a < 3; ++a) {
    c.lower[a] = ONE_OF(kCorners);
    c.upper[a] = ONE_OF(kCorners);
  }
  c.channels = ONE_OF(kSides);
  c.pixels = pick(4) ? ONE_OF(kSides) : 1000 + pick(40);
  c.mode = pick(3);
  return c;
}

static void many(Form form, unsigned count) {
  seed = 1 + (unsigned)form;
  for (unsigned i = 0; i < count; ++i) {
    const Case c = some();
    char name[300];
    int length = snprintf(name, sizeof name, "#%u type %u rank %u interleave %u swizzle %u +%llx", i, c.type, c.rank,
                          c.interleave, c.swizzle, (unsigned long long)(c.address & 255));
    for (unsigned d = 0; d < c.rank; ++d)
      length += snprintf(name + length, sizeof name - (size_t)length, " %llu/%u*%u",
                         (unsigned long long)c.dimensions[d], c.box[d], c.elementStrides[d]);
    if (form != Tiled)
      snprintf(name + length, sizeof name - (size_t)length, " %d:%d %d:%d %d:%d channels %u pixels %u mode %u",
               c.lower[0], c.upper[0], c.lower[1], c.upper[1], c.lower[2], c.upper[2], c.channels, c.pixels, c.mode);
    ask(form, &c, name);
  }
}

static void tiled(void) {
  start();
  Case c = plain(3);
  SWEEP(Tiled, c, rank, kRanks)
  common(Tiled, 3);
  common(Tiled, 5);
  missing(Tiled);
  static const long long kBoxes[] = {0, 1, 2, 3, 4, 8, 64, 128, 255, 256, 257};
  SWEEP(Tiled, c, box[0], kBoxes)
  SWEEP(Tiled, c, box[2], kBoxes)
}

static void tiledKinds(void) {
  start();
  kinds(Tiled);
}

// How large a piece may be: its bytes, with strides in it too.
static void tiledSizes(void) {
  start();
  static const unsigned kTypeList[] = {0, 1, 7, 5};
  for (unsigned t = 0; t < COUNT(kTypeList); ++t)
    for (unsigned second = 1; second <= 256; second += second < 8 ? 1 : second < 32 ? 8 : 28)
      for (unsigned third = 1; third <= 4; ++third)
        for (unsigned step = 1; step <= 2; ++step) {
          Case c = plain(3);
          char name[96];
          c.type = kTypeList[t];
          c.box[0] = 256;
          c.box[1] = second;
          c.box[2] = third;
          c.elementStrides[1] = step;
          c.strides[0] = 4096;
          c.strides[1] = 1 << 20;
          snprintf(name, sizeof name, "type %u, 256 x %u x %u, every %u", c.type, second, third, step);
          ask(Tiled, &c, name);
        }
}

static void tiledMany(void) {
  start();
  many(Tiled, 600);
}

static void im2col(void) {
  start();
  Case c = plain(4);
  SWEEP(Im2col, c, rank, kRanks)
  common(Im2col, 3);
  common(Im2col, 5);
  missing(Im2col);
  static const long long kCorners[] = {-40000, -32769, -32768, -129, -128, -17, -16,   -1,
                                       0,      1,      15,     16,   127,  128, 32767, 32768};
  static const long long kCounts[] = {0, 1, 2, 3, 4, 8, 64, 255, 256, 257, 512, 1023, 1024, 1025, 2048};
  for (unsigned rank = 3; rank <= 5; ++rank) {
    c = plain(rank);
    SWEEP(Im2col, c, lower[0], kCorners)
    SWEEP(Im2col, c, upper[0], kCorners)
    SWEEP(Im2col, c, upper[rank - 3], kCorners)
    SWEEP(Im2col, c, channels, kCounts)
    SWEEP(Im2col, c, pixels, kCounts)
    c.channels = 256;
    for (size_t i = 0; i < COUNT(kCounts); ++i) {
      char name[64];
      c.pixels = (unsigned)kCounts[i];
      snprintf(name, sizeof name, "rank %u, 256 channels, pixels %u", rank, c.pixels);
      ask(Im2col, &c, name);
    }
  }
}

static void im2colKinds(void) {
  start();
  kinds(Im2col);
}

static void im2colMany(void) {
  start();
  many(Im2col, 400);
}

static void wide(void) {
  start();
  Case c = plain(4);
  SWEEP(Wide, c, rank, kRanks)
  SWEEP(Wide, c, mode, kFew)
  SWEEP(Wide, c, swizzle, kFew)
  SWEEP(Wide, c, type, kTypes)
  missing(Wide);
  many(Wide, 60);
}

const Group kTensorMapGroups[] = {{"tensor-maps.tiled", tiled},
                                  {"tensor-maps.tiled-kinds", tiledKinds},
                                  {"tensor-maps.tiled-sizes", tiledSizes},
                                  {"tensor-maps.tiled-many", tiledMany},
                                  {"tensor-maps.im2col", im2col},
                                  {"tensor-maps.im2col-kinds", im2colKinds},
                                  {"tensor-maps.im2col-many", im2colMany},
                                  {"tensor-maps.wide", wide},
                                  {NULL, NULL}};
