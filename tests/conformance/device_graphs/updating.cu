// What kernels are answered that change nodes, and what the nodes are then: they add 1 + 2 + 3 to a sum.
#include "host.h"

namespace {

// A graph with such a node, and a script that changes it from another graph.
struct Subject {
  CUgraph graph = newGraph();
  CUgraphNode node = addKernel(graph, {}, addThree, sum, 1, 2, 3);
  CUgraphDeviceNode handle = updatable(node);
  CUgraphExec exec = nullptr;
  int* values = static_cast<int*>(room(64));  // 10, 20, ...
  Play play;

  explicit Subject(bool upload = true) {
    const int tens[] = {10, 20, 30, 40};
    MUST(cuMemcpyHtoD(at(values), tens, sizeof tens));
    if (upload) exec = made(graph, 0, true);
  }
  bool go(const std::string& fact) {
    const CUresult end = play.inGraph();
    say(fact, "%s: %s", nameOf(end), play.answers(end).c_str());
    play.forget();
    return end == CUDA_SUCCESS;
  }
  void goAndRun(const std::string& fact) {
    if (go(fact)) runNow(fact + ", then");
  }
  void runNow(const std::string& fact) { say(fact, "sum %d", sumAfter(exec)); }
};

void life(int) {
  Subject s;
  s.play.param(s.handle, 8, s.values, 4);
  s.goAndRun("a parameter");
  s.runNow("next launch");
  MUST(cuGraphUpload(s.exec, stream));
  s.runNow("launch after an upload");
  s.play.grid(s.handle, 7, 2);
  s.goAndRun("a grid");
  s.play.enable(s.handle, false);
  s.goAndRun("off");
  unsigned on = 9;
  const CUresult result = cuGraphNodeGetEnabled(s.exec, s.node, &on);
  say("cuGraphNodeGetEnabled when off", "%s %u", nameOf(result), on);
  MUST(cuGraphUpload(s.exec, stream));
  s.runNow("launch when off and uploaded");
  s.play.enable(s.handle, true);
  s.goAndRun("on");
  say("the host's change", "%s",
      nameOf(cuGraphExecKernelNodeSetParams(s.exec, s.node, kernelOf(addThree, sum, 100, 100, 100).get())));
  s.runNow("launch after it");
  s.play.param(s.handle, 8, s.values, 4);
  s.goAndRun("a parameter after it");
  MUST(cuGraphUpload(s.exec, stream));
  s.runNow("launch when that is uploaded");
  say("the host's disabling", "%s", nameOf(cuGraphNodeSetEnabled(s.exec, s.node, 0)));
  s.runNow("launch when disabled");
  s.play.enable(s.handle, true);
  s.goAndRun("on by a kernel");
  MUST(cuGraphUpload(s.exec, stream));
  s.runNow("launch when on and uploaded");
  MUST(cuGraphNodeSetEnabled(s.exec, s.node, 0));
  s.play.grid(s.handle, 3);
  s.goAndRun("a grid when disabled by the host");
  MUST(cuGraphNodeSetEnabled(s.exec, s.node, 1));
  s.runNow("launch when enabled by the host");
}

struct Change {
  const char* name;
  void (*write)(Subject& s);
};
CUgraphDeviceNode strange(uintptr_t number) { return reinterpret_cast<CUgraphDeviceNode>(number); }
const Change kChanges[] = {
    {"the last parameter", [](Subject& s) { s.play.param(s.handle, 16, s.values, 4); }},
    {"behind the last parameter", [](Subject& s) { s.play.param(s.handle, 20, s.values, 4); }},
    {"across the end of the parameters", [](Subject& s) { s.play.param(s.handle, 18, s.values, 4); }},
    {"far behind the parameters", [](Subject& s) { s.play.param(s.handle, 100000, s.values, 4); }},
    {"two parameters at once", [](Subject& s) { s.play.param(s.handle, 8, s.values, 8); }},
    {"one byte", [](Subject& s) { s.play.param(s.handle, 9, s.values, 1); }},
    {"no bytes", [](Subject& s) { s.play.param(s.handle, 8, s.values, 0); }},
    {"bytes at null", [](Subject& s) { s.play.param(s.handle, 8, nullptr, 4); }},
    {"no bytes at null", [](Subject& s) { s.play.param(s.handle, 8, nullptr, 0); }},
    {"a grid of none", [](Subject& s) { s.play.grid(s.handle, 0); }},
    {"a grid too high", [](Subject& s) { s.play.grid(s.handle, 1, 65536); }},
    {"a grid too wide", [](Subject& s) { s.play.grid(s.handle, 0x80000000u); }},
    {"a grid too deep", [](Subject& s) { s.play.grid(s.handle, 1, 1, 65536); }},
    {"null", [](Subject& s) { s.play.enable(nullptr, false); }},
    {"memory of the device", [](Subject& s) { s.play.enable(strange(reinterpret_cast<uintptr_t>(sum)), false); }},
    {"an odd number", [](Subject& s) { s.play.enable(strange(0x12345), false); }},
    {"the node itself", [](Subject& s) { s.play.enable(reinterpret_cast<CUgraphDeviceNode>(s.node), false); }},
};
void changes(int number) {
  Subject s;
  kChanges[number].write(s);
  s.goAndRun(kChanges[number].name);
}

void updates(int number) {
  Subject s;
  cudaGraphKernelNodeUpdate updates[4] = {{}, {}, {}, {}};
  for (auto& update : updates) update.node = reinterpret_cast<cudaGraphDeviceNode_t>(s.handle);
  updates[0].field = cudaGraphKernelNodeFieldGridDim;
  updates[0].updateData.gridDim = dim3(3);
  updates[1].field = cudaGraphKernelNodeFieldParam;
  updates[1].updateData.param = {s.values, 8, 4};
  updates[2].field = cudaGraphKernelNodeFieldEnabled;
  updates[2].updateData.isEnabled = number == 1 ? 0 : 2;
  updates[3].field = cudaGraphKernelNodeField(number == 2 ? 4 : 0);
  if (number == 4) {
    updates[3].field = cudaGraphKernelNodeFieldParam;
    updates[3].updateData.param = {s.values, 100000, 4};
  }
  static const char* const names[] = {"updates",
                                      "updates that switch off",
                                      "updates, the last of field 4",
                                      "updates, the last of field 0",
                                      "updates, the last of no parameter",
                                      "no updates at null",
                                      "an update at null"};
  void* const there = number < 5 ? room(sizeof updates) : nullptr;
  if (there) MUST(cuMemcpyHtoD(at(there), updates, sizeof updates));
  s.play.step(Verb::Apply, at(there), number < 2 ? 3 : number < 5 ? 4 : number - 5);
  s.goAndRun(names[number]);
}

void whichNodes(int number) {
  Subject s(number > 1);
  switch (number) {
    case 0:
      s.play.enable(s.handle, false);
      s.go("in no executable graph");
      return;
    case 1:
      s.exec = made(s.graph, 0, false);
      s.play.enable(s.handle, false);
      s.goAndRun("not uploaded");
      return;
    case 2:
      MUST(cuGraphDestroy(s.graph));
      s.play.enable(s.handle, false);
      s.goAndRun("graph destroyed");
      return;
    case 3: {
      const CUgraph outer = newGraph(), inner = newGraph();
      const CUgraphDeviceNode handle = updatable(addKernel(inner, {}, addThree, sum, 1, 2, 3));
      CUgraphNode child;
      MUST(cuGraphAddChildGraphNode(&child, outer, nullptr, 0, inner));
      s.exec = made(outer, 0, true);
      s.play.grid(handle, 5);
      s.goAndRun("of a child");
      s.exec = made(inner, 0, false);
      s.runNow("of the graph that was made a child");
      return;
    }
    case 4: {
      const CUgraph graph = newGraph();
      const CUgraphDeviceNode handle = updatable(addKernel(graph, {}, addThree, sum, 1, 2, 3));
      s.play.grid(handle, 5).launch(launchable(graph), kFire);
      s.go("of a graph that the kernel launches then");
      say("of a graph that the kernel launches then, sum", "%d", total());
      return;
    }
    default: {
      const CUgraph graph = newGraph();
      const CUgraphNode node = addKernel(graph, {}, addThree, sum, 1, 2, 3);
      const CUgraphDeviceNode handle = updatable(node);
      const CUgraphNode before =
          addKernel(graph, {}, follow, s.play.grid(handle, 5).param(handle, 8, s.values, 4).put());
      MUST(cuGraphAddDependencies(graph, &before, &node, nullptr, 1));
      s.exec = made(graph, 0, number == 5);
      const std::string name = number == 5 ? "of its own graph" : "of its own graph, not uploaded";
      s.runNow(name);
      say(name + ", answers", "%s", s.play.answers().c_str());
      s.runNow(name + ", again");
    }
  }
}

}  // namespace

const std::vector<Group> kUpdating = {
    {"node-life", 1, life}, {"node-changes", 17, changes}, {"node-updates", 7, updates}, {"node-which", 7, whichNodes}};
