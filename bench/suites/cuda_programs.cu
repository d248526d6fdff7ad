// The programs in CUDA, as such suites have them, beside those with OpenMP: results are compared, then both run in
// turns on as many cores as the process may use. Prints a line for each: name, milliseconds of processor time of the
// kernels and of OpenMP's loops (medians), and how many times as fast the kernels are. Copies to and from the device do
// not count.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <utility>

#include "../in_turns.h"
#include "programs.h"

using in_turns::isWanted;
using namespace suites;

// `steps` steps of a tile whose outer cells are there for their neighbours only. Doubles come in by literals.
__global__ void heat(int steps, const float* power, const float* from, float* to, int side, float capacity,
                     float across, float down, float outside) {
  __shared__ float now[kTile][kTile], given[kTile][kTile], next[kTile][kTile];
  const int tx = threadIdx.x, ty = threadIdx.y, inner = kTile - 2 * steps;
  const int left = inner * blockIdx.x - steps, top = inner * blockIdx.y - steps, x = left + tx, y = top + ty;
  const bool isCell = x >= 0 && y >= 0 && x < side && y < side;
  const int firstX = left < 0 ? -left : 0, lastX = left + kTile > side ? kTile - 1 - (left + kTile - side) : kTile - 1;
  const int firstY = top < 0 ? -top : 0, lastY = top + kTile > side ? kTile - 1 - (top + kTile - side) : kTile - 1;
  if (isCell) {
    now[ty][tx] = from[y * side + x];
    given[ty][tx] = power[y * side + x];
  }
  __syncthreads();
  int north = ty - 1, south = ty + 1, west = tx - 1, east = tx + 1;
  north = north < firstY ? firstY : north, south = south > lastY ? lastY : south;
  west = west < firstX ? firstX : west, east = east > lastX ? lastX : east;
  bool isDone = false;
  for (int step = 0; step < steps; ++step) {
    isDone = false;
    if (tx >= step + 1 && tx <= kTile - step - 2 && ty >= step + 1 && ty <= kTile - step - 2 && tx >= firstX &&
        tx <= lastX && ty >= firstY && ty <= lastY) {
      isDone = true;
      next[ty][tx] =
          now[ty][tx] + capacity * (given[ty][tx] + (now[south][tx] + now[north][tx] - 2.0 * now[ty][tx]) * down +
                                    (now[ty][east] + now[ty][west] - 2.0 * now[ty][tx]) * across +
                                    (kAmbient - now[ty][tx]) * outside);
    }
    __syncthreads();
    if (step == steps - 1) break;
    if (isDone) now[ty][tx] = next[ty][tx];
    __syncthreads();
  }
  if (isDone) to[y * side + x] = next[ty][tx];
}

// The tiles of a diagonal.
__global__ void align(const int* similarity, int* matrix, int side, int penalty, int firstTile, int diagonal) {
  __shared__ int tile[kTile + 1][kTile + 1], costs[kTile][kTile];
  const int row = firstTile + blockIdx.x, column = diagonal - row, t = threadIdx.x;
  const int corner = side * kTile * row + kTile * column, from = (side - 1) * kTile * row + kTile * column;
  if (t == 0) tile[0][0] = matrix[corner];
  for (int y = 0; y < kTile; ++y) costs[y][t] = similarity[from + y * (side - 1) + t];
  __syncthreads();
  tile[t + 1][0] = matrix[corner + side * (t + 1)];
  __syncthreads();
  tile[0][t + 1] = matrix[corner + t + 1];
  __syncthreads();
  for (int m = 0; m < kTile; ++m) {
    if (t <= m) {
      const int x = t + 1, y = m - t + 1;
      tile[y][x] = max(tile[y - 1][x - 1] + costs[y - 1][x - 1], max(tile[y][x - 1], tile[y - 1][x]) - penalty);
    }
    __syncthreads();
  }
  for (int m = kTile - 2; m >= 0; --m) {
    if (t <= m) {
      const int x = t + kTile - m, y = kTile - t;
      tile[y][x] = max(tile[y - 1][x - 1] + costs[y - 1][x - 1], max(tile[y][x - 1], tile[y - 1][x]) - penalty);
    }
    __syncthreads();
  }
  for (int y = 0; y < kTile; ++y) matrix[corner + (y + 1) * side + t + 1] = tile[y + 1][t + 1];
}

__global__ void visit(const int* first, const int* degree, const int* edges, char* now, char* next, const char* seen,
                      int* cost, int nodes) {
  const int node = blockIdx.x * blockDim.x + threadIdx.x;
  if (node >= nodes || !now[node]) return;
  now[node] = 0;
  for (int e = first[node]; e < first[node] + degree[node]; ++e) {
    const int other = edges[e];
    if (!seen[other]) {
      cost[other] = cost[node] + 1;
      next[other] = 1;
    }
  }
}
__global__ void advance(char* now, char* next, char* seen, int* again, int nodes) {
  const int node = blockIdx.x * blockDim.x + threadIdx.x;
  if (node < nodes && next[node]) {
    now[node] = seen[node] = 1;
    next[node] = 0;
    *again = 1;
  }
}

__global__ void factorDiagonal(float* a, int n, int k) {
  __shared__ float tile[kTile][kTile];
  const int t = threadIdx.x;
  for (int y = 0; y < kTile; ++y) tile[y][t] = a[(k + y) * n + k + t];
  __syncthreads();
  for (int i = 0; i < kTile - 1; ++i) {
    if (t > i) {
      for (int j = 0; j < i; ++j) tile[t][i] -= tile[t][j] * tile[j][i];
      tile[t][i] /= tile[i][i];
    }
    __syncthreads();
    if (t > i)
      for (int j = 0; j < i + 1; ++j) tile[i + 1][t] -= tile[i + 1][j] * tile[j][t];
    __syncthreads();
  }
  for (int y = 1; y < kTile; ++y) a[(k + y) * n + k + t] = tile[y][t];
}

__global__ void factorBorders(float* a, int n, int k) {
  __shared__ float corner[kTile][kTile], row[kTile][kTile], column[kTile][kTile];
  const int other = k + (blockIdx.x + 1) * kTile, t = threadIdx.x % kTile;
  const bool isRow = threadIdx.x < kTile;
  for (int y = isRow ? 0 : kTile / 2; y < (isRow ? kTile / 2 : kTile); ++y) corner[y][t] = a[(k + y) * n + k + t];
  for (int y = 0; y < kTile; ++y) {
    if (isRow)
      row[y][t] = a[(k + y) * n + other + t];
    else
      column[y][t] = a[(other + y) * n + k + t];
  }
  __syncthreads();
  if (isRow) {
    for (int i = 1; i < kTile; ++i)
      for (int j = 0; j < i; ++j) row[i][t] -= corner[i][j] * row[j][t];
  } else {
    for (int i = 0; i < kTile; ++i) {
      for (int j = 0; j < i; ++j) column[t][i] -= column[t][j] * corner[j][i];
      column[t][i] /= corner[i][i];
    }
  }
  __syncthreads();
  for (int y = 0; y < kTile; ++y) {
    if (isRow)
      a[(k + y) * n + other + t] = row[y][t];
    else
      a[(other + y) * n + k + t] = column[y][t];
  }
}

__global__ void factorInside(float* a, int n, int k) {
  __shared__ float row[kTile][kTile], column[kTile][kTile];
  const int x = k + (blockIdx.x + 1) * kTile + threadIdx.x, y = k + (blockIdx.y + 1) * kTile + threadIdx.y;
  row[threadIdx.y][threadIdx.x] = a[(k + threadIdx.y) * n + x];
  column[threadIdx.y][threadIdx.x] = a[y * n + k + threadIdx.x];
  __syncthreads();
  float sum = 0;
  for (int i = 0; i < kTile; ++i) sum += column[threadIdx.y][i] * row[i][threadIdx.x];
  a[y * n + x] -= sum;
}

__global__ void speckleSlopes(const float* picture, float* north, float* south, float* west, float* east, float* share,
                              int n, float noise) {
  __shared__ float tile[kTile][kTile];
  const int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * kTile + tx, y = blockIdx.y * kTile + ty, k = y * n + x;
  tile[ty][tx] = picture[k];
  __syncthreads();
  const float c = tile[ty][tx];
  const float up = (ty > 0 ? tile[ty - 1][tx] : picture[max(y - 1, 0) * n + x]) - c;
  const float down = (ty < kTile - 1 ? tile[ty + 1][tx] : picture[min(y + 1, n - 1) * n + x]) - c;
  const float left = (tx > 0 ? tile[ty][tx - 1] : picture[y * n + max(x - 1, 0)]) - c;
  const float right = (tx < kTile - 1 ? tile[ty][tx + 1] : picture[y * n + min(x + 1, n - 1)]) - c;
  const float squared = (up * up + down * down + left * left + right * right) / (c * c);
  const float slope = (up + down + left + right) / c;
  const float top = 0.5f * squared - 1.0f / 16 * slope * slope, below = 1 + 0.25f * slope;
  const float value = 1.0f / (1.0f + (top / (below * below) - noise) / (noise * (1 + noise)));
  north[k] = up, south[k] = down, west[k] = left, east[k] = right;
  share[k] = value < 0 ? 0 : value > 1 ? 1 : value;
}
__global__ void speckleUpdate(float* picture, const float* north, const float* south, const float* west,
                              const float* east, const float* share, int n) {
  __shared__ float tile[kTile][kTile];
  const int tx = threadIdx.x, ty = threadIdx.y, x = blockIdx.x * kTile + tx, y = blockIdx.y * kTile + ty, k = y * n + x;
  tile[ty][tx] = share[k];
  __syncthreads();
  const float c = tile[ty][tx];
  const float s = ty < kTile - 1 ? tile[ty + 1][tx] : share[min(y + 1, n - 1) * n + x];
  const float e = tx < kTile - 1 ? tile[ty][tx + 1] : share[y * n + min(x + 1, n - 1)];
  picture[k] += 0.25f * kSpeckleRate * (c * north[k] + s * south[k] + c * west[k] + e * east[k]);
}

__global__ void path(int steps, const int* costs, const int* from, int* to, int columns, int firstRow) {
  __shared__ int now[kPathBlock], next[kPathBlock];
  const int t = threadIdx.x, inner = kPathBlock - 2 * steps, left = inner * blockIdx.x - steps, x = left + t;
  const int first = left < 0 ? -left : 0, last = left + kPathBlock > columns ? columns - 1 - left : kPathBlock - 1;
  const bool isColumn = t >= first && t <= last;
  if (isColumn) now[t] = from[x];
  __syncthreads();
  const int west = max(t - 1, first), east = min(t + 1, last);
  bool isDone = false;
  for (int step = 0; step < steps; ++step) {
    isDone = false;
    if (t >= step + 1 && t <= kPathBlock - step - 2 && isColumn) {
      isDone = true;
      next[t] = min(now[t], min(now[west], now[east])) + costs[columns * (firstRow + step) + x];
    }
    __syncthreads();
    if (step == steps - 1) break;
    if (isDone) now[t] = next[t];
    __syncthreads();
  }
  if (isDone) to[x] = next[t];
}

__global__ void nearest(const float* points, const float* centres, int* out, int count, int features, int centreCount) {
  const int p = blockIdx.x * blockDim.x + threadIdx.x;
  if (p >= count) return;
  int best = 0;
  float least = 3e38f;
  for (int c = 0; c < centreCount; ++c) {
    float sum = 0;
    for (int f = 0; f < features; ++f) {
      const float d = points[f * count + p] - centres[c * features + f];
      sum += d * d;
    }
    if (sum < least) least = sum, best = c;
  }
  out[p] = best;
}

__global__ void gaussFactors(const float* a, float* factors, int n, int k) {
  const int y = k + 1 + blockIdx.x * blockDim.x + threadIdx.x;
  if (y < n) factors[y] = a[y * n + k] / a[k * n + k];
}
__global__ void gaussRows(float* a, float* right, const float* factors, int n, int k) {
  const int x = k + blockIdx.x * blockDim.x + threadIdx.x, y = k + 1 + blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= n || y >= n) return;
  a[y * n + x] -= factors[y] * a[k * n + x];
  if (x == k) right[y] -= factors[y] * right[k];
}

template <class T>
struct Array {
  T* data = nullptr;
  size_t size;
  explicit Array(size_t n) : size(n) { CHECK(cudaMalloc(&data, n * sizeof(T))); }
  explicit Array(const std::vector<T>& values) : Array(values.size()) { set(values); }
  Array(const Array&) = delete;
  ~Array() { cudaFree(data); }
  operator T*() const { return data; }
  void set(const std::vector<T>& values) {
    CHECK(cudaMemcpy(data, values.data(), size * sizeof(T), cudaMemcpyHostToDevice));
  }
  std::vector<T> host() const {
    std::vector<T> values(size);
    CHECK(cudaMemcpy(values.data(), data, size * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }
};

// `prepare` puts back what kernels change, before each run, and is not timed.
template <class T>
static void measure(const char* name, double tolerance, const std::function<void()>& prepare,
                    const std::function<void()>& kernels, const std::function<std::vector<T>()>& result,
                    const std::function<void(std::vector<T>&)>& plain) {
  std::vector<T> wanted;
  plain(wanted);
  for (int round = 0; round < 2; ++round) {
    prepare();
    in_turns::runAndWait(kernels);
    const std::vector<T> got = result();
    for (size_t n = 0; n < wanted.size(); ++n)
      if (!(std::fabs(double(got[n]) - double(wanted[n])) <= tolerance * (1 + std::fabs(double(wanted[n]))))) {
        std::fprintf(stderr, "%s: element %zu is %g and not %g\n", name, n, double(got[n]), double(wanted[n]));
        std::exit(1);
      }
  }
  in_turns::time(name, 9, prepare, kernels, [&] { plain(wanted); });
}

static std::mt19937 randomNumbers(3);
static std::vector<float> floats(size_t count, float least, float most) {
  std::uniform_real_distribution<float> distribution(least, most);
  std::vector<float> out(count);
  for (float& value : out) value = distribution(randomNumbers);
  return out;
}
static std::vector<int> numbers(size_t count, int least, int most) {
  std::vector<int> out(count);
  for (int& value : out) value = least + int(randomNumbers() % (most - least + 1));
  return out;
}

static void measureHeat() {
  const int cells = kHeatSide * kHeatSide;
  const HeatPlate plate{floats(cells, 20, 100), floats(cells, 0, 1)};
  const Array<float> power(plate.power), one(plate.temperature), two(cells);
  float* last = nullptr;
  measure<float>(
      "hotspot", 1e-4,
      [&] { CHECK(cudaMemcpy(one, plate.temperature.data(), cells * sizeof(float), cudaMemcpyHostToDevice)); },
      [&] {
        float *from = one, *to = two;
        const int inner = kTile - 2 * kHeatInner, blocks = (kHeatSide + inner - 1) / inner;
        for (int step = 0; step < kHeatSteps; step += kHeatInner, std::swap(from, to))
          heat<<<dim3(blocks, blocks), dim3(kTile, kTile)>>>(kHeatInner, power, from, to, kHeatSide, kCapacity, kAcross,
                                                             kDown, kOutside);
        last = from;
      },
      [&] {
        std::vector<float> out(cells);
        CHECK(cudaMemcpy(out.data(), last, cells * sizeof(float), cudaMemcpyDeviceToHost));
        return out;
      },
      [&](std::vector<float>& out) { heatPlain(plate, out); });
}

static void measureAlign() {
  const int side = kAlignSide + 1, tiles = kAlignSide / kTile;
  const auto similarity = numbers(size_t(kAlignSide) * kAlignSide, -4, 11);
  std::vector<int> start(size_t(side) * side, 0);
  for (int i = 1; i < side; ++i) start[i] = start[size_t(i) * side] = -i * kAlignPenalty;
  const Array<int> costs(similarity);
  Array<int> matrix(start);
  measure<int>(
      "nw", 0, [&] { matrix.set(start); },
      [&] {
        for (int diagonal = 0; diagonal < 2 * tiles - 1; ++diagonal) {
          const int begin = std::max(0, diagonal - tiles + 1), end = std::min(diagonal, tiles - 1);
          align<<<end - begin + 1, kTile>>>(costs, matrix, side, kAlignPenalty, begin, diagonal);
        }
      },
      [&] { return matrix.host(); }, [&](std::vector<int>& out) { alignPlain(similarity, out); });
}

static void measureSearch() {
  Graph graph;
  graph.degree = numbers(kNodes, 2, 10);
  for (int node = 0, edge = 0; node < kNodes; edge += graph.degree[node++]) graph.first.push_back(edge);
  graph.edges = numbers(graph.first.back() + graph.degree.back(), 0, kNodes - 1);
  const Array<int> first(graph.first), degree(graph.degree), edges(graph.edges), again(1);
  Array<int> cost(kNodes);
  const Array<char> now(kNodes), next(kNodes), seen(kNodes);
  measure<int>(
      "bfs", 0,
      [&] {
        for (char* array : {now.data, next.data, seen.data}) CHECK(cudaMemset(array, 0, kNodes));
        CHECK(cudaMemset(now, 1, 1));
        CHECK(cudaMemset(seen, 1, 1));
        CHECK(cudaMemset(cost, 0xff, kNodes * sizeof(int)));
        CHECK(cudaMemset(cost, 0, sizeof(int)));
      },
      [&] {
        for (int more = 1; more;) {
          CHECK(cudaMemset(again, 0, sizeof(int)));
          visit<<<(kNodes + 511) / 512, 512>>>(first, degree, edges, now, next, seen, cost, kNodes);
          advance<<<(kNodes + 511) / 512, 512>>>(now, next, seen, again, kNodes);
          CHECK(cudaMemcpy(&more, again, sizeof(int), cudaMemcpyDeviceToHost));
        }
      },
      [&] { return cost.host(); }, [&](std::vector<int>& out) { searchPlain(graph, out); });
}

static void measureFactor() {
  const int n = kFactorSide;
  auto matrix = floats(size_t(n) * n, 0, 1);
  for (int i = 0; i < n; ++i) matrix[size_t(i) * n + i] += n;
  Array<float> a(matrix);
  measure<float>(
      "lud", 1e-3, [&] { a.set(matrix); },
      [&] {
        for (int k = 0; k < n; k += kTile) {
          factorDiagonal<<<1, kTile>>>(a, n, k);
          const int rest = (n - k) / kTile - 1;
          if (!rest) break;
          factorBorders<<<rest, 2 * kTile>>>(a, n, k);
          factorInside<<<dim3(rest, rest), dim3(kTile, kTile)>>>(a, n, k);
        }
      },
      [&] { return a.host(); },
      [&](std::vector<float>& out) {
        out = matrix;
        factorPlain(out);
      });
}

static void measureSpeckles() {
  const int n = kSpeckleSide, cells = n * n;
  auto start = floats(cells, 1, 3);
  Array<float> picture(start);
  const Array<float> north(cells), south(cells), west(cells), east(cells), share(cells);
  std::vector<float> corner(128 * 128);
  measure<float>(
      "srad", 1e-3, [&] { picture.set(start); },
      [&] {
        for (int round = 0; round < kSpeckleRounds; ++round) {
          CHECK(cudaMemcpy2D(corner.data(), 512, picture, n * sizeof(float), 512, 128, cudaMemcpyDeviceToHost));
          double sum = 0, squares = 0;
          for (const float value : corner) sum += value, squares += double(value) * value;
          const double mean = sum / corner.size(), variance = squares / corner.size() - mean * mean;
          const dim3 grid(n / kTile, n / kTile), block(kTile, kTile);
          speckleSlopes<<<grid, block>>>(picture, north, south, west, east, share, n, float(variance / (mean * mean)));
          speckleUpdate<<<grid, block>>>(picture, north, south, west, east, share, n);
        }
      },
      [&] { return picture.host(); },
      [&](std::vector<float>& out) {
        out = start;
        specklesPlain(out);
      });
}

static void measurePath() {
  const auto costs = numbers(size_t(kPathColumns) * kPathRows, 0, 9);
  const Array<int> given(costs), one(kPathColumns), two(kPathColumns);
  int* last = nullptr;
  measure<int>(
      "pathfinder", 0,
      [&] { CHECK(cudaMemcpy(one, costs.data(), kPathColumns * sizeof(int), cudaMemcpyHostToDevice)); },
      [&] {
        int *from = one, *to = two;
        for (int row = 1; row < kPathRows; row += kPathStep, std::swap(from, to)) {
          const int steps = std::min(kPathStep, kPathRows - row), inner = kPathBlock - 2 * steps;
          path<<<(kPathColumns + inner - 1) / inner, kPathBlock>>>(steps, given, from, to, kPathColumns, row);
        }
        last = from;
      },
      [&] {
        std::vector<int> out(kPathColumns);
        CHECK(cudaMemcpy(out.data(), last, kPathColumns * sizeof(int), cudaMemcpyDeviceToHost));
        return out;
      },
      [&](std::vector<int>& out) { pathPlain(costs, out); });
}

static void measureNearest() {
  const auto points = floats(size_t(kPoints) * kFeatures, 0, 1), centres = floats(kCentres * kFeatures, 0, 1);
  const Array<float> p(points), c(centres);
  const Array<int> out(kPoints);
  measure<int>(
      "kmeans", 0, [] {}, [&] { nearest<<<kPoints / 256, 256>>>(p, c, out, kPoints, kFeatures, kCentres); },
      [&] { return out.host(); }, [&](std::vector<int>& wanted) { nearestPlain(points, centres, wanted); });
}

static void measureGauss() {
  const int n = kGaussSide;
  auto matrix = floats(size_t(n) * n, 0, 1), vector = floats(n, 0, 1);
  for (int i = 0; i < n; ++i) matrix[size_t(i) * n + i] += n;
  Array<float> a(matrix), right(vector);
  const Array<float> factors(n);
  measure<float>(
      "gaussian", 1e-3, [&] { a.set(matrix), right.set(vector); },
      [&] {
        for (int k = 0; k < n - 1; ++k) {
          gaussFactors<<<(n - k - 1 + 127) / 128, 128>>>(a, factors, n, k);
          gaussRows<<<dim3((n - k + 15) / 16, (n - k - 1 + 15) / 16), dim3(16, 16)>>>(a, right, factors, n, k);
        }
      },
      [&] { return right.host(); },
      [&](std::vector<float>& out) {
        auto rest = matrix;
        out = vector;
        eliminatePlain(rest, out);
      });
}

int main(int count, char** arguments) {
  if (count > 1) in_turns::only = arguments[1];
  const std::pair<const char*, void (*)()> programs[] = {
      {"hotspot", measureHeat},  {"nw", measureAlign},        {"bfs", measureSearch},     {"lud", measureFactor},
      {"srad", measureSpeckles}, {"pathfinder", measurePath}, {"kmeans", measureNearest}, {"gaussian", measureGauss}};
  for (const auto& [name, run] : programs)
    if (isWanted(name)) run();
}
