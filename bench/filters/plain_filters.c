/* The filters in C, as one writes them for a compiler that makes vectors: rows by pointers, places and weights along x
   in tables, sums along y first. Weights of bilinear reads have 8 bits, as those of texture units. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "filters.h"

static int clampInt(int at, int last) { return at < 0 ? 0 : at > last ? last : at; }

/* Where a bilinear read at `at` finds its two neighbours, and the share of the second in 256ths. */
typedef struct {
  int first, second, share;
} Between;
static Between between(float at, int size) {
  const int fixed = (int)floorf((at - 0.5f) * 256 + 0.5f), whole = fixed >> 8;
  const Between out = {clampInt(whole, size - 1), clampInt(whole + 1, size - 1), fixed & 255};
  return out;
}

void plainBilinearUp(const byte* small, byte* out) {
  static int left[kWidth], right[kWidth], share[kWidth], line[kSmallWidth];
  for (int x = 0; x < kWidth; ++x) {
    const Between b = between((x + 0.5f) * ((float)kSmallWidth / kWidth), kSmallWidth);
    left[x] = b.first, right[x] = b.second, share[x] = b.share;
  }
  for (int y = 0; y < kHeight; ++y) {
    const Between b = between((y + 0.5f) * ((float)kSmallHeight / kHeight), kSmallHeight);
    const byte *const above = small + b.first * kSmallWidth, *const below = small + b.second * kSmallWidth;
    for (int x = 0; x < kSmallWidth; ++x) line[x] = above[x] * (256 - b.share) + below[x] * b.share;
    byte* const to = out + y * kWidth;
    for (int x = 0; x < kWidth; ++x)
      to[x] = (byte)((line[left[x]] * (256 - share[x]) + line[right[x]] * share[x] + 32768) >> 16);
  }
}

void plainBilinearColours(const byte* small, byte* out) {
  static int left[kWidth], right[kWidth], share[kWidth], line[4 * kSmallWidth];
  for (int x = 0; x < kWidth; ++x) {
    const Between b = between((x + 0.5f) * ((float)kSmallWidth / kWidth), kSmallWidth);
    left[x] = 4 * b.first, right[x] = 4 * b.second, share[x] = b.share;
  }
  for (int y = 0; y < kHeight; ++y) {
    const Between b = between((y + 0.5f) * ((float)kSmallHeight / kHeight), kSmallHeight);
    const byte *const above = small + b.first * 4 * kSmallWidth, *const below = small + b.second * 4 * kSmallWidth;
    for (int x = 0; x < 4 * kSmallWidth; ++x) line[x] = above[x] * (256 - b.share) + below[x] * b.share;
    byte* const to = out + y * 4 * kWidth;
    for (int x = 0; x < kWidth; ++x)
      for (int c = 0; c < 4; ++c)
        to[4 * x + c] = (byte)((line[left[x] + c] * (256 - share[x]) + line[right[x] + c] * share[x] + 32768) >> 16);
  }
}

void plainBilinearDown(const byte* in, byte* out) {
  static int place[4][kSmallWidth], weight[4][kSmallWidth], line[kWidth];
  const float scale = (float)kWidth / kSmallWidth, off = 0.25f * scale;
  for (int x = 0; x < kSmallWidth; ++x)
    for (int side = 0; side < 2; ++side) {
      const Between b = between((x + 0.5f) * scale + (side ? off : -off), kWidth);
      place[2 * side][x] = b.first, place[2 * side + 1][x] = b.second;
      weight[2 * side][x] = 256 - b.share, weight[2 * side + 1][x] = b.share;
    }
  for (int y = 0; y < kSmallHeight; ++y) {
    const Between one = between((y + 0.5f) * scale - off, kHeight), two = between((y + 0.5f) * scale + off, kHeight);
    const byte *const a = in + one.first * kWidth, *const b = in + one.second * kWidth,
                      *const c = in + two.first * kWidth, *const d = in + two.second * kWidth;
    for (int x = 0; x < kWidth; ++x)
      line[x] = a[x] * (256 - one.share) + b[x] * one.share + c[x] * (256 - two.share) + d[x] * two.share;
    byte* const to = out + y * kSmallWidth;
    for (int x = 0; x < kSmallWidth; ++x)
      to[x] = (byte)((line[place[0][x]] * weight[0][x] + line[place[1][x]] * weight[1][x] +
                      line[place[2][x]] * weight[2][x] + line[place[3][x]] * weight[3][x] + 131072) >>
                     18);
  }
}

static void cubicWeights(float t, float* w) {
  w[0] = ((-0.5f * t + 1.0f) * t - 0.5f) * t;
  w[1] = (1.5f * t - 2.5f) * t * t + 1.0f;
  w[2] = ((-1.5f * t + 2.0f) * t + 0.5f) * t;
  w[3] = (0.5f * t - 0.5f) * t * t;
}

void plainBicubicUp(const byte* small, byte* out) {
  static int place[4][kWidth];
  static float weight[4][kWidth], line[kSmallWidth];
  for (int x = 0; x < kWidth; ++x) {
    const float at = (x + 0.5f) * ((float)kSmallWidth / kWidth) - 0.5f, whole = floorf(at);
    float w[4];
    cubicWeights(at - whole, w);
    for (int n = 0; n < 4; ++n) place[n][x] = clampInt((int)whole - 1 + n, kSmallWidth - 1), weight[n][x] = w[n];
  }
  for (int y = 0; y < kHeight; ++y) {
    const float at = (y + 0.5f) * ((float)kSmallHeight / kHeight) - 0.5f, whole = floorf(at);
    float w[4];
    const byte* row[4];
    cubicWeights(at - whole, w);
    for (int n = 0; n < 4; ++n) row[n] = small + clampInt((int)whole - 1 + n, kSmallHeight - 1) * kSmallWidth;
    const byte *const a = row[0], *const b = row[1], *const c = row[2], *const d = row[3];
    for (int x = 0; x < kSmallWidth; ++x) line[x] = a[x] * w[0] + b[x] * w[1] + c[x] * w[2] + d[x] * w[3];
    byte* const to = out + y * kWidth;
    for (int x = 0; x < kWidth; ++x) {
      float sum = line[place[0][x]] * weight[0][x] + line[place[1][x]] * weight[1][x] +
                  line[place[2][x]] * weight[2][x] + line[place[3][x]] * weight[3][x];
      sum = sum < 0 ? 0 : sum > 255 ? 255 : sum;
      to[x] = (byte)(sum + 0.5f);
    }
  }
}

static inline int least(int a, int b) { return a < b ? a : b; }
static inline int most(int a, int b) { return a > b ? a : b; }
static inline int distance(int a, int b) { return a > b ? a - b : b - a; }

/* One pixel between the lines above and below, which begin two pixels before those given. */
static inline int interpolated(const int* above, const int* below, int before, int after, int earlier, int later) {
  int best = distance(above[2], below[2]) + distance(above[1], below[1]) + distance(above[3], below[3]) - 1;
  int value = (above[2] + below[2]) >> 1;
  const int left = distance(above[1], below[3]) + distance(above[0], below[2]) + distance(above[2], below[4]);
  value = left < best ? (above[1] + below[3]) >> 1 : value;
  best = least(best, left);
  const int right = distance(above[3], below[1]) + distance(above[2], below[0]) + distance(above[4], below[2]);
  value = right < best ? (above[3] + below[1]) >> 1 : value;
  const int middle = (before + after) >> 1;
  const int change = most(most(distance(before, after) >> 1, earlier >> 1), later >> 1);
  return most(least(value, middle + change), middle - change);
}

void plainDeinterlace(const byte* before, const byte* now, const byte* after, byte* out) {
  for (int y = 0; y < kHeight; ++y) {
    byte* const to = out + y * kWidth;
    if (y % 2 == 0) {
      memcpy(to, now + y * kWidth, kWidth);
      continue;
    }
    const byte *const up = now + (y - 1) * kWidth, *const down = now + clampInt(y + 1, kHeight - 1) * kWidth;
    const byte *const old = before + y * kWidth, *const next = after + y * kWidth;
    const byte *const oldUp = before + (y - 1) * kWidth, *const oldDown =
                                                             before + clampInt(y + 1, kHeight - 1) * kWidth;
    const byte *const nextUp = after + (y - 1) * kWidth, *const nextDown =
                                                             after + clampInt(y + 1, kHeight - 1) * kWidth;
    for (int edge = 0; edge < 2; ++edge)
      for (int n = 0; n < 2; ++n) {
        const int x = edge ? kWidth - 1 - n : n;
        int above[5], below[5];
        for (int k = 0; k < 5; ++k)
          above[k] = up[clampInt(x + k - 2, kWidth - 1)], below[k] = down[clampInt(x + k - 2, kWidth - 1)];
        to[x] = (byte)interpolated(above, below, old[x], next[x],
                                   (distance(oldUp[x], up[x]) + distance(oldDown[x], down[x])) >> 1,
                                   (distance(nextUp[x], up[x]) + distance(nextDown[x], down[x])) >> 1);
      }
    for (int x = 2; x < kWidth - 2; ++x) {
      const int above[5] = {up[x - 2], up[x - 1], up[x], up[x + 1], up[x + 2]};
      const int below[5] = {down[x - 2], down[x - 1], down[x], down[x + 1], down[x + 2]};
      to[x] = (byte)interpolated(above, below, old[x], next[x],
                                 (distance(oldUp[x], up[x]) + distance(oldDown[x], down[x])) >> 1,
                                 (distance(nextUp[x], up[x]) + distance(nextDown[x], down[x])) >> 1);
    }
  }
}

void plainOverlay(const byte* frame, const byte* logo, const byte* alpha, byte* out) {
  for (int y = 0; y < kHeight; ++y) {
    memcpy(out + y * kWidth, frame + y * kWidth, kWidth);
    if (y < kLogoY || y >= kLogoY + kLogoHeight) continue;
    const byte *const from = frame + y * kWidth + kLogoX, *const over = logo + (y - kLogoY) * kLogoWidth,
                      *const part = alpha + (y - kLogoY) * kLogoWidth;
    byte* const to = out + y * kWidth + kLogoX;
    for (int x = 0; x < kLogoWidth; ++x) {
      const int product = over[x] * part[x] + from[x] * (255 - part[x]) + 128;
      to[x] = (byte)((product + (product >> 8)) >> 8);
    }
  }
}

static inline float awayFromKey(byte u, byte v) {
  const float du = u * (1.0f / 255) - KEY_U, dv = v * (1.0f / 255) - KEY_V;
  return sqrtf(du * du + dv * dv);
}

void plainChromaKey(const byte* colours, byte* out) {
  static float padded[3][kChromaWidth + 2];
  for (int y = 0; y < kChromaHeight; ++y) {
    for (int n = 0; n < 3; ++n) {
      const byte* const row = colours + clampInt(y + n - 1, kChromaHeight - 1) * 2 * kChromaWidth;
      for (int x = 0; x < kChromaWidth; ++x) padded[n][x + 1] = awayFromKey(row[2 * x], row[2 * x + 1]);
      padded[n][0] = padded[n][1], padded[n][kChromaWidth + 1] = padded[n][kChromaWidth];
    }
    for (int x = 0; x < kChromaWidth; ++x) {
      float sum = 0;
      for (int n = 0; n < 3; ++n) sum += padded[n][x] + padded[n][x + 1] + padded[n][x + 2];
      float share = (sum * (1.0f / 9) - KEY_SIMILAR) * (1.0f / KEY_BLEND);
      share = share < 0 ? 0 : share > 1 ? 1 : share;
      out[y * kChromaWidth + x] = (byte)(share * 255 + 0.5f);
    }
  }
}

void plainBlurWords(const unsigned short* in, unsigned short* out) {
  static int line[kWidth + 2];
  for (int y = 0; y < kHeight; ++y) {
    const unsigned short *const up = in + clampInt(y - 1, kHeight - 1) * kWidth, *const at = in + y * kWidth,
                                *const down = in + clampInt(y + 1, kHeight - 1) * kWidth;
    for (int x = 0; x < kWidth; ++x) line[x + 1] = up[x] + at[x] + down[x];
    line[0] = line[1], line[kWidth + 1] = line[kWidth];
    for (int x = 0; x < kWidth; ++x)
      out[y * kWidth + x] = (unsigned short)((line[x] + line[x + 1] + line[x + 2]) * (1.0f / 9) + 0.5f);
  }
}
