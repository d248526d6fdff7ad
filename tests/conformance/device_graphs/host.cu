#include "host.h"

#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstring>

CUdevice device;
CUcontext context;
CUstream stream, secondStream;
Log* theLog;
int* sum;

const char* nameOf(CUresult result) {
  const char* name = "?";
  return cuGetErrorName(result, &name) == CUDA_SUCCESS ? name : "?";
}

void must(int result, int line) {
  if (!result) return;
  say("end", "line %d: %s", line, nameOf(CUresult(result)));
  _exit(0);
}

const char* wayOf(uint64_t how) { return how == kFire ? "fire" : how == kTail ? "tail" : "sibling"; }

void* room(size_t bytes) {
  CUdeviceptr memory;
  MUST(cuMemAlloc(&memory, bytes));
  MUST(cuMemsetD8(memory, 0, bytes));
  MUST(cuCtxSynchronize());
  return reinterpret_cast<void*>(memory);
}

int total() {
  int value = 0;
  MUST(cuMemcpyDtoH(&value, at(sum), sizeof value));
  return value;
}

std::string entries() {
  static Log log;
  MUST(cuMemcpyDtoH(&log, at(theLog), sizeof log));
  std::string text;
  for (int i = 0; i < log.count && i < 200; ++i) text += (i ? " " : "") + std::to_string(log.entries[i]);
  return text;
}

void clear() {
  MUST(cuMemsetD8(at(sum), 0, 4));
  MUST(cuMemsetD8(at(theLog), 0, sizeof(Log)));
  MUST(cuCtxSynchronize());
}

// --- Graphs ----------------------------------------------------------------------------------------------------------

CUfunction functionOf(const void* kernel) {
  cudaFunction_t function;
  MUST(cudaGetFuncBySymbol(&function, kernel));
  return reinterpret_cast<CUfunction>(function);
}

CUDA_KERNEL_NODE_PARAMS* KernelParams::get() {
  pointers.clear();
  for (auto& value : values) pointers.push_back(value.data());
  pointers.push_back(nullptr);
  params.kernelParams = pointers.data();
  return &params;
}

CUresult KernelParams::launch() {
  get();
  const CUresult result = cuLaunchKernel(params.func, 1, 1, 1, 1, 1, 1, 0, stream, params.kernelParams, nullptr);
  return result ? result : cuStreamSynchronize(stream);
}

CUgraph newGraph() {
  CUgraph graph;
  MUST(cuGraphCreate(&graph, 0));
  return graph;
}

CUgraphNode addKernel(CUgraph graph, std::vector<CUgraphNode> after, KernelParams params) {
  CUgraphNode node;
  MUST(cuGraphAddKernelNode(&node, graph, after.data(), after.size(), params.get()));
  return node;
}

CUgraph addBody(CUgraph graph, CUgraphNode* node) {
  CUgraphConditionalHandle handle;
  CUgraphNode made;
  MUST(cuGraphConditionalHandleCreate(&handle, graph, context, 1, CU_GRAPH_COND_ASSIGN_DEFAULT));
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  params.conditional.handle = handle;
  params.conditional.type = CU_GRAPH_COND_TYPE_IF;
  params.conditional.size = 1;
  params.conditional.ctx = context;
  MUST(cuGraphAddNode(node ? node : &made, graph, nullptr, nullptr, 0, &params));
  return params.conditional.phGraph_out[0];
}

CUgraphExec made(CUgraph graph, uint64_t flags, bool upload) {
  CUgraphExec exec;
  MUST(cuGraphInstantiate(&exec, graph, flags));
  if (upload) MUST(cuGraphUpload(exec, stream));
  MUST(cuStreamSynchronize(stream));
  return exec;
}

CUresult runs(CUgraphExec exec) {
  const CUresult result = cuGraphLaunch(exec, stream);
  return result ? result : cuStreamSynchronize(stream);
}

int sumAfter(CUgraphExec exec) {
  clear();
  MUST(runs(exec));
  return total();
}

std::string refusal(CUgraph graph, uint64_t flags, CUgraphNode suspect) {
  CUgraphExec exec = nullptr;
  CUDA_GRAPH_INSTANTIATE_PARAMS params{};
  params.flags = flags;
  const CUresult result = cuGraphInstantiateWithParams(&exec, graph, &params);
  if (result == CUDA_SUCCESS) cuGraphExecDestroy(exec);
  const CUgraphNode node = params.hErrNode_out;
  return std::string(nameOf(result)) + " " + std::to_string(int(params.result_out)) + " " +
         (!node             ? "none"
          : node == suspect ? "it"
                            : "other");
}

CUDA_MEMCPY3D copyOf(const void* to, const void* from, size_t bytes) {
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = at(from);
  copy.dstDevice = at(to);
  copy.WidthInBytes = bytes;
  copy.Height = copy.Depth = 1;
  return copy;
}

CUDA_MEMSET_NODE_PARAMS fillOf(const void* to, size_t bytes, size_t rows) {
  CUDA_MEMSET_NODE_PARAMS fill{};
  fill.dst = at(to);
  fill.elementSize = 1;
  fill.width = bytes;
  fill.height = rows;
  fill.pitch = rows > 1 ? 512 : 0;
  return fill;
}

CUresult setUpdatable(CUgraphNode node, CUgraphDeviceNode* handle, int on) {
  CUkernelNodeAttrValue value{};
  value.deviceUpdatableKernelNode.deviceUpdatable = on;
  const CUresult result = cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, &value);
  *handle = value.deviceUpdatableKernelNode.devNode;
  return result;
}

CUgraphDeviceNode updatable(CUgraphNode node) {
  CUgraphDeviceNode handle;
  MUST(setUpdatable(node, &handle));
  CUkernelNodeAttrValue value{};
  MUST(cuGraphKernelNodeGetAttribute(node, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, &value));
  return value.deviceUpdatableKernelNode.devNode;
}

std::string attributeOf(CUgraphNode node, CUgraphDeviceNode known) {
  CUkernelNodeAttrValue value;
  std::memset(&value, 0x11, sizeof value);
  const CUresult result = cuGraphKernelNodeGetAttribute(node, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, &value);
  const auto& found = value.deviceUpdatableKernelNode;
  return std::string(nameOf(result)) + " " + std::to_string(found.deviceUpdatable) + " " +
         (!found.devNode           ? "none"
          : found.devNode == known ? "same"
                                   : "other");
}

// --- Scripts ---------------------------------------------------------------------------------------------------------

Play& Play::step(Verb verb, uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
  host.answers[host.count] = -99;
  host.steps[host.count++] = {verb, a, b, c, d, {}, 0};
  return *this;
}

Play& Play::self(uint64_t how, int runs) {
  step(Verb::LaunchSelf, 0, how);
  host.steps[host.count - 1].runs = runs;
  return *this;
}

Play& Play::grid(CUgraphDeviceNode node, unsigned x, unsigned y, unsigned z) {
  step(Verb::SetGrid, reinterpret_cast<uint64_t>(node));
  uint32_t(&size)[3] = host.steps[host.count - 1].grid;
  size[0] = x, size[1] = y, size[2] = z;
  return *this;
}

Script* Play::put() {
  host.runs = 0;
  MUST(cuMemcpyHtoD(at(there), &host, sizeof host));
  return there;
}

CUresult Play::inGraph(uint64_t flags, void (*kernel)(Script*)) {
  return runs(made(graphOf(kernel, put()), flags, true));
}

CUresult Play::outside(void (*kernel)(Script*)) { return kernelOf(kernel, put()).launch(); }

std::string Play::answers(CUresult end) {
  if (end != CUDA_SUCCESS) return "";
  MUST(cuMemcpyDtoH(&host, at(there), sizeof host));
  std::string text;
  for (int i = 0, same; i<host.count; i += same> 3 ? same : 1) {
    for (same = 1; i + same < host.count && host.answers[i + same] == host.answers[i];) ++same;
    text += (text.empty() ? "" : " ") + std::to_string(host.answers[i]);
    if (same > 3) text += "x" + std::to_string(same);
  }
  return text;
}
