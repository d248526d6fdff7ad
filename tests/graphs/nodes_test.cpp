// Every kind of node through its whole life: added, asked, changed in the graph, cloned, instantiated, changed in the
// executable graph, updated, written as DOT. What it does is compared with plain C++ on a picture of all memory.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "fixture.h"

namespace {

constexpr size_t kDevice = 16384, kHost = 4096;

// All memory that the nodes touch.
struct Scene {
  std::vector<uint8_t> device = std::vector<uint8_t>(kDevice), pinned = std::vector<uint8_t>(kHost),
                       pageable = std::vector<uint8_t>(kHost);
  bool operator==(const Scene&) const = default;
};

class GraphNodes;
// Two variants of a node: parameters, and what a run does.
struct Case {
  const char* name;
  CUgraphNodeType type;
  const char* dot;  // stands in the DOT text
  CUgraphNodeParams (*params)(GraphNodes& test, unsigned variant);
  void (*model)(Scene& scene, unsigned variant);
  bool rows = false;  // several: executable graphs keep them as they are
};

class GraphNodes : public GraphTest, public testing::WithParamInterface<Case> {
 protected:
  void SetUp() override {
    GraphTest::SetUp();
    device = allocate(kDevice);
    ASSERT_OK(cuMemHostAlloc(reinterpret_cast<void**>(&pinned), kHost, 0));
    const char ptx[] =
        ".version 6.5\n.target sm_50\n.address_size 64\n"
        ".visible .entry store(.param .u64 where, .param .u32 what) {\n"
        "  .reg .u64 %a; .reg .u32 %v;\n"
        "  ld.param.u64 %a, [where]; ld.param.u32 %v, [what]; st.global.u32 [%a], %v; ret; }\n";
    ASSERT_OK(cuModuleLoadData(&module, ptx));
    ASSERT_OK(cuModuleGetFunction(&store, module, "store"));
  }
  void TearDown() override {
    for (CUgraph made : graphs) EXPECT_OK(cuGraphDestroy(made));
    EXPECT_OK(cuModuleUnload(module));
    EXPECT_OK(cuMemFreeHost(pinned));
    GraphTest::TearDown();
  }

  // Different bytes everywhere, so that every copy shows.
  void paint() {
    for (size_t i = 0; i < kDevice; ++i) scene.device[i] = static_cast<uint8_t>(i * 7 + i / 256);
    for (size_t i = 0; i < kHost; ++i) scene.pinned[i] = static_cast<uint8_t>(i * 3 + 1);
    for (size_t i = 0; i < kHost; ++i) scene.pageable[i] = static_cast<uint8_t>(i * 5 + 2);
    EXPECT_OK(cuMemcpyHtoD(device, scene.device.data(), kDevice));
    std::memcpy(pinned, scene.pinned.data(), kHost);
    pageable = scene.pageable;
  }
  void expectRun(CUgraphExec exec, unsigned variant, const char* when) {
    paint();
    run(exec);
    GetParam().model(scene, variant);
    const Scene seen{read(device, kDevice), std::vector<uint8_t>(pinned, pinned + kHost), pageable};
    EXPECT_TRUE(seen == scene) << GetParam().name << ", " << when;
  }
  std::string dot(CUgraph of, unsigned flags) {
    const std::string path = testing::TempDir() + "/graph-" + std::to_string(getpid()) + ".dot";
    EXPECT_OK(cuGraphDebugDotPrint(of, path.c_str(), flags));
    std::string text;
    if (std::FILE* file = std::fopen(path.c_str(), "r")) {
      char piece[4096];
      while (const size_t bytes = std::fread(piece, 1, sizeof piece, file)) text.append(piece, bytes);
      std::fclose(file);
    }
    std::remove(path.c_str());
    return text;
  }

 public:
  CUdeviceptr device = 0;
  uint8_t* pinned = nullptr;
  std::vector<uint8_t> pageable;
  CUmodule module = nullptr;
  CUfunction store = nullptr;
  Scene scene;
  // What parameters point to.
  std::vector<CUgraph> graphs;
  std::vector<std::unique_ptr<CUstreamBatchMemOpParams>> operations;
  struct Argument {
    CUdeviceptr where;
    unsigned what;
    void* list[2] = {&where, &what};
  };
  std::vector<std::unique_ptr<Argument>> arguments;
  struct Note {
    uint8_t* where;
    uint8_t what;
  };
  std::vector<std::unique_ptr<Note>> notes;

  CUgraphNodeParams copyParams(const CUDA_MEMCPY3D& copy) const {
    CUgraphNodeParams params{};
    params.type = CU_GRAPH_NODE_TYPE_MEMCPY;
    params.memcpy.copyCtx = context;
    params.memcpy.copyParams = copy;
    return params;
  }
  CUgraphNodeParams fillParams(size_t at, size_t pitch, unsigned value, unsigned element, size_t width,
                               size_t height) const {
    CUgraphNodeParams params{};
    params.type = CU_GRAPH_NODE_TYPE_MEMSET;
    params.memset = {device + at, pitch, value, element, width, height, context};
    return params;
  }
  using GraphTest::addFill;
  using GraphTest::context;
  using GraphTest::copyOf;
  using GraphTest::fillOf;
};

CUgraphNodeParams boxOf(GraphNodes& t, unsigned v) {
  CUDA_MEMCPY3D box = t.copyOf(t.device + v * 16, t.device + 8192, 24);
  box.dstPitch = 64, box.dstHeight = 4;
  box.srcPitch = 32, box.srcHeight = 8;
  box.srcXInBytes = v, box.srcY = 1, box.srcZ = v;
  box.Height = 3, box.Depth = 2;
  return t.copyParams(box);
}
void boxModel(Scene& s, unsigned v) {
  for (size_t z = 0; z < 2; ++z)
    for (size_t y = 0; y < 3; ++y)
      std::memcpy(&s.device[v * 16 + (z * 4 + y) * 64], &s.device[8192 + v + ((z + v) * 8 + y + 1) * 32], 24);
}

const Case kCases[] = {
    {"a copy within the device", CU_GRAPH_NODE_TYPE_MEMCPY, "MEMCPY",
     [](GraphNodes& t, unsigned v) { return t.copyParams(t.copyOf(t.device + v, t.device + 8192, 1000 + v)); },
     [](Scene& s, unsigned v) { std::memcpy(&s.device[v], &s.device[8192], 1000 + v); }},
    {"a copy that overlaps itself", CU_GRAPH_NODE_TYPE_MEMCPY, "MEMCPY",
     [](GraphNodes& t, unsigned v) { return t.copyParams(t.copyOf(t.device + 100, t.device + 90 + v, 3000)); },
     [](Scene& s, unsigned v) { std::memmove(&s.device[100], &s.device[90 + v], 3000); }},
    {"a copy of a box", CU_GRAPH_NODE_TYPE_MEMCPY, "MEMCPY", boxOf, boxModel, true},
    {"a copy from pageable memory", CU_GRAPH_NODE_TYPE_MEMCPY, "MEMCPY",
     [](GraphNodes& t, unsigned v) {
       t.pageable.resize(kHost);
       CUDA_MEMCPY3D copy = t.copyOf(t.device, 0, 300 + v);
       copy.srcMemoryType = CU_MEMORYTYPE_HOST, copy.srcHost = t.pageable.data() + v;
       return t.copyParams(copy);
     },
     [](Scene& s, unsigned v) { std::memcpy(&s.device[0], &s.pageable[v], 300 + v); }},
    {"a copy to page-locked memory", CU_GRAPH_NODE_TYPE_MEMCPY, "MEMCPY",
     [](GraphNodes& t, unsigned v) {
       CUDA_MEMCPY3D copy = t.copyOf(0, t.device + 64 * v, 4000);
       copy.dstMemoryType = CU_MEMORYTYPE_HOST, copy.dstHost = t.pinned + v;
       return t.copyParams(copy);
     },
     [](Scene& s, unsigned v) { std::memcpy(&s.pinned[v], &s.device[64 * v], 4000); }},
    {"a copy of unified addresses", CU_GRAPH_NODE_TYPE_MEMCPY, "MEMCPY",
     [](GraphNodes& t, unsigned v) {
       CUDA_MEMCPY3D copy = t.copyOf(t.device + v, reinterpret_cast<CUdeviceptr>(t.pinned), 77);
       copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
       return t.copyParams(copy);
     },
     [](Scene& s, unsigned v) { std::memcpy(&s.device[v], &s.pinned[0], 77); }},
    {"a fill of bytes", CU_GRAPH_NODE_TYPE_MEMSET, "MEMSET",
     [](GraphNodes& t, unsigned v) { return t.fillParams(v, 0, 200 + v, 1, 999 - v, 1); },
     [](Scene& s, unsigned v) { std::memset(&s.device[v], static_cast<int>(200 + v), 999 - v); }},
    {"a fill of rows of words", CU_GRAPH_NODE_TYPE_MEMSET, "MEMSET",
     [](GraphNodes& t, unsigned v) { return t.fillParams(4 * v, 256, 0x01020304 + v, 4, 10 + v, 7); },
     [](Scene& s, unsigned v) {
       const unsigned value = 0x01020304 + v;
       for (size_t y = 0; y < 7; ++y)
         for (size_t x = 0; x < 10 + v; ++x) std::memcpy(&s.device[4 * v + y * 256 + 4 * x], &value, 4);
     },
     true},
    {"a host function", CU_GRAPH_NODE_TYPE_HOST, "HOST",
     [](GraphNodes& t, unsigned v) {
       t.notes.push_back(
           std::make_unique<GraphNodes::Note>(GraphNodes::Note{t.pinned + 5, static_cast<uint8_t>(90 + v)}));
       CUgraphNodeParams params{};
       params.type = CU_GRAPH_NODE_TYPE_HOST;
       params.host.fn = [](void* data) {
         const auto& note = *static_cast<GraphNodes::Note*>(data);
         *note.where = note.what;
       };
       params.host.userData = t.notes.back().get();
       return params;
     },
     [](Scene& s, unsigned v) { s.pinned[5] = static_cast<uint8_t>(90 + v); }},
    {"a memory operation", CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, "BATCH_MEM_OP",
     [](GraphNodes& t, unsigned v) {
       t.operations.push_back(std::make_unique<CUstreamBatchMemOpParams>());
       auto& write = t.operations.back()->writeValue;
       write.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
       write.address = t.device + 4 * v;
       write.value = 0xA0B0C0D0 + v;
       CUgraphNodeParams params{};
       params.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
       params.memOp.ctx = t.context;
       params.memOp.count = 1;
       params.memOp.paramArray = t.operations.back().get();
       return params;
     },
     [](Scene& s, unsigned v) {
       const unsigned value = 0xA0B0C0D0 + v;
       std::memcpy(&s.device[4 * v], &value, 4);
     }},
    {"a kernel", CU_GRAPH_NODE_TYPE_KERNEL, "store",
     [](GraphNodes& t, unsigned v) {
       t.arguments.push_back(std::make_unique<GraphNodes::Argument>());
       t.arguments.back()->where = t.device + 8 * v;
       t.arguments.back()->what = 0x11223344 + v;
       CUgraphNodeParams params{};
       params.type = CU_GRAPH_NODE_TYPE_KERNEL;
       auto& k = params.kernel;
       k.func = t.store;
       k.gridDimX = k.gridDimY = k.gridDimZ = k.blockDimX = k.blockDimY = k.blockDimZ = 1;
       k.kernelParams = t.arguments.back()->list;
       return params;
     },
     [](Scene& s, unsigned v) {
       const unsigned value = 0x11223344 + v;
       std::memcpy(&s.device[8 * v], &value, 4);
     }},
    {"a child graph", CU_GRAPH_NODE_TYPE_GRAPH, "graph_",
     [](GraphNodes& t, unsigned v) {
       CUgraph made = nullptr;
       EXPECT_OK(cuGraphCreate(&made, 0));
       t.graphs.push_back(made);
       const CUgraphNode first = t.addFill(made, {}, t.fillOf(t.device, 50 + v, 64));
       t.addFill(made, {first}, t.fillOf(t.device + 32, 60 + v, 64));
       CUgraphNodeParams params{};
       params.type = CU_GRAPH_NODE_TYPE_GRAPH;
       params.graph.graph = made;
       return params;
     },
     [](Scene& s, unsigned v) {
       std::memset(&s.device[0], static_cast<int>(50 + v), 64);
       std::memset(&s.device[32], static_cast<int>(60 + v), 64);
     }},
};

TEST_P(GraphNodes, LiveTheirWholeLife) {
  const Case& c = GetParam();
  pageable.resize(kHost);
  CUgraphNodeParams first = c.params(*this, 0), second = c.params(*this, 1);
  CUgraphNode node = nullptr;
  CUgraphNodeType type{};
  ASSERT_OK(cuGraphAddNode(&node, graph, nullptr, nullptr, 0, &first));
  EXPECT_OK(cuGraphNodeGetType(node, &type));
  EXPECT_EQ(type, c.type);
  const std::string text = dot(graph, 0), verbose = dot(graph, CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE);
  EXPECT_NE(text.find(c.dot), std::string::npos) << text;
  EXPECT_GE(verbose.size(), text.size());

  // A clone keeps what the node was; the node's change is seen by what is instantiated later.
  CUgraph clone;
  CUgraphNode inClone = nullptr;
  ASSERT_OK(cuGraphClone(&clone, graph));
  ASSERT_OK(cuGraphNodeFindInClone(&inClone, node, clone));
  CUgraphExec early = instantiate(graph);
  EXPECT_OK(cuGraphNodeSetParams(node, &second));
  CUgraphExec late = instantiate(graph), ofClone = instantiate(clone);
  expectRun(early, 0, "instantiated before the change");
  expectRun(late, 1, "instantiated after the change");
  expectRun(ofClone, 0, "of the clone");

  // Changes of executable graphs, one node and whole.
  const unsigned after = c.rows ? 1 : 0;  // what `late` is then
  EXPECT_EQ(cuGraphExecNodeSetParams(ofClone, inClone, &second), c.rows ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS);
  expectRun(ofClone, c.rows ? 0 : 1, "changed");
  EXPECT_OK(cuGraphExecNodeSetParams(ofClone, inClone, c.rows ? &first : &second));  // what it is already
  CUgraphExecUpdateResultInfo info;
  EXPECT_EQ(cuGraphExecUpdate(late, clone, &info), c.rows ? CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE : CUDA_SUCCESS);
  EXPECT_EQ(info.result, c.rows ? CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED : CU_GRAPH_EXEC_UPDATE_SUCCESS);
  expectRun(late, after, "updated");
  if (cuGraphNodeSetEnabled(late, node, 0) == CUDA_SUCCESS) {
    paint();
    run(late);
    EXPECT_EQ(read(device, kDevice), scene.device);
    EXPECT_OK(cuGraphNodeSetEnabled(late, node, 1));
    expectRun(late, after, "switched on again");
  }
  for (CUgraphExec exec : {early, late, ofClone}) EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_OK(cuGraphDestroy(clone));
}

INSTANTIATE_TEST_SUITE_P(Kinds, GraphNodes, testing::ValuesIn(kCases), [](const auto& info) {
  std::string name = info.param.name;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
});

}  // namespace
