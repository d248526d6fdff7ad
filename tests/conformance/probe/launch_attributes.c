// Attributes of launches: what each way to say them accepts, and what a node tells of them afterwards.
#include "graphs.h"

#include <stdarg.h>

// A launch with one attribute.
typedef struct {
  const char* name;
  CUlaunchAttributeID id;
  CUlaunchAttributeValue value;
} Row;

#define AS_INT(id, v)                                         \
  {                                                           \
#id " " #v, CU_LAUNCH_ATTRIBUTE_##id, { .priority = (v) } \
  }
#define AS_DIM(id, a, b, c)                               \
  {                                                       \
#id " " #a "," #b "," #c, CU_LAUNCH_ATTRIBUTE_##id, { \
      .clusterDim = { a, b, c }                           \
    }                                                     \
  }
#define AS_MAP(a, b)                                             \
  {                                                              \
    "MAP " #a "," #b, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, { \
      .memSyncDomainMap = { a, b }                               \
    }                                                            \
  }
#define AS_WINDOW(ratio, hit, miss, bytes)                                                      \
  {                                                                                             \
    "WINDOW " #ratio " " #hit " " #miss " " #bytes, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, { \
      .accessPolicyWindow = {                                                                   \
        (void*)(uintptr_t)0x10000,                                                              \
        bytes,                                                                                  \
        ratio,                                                                                  \
        (CUaccessProperty)(hit),                                                                \
        (CUaccessProperty)(miss)                                                                \
      }                                                                                         \
    }                                                                                           \
  }

static const Row rows[] = {
    AS_INT(IGNORE, 3),
    AS_WINDOW(0.5f, 0, 0, 64),
    AS_WINDOW(1.0f, 2, 1, 4096),
    AS_WINDOW(2.0f, 0, 0, 64),
    AS_WINDOW(-0.5f, 0, 0, 64),
    AS_WINDOW(0.5f, 5, 0, 64),
    AS_WINDOW(0.5f, 0, 2, 64),
    AS_WINDOW(0.5f, 0, 5, 64),
    AS_WINDOW(0.5f, 0, 0, 1ull << 40),
    AS_INT(COOPERATIVE, 0),
    AS_INT(COOPERATIVE, 1),
    AS_INT(COOPERATIVE, 2),
    AS_INT(COOPERATIVE, -1),
    AS_INT(SYNCHRONIZATION_POLICY, 1),
    AS_DIM(CLUSTER_DIMENSION, 0, 0, 0),
    AS_DIM(CLUSTER_DIMENSION, 1, 1, 1),
    AS_DIM(CLUSTER_DIMENSION, 2, 1, 1),
    AS_DIM(CLUSTER_DIMENSION, 3, 1, 1),
    AS_DIM(CLUSTER_DIMENSION, 0, 1, 1),
    AS_DIM(CLUSTER_DIMENSION, 2, 0, 0),
    AS_DIM(CLUSTER_DIMENSION, 16, 1, 1),
    AS_INT(CLUSTER_SCHEDULING_POLICY_PREFERENCE, 1),
    AS_INT(CLUSTER_SCHEDULING_POLICY_PREFERENCE, 2),
    AS_INT(CLUSTER_SCHEDULING_POLICY_PREFERENCE, 3),
    AS_INT(CLUSTER_SCHEDULING_POLICY_PREFERENCE, -1),
    AS_INT(PROGRAMMATIC_STREAM_SERIALIZATION, 0),
    AS_INT(PROGRAMMATIC_STREAM_SERIALIZATION, 1),
    AS_INT(PROGRAMMATIC_STREAM_SERIALIZATION, 2),
    AS_INT(PRIORITY, -3),
    AS_INT(PRIORITY, -5),
    AS_INT(PRIORITY, -6),
    AS_INT(PRIORITY, -99),
    AS_INT(PRIORITY, 1),
    AS_INT(PRIORITY, 99),
    AS_MAP(0, 1),
    AS_MAP(1, 1),
    AS_MAP(2, 3),
    AS_MAP(3, 0),
    AS_MAP(4, 0),
    AS_MAP(0, 4),
    AS_INT(MEM_SYNC_DOMAIN, 0),
    AS_INT(MEM_SYNC_DOMAIN, 1),
    AS_INT(MEM_SYNC_DOMAIN, 2),
    AS_INT(MEM_SYNC_DOMAIN, -1),
    AS_DIM(PREFERRED_CLUSTER_DIMENSION, 0, 0, 0),
    AS_DIM(PREFERRED_CLUSTER_DIMENSION, 1, 1, 1),
    AS_DIM(PREFERRED_CLUSTER_DIMENSION, 2, 1, 1),
    AS_INT(DEVICE_UPDATABLE_KERNEL_NODE, 0),
    AS_INT(DEVICE_UPDATABLE_KERNEL_NODE, 1),
    AS_INT(DEVICE_UPDATABLE_KERNEL_NODE, 2),
    AS_INT(PREFERRED_SHARED_MEMORY_CARVEOUT, 0),
    AS_INT(PREFERRED_SHARED_MEMORY_CARVEOUT, 50),
    AS_INT(PREFERRED_SHARED_MEMORY_CARVEOUT, 100),
    AS_INT(PREFERRED_SHARED_MEMORY_CARVEOUT, 101),
    AS_INT(PREFERRED_SHARED_MEMORY_CARVEOUT, -1),
    AS_INT(PREFERRED_SHARED_MEMORY_CARVEOUT, -2),
    {"15", (CUlaunchAttributeID)15, {.priority = 1}},
    AS_INT(NVLINK_UTIL_CENTRIC_SCHEDULING, 0),
    AS_INT(NVLINK_UTIL_CENTRIC_SCHEDULING, 1),
    AS_INT(NVLINK_UTIL_CENTRIC_SCHEDULING, 2),
    {"17", (CUlaunchAttributeID)17, {.priority = 1}},
};
enum { kRows = sizeof rows / sizeof *rows };

static const int readable[] = {1, 2, 4, 5, 8, 9, 10, 13, 14};
enum { kReadable = sizeof readable / sizeof *readable };

static void append(char* text, size_t size, const char* format, ...) __attribute__((format(printf, 3, 4)));
static void append(char* text, size_t size, const char* format, ...) {
  va_list args;
  va_start(args, format);
  const size_t used = strlen(text);
  vsnprintf(text + used, size - used, format, args);
  va_end(args);
}

// Attributes of a node that are not what those of a new node are: "8 -3, 14 50".
static const char* told(CUgraphNode node) {
  static char text[512];
  text[0] = 0;
  for (int i = 0; i < kReadable; ++i) {
    CUkernelNodeAttrValue v;
    memset(&v, 0, sizeof v);
    const CUresult r = D(cuGraphKernelNodeGetAttribute)(node, (CUkernelNodeAttrID)readable[i], &v);
    if (r) {
      append(text, sizeof text, " %d:%s", readable[i], resultName(r));
      continue;
    }
    const int* w = (const int*)&v;
    switch (readable[i]) {
      case 1:
        if (v.accessPolicyWindow.num_bytes || v.accessPolicyWindow.hitRatio != 0 || v.accessPolicyWindow.base_ptr)
          append(text, sizeof text, " 1:%zu,%g,%d,%d", v.accessPolicyWindow.num_bytes,
                 (double)v.accessPolicyWindow.hitRatio, (int)v.accessPolicyWindow.hitProp,
                 (int)v.accessPolicyWindow.missProp);
        break;
      case 4:
        if (w[0] || w[1] || w[2]) append(text, sizeof text, " 4:%d,%d,%d", w[0], w[1], w[2]);
        break;
      case 9:
        if (v.memSyncDomainMap.default_ != 0 || v.memSyncDomainMap.remote != 1)
          append(text, sizeof text, " 9:%d,%d", v.memSyncDomainMap.default_, v.memSyncDomainMap.remote);
        break;
      case 13:
        if (w[0] || v.deviceUpdatableKernelNode.devNode)
          append(text, sizeof text, " 13:%d,%s", w[0], v.deviceUpdatableKernelNode.devNode ? "node" : "none");
        break;
      default:
        if (w[0]) append(text, sizeof text, " %d:%d", readable[i], w[0]);
    }
  }
  return text[0] ? text + 1 : "as new";
}

static CUstream s;
static CUlaunchConfig configOf(CUlaunchAttribute* attributes, unsigned count) {
  return (CUlaunchConfig){8, 1, 1, 32, 1, 1, 0, s, attributes, count};
}
static CUlaunchAttribute attributeOf(const Row* row) {
  CUlaunchAttribute a;
  memset(&a, 0, sizeof a);
  a.id = row->id;
  a.value = row->value;
  return a;
}
static CUDA_KERNEL_NODE_PARAMS wideNode(void) {
  CUDA_KERNEL_NODE_PARAMS k = kernelNode(kernel("nop"), NULL);
  k.gridDimX = 8;
  k.blockDimX = 32;
  return k;
}

// Begins a capture, launches with these attributes, ends it: "result, result: what the node tells".
static const char* captured(CUlaunchAttribute* attributes, unsigned count) {
  static char text[640];
  CUgraph g = NULL;
  CUlaunchConfig config = configOf(attributes, count);
  CUfunction f = kernel("nop");
  D(cuStreamBeginCapture_v2)(s, CU_STREAM_CAPTURE_MODE_RELAXED);
  const CUresult launched = D(cuLaunchKernelEx)(&config, f, NULL, NULL);
  const CUresult ended = D(cuStreamEndCapture)(s, &g);
  snprintf(text, sizeof text, "%s, ", resultName(launched));
  append(text, sizeof text, "%s", resultName(ended));
  if (!g) return text;
  CUgraphNode nodes[4];
  size_t n = 4;
  D(cuGraphGetNodes)(g, nodes, &n);
  append(text, sizeof text, ": %zu nodes", n);
  if (n) append(text, sizeof text, ", %s", told(nodes[0]));
  if (n) {
    CUgraphExec e = NULL;
    const CUresult made = D(cuGraphInstantiateWithFlags)(&e, g, 0);
    append(text, sizeof text, "; %s", resultName(made));
    if (e) {
      const CUresult ran = D(cuGraphLaunch)(e, s), over = D(cuStreamSynchronize)(s);
      append(text, sizeof text, ", %s", resultName(ran));
      append(text, sizeof text, ", %s", resultName(over));
      D(cuGraphExecDestroy)(e);
    }
  }
  D(cuGraphDestroy)(g);
  return text;
}

static void launched(void) {
  start();
  D(cuStreamCreate)(&s, CU_STREAM_NON_BLOCKING);
  CUfunction f = kernel("nop");
  for (int i = 0; i < kRows; ++i) {
    CUlaunchAttribute a = attributeOf(&rows[i]);
    CUlaunchConfig config = configOf(&a, 1);
    const CUresult r = D(cuLaunchKernelEx)(&config, f, NULL, NULL);
    char text[64];
    snprintf(text, sizeof text, "%s", resultName(r));
    fact(rows[i].name, "%s %s", text, resultName(D(cuStreamSynchronize)(s)));
  }
}

static void capturedOnes(void) {
  start();
  D(cuStreamCreate)(&s, CU_STREAM_NON_BLOCKING);
  fact("none", "%s", captured(NULL, 0));
  for (int i = 0; i < kRows; ++i) {
    CUlaunchAttribute a = attributeOf(&rows[i]);
    fact(rows[i].name, "%s", captured(&a, 1));
  }
  CUlaunchAttribute twice[3] = {{.id = CU_LAUNCH_ATTRIBUTE_PRIORITY, .value = {.priority = -2}},
                                {.id = CU_LAUNCH_ATTRIBUTE_PRIORITY, .value = {.priority = -4}},
                                {.id = CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, .value = {.memSyncDomain = 1}}};
  fact("priority twice", "%s", captured(twice, 3));
}

// Events that a launch records.
static void events(void) {
  start();
  D(cuStreamCreate)(&s, CU_STREAM_NON_BLOCKING);
  CUfunction f = kernel("nop");
  static const unsigned flags[] = {0, CU_EVENT_DISABLE_TIMING};
  for (int which = 0; which < 2; ++which)
    for (int k = 0; k < 2; ++k)
      for (int given = 0; given < 3; ++given) {
        CUevent e = NULL;
        D(cuEventCreate)(&e, flags[k]);
        CUlaunchAttribute a;
        memset(&a, 0, sizeof a);
        if (which) {
          a.id = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT;
          a.value.launchCompletionEvent.event = given == 2 ? NULL : e;
          a.value.launchCompletionEvent.flags = given;
        } else {
          a.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT;
          a.value.programmaticEvent.event = given == 2 ? NULL : e;
          a.value.programmaticEvent.flags = given;
          a.value.programmaticEvent.triggerAtBlockStart = k;
        }
        char name[80], text[64];
        snprintf(name, sizeof name, "%s, flags %u, %s", which ? "completion event" : "programmatic event", flags[k],
                 given == 2 ? "NULL"
                 : given    ? "flags 1"
                            : "plain");
        CUlaunchConfig config = configOf(&a, 1);
        snprintf(text, sizeof text, "%s", resultName(D(cuLaunchKernelEx)(&config, f, NULL, NULL)));
        D(cuStreamSynchronize)(s);
        fact(name, "%s", text);
        snprintf(name + strlen(name), sizeof name - strlen(name), ", captured");
        fact(name, "%s", captured(&a, 1));
      }
}

static void streams(void) {
  start();
  CUstreamAttrValue v;
  D(cuStreamCreateWithPriority)(&s, CU_STREAM_NON_BLOCKING, -2);
  fact("stream of priority -2", "%s", captured(NULL, 0));
  CUlaunchAttribute own = {.id = CU_LAUNCH_ATTRIBUTE_PRIORITY, .value = {.priority = -4}};
  fact("stream of priority -2, launch of -4", "%s", captured(&own, 1));
  own.value.priority = 0;
  fact("stream of priority -2, launch of 0", "%s", captured(&own, 1));
  memset(&v, 0, sizeof v);
  v.priority = -3;
  D(cuStreamSetAttribute)(s, CU_LAUNCH_ATTRIBUTE_PRIORITY, &v);
  fact("stream set to priority -3", "%s", captured(NULL, 0));
  D(cuStreamCreate)(&s, CU_STREAM_NON_BLOCKING);
  memset(&v, 0, sizeof v);
  v.memSyncDomain = CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE;
  D(cuStreamSetAttribute)(s, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, &v);
  fact("stream of the remote domain", "%s", captured(NULL, 0));
  CUlaunchAttribute local = {.id = CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, .value = {.memSyncDomain = 0}};
  fact("stream of the remote domain, launch of the default", "%s", captured(&local, 1));
  memset(&v, 0, sizeof v);
  v.memSyncDomainMap.default_ = 2, v.memSyncDomainMap.remote = 3;
  D(cuStreamSetAttribute)(s, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, &v);
  fact("stream with a map", "%s", captured(NULL, 0));
  memset(&v, 0, sizeof v);
  v.accessPolicyWindow = (CUaccessPolicyWindow){(void*)(uintptr_t)0x10000, 4096, 0.5f, 0, 0};
  D(cuStreamSetAttribute)(s, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &v);
  fact("stream with a window", "%s", captured(NULL, 0));
  D(cuFuncSetAttribute)(kernel("nop"), CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 25);
  fact("function with a carve-out", "%s", captured(NULL, 0));
}

// Edges that programmatic serialisation makes.
static void edges(void) {
  start();
  D(cuStreamCreate)(&s, CU_STREAM_NON_BLOCKING);
  CUfunction f = kernel("nop");
  for (int first = 0; first < 3; ++first) {
    CUgraph g = NULL;
    CUlaunchAttribute a = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
                           .value = {.programmaticStreamSerializationAllowed = 1}};
    CUlaunchConfig plain = configOf(NULL, 0), programmatic = configOf(&a, 1);
    CUdeviceptr p = 0;
    D(cuMemAlloc_v2)(&p, 4096);
    D(cuStreamBeginCapture_v2)(s, CU_STREAM_CAPTURE_MODE_RELAXED);
    if (first == 0) D(cuLaunchKernelEx)(&plain, f, NULL, NULL);
    if (first == 1) D(cuLaunchKernelEx)(&programmatic, f, NULL, NULL);
    if (first == 2) D(cuMemsetD8Async)(p, 1, 64, s);
    D(cuLaunchKernelEx)(&programmatic, f, NULL, NULL);
    D(cuLaunchKernelEx)(&plain, f, NULL, NULL);
    D(cuStreamEndCapture)(s, &g);
    CUgraphNode from[4], to[4];
    CUgraphEdgeData data[4];
    size_t n = 4;
    char name[48];
    snprintf(name, sizeof name, "behind %s", first == 0 ? "a launch" : first == 1 ? "the same" : "a fill");
    const CUresult r = D(cuGraphGetEdges_v2)(g, from, to, data, &n);
    fact(name, "%s %zu", resultName(r), n);
    for (size_t i = 0; i < n && !r; ++i)
      fact("edge", "type %d, from %d, to %d", data[i].type, data[i].from_port, data[i].to_port);
    CUgraphExec e = NULL;
    RESULT("instantiate", D(cuGraphInstantiateWithFlags)(&e, g, 0));
    n = 4;
    RESULT("edges without data", D(cuGraphGetEdges)(g, from, to, &n));
  }
}

static void nodes(void) {
  start();
  D(cuStreamCreate)(&s, CU_STREAM_NON_BLOCKING);
  CUgraph g = newGraph();
  for (int i = 0; i < kRows; ++i) {
    CUgraphNode n = NULL, other = NULL;
    CUDA_KERNEL_NODE_PARAMS k = wideNode();
    D(cuGraphAddKernelNode_v2)(&n, g, NULL, 0, &k);
    D(cuGraphAddKernelNode_v2)(&other, g, NULL, 0, &k);
    CUkernelNodeAttrValue v = rows[i].value;
    const CUresult set = D(cuGraphKernelNodeSetAttribute)(n, rows[i].id, &v);
    fact(rows[i].name, "%s: %s", resultName(set), told(n));
    if (set) continue;
    CUgraph copy = NULL;
    CUgraphNode found = NULL;
    k.blockDimX = 64;
    RESULT("set parameters", D(cuGraphKernelNodeSetParams_v2)(n, &k));
    fact("then", "%s", told(n));
    RESULT("copy", D(cuGraphKernelNodeCopyAttributes)(other, n));
    fact("of the other", "%s", told(other));
    if (D(cuGraphClone)(&copy, g) || D(cuGraphNodeFindInClone)(&found, n, copy)) continue;
    fact("in a clone", "%s", told(found));
    D(cuGraphDestroy)(copy);
    D(cuGraphDestroyNode)(n);
    D(cuGraphDestroyNode)(other);
  }
}

// An executable graph whose node has one attribute, updated from a graph whose node has another value.
static void updates(void) {
  start();
  D(cuStreamCreate)(&s, CU_STREAM_NON_BLOCKING);
  for (int i = 0; i < kRows; ++i) {
    char name[96];
    for (int way = 0; way < 2; ++way) {  // with to without, without to with
      CUgraph g[2] = {newGraph(), newGraph()};
      CUgraphNode n[2] = {NULL, NULL};
      CUDA_KERNEL_NODE_PARAMS k = wideNode();
      for (int j = 0; j < 2; ++j) D(cuGraphAddKernelNode_v2)(&n[j], g[j], NULL, 0, &k);
      CUkernelNodeAttrValue v = rows[i].value;
      if (D(cuGraphKernelNodeSetAttribute)(n[way], rows[i].id, &v)) continue;
      CUgraphExec e = NULL;
      const CUresult made = D(cuGraphInstantiateWithFlags)(&e, g[0], 0);
      snprintf(name, sizeof name, "%s, %s", rows[i].name, way ? "without to with" : "with to without");
      if (made) {
        fact(name, "instantiate %s", resultName(made));
        continue;
      }
      CUgraphExecUpdateResultInfo info;
      memset(&info, 0, sizeof info);
      char text[64];
      snprintf(text, sizeof text, "%s", resultName(D(cuGraphExecUpdate_v2)(e, g[1], &info)));
      const CUresult set = D(cuGraphExecKernelNodeSetParams_v2)(e, n[0], &k);
      fact(name, "%s %d; set parameters %s", text, (int)info.result, resultName(set));
      D(cuGraphExecDestroy)(e);
      D(cuGraphDestroy)(g[0]);
      D(cuGraphDestroy)(g[1]);
    }
  }
}

const Group kLaunchAttributeGroups[] = {
    {"launch-attributes.launched", launched}, {"launch-attributes.captured", capturedOnes},
    {"launch-attributes.events", events},     {"launch-attributes.streams", streams},
    {"launch-attributes.edges", edges},       {"launch-attributes.nodes", nodes},
    {"launch-attributes.updates", updates},   {NULL, NULL}};
