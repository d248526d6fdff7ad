// Every atomic operation of the runtime's headers, on 32 and 64 bits, in global and shared memory, with what it
// returns.
#include "check.h"

struct Words {
  int add, sub, least, most, exchange;
  unsigned inc, dec, bitAnd, bitOr, bitXor, uleast, umost, swapped;
};

__global__ void onWords(Words* global) {
  __shared__ Words shared;
  if (threadIdx.x == 0) shared = *global;
  __syncthreads();
  const int i = int(threadIdx.x);
  for (Words* words : {global, &shared}) {
    atomicAdd(&words->add, i);
    atomicSub(&words->sub, i);
    atomicMin(&words->least, -i);
    atomicMax(&words->most, i * 3);
    atomicMin(&words->uleast, 1000u - i);
    atomicMax(&words->umost, 1000u + i);
    atomicExch(&words->exchange, 7);
    atomicInc(&words->inc, 9u);
    atomicDec(&words->dec, 9u);
    atomicAnd(&words->bitAnd, ~(1u << i % 32));
    atomicOr(&words->bitOr, 1u << i % 16);
    atomicXor(&words->bitXor, 1u << i % 32);
    atomicCAS(&words->swapped, 5u, 50u);
  }
  __syncthreads();
  if (threadIdx.x == 0) global[1] = shared;
}

struct Longs {
  unsigned long long add, exchange, swapped, bitAnd, bitOr, bitXor;
  long long least, most;
};

__global__ void onLongs(Longs* longs) {
  const unsigned long long i = threadIdx.x;
  atomicAdd(&longs->add, i << 32);
  atomicExch(&longs->exchange, 1ull << 40);
  atomicCAS(&longs->swapped, 1ull << 35, 1ull << 36);
  atomicAnd(&longs->bitAnd, ~(1ull << i % 64));
  atomicOr(&longs->bitOr, 1ull << i % 64);
  atomicXor(&longs->bitXor, 3ull << i % 32);
  atomicMin(&longs->least, -(long long)(i << 33));
  atomicMax(&longs->most, (long long)(i << 33));
}

__global__ void onFloats(float* sum, double* doubleSum, float* old) {
  old[threadIdx.x] = atomicAdd(sum, 1.0f);
  atomicAdd(doubleSum, 0.5);
}

__global__ void tickets(unsigned* next, unsigned* taken) { taken[atomicAdd(next, 1u)] += 1; }

static void expectWords(const Words& w, unsigned threads, const Words& start) {
  const int sum = int(threads * (threads - 1) / 2);
  EXPECT(w.add == start.add + sum && w.sub == start.sub - sum);
  EXPECT(w.least == -int(threads - 1) && w.most == int(threads - 1) * 3 && w.exchange == 7);
  EXPECT(w.uleast == 1000 - (threads - 1) && w.umost == 1000 + (threads - 1));
  EXPECT(w.inc == threads % 10 && w.dec == (10 - threads % 10) % 10);
  EXPECT(w.bitAnd == 0 && w.bitOr == 0xffffu && w.swapped == 50);
  EXPECT(w.bitXor == (threads / 32 % 2 ? 0xffffffffu : 0u));
}

int main() {
  const unsigned threads = 96;
  Words start = {};
  start.add = 100;
  start.uleast = 5000;
  start.bitAnd = 0xffffffff;
  start.swapped = 5;
  DeviceArray<Words> words(std::vector<Words>{start, {}});
  onWords<<<1, threads>>>(words);
  CHECK_LAUNCH();
  const auto results = words.host();
  expectWords(results[0], threads, start);
  expectWords(results[1], threads, start);

  Longs longStart = {};
  longStart.swapped = 1ull << 35;
  longStart.bitAnd = ~0ull;
  DeviceArray<Longs> longs(std::vector<Longs>{longStart});
  onLongs<<<1, 64>>>(longs);
  CHECK_LAUNCH();
  const Longs l = longs.host()[0];
  EXPECT(l.add == (63ull * 64 / 2) << 32 && l.exchange == 1ull << 40 && l.swapped == 1ull << 36);
  EXPECT(l.bitAnd == 0 && l.bitOr == ~0ull && l.bitXor == 0);
  EXPECT(l.least == -(63ll << 33) && l.most == 63ll << 33);

  DeviceArray<float> sum(1), old(1000);
  DeviceArray<double> doubleSum(1);
  sum.clear();
  doubleSum.clear();
  onFloats<<<1, 1000>>>(sum, doubleSum, old);
  CHECK_LAUNCH();
  EXPECT(sum.host()[0] == 1000 && doubleSum.host()[0] == 500);
  std::vector<int> seen(1000);
  for (float value : old.host()) ++seen[int(value)];
  for (int count : seen) EXPECT(count == 1);

  DeviceArray<unsigned> next(1), taken(200 * 128);
  next.clear();
  taken.clear();
  tickets<<<200, 128>>>(next, taken);
  CHECK_LAUNCH();
  expectEqual(taken.host(), std::vector<unsigned>(taken.size(), 1), "tickets");
  return passed();
}
