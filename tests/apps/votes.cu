// ballot, any, all, activemask, match, and the masks that special registers give; whole and partial warps.
#include "check.h"

struct Row {
  unsigned ballot, any, all, matched, laneMaskLess, active;
  int matchAllPredicate;
  unsigned matchAll;
};

__global__ void vote(const int* values, Row* rows) {
  const unsigned mask = blockDim.x >= 32 ? 0xffffffffu : (1u << blockDim.x) - 1;
  const int value = values[threadIdx.x];
  Row row = {};
  row.ballot = __ballot_sync(mask, value > 50);
  row.any = __any_sync(mask, value == 99);
  row.all = __all_sync(mask, value < 100);
  row.matched = __match_any_sync(mask, value % 5);
  row.matchAll = __match_all_sync(mask, value / 1000, &row.matchAllPredicate);
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(row.laneMaskLess));
  row.active = __activemask();
  rows[threadIdx.x] = row;
}

__global__ void subsets(unsigned* out) {
  const unsigned lane = threadIdx.x;
  if (lane % 2) {
    out[lane] = __ballot_sync(0xaaaaaaaa, lane > 16);
  } else {
    out[lane] = __ballot_sync(0x55555555, lane < 8);
  }
}

static void check(int threads) {
  std::vector<int> values;
  for (unsigned word : randomWords(threads, 100, 20)) values.push_back(int(word));
  DeviceArray<int> deviceValues(values);
  DeviceArray<Row> rows(threads);
  vote<<<1, threads>>>(deviceValues, rows);
  CHECK_LAUNCH();
  const auto actual = rows.host();
  const unsigned mask = threads >= 32 ? 0xffffffffu : (1u << threads) - 1;
  for (int i = 0; i < threads; ++i) {
    const int first = i / 32 * 32, lanes = std::min(32, threads - first);
    unsigned ballot = 0, any = 0, all = 1, matched = 0;
    for (int lane = 0; lane < lanes; ++lane) {
      ballot |= unsigned(values[first + lane] > 50) << lane;
      any |= values[first + lane] == 99;
      matched |= unsigned(values[first + lane] % 5 == values[i] % 5) << lane;
    }
    EXPECT(actual[i].ballot == ballot && actual[i].any == any && actual[i].all == all);
    EXPECT(actual[i].matched == matched && actual[i].matchAll == mask && actual[i].matchAllPredicate);
    EXPECT(actual[i].laneMaskLess == (1u << i % 32) - 1 && actual[i].active == mask);
  }
}

int main() {
  check(128);
  check(32);
  check(20);
  DeviceArray<unsigned> out(32);
  subsets<<<1, 32>>>(out);
  CHECK_LAUNCH();
  const auto actual = out.host();
  for (int lane = 0; lane < 32; ++lane) EXPECT(actual[lane] == (lane % 2 ? 0xaaaa0000u : 0x00000055u));
  return passed();
}
