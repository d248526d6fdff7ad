// Programs in the idioms of well-known suites of heterogeneous computing, each in CUDA (cuda_programs.cu) and with
// OpenMP (openmp_programs.cpp): sizes, and what both are given.
#pragma once

#include <vector>

namespace suites {

constexpr int kTile = 16;  // threads along each side of a block

// Heat in a plate: stencils in tiles with a halo, two steps in shared memory before anything is written.
constexpr int kHeatSide = 512, kHeatSteps = 20, kHeatInner = 2;
// Alignment of two sequences: a wavefront through tiles, a block of 16 threads each.
constexpr int kAlignSide = 1024, kAlignPenalty = 10;
// Breadth-first search by levels in a graph whose nodes have two to ten neighbours.
constexpr int kNodes = 1 << 17;
// LU factors in tiles.
constexpr int kFactorSide = 512;
// Speckles removed from a picture: two stencils with coefficients between them.
constexpr int kSpeckleSide = 512, kSpeckleRounds = 4;
// The cheapest way down a grid: rows of a block in shared memory, several at a time.
constexpr int kPathColumns = 1 << 16, kPathRows = 100, kPathBlock = 256, kPathStep = 20;
// The nearest of some centres, for each point.
constexpr int kPoints = 1 << 16, kFeatures = 34, kCentres = 5;
// Elimination by Gauss, a column at a time.
constexpr int kGaussSide = 256;

struct HeatPlate {
  std::vector<float> temperature, power;
};
struct Graph {
  std::vector<int> first, degree, edges;  // of each node; where edges lead
};

// Each fills in its result.
void heatPlain(const HeatPlate& plate, std::vector<float>& out);
void alignPlain(const std::vector<int>& similarity, std::vector<int>& out);
void searchPlain(const Graph& graph, std::vector<int>& out);
void factorPlain(std::vector<float>& matrix);
void specklesPlain(std::vector<float>& picture);
void pathPlain(const std::vector<int>& costs, std::vector<int>& out);
void nearestPlain(const std::vector<float>& points, const std::vector<float>& centres, std::vector<int>& out);
void eliminatePlain(std::vector<float>& matrix, std::vector<float>& right);

// Of heat: what goes from a cell to its neighbours, and out of the plate.
constexpr float kAcross = 0.1f, kDown = 0.12f, kOutside = 0.05f, kAmbient = 80.0f, kCapacity = 0.5f;
constexpr float kSpeckleRate = 0.5f;

}  // namespace suites
