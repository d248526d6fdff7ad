// Integer intrinsics: counting, reversing, permuting and funnel-shifting bits; packed SIMD-in-a-word operations.
#include <cstdint>

#include "check.h"

constexpr int kResults = 20;

__global__ void onWords(const unsigned* a, const unsigned* b, unsigned* out, int size) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  const unsigned x = a[i], y = b[i];
  unsigned* o = out + i * kResults;
  o[0] = __popc(x);
  o[1] = __clz(x);
  o[2] = __brev(x);
  o[3] = __ffs(x);
  o[4] = __byte_perm(x, y, y & 0x7777);
  o[5] = __funnelshift_l(x, y, y);
  o[6] = __funnelshift_r(x, y, y);
  o[7] = __funnelshift_lc(x, y, y & 63);
  o[8] = __funnelshift_rc(x, y, y & 63);
  o[9] = __clzll((long long)x << 20);
  o[10] = __popcll((unsigned long long)x << 32 | y);
  o[11] = unsigned(__brevll(x) >> 32);
  o[12] = __ffsll((long long)x << 32);
  o[13] = __sad(int(x), int(y), 5u);
  o[14] = __vadd4(x, y);
  o[15] = __vmaxu4(x, y);
  o[16] = __dp4a(int(x), int(y), 100);
  o[17] = __vabsdiffu4(x, y);
  o[18] = __vcmpgtu2(x, y);
  o[19] = (x << (y & 31)) ^ (int(x) >> (y & 15)) ^ __mulhi(int(x), int(y));
}

static unsigned bytesOf(unsigned x, unsigned y, unsigned (*function)(unsigned, unsigned)) {
  unsigned result = 0;
  for (int shift = 0; shift < 32; shift += 8) result |= (function(x >> shift & 255, y >> shift & 255) & 255) << shift;
  return result;
}

static unsigned reversed(unsigned x) {
  unsigned result = 0;
  for (int bit = 0; bit < 32; ++bit) result |= (x >> bit & 1) << (31 - bit);
  return result;
}

static void expected(unsigned x, unsigned y, unsigned* o) {
  const uint64_t both = uint64_t(y) << 32 | x;
  o[0] = unsigned(__builtin_popcount(x));
  o[1] = x ? unsigned(__builtin_clz(x)) : 32;
  o[2] = reversed(x);
  o[3] = unsigned(__builtin_ffs(int(x)));
  o[4] = 0;
  for (int i = 0; i < 4; ++i) o[4] |= unsigned(both >> (y >> 4 * i & 7) * 8 & 255) << 8 * i;
  o[5] = unsigned((both << (y & 31)) >> 32);
  o[6] = unsigned(both >> (y & 31));
  o[7] = (y & 63) >= 32 ? x : unsigned((both << (y & 63)) >> 32);
  o[8] = (y & 63) >= 32 ? y : unsigned(both >> (y & 63));
  o[9] = x ? unsigned(__builtin_clzll((unsigned long long)x << 20)) : 64;
  o[10] = unsigned(__builtin_popcount(x) + __builtin_popcount(y));
  o[11] = reversed(x);
  o[12] = x ? unsigned(__builtin_ffs(int(x))) + 32 : 0;
  o[13] = unsigned(std::llabs((long long)int(x) - int(y))) + 5;
  o[14] = bytesOf(x, y, [](unsigned a, unsigned b) { return a + b; });
  o[15] = bytesOf(x, y, [](unsigned a, unsigned b) { return a > b ? a : b; });
  int dot = 100;
  for (int shift = 0; shift < 32; shift += 8) dot += int8_t(x >> shift) * int8_t(y >> shift);
  o[16] = unsigned(dot);
  o[17] = bytesOf(x, y, [](unsigned a, unsigned b) { return a > b ? a - b : b - a; });
  o[18] = ((x & 0xffff) > (y & 0xffff) ? 0xffff : 0) | ((x >> 16) > (y >> 16) ? 0xffff0000u : 0);
  o[19] = (x << (y & 31)) ^ unsigned(int(x) >> (y & 15)) ^ unsigned(((long long)int(x) * int(y)) >> 32);
}

int main() {
  auto a = randomWords(3000, 0, 38), b = randomWords(3000, 0, 39);
  for (unsigned special : {0u, 1u, 0x80000000u, 0xffffffffu, 0x00ff00ffu}) {
    for (unsigned other : {0u, 31u, 32u, 33u, 63u, 0xffffffffu}) {
      a.push_back(special);
      b.push_back(other);
    }
  }
  const int size = int(a.size());
  DeviceArray<unsigned> deviceA(a), deviceB(b), out(size * kResults);
  onWords<<<(size + 127) / 128, 128>>>(deviceA, deviceB, out, size);
  CHECK_LAUNCH();
  const auto seen = out.host();
  for (int i = 0; i < size; ++i) {
    unsigned values[kResults];
    expected(a[i], b[i], values);
    for (int k = 0; k < kResults; ++k) {
      if (seen[i * kResults + k] == values[k]) continue;
      std::fprintf(stderr, "result %d of %#x, %#x is %#x, not %#x\n", k, a[i], b[i], seen[i * kResults + k], values[k]);
      return 1;
    }
  }
  return passed();
}
