// Threads of one warp that wait for what other threads of it do: triangular systems solved row by row without a
// barrier, as sparse libraries do it, locks of each element, producers and consumers. On GPUs whose threads go on
// independently (compute capability 7.0 and later) all of these end.
#include "check.h"

// --- Lower triangular systems, a thread a row: each waits for the rows that it needs ---------------------------------

__global__ void solveByRows(int rows, const int* starts, const int* columns, const int* values, const int* right,
                            volatile int* x, volatile int* ready) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  int sum = right[row];
  for (int j = starts[row]; j < starts[row + 1]; ++j) {
    const int column = columns[j];
    while (ready[column] == 0) {
    }
    __threadfence();
    sum -= values[j] * x[column];
  }
  x[row] = sum;
  __threadfence();
  ready[row] = 1;
}

// The same in one loop: a round either finds the next row ready or not.
__global__ void solveByTries(int rows, const int* starts, const int* columns, const int* values, const int* right,
                             volatile int* x, volatile int* ready) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  int sum = right[row], j = starts[row];
  const int end = starts[row + 1];
  bool done = false;
  while (!done) {
    while (j < end && ready[columns[j]]) {
      __threadfence();
      sum -= values[j] * x[columns[j]];
      ++j;
    }
    if (j == end) {
      x[row] = sum;
      __threadfence();
      ready[row] = 1;
      done = true;
    }
  }
}

// The levels of rows, by what they depend on: flags are read by atomics.
__global__ void levelsOfRows(int rows, const int* starts, const int* columns, const int*, const int*, volatile int* x,
                             volatile int* ready) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  int level = 0;
  for (int j = starts[row]; j < starts[row + 1]; ++j) {
    int* const flag = const_cast<int*>(&ready[columns[j]]);
    while (atomicAdd(flag, 0) == 0) {
    }
    level = max(level, atomicAdd(const_cast<int*>(&x[columns[j]]), 0) + 1);
  }
  atomicExch(const_cast<int*>(&x[row]), level);
  __threadfence();
  atomicExch(const_cast<int*>(&ready[row]), 1);
}

// A row tells those that wait for it by counting them down.
__global__ void solveByCounts(int rows, const int* starts, const int* rowsOf, const int* values, const int* right,
                              int* x, int* left, int* sums) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  while (*static_cast<volatile int*>(&left[row]) != 0) {
  }
  __threadfence();
  const int mine = right[row] - atomicAdd(&sums[row], 0);
  x[row] = mine;
  for (int j = starts[row]; j < starts[row + 1]; ++j) {
    atomicAdd(&sums[rowsOf[j]], values[j] * mine);
    __threadfence();
    atomicSub(&left[rowsOf[j]], 1);
  }
}

struct System {
  int rows;
  std::vector<int> starts{0}, columns, values, right;
};

System makeSystem(int rows, int width, unsigned seed) {
  System s{rows};
  RandomWords random(seed);
  for (int row = 0; row < rows; ++row) {
    for (int n = 0; n < width && row > 0; ++n) {
      const int back = 1 + static_cast<int>(random() % static_cast<unsigned>(n % 2 ? 40 : 3));
      if (back > row) continue;
      s.columns.push_back(row - back);
      s.values.push_back(static_cast<int>(random() % 3) - 1);
    }
    s.starts.push_back(static_cast<int>(s.columns.size()));
    s.right.push_back(static_cast<int>(random() % 100));
  }
  return s;
}

std::vector<int> solve(const System& s, bool levels) {
  std::vector<int> x(static_cast<size_t>(s.rows));
  for (int row = 0; row < s.rows; ++row) {
    unsigned sum = levels ? 0 : static_cast<unsigned>(s.right[row]);
    for (int j = s.starts[row]; j < s.starts[row + 1]; ++j) {
      const auto before = static_cast<unsigned>(x[s.columns[j]]);
      sum = levels ? std::max(sum, before + 1) : sum - static_cast<unsigned>(s.values[j]) * before;
    }
    x[row] = static_cast<int>(sum);
  }
  return x;
}

template <class Kernel>
void checkSolver(const char* name, Kernel kernel, int rows, int threads, bool levels) {
  const System s = makeSystem(rows, 4, static_cast<unsigned>(rows));
  DeviceArray<int> starts(s.starts), columns(s.columns), values(s.values), right(s.right), x(s.right.size()),
      ready(s.right.size());
  x.clear();
  ready.clear();
  kernel<<<(rows + threads - 1) / threads, threads>>>(rows, starts, columns, values, right, x, ready);
  CHECK_LAUNCH();
  std::vector<int> got(s.right.size());
  CHECK(cudaMemcpy(got.data(), x, got.size() * sizeof(int), cudaMemcpyDeviceToHost));
  if (got != solve(s, levels)) failAt(__FILE__, __LINE__, name, "a wrong solution");
}

void checkCounts(int rows, int threads) {
  const System s = makeSystem(rows, 4, 77);
  System columnsFirst{rows};  // by column: who needs it
  std::vector<int> left(static_cast<size_t>(rows));
  for (int column = 0; column < rows; ++column) {
    for (int row = column + 1; row < std::min(rows, column + 41); ++row)
      for (int j = s.starts[row]; j < s.starts[row + 1]; ++j)
        if (s.columns[j] == column) {
          columnsFirst.columns.push_back(row);
          columnsFirst.values.push_back(s.values[j]);
          ++left[row];
        }
    columnsFirst.starts.push_back(static_cast<int>(columnsFirst.columns.size()));
  }
  DeviceArray<int> starts(columnsFirst.starts), rowsOf(columnsFirst.columns), values(columnsFirst.values),
      right(s.right), x(s.right.size()), counts(left), sums(s.right.size());
  sums.clear();
  solveByCounts<<<(rows + threads - 1) / threads, threads>>>(rows, starts, rowsOf, values, right, x, counts, sums);
  CHECK_LAUNCH();
  std::vector<int> got(s.right.size());
  CHECK(cudaMemcpy(got.data(), x, got.size() * sizeof(int), cudaMemcpyDeviceToHost));
  if (got != solve(s, false)) failAt(__FILE__, __LINE__, "solveByCounts", "a wrong solution");
}

// --- Locks, a thread each or several held at a time
// -------------------------------------------------------------------

__device__ int locks[16], counts[16], together;

__device__ void take(int which) {
  while (atomicCAS(&locks[which], 0, 1) != 0) {
  }
  __threadfence();
}
__device__ void give(int which) {
  __threadfence();
  atomicExch(&locks[which], 0);
}
__device__ void add(int which) { *(volatile int*)&counts[which] = *(volatile int*)&counts[which] + 1; }

// Two locks at once, always the lower one first; then all meet and add up what they did.
__global__ void moves(int rounds) {
  __shared__ int done;
  if (threadIdx.x == 0) done = 0;
  __syncthreads();
  int mine = 0;
  for (int round = 0; round < rounds; ++round) {
    const int a = (threadIdx.x * 7 + round) % 16, b = (threadIdx.x + round * 3) % 16;
    if (a == b) {
      take(a);
      add(a);
      give(a);
      mine += 1;
    } else {
      take(min(a, b));
      take(max(a, b));
      add(a);
      add(b);
      give(max(a, b));
      give(min(a, b));
      mine += 2;
    }
  }
  __syncwarp();
  for (int offset = 16; offset > 0; offset /= 2) mine += __shfl_down_sync(0xffffffff, mine, offset);
  if (threadIdx.x % 32 == 0) atomicAdd(&done, mine);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(&together, done);
}

void checkMoves(int blocks, int threads, int rounds) {
  int counted[16] = {}, sum = 0;
  CHECK(cudaMemcpyToSymbol(counts, counted, sizeof counted));
  CHECK(cudaMemcpyToSymbol(together, &sum, sizeof sum));
  moves<<<blocks, threads>>>(rounds);
  CHECK_LAUNCH();
  CHECK(cudaMemcpyFromSymbol(counted, counts, sizeof counted));
  CHECK(cudaMemcpyFromSymbol(&sum, together, sizeof sum));
  int all = 0;
  for (int n : counted) all += n;
  EXPECT(all == sum);
  int wanted[16] = {}, total = 0;
  for (int t = 0; t < threads; ++t)
    for (int round = 0; round < rounds; ++round) {
      const int a = (t * 7 + round) % 16, b = (t + round * 3) % 16;
      wanted[a] += blocks;
      if (a != b) wanted[b] += blocks;
    }
  for (int n = 0; n < 16; ++n) EXPECT(counted[n] == wanted[n]);
  for (int n : wanted) total += n;
  EXPECT(total == sum);
}

// --- Producers and consumers in a warp
// --------------------------------------------------------------------------------

// Lane 2n hands lane 2n + 1 one value after the other, each in a loop of its own, nested in another.
__global__ void handOver(int rounds, int* out) {
  __shared__ volatile int box[128], full[128];
  const int t = threadIdx.x, pair = t / 2;
  full[pair] = 0;
  __syncwarp();
  int sum = 0;
  if (t % 2 == 0) {
    for (int round = 0; round < rounds; ++round)
      for (int part = 0; part < 3; ++part) {
        while (full[pair] != 0) {
        }
        box[pair] = round * 3 + part + pair;
        __threadfence_block();
        full[pair] = 1;
        sum += part;
      }
  } else {
    for (int n = 0; n < rounds * 3; ++n) {
      while (full[pair] == 0) {
      }
      __threadfence_block();
      sum += box[pair] * (n + 1);
      full[pair] = 0;
    }
  }
  out[t] = sum;
}

// A value goes along the lanes of the warp, from the last to the first.
__global__ void relay(int* out) {
  __shared__ volatile int slot[1025];
  const int t = threadIdx.x, lane = t % 32, last = blockDim.x;
  slot[t] = -1;
  if (t == 0) slot[last] = -1;
  __syncthreads();
  int value = lane == 31 ? 100 + t : -1;
  while (value < 0) value = slot[t + 1];
  if (lane > 0) slot[t] = value + t;
  if (lane == 0) out[t / 32] = value;
}

// All lanes but one wait, and that one comes only behind the place where their ways join.
__global__ void signalBehind(int* out) {
  __shared__ volatile int flag[32];
  const int t = threadIdx.x, lane = t % 32, warp = t / 32;
  if (lane == 0) flag[warp] = 0;
  __syncwarp();
  int seen = 0;
  if (lane != 13)
    while ((seen = flag[warp]) == 0) {
    }
  if (lane == 13) flag[warp] = 40 + warp;
  __syncwarp();
  out[t] = seen + __shfl_sync(0xffffffff, seen, (lane + 1) % 32);
}

void checkHandOver(int threads, int rounds) {
  DeviceArray<int> out(static_cast<size_t>(threads));
  handOver<<<1, threads>>>(rounds, out);
  CHECK_LAUNCH();
  std::vector<int> got(static_cast<size_t>(threads));
  CHECK(cudaMemcpy(got.data(), out, got.size() * sizeof(int), cudaMemcpyDeviceToHost));
  for (int t = 0; t < threads; ++t) {
    int wanted = 0;
    for (int n = 0; n < rounds * 3; ++n) wanted += t % 2 ? (n + t / 2) * (n + 1) : n % 3;
    EXPECT(got[t] == wanted);
  }
}

void checkRelay(int threads) {
  DeviceArray<int> out(static_cast<size_t>(threads));
  relay<<<1, threads>>>(out);
  CHECK_LAUNCH();
  std::vector<int> got(static_cast<size_t>(threads));
  CHECK(cudaMemcpy(got.data(), out, got.size() * sizeof(int), cudaMemcpyDeviceToHost));
  for (int warp = 0; warp < threads / 32; ++warp) {
    int value = 100 + warp * 32 + 31;
    for (int lane = 31; lane > 0; --lane) value += warp * 32 + lane;
    EXPECT(got[warp] == value);
  }
  signalBehind<<<1, threads>>>(out);
  CHECK_LAUNCH();
  CHECK(cudaMemcpy(got.data(), out, got.size() * sizeof(int), cudaMemcpyDeviceToHost));
  for (int t = 0; t < threads; ++t) {
    const int value = 40 + t / 32;
    EXPECT(got[t] == (t % 32 == 13 ? 0 : value) + ((t + 1) % 32 == 13 ? 0 : value));
  }
}

// With an argument only a part, for slow ways to run it.
int main(int argc, char**) {
  for (int threads : {32, 96, 256}) {
    if (argc > 1 && threads > 96) continue;
    for (int rows : {20, 500, 3000}) {
      if (argc > 1 && rows > 20) continue;
      checkSolver("solveByRows", solveByRows, rows, threads, false);
      checkSolver("solveByTries", solveByTries, rows, threads, false);
      checkSolver("levelsOfRows", levelsOfRows, rows, threads, true);
      checkCounts(rows, threads);
    }
    checkMoves(2, threads, 5);
    checkHandOver(threads, 20);
    checkRelay(threads);
  }
  return passed();
}
