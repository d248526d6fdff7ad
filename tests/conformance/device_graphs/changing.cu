// Changes of executable graphs that have to do with launches from kernels, and which nodes may be made ones that
// kernels change.
#include <cstdlib>
#include <cstring>

#include "host.h"

namespace {

std::string update(CUgraphExec exec, CUgraph graph) {
  CUgraphExecUpdateResultInfo info;
  std::memset(&info, 0x11, sizeof info);
  const CUresult result = cuGraphExecUpdate(exec, graph, &info);
  return std::string(nameOf(result)) + " " + std::to_string(int(info.result)) + (info.errorNode ? " node" : " none");
}

void launched(const std::string& fact, Play& play) {
  clear();
  const CUresult end = play.inGraph();
  say(fact, "%s: %s, sum %d", nameOf(end), play.answers(end).c_str(), total());
}

// What kernels launch after a change, before and after an upload.
void uploads(int number) {
  static const char* const names[] = {"cuGraphExecUpdate", "cuGraphExecKernelNodeSetParams", "cuGraphNodeSetEnabled"};
  const CUgraph graph = newGraph();
  const CUgraphNode node = addKernel(graph, {}, add, sum, 1);
  const CUgraphExec exec = launchable(graph);
  const std::string name = names[number];
  if (number == 0) say(name, "%s", update(exec, graphOf(add, sum, 10)).c_str());
  if (number == 1) say(name, "%s", nameOf(cuGraphExecKernelNodeSetParams(exec, node, kernelOf(add, sum, 10).get())));
  if (number == 2) say(name, "%s", nameOf(cuGraphNodeSetEnabled(exec, node, 0)));
  Play play;
  play.launch(exec, kFire);
  launched("launched after " + name, play);
  if (number == 1) {
    say("launched by the host after " + name, "sum %d", sumAfter(exec));
  } else {
    MUST(cuGraphUpload(exec, stream));
  }
  launched("launched then after " + name, play);
}

void functions(int number) {
  const uint64_t flags = number ? 4 : 0;
  const std::string kind = number ? ", for device" : ", for host";
  Play play;
  Script* const script = play.note(1).put();
  const CUgraph graph = newGraph();
  const CUgraphNode node = addKernel(graph, {}, add, sum, 1);
  const CUgraphExec exec = made(graph, flags, true);
  const auto to = [&](const std::string& fact, KernelParams params) {
    say("to one that " + fact + kind, "%s", nameOf(cuGraphExecKernelNodeSetParams(exec, node, params.get())));
    const CUgraph other = newGraph();
    addKernel(other, {}, params);
    say("update to one that " + fact + kind, "%s", update(exec, other).c_str());
  };
  to("launches kernels", kernelOf(parent, sum));
  to("launches graphs and changes nodes", kernelOf(follow, script));
  to("launches graphs", kernelOf(launchAlone, script));
  to("changes nodes", kernelOf(enableAlone, script));
  const CUgraph launches = newGraph();
  const CUgraphNode launcher = addKernel(launches, {}, launchAlone, script),
                    beside = addKernel(launches, {launcher}, add, sum, 1);
  const CUgraphExec launching = made(launches, flags, true);
  const auto from = [&](const std::string& fact, CUgraphNode which, KernelParams params) {
    say(fact + kind, "%s", nameOf(cuGraphExecKernelNodeSetParams(launching, which, params.get())));
  };
  from("launches graphs, to one that changes nodes", launcher, kernelOf(enableAlone, script));
  from("launches graphs, to one that does both", launcher, kernelOf(follow, script));
  from("launches graphs, to a plain one", launcher, kernelOf(add, sum, 1));
  from("launches graphs, from a plain one back", launcher, kernelOf(launchAlone, script));
  from("beside one that launches graphs", beside, kernelOf(launchAlone, script));
  const CUgraph changes = newGraph();
  const CUgraphNode changer = addKernel(changes, {}, enableAlone, script);
  const CUgraphExec changing = made(changes, flags, true);
  say("changes nodes, to one that launches graphs" + kind, "%s",
      nameOf(cuGraphExecKernelNodeSetParams(changing, changer, kernelOf(launchAlone, script).get())));
}

void copies(int) {
  void *const pageable = std::malloc(64), *pinned;
  MUST(cuMemHostAlloc(&pinned, 64, 0));
  const CUgraph graph = newGraph();
  CUgraphNode copied;
  CUDA_MEMCPY3D copy = copyOf(sum, sum + 64, 64);
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = pinned;
  MUST(cuGraphAddMemcpyNode(&copied, graph, nullptr, 0, &copy, context));
  const CUgraphExec exec = launchable(graph);
  copy.srcHost = pageable;
  say("copy from page-locked to pageable", "%s", nameOf(cuGraphExecMemcpyNodeSetParams(exec, copied, &copy, context)));
}

void launchers(int) {
  const CUgraphExec leaf = adds();
  Play first, second;
  const CUgraphExec exec = made(graphOf(follow, first.launch(leaf, kFire).put()), 0, false);
  const CUresult end = runs(exec);
  say("launcher not uploaded", "%s: %s, sum %d", nameOf(end), first.answers(end).c_str(), total());
  say("launcher changed", "%s", update(exec, graphOf(follow, second.launch(leaf, kFire).put())).c_str());
  MUST(runs(exec));
  say("launcher changed, launches", "%s, sum %d", second.answers().c_str(), total());
}

// --- Nodes -----------------------------------------------------------------------------------------------------------

void attribute(int) {
  const CUgraph graph = newGraph();
  CUgraphDeviceNode handle = nullptr, again = nullptr;
  const CUgraphNode node = addKernel(graph, {}, add, sum, 1), plain = addKernel(graph, {}, add, sum, 1);
  say("read of a plain one", "%s", attributeOf(plain, nullptr).c_str());
  for (const int on : {0, 2, -1})
    say("plain set to " + std::to_string(on), "%s", nameOf(setUpdatable(plain, &again, on)));
  say("read of it then", "%s", attributeOf(plain, nullptr).c_str());
  const CUresult first = setUpdatable(node, &handle);
  say("set to 1", "%s, handle %s", nameOf(first), handle ? "given" : "none");
  say("read", "%s", attributeOf(node, handle).c_str());
  const CUresult second = setUpdatable(node, &again);
  say("set to 1 again", "%s, handle %s", nameOf(second), again == handle ? "same" : "other");
  for (const int on : {0, 2}) say("set to " + std::to_string(on), "%s", nameOf(setUpdatable(node, &again, on)));
  say("read then", "%s", attributeOf(node, handle).c_str());
  say("destroy", "%s", nameOf(cuGraphDestroyNode(node)));
  say("copy to a plain one", "%s", nameOf(cuGraphKernelNodeCopyAttributes(plain, node)));
  say("copy from a plain one", "%s", nameOf(cuGraphKernelNodeCopyAttributes(node, plain)));
  say("copy to itself", "%s", nameOf(cuGraphKernelNodeCopyAttributes(node, node)));
  CUgraph clone;
  say("clone", "%s", nameOf(cuGraphClone(&clone, graph)));
  say("to another function", "%s", nameOf(cuGraphKernelNodeSetParams(node, kernelOf(addThree, sum, 1, 2, 3).get())));
  say("and back", "%s", nameOf(cuGraphKernelNodeSetParams(node, kernelOf(add, sum, 1).get())));
  say("read after these", "%s", attributeOf(node, handle).c_str());
}

void instances(int) {
  const CUgraph graph = newGraph(), twin = newGraph();
  CUgraphDeviceNode handle;
  const CUgraphNode node = addKernel(graph, {}, add, sum, 1), plain = addKernel(graph, {}, add, sum, 1);
  updatable(node);
  for (int i = 0; i < 2; ++i) addKernel(twin, {}, add, sum, 1);
  CUgraphExec exec, second, other;
  say("instance", "%s", nameOf(cuGraphInstantiate(&exec, graph, 0)));
  say("second instance", "%s", refusal(graph, 0, node).c_str());
  say("second instance by cuGraphInstantiate", "%s", nameOf(cuGraphInstantiate(&second, graph, 0)));
  say("update with itself", "%s", update(exec, graph).c_str());
  say("update with a plain one", "%s", update(exec, twin).c_str());
  MUST(cuGraphInstantiate(&other, twin, 0));
  say("update of a plain one", "%s", update(other, graph).c_str());
  say("change to another function", "%s",
      nameOf(cuGraphExecKernelNodeSetParams(exec, node, kernelOf(addThree, sum, 1, 2, 3).get())));
  say("change", "%s", nameOf(cuGraphExecKernelNodeSetParams(exec, node, kernelOf(add, sum, 1).get())));
  say("disabled", "%s", nameOf(cuGraphNodeSetEnabled(exec, node, 0)));
  unsigned on = 9;
  const CUresult result = cuGraphNodeGetEnabled(exec, node, &on);
  say("whether enabled", "%s %u", nameOf(result), on);
  say("set to 1 after the instance", "%s", nameOf(setUpdatable(plain, &handle)));
  say("destroy after the instance", "%s", nameOf(cuGraphDestroyNode(node)));
  say("instance destroyed", "%s", nameOf(cuGraphExecDestroy(exec)));
  say("instance then", "%s", refusal(graph, 0).c_str());
  say("graph destroyed", "%s", nameOf(cuGraphDestroy(graph)));
}

void ofChildren(int) {
  const CUgraph inner = newGraph(), outer = newGraph();
  const CUgraphDeviceNode handle = updatable(addKernel(inner, {}, add, sum, 1));
  CUgraphNode child, second, copy;
  CUgraph inside, clone;
  size_t count = 1;
  say("child", "%s", nameOf(cuGraphAddChildGraphNode(&child, outer, nullptr, 0, inner)));
  MUST(cuGraphChildGraphNodeGetGraph(child, &inside));
  MUST(cuGraphGetNodes(inside, &copy, &count));
  say("read in the child", "%s", attributeOf(copy, handle).c_str());
  say("instance with it", "%s", refusal(outer, 0).c_str());
  say("child twice", "%s", nameOf(cuGraphAddChildGraphNode(&second, outer, nullptr, 0, inner)));
  say("instance with both", "%s", refusal(outer, 0).c_str());
  say("clone", "%s", nameOf(cuGraphClone(&clone, outer)));
  CUgraphExec exec;
  say("instance that stays", "%s", nameOf(cuGraphInstantiate(&exec, outer, 0)));
  say("another", "%s", refusal(outer, 0).c_str());
  say("one of the child", "%s", refusal(inner, 0).c_str());
}

void launches(int) {
  KernelParams params = kernelOf(add, sum, 1);
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE;
  auto& wanted = attribute.value.deviceUpdatableKernelNode;
  const CUlaunchConfig config{1, 1, 1, 1, 1, 1, 0, stream, &attribute, 1};
  const auto launch = [&](int on) {
    wanted = {on, nullptr};
    return nameOf(cuLaunchKernelEx(&config, params.params.func, params.get()->kernelParams, nullptr));
  };
  say("1 outside of captures", "%s", launch(1));
  say("0 outside of captures", "%s", launch(0));
  CUgraph graph;
  MUST(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  say("2 in a capture", "%s", launch(2));
  say("1 in a capture", "%s", launch(1));
  say("handle", "%s", wanted.devNode ? "given" : "none");
  say("end of the capture", "%s", nameOf(cuStreamEndCapture(stream, &graph)));
  size_t count = 4;
  CUgraphNode nodes[4];
  MUST(cuGraphGetNodes(graph, nodes, &count));
  say("nodes", "%zu", count);
  if (count) say("read", "%s", attributeOf(nodes[count - 1], wanted.devNode).c_str());
}

}  // namespace

const std::vector<Group> kChanging = {{"uploads", 3, uploads},          {"functions", 2, functions},
                                      {"changed-copies", 1, copies},    {"launchers", 1, launchers},
                                      {"node-attribute", 1, attribute}, {"node-instances", 1, instances},
                                      {"node-children", 1, ofChildren}, {"node-launches", 1, launches}};
