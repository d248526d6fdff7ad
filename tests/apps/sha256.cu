// SHA-256 of many short messages: rotations, 32-bit arithmetic, constant tables, byte order.
#include <cstdint>
#include <string>

#include "check.h"

__constant__ uint32_t kRound[64];

static uint32_t fractionBits(double root) { return uint32_t((root - std::floor(root)) * 4294967296.0); }

// The algorithm's constants: fractional parts of square and cube roots of the first primes.
static void constants(uint32_t* round, uint32_t* start) {
  int found = 0;
  for (int candidate = 2; found < 64; ++candidate) {
    bool prime = true;
    for (int d = 2; d * d <= candidate; ++d) prime = prime && candidate % d;
    if (!prime) continue;
    round[found] = fractionBits(std::cbrt(double(candidate)));
    if (found < 8) start[found] = fractionBits(std::sqrt(double(candidate)));
    ++found;
  }
}

struct Digest {
  uint32_t words[8];
};

__device__ uint32_t rotate(uint32_t x, int n) { return (x >> n) | (x << (32 - n)); }

// One message of at most 55 bytes a thread.
__global__ void hash(const char* messages, const int* lengths, Digest start, Digest* out, int count) {
  const int m = blockIdx.x * blockDim.x + threadIdx.x;
  if (m >= count) return;
  uint32_t w[64] = {};
  const int length = lengths[m];
  for (int i = 0; i < length; ++i) w[i / 4] |= uint32_t((unsigned char)messages[m * 56 + i]) << (24 - i % 4 * 8);
  w[length / 4] |= 0x80u << (24 - length % 4 * 8);
  w[15] = length * 8;
  for (int i = 16; i < 64; ++i) {
    const uint32_t s0 = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ (w[i - 15] >> 3);
    const uint32_t s1 = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ (w[i - 2] >> 10);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  uint32_t s[8];
  for (int i = 0; i < 8; ++i) s[i] = start.words[i];
  for (int i = 0; i < 64; ++i) {
    const uint32_t sum1 = rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25);
    const uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
    const uint32_t t1 = s[7] + sum1 + choice + kRound[i] + w[i];
    const uint32_t sum0 = rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22);
    const uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
    for (int k = 7; k > 0; --k) s[k] = s[k - 1];
    s[4] += t1;
    s[0] = t1 + sum0 + majority;
  }
  for (int i = 0; i < 8; ++i) out[m].words[i] = s[i] + start.words[i];
}

static std::string hex(const Digest& digest) {
  char text[65];
  for (int i = 0; i < 8; ++i) std::snprintf(text + i * 8, 9, "%08x", digest.words[i]);
  return text;
}

int main() {
  uint32_t round[64];
  Digest start;
  constants(round, start.words);
  CHECK(cudaMemcpyToSymbol(kRound, round, sizeof round));
  const int count = 300;
  std::vector<char> messages(count * 56);
  std::vector<int> lengths(count);
  for (int m = 0; m < count; ++m) {
    const std::string text = m == 1 ? "abc" : m == 2 ? "message digest" : std::string(m % 56, char('a' + m % 26));
    lengths[m] = m == 0 ? 0 : int(text.size());
    std::memcpy(&messages[m * 56], text.data(), text.size());
  }
  DeviceArray<char> deviceMessages(messages);
  DeviceArray<int> deviceLengths(lengths);
  DeviceArray<Digest> out(count);
  hash<<<(count + 63) / 64, 64>>>(deviceMessages, deviceLengths, start, out, count);
  CHECK_LAUNCH();
  const auto digests = out.host();
  EXPECT(hex(digests[0]) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT(hex(digests[1]) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT(hex(digests[2]) == "f7846f55cf23e14eebeab5b4e1550cad5b509e3348fbc4efa3a1413d393cb650");
  // Different messages, different digests.
  for (int a = 3; a < count; ++a)
    for (int b = a + 1; b < count; ++b)
      if (lengths[a] || lengths[b]) EXPECT(lengths[a] == lengths[b] || hex(digests[a]) != hex(digests[b]));
  return passed();
}
