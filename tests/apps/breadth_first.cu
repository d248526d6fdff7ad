// Breadth-first search over a random graph: a frontier a launch, atomics, a flag copied back every level.
#include <queue>

#include "check.h"

// Others set distances meanwhile, by atomics; so they are read as what may change.
__global__ void expand(const int* starts, const int* targets, int* distance, int level, int nodes, int* changed) {
  const int node = blockIdx.x * blockDim.x + threadIdx.x;
  if (node >= nodes || static_cast<volatile int*>(distance)[node] != level) return;
  for (int edge = starts[node]; edge < starts[node + 1]; ++edge) {
    if (atomicCAS(&distance[targets[edge]], -1, level + 1) == -1) *changed = 1;
  }
}

int main() {
  const int nodes = 5000;
  const auto degrees = randomWords(nodes, 4, 42);
  std::vector<int> starts(1, 0), targets;
  RandomWords random(43);
  for (int node = 0; node < nodes; ++node) {
    for (unsigned i = 0; i < degrees[node]; ++i) targets.push_back(int(random() % nodes));
    starts.push_back(int(targets.size()));
  }
  std::vector<int> expected(nodes, -1);
  std::queue<int> queue;
  expected[0] = 0;
  for (queue.push(0); !queue.empty(); queue.pop()) {
    const int node = queue.front();
    for (int edge = starts[node]; edge < starts[node + 1]; ++edge) {
      if (expected[targets[edge]] >= 0) continue;
      expected[targets[edge]] = expected[node] + 1;
      queue.push(targets[edge]);
    }
  }

  std::vector<int> distance(nodes, -1);
  distance[0] = 0;
  DeviceArray<int> deviceStarts(starts), deviceTargets(targets), deviceDistance(distance), changed(1);
  for (int level = 0, more = 1; more; ++level) {
    changed.clear();
    expand<<<(nodes + 127) / 128, 128>>>(deviceStarts, deviceTargets, deviceDistance, level, nodes, changed);
    CHECK(cudaGetLastError());
    more = changed.host()[0];
  }
  expectEqual(deviceDistance.host(), expected, "distances");
  return passed();
}
