// The programs with OpenMP, as such suites have them: plain loops over rows, tiles or nodes.
#include <algorithm>
#include <cmath>
#include <utility>

#include "programs.h"

namespace suites {

void heatPlain(const HeatPlate& plate, std::vector<float>& out) {
  const int n = kHeatSide;
  std::vector<float> from = plate.temperature, to(from.size());
  for (int step = 0; step < kHeatSteps; ++step) {
#pragma omp parallel for
    for (int y = 0; y < n; ++y) {
      const float* const row = &from[y * n];
      const float *const above = &from[std::max(y - 1, 0) * n], *const below = &from[std::min(y + 1, n - 1) * n];
      const float* const power = &plate.power[y * n];
      float* const target = &to[y * n];
      const auto cell = [&](int x, int left, int right) {
        target[x] =
            row[x] + kCapacity * (power[x] + (below[x] + above[x] - 2.0f * row[x]) * kDown +
                                  (row[right] + row[left] - 2.0f * row[x]) * kAcross + (kAmbient - row[x]) * kOutside);
      };
      cell(0, 0, 1);
      for (int x = 1; x < n - 1; ++x) cell(x, x - 1, x + 1);
      cell(n - 1, n - 2, n - 1);
    }
    std::swap(from, to);
  }
  out = from;
}

// Tiles on a diagonal are independent.
void alignPlain(const std::vector<int>& similarity, std::vector<int>& out) {
  const int n = kAlignSide, side = n + 1, tiles = n / kTile;
  out.assign(size_t(side) * side, 0);
  for (int i = 1; i < side; ++i) out[i] = out[size_t(i) * side] = -i * kAlignPenalty;
  for (int diagonal = 0; diagonal < 2 * tiles - 1; ++diagonal) {
    const int begin = std::max(0, diagonal - tiles + 1), end = std::min(diagonal, tiles - 1);
#pragma omp parallel for
    for (int t = begin; t <= end; ++t) {
      const int y0 = t * kTile, x0 = (diagonal - t) * kTile;
      int tile[kTile + 1][kTile + 1], costs[kTile][kTile];
      for (int y = 0; y < kTile; ++y)
        for (int x = 0; x < kTile; ++x) costs[y][x] = similarity[size_t(y0 + y) * n + x0 + x];
      for (int x = 0; x <= kTile; ++x) tile[0][x] = out[size_t(y0) * side + x0 + x];
      for (int y = 1; y <= kTile; ++y) tile[y][0] = out[size_t(y0 + y) * side + x0];
      for (int y = 1; y <= kTile; ++y)
        for (int x = 1; x <= kTile; ++x)
          tile[y][x] = std::max(tile[y - 1][x - 1] + costs[y - 1][x - 1],
                                std::max(tile[y][x - 1], tile[y - 1][x]) - kAlignPenalty);
      for (int y = 1; y <= kTile; ++y)
        for (int x = 1; x <= kTile; ++x) out[size_t(y0 + y) * side + x0 + x] = tile[y][x];
    }
  }
}

void searchPlain(const Graph& graph, std::vector<int>& out) {
  const int n = kNodes;
  std::vector<char> now(n, 0), next(n, 0), seen(n, 0);
  out.assign(n, -1);
  now[0] = seen[0] = 1;
  out[0] = 0;
  for (bool again = true; again;) {
    again = false;
#pragma omp parallel for
    for (int node = 0; node < n; ++node) {
      if (!now[node]) continue;
      now[node] = 0;
      for (int e = graph.first[node]; e < graph.first[node] + graph.degree[node]; ++e) {
        const int other = graph.edges[e];
        if (seen[other]) continue;
        out[other] = out[node] + 1;
        next[other] = 1;
      }
    }
#pragma omp parallel for reduction(|| : again)
    for (int node = 0; node < n; ++node) {
      if (!next[node]) continue;
      now[node] = seen[node] = 1;
      next[node] = 0;
      again = true;
    }
  }
}

void factorPlain(std::vector<float>& a) {
  const int n = kFactorSide;
  for (int k = 0; k < n; k += kTile) {
    const auto at = [&](int y, int x) -> float& { return a[size_t(y) * n + x]; };
    for (int i = k; i < k + kTile; ++i)
      for (int y = i + 1; y < k + kTile; ++y) {
        at(y, i) /= at(i, i);
        for (int x = i + 1; x < k + kTile; ++x) at(y, x) -= at(y, i) * at(i, x);
      }
#pragma omp parallel for
    for (int t = k + kTile; t < n; t += kTile) {
      for (int i = 0; i < kTile; ++i)
        for (int j = 0; j < i; ++j) {
          const float factor = at(k + i, k + j);
          for (int x = 0; x < kTile; ++x) at(k + i, t + x) -= factor * at(k + j, t + x);
        }
      for (int y = 0; y < kTile; ++y)
        for (int i = 0; i < kTile; ++i) {
          float sum = at(t + y, k + i);
          for (int j = 0; j < i; ++j) sum -= at(t + y, k + j) * at(k + j, k + i);
          at(t + y, k + i) = sum / at(k + i, k + i);
        }
    }
#pragma omp parallel for
    for (int y = k + kTile; y < n; ++y)
      for (int x = k + kTile; x < n; x += kTile) {
        float sums[kTile] = {};
        for (int j = 0; j < kTile; ++j)
          for (int i = 0; i < kTile; ++i) sums[i] += at(y, k + j) * at(k + j, x + i);
        for (int i = 0; i < kTile; ++i) at(y, x + i) -= sums[i];
      }
  }
}

void specklesPlain(std::vector<float>& picture) {
  const int n = kSpeckleSide;
  std::vector<float> north(picture.size()), south(picture.size()), west(picture.size()), east(picture.size()),
      share(picture.size());
  for (int round = 0; round < kSpeckleRounds; ++round) {
    double sum = 0, squares = 0;
    for (int y = 0; y < 128; ++y)
      for (int x = 0; x < 128; ++x) {
        const float value = picture[y * n + x];
        sum += value, squares += double(value) * value;
      }
    const double mean = sum / (128 * 128), variance = squares / (128 * 128) - mean * mean;
    const float noise = static_cast<float>(variance / (mean * mean));
#pragma omp parallel for
    for (int y = 0; y < n; ++y)
      for (int x = 0; x < n; ++x) {
        const int k = y * n + x;
        const float c = picture[k];
        north[k] = picture[std::max(y - 1, 0) * n + x] - c;
        south[k] = picture[std::min(y + 1, n - 1) * n + x] - c;
        west[k] = picture[y * n + std::max(x - 1, 0)] - c;
        east[k] = picture[y * n + std::min(x + 1, n - 1)] - c;
        const float squared =
            (north[k] * north[k] + south[k] * south[k] + west[k] * west[k] + east[k] * east[k]) / (c * c);
        const float slope = (north[k] + south[k] + west[k] + east[k]) / c;
        const float top = 0.5f * squared - 1.0f / 16 * slope * slope, below = 1 + 0.25f * slope;
        const float ratio = top / (below * below);
        const float value = 1.0f / (1.0f + (ratio - noise) / (noise * (1 + noise)));
        share[k] = value < 0 ? 0 : value > 1 ? 1 : value;
      }
#pragma omp parallel for
    for (int y = 0; y < n; ++y)
      for (int x = 0; x < n; ++x) {
        const int k = y * n + x;
        const float s = share[std::min(y + 1, n - 1) * n + x], e = share[y * n + std::min(x + 1, n - 1)];
        const float d = share[k] * north[k] + s * south[k] + share[k] * west[k] + e * east[k];
        picture[k] += 0.25f * kSpeckleRate * d;
      }
  }
}

void pathPlain(const std::vector<int>& costs, std::vector<int>& out) {
  const int n = kPathColumns;
  std::vector<int> from(costs.begin(), costs.begin() + n), to(n);
  for (int row = 1; row < kPathRows; ++row) {
    const int* const cost = &costs[size_t(row) * n];
#pragma omp parallel for
    for (int x = 0; x < n; ++x) {
      int best = from[x];
      if (x > 0) best = std::min(best, from[x - 1]);
      if (x < n - 1) best = std::min(best, from[x + 1]);
      to[x] = cost[x] + best;
    }
    std::swap(from, to);
  }
  out = from;
}

// points: a feature after another.
void nearestPlain(const std::vector<float>& points, const std::vector<float>& centres, std::vector<int>& out) {
  out.resize(kPoints);
#pragma omp parallel for
  for (int p = 0; p < kPoints; ++p) {
    int nearest = 0;
    float least = 3e38f;
    for (int c = 0; c < kCentres; ++c) {
      float sum = 0;
      for (int f = 0; f < kFeatures; ++f) {
        const float d = points[size_t(f) * kPoints + p] - centres[c * kFeatures + f];
        sum += d * d;
      }
      if (sum < least) least = sum, nearest = c;
    }
    out[p] = nearest;
  }
}

void eliminatePlain(std::vector<float>& a, std::vector<float>& right) {
  const int n = kGaussSide;
  for (int k = 0; k < n - 1; ++k) {
#pragma omp parallel for
    for (int y = k + 1; y < n; ++y) {
      const float factor = a[size_t(y) * n + k] / a[size_t(k) * n + k];
      for (int x = k; x < n; ++x) a[size_t(y) * n + x] -= factor * a[size_t(k) * n + x];
      right[y] -= factor * right[k];
    }
  }
}

}  // namespace suites
