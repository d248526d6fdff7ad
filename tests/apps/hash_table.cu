// A hash table with open addressing that all threads fill at once: compare-and-swap of keys, sums of values, look-ups,
// and deletion by tombstones.
#include <map>

#include "check.h"

constexpr unsigned kEmpty = ~0u, kDeleted = ~1u;

struct Table {
  unsigned* keys;
  unsigned* sums;
  unsigned mask;
};

__device__ unsigned place(unsigned key, unsigned mask) {
  key ^= key >> 16;
  key *= 0x85ebca6bu;
  key ^= key >> 13;
  return key & mask;
}

__global__ void insert(Table table, const unsigned* keys, const unsigned* values, int size) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += gridDim.x * blockDim.x) {
    for (unsigned at = place(keys[i], table.mask);; at = (at + 1) & table.mask) {
      const unsigned before = atomicCAS(&table.keys[at], kEmpty, keys[i]);
      if (before != kEmpty && before != keys[i]) continue;
      atomicAdd(&table.sums[at], values[i]);
      break;
    }
  }
}

// Others may erase keys meanwhile.
__device__ int find(const Table& table, unsigned key) {
  const volatile unsigned* const keys = table.keys;
  for (unsigned at = place(key, table.mask);; at = (at + 1) & table.mask) {
    const unsigned found = keys[at];
    if (found == key) return int(at);
    if (found == kEmpty) return -1;
  }
}

__global__ void lookUp(Table table, const unsigned* keys, unsigned* sums, int size) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  const int at = find(table, keys[i]);
  sums[i] = at < 0 ? kEmpty : table.sums[at];
}

__global__ void erase(Table table, const unsigned* keys, int size) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  const int at = find(table, keys[i]);
  if (at >= 0) atomicExch(&table.keys[at], kDeleted);
}

int main() {
  constexpr int kSize = 60000, kRange = 20000, kSlots = 1 << 15;
  const std::vector<unsigned> keys = randomWords(kSize, kRange, 3), values = randomWords(kSize, 100, 4);
  DeviceArray<unsigned> slots(kSlots), sums(kSlots), deviceKeys(keys), deviceValues(values);
  CHECK(cudaMemset(slots, 0xff, kSlots * sizeof(unsigned)));
  sums.clear();
  const Table table{slots, sums, kSlots - 1};
  insert<<<64, 256>>>(table, deviceKeys, deviceValues, kSize);
  CHECK_LAUNCH();

  std::map<unsigned, unsigned> expected;
  for (int i = 0; i < kSize; ++i) expected[keys[i]] += values[i];
  std::vector<unsigned> asked(kRange), answers(kRange), gone;
  for (unsigned key = 0; key < kRange; ++key) {
    asked[key] = key;
    answers[key] = expected.count(key) ? expected[key] : kEmpty;
    if (key % 3 == 0) gone.push_back(key);
  }
  DeviceArray<unsigned> deviceAsked(asked), found(kRange), deviceGone(gone);
  lookUp<<<(kRange + 127) / 128, 128>>>(table, deviceAsked, found, kRange);
  CHECK_LAUNCH();
  expectEqual(found.host(), answers, "sums by key");

  erase<<<(int(gone.size()) + 127) / 128, 128>>>(table, deviceGone, int(gone.size()));
  lookUp<<<(kRange + 127) / 128, 128>>>(table, deviceAsked, found, kRange);
  CHECK_LAUNCH();
  for (unsigned key : gone) answers[key] = kEmpty;
  expectEqual(found.host(), answers, "after deletion");
  return passed();
}
