// A quadtree of points, built by kernels that launch four blocks for every node that holds too many.
#include "check.h"

namespace {

constexpr int kMostPoints = 32, kDeepest = 10, kThreads = 64;

struct Node {
  float x, y, size;  // the corner and the edge of its square
  int begin, end;    // its points
  int depth;
};

// A block a child: it takes its points of the parent's from one buffer to the other, and goes on below.
__global__ void build(const Node* parents, const float2* from, float2* to, Node* leaves, int* leafCount) {
  __shared__ int counts[4], first;
  const Node& parent = parents[0];
  const int quarter = blockIdx.x;
  const float half = parent.size / 2;
  const auto quarterOf = [&](float2 p) { return (p.x >= parent.x + half) + 2 * (p.y >= parent.y + half); };

  if (threadIdx.x < 4) counts[threadIdx.x] = 0;
  __syncthreads();
  for (int i = parent.begin + threadIdx.x; i < parent.end; i += blockDim.x) atomicAdd(&counts[quarterOf(from[i])], 1);
  __syncthreads();
  if (threadIdx.x == 0) {
    first = parent.begin;
    for (int q = 0; q < quarter; ++q) first += counts[q];
  }
  __syncthreads();
  const int begin = first, end = begin + counts[quarter];
  __syncthreads();
  for (int i = parent.begin + threadIdx.x; i < parent.end; i += blockDim.x)
    if (quarterOf(from[i]) == quarter) to[atomicAdd(&first, 1)] = from[i];
  __syncthreads();
  if (threadIdx.x || begin == end) return;
  const Node node{
      parent.x + (quarter & 1 ? half : 0), parent.y + (quarter & 2 ? half : 0), half, begin, end, parent.depth + 1};
  if (end - begin <= kMostPoints || node.depth == kDeepest) {
    leaves[atomicAdd(leafCount, 1)] = node;
    return;
  }
  Node* const kept = static_cast<Node*>(malloc(sizeof(Node)));  // the child reads it: not on this thread's stack
  *kept = node;
  // When this grid is over: until then its other blocks read what the children write.
  build<<<4, kThreads, 0, cudaStreamTailLaunch>>>(kept, to, const_cast<float2*>(from), leaves, leafCount);
}

}  // namespace

int main() {
  constexpr int kPoints = 8192;
  std::vector<float2> points(kPoints);
  const std::vector<float> numbers = randomFloats(2 * kPoints, 0, 1);
  for (int i = 0; i < kPoints; ++i) points[i] = {numbers[2 * i] * numbers[2 * i], numbers[2 * i + 1]};
  DeviceArray<float2> first(points), second(points);
  DeviceArray<Node> leaves(kPoints), root(std::vector<Node>{{0, 0, 1, 0, kPoints, 0}});
  DeviceArray<int> leafCount(std::vector<int>{0});
  build<<<4, kThreads>>>(root, first, second, leaves, leafCount);
  CHECK_LAUNCH();

  const std::vector<float2> buffers[] = {first.host(), second.host()};
  const std::vector<Node> found = leaves.host();
  std::vector<int> covered(kPoints, 0);
  double sum = 0, expected = 0;
  for (int i = 0; i < leafCount.host()[0]; ++i) {
    const Node& leaf = found[i];
    EXPECT(leaf.end - leaf.begin <= kMostPoints || leaf.depth == kDeepest);
    for (int k = leaf.begin; k < leaf.end; ++k) {
      const float2 p = buffers[leaf.depth % 2][k];
      EXPECT(p.x >= leaf.x && p.x < leaf.x + leaf.size && p.y >= leaf.y && p.y < leaf.y + leaf.size);
      ++covered[k];
      sum += p.x + 2 * p.y;
    }
  }
  for (const int times : covered) EXPECT(times == 1);
  for (const float2 p : points) expected += p.x + 2 * p.y;
  EXPECT(std::fabs(sum - expected) < 1e-6 * expected);
  return passed();
}
