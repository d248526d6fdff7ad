#include "core/graphs/graph_dot.h"

#include <algorithm>
#include <deque>
#include <unordered_map>

#include "base/raw_enum.h"
#include "base/text/format.h"
#include "core/graphs/graph_attributes.h"
#include "core/graphs/graph_describe.h"
#include "core/memory/memory.h"
#include "core/modules/kernel.h"

namespace vg::core::graphs {
namespace {

std::string hex(uint64_t value) { return format("0x%016llX", static_cast<unsigned long long>(value)); }
template <class Pointer>
std::string hex(Pointer* pointer) {
  return hex(reinterpret_cast<uintptr_t>(pointer));
}

const char* memoryName(int type) {
  switch (type) {
    case CU_MEMORYTYPE_HOST:
      return "HOST";
    case CU_MEMORYTYPE_DEVICE:
      return "DEVICE";
    case CU_MEMORYTYPE_ARRAY:
      return "ARRAY";
    default:
      return "UNIFIED";
  }
}

int resolved(int type, CUdeviceptr address) {
  if (type != CU_MEMORYTYPE_UNIFIED) return type;
  return memory::lookup(address) ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
}

char letter(int type) { return *memoryName(type); }

const char* operationName(int operation) {
  switch (operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
      return "WAIT_VALUE_32";
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
      return "WRITE_VALUE_32";
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
      return "WAIT_VALUE_64";
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
      return "WRITE_VALUE_64";
    case CU_STREAM_MEM_OP_BARRIER:
      return "BARRIER";
    case CU_STREAM_MEM_OP_ATOMIC_REDUCTION:
      return "ATOMIC_REDUCTION";
    default:
      return "FLUSH_REMOTE_WRITES";
  }
}

// Writes one graph and those of its child nodes.
class Writer {
 public:
  explicit Writer(unsigned flags) : flags_(flags & CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE ? ~0U : flags) {}

  void write(const Graph& graph) {
    number(graph);
    name_ = format("graph_%llu", static_cast<unsigned long long>(graph.number()));
    out += format("subgraph cluster_%llu {\n", static_cast<unsigned long long>(graph.number()));
    out += "label=\"" + name_ + "\" graph[style=\"dashed\"];\n";
    for (const GraphNode* node : graph.nodes()) writeNode(*node);
    for (const GraphNode* node : graph.nodes()) writeEdges(*node);
    out += "}\n";
    for (const GraphNode* node : graph.nodes()) {
      if (const auto* child = node->as<ChildNode>()) Writer::write(*child->graph);
      if (const auto* conditional = node->as<ConditionalNode>())
        for (const Graph* body : conditional->bodies) Writer::write(*body);
    }
  }

  std::string out;

 private:
  struct Number {
    size_t id, topological;
  };

  bool on(unsigned flag) const { return (flags_ & flag) != 0; }
  bool handles() const { return on(CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES); }

  // Nodes are numbered in the order of adding, and from the last ones backwards along their dependencies.
  void number(const Graph& graph) {
    numbers_.clear();
    for (const GraphNode* node : graph.nodes()) numbers_.emplace(node, Number{numbers_.size(), 0});
    std::deque<const GraphNode*> next;
    std::unordered_map<const GraphNode*, bool> seen;
    const auto visit = [&](const GraphNode* node) {
      if (seen.emplace(node, true).second) next.push_back(node);
    };
    for (size_t i = graph.nodes().size(); i-- > 0;)
      if (graph.nodes()[i]->dependents().empty()) visit(graph.nodes()[i]);
    for (size_t count = 0; !next.empty(); ++count) {
      const GraphNode* node = next.front();
      next.pop_front();
      numbers_[node].topological = count;
      for (const Dependency& before : node->dependencies()) visit(before.node);
    }
  }

  std::string node(const GraphNode& node) const { return "\"" + name_ + format("_node_%zu\"", numbers_.at(&node).id); }
  std::string id(const GraphNode& node) const {
    const Number number = numbers_.at(&node);
    const bool both = on(CU_GRAPH_DEBUG_DOT_FLAGS_EXTRA_TOPO_INFO);
    return both ? format("%zu (topoId: %zu)", number.id, number.topological) : format("%zu", number.id);
  }
  std::string handleLine(const GraphNode& node) const {
    return handles() ? "node handle: " + hex(&node) + "\n" : std::string();
  }
  // "{{ID | node handle} | {1 | 0x...}}" with further columns.
  std::string idTable(const GraphNode& node, const std::string& columns = "", const std::string& values = "") const {
    return "| {{ID" + std::string(handles() ? " | node handle" : "") + columns + "} | {" + id(node) +
           (handles() ? " | " + hex(&node) : "") + values + "}}";
  }

  void writeEdges(const GraphNode& from) {
    size_t index = 0;
    for (const Dependency& after : from.dependents()) {
      out += node(from) + " -> " + node(*after.node);
      if (on(CU_GRAPH_DEBUG_DOT_FLAGS_EXTRA_TOPO_INFO)) out += format(" [headlabel=%zu]", index);
      out += ";\n";
      ++index;
    }
  }

  void writeNode(const GraphNode& n) {
    out += node(n);
    std::visit([&](const auto& params) { describe(n, params); }, n.params);
    out += "\"];\n\n";
  }

  void box(const GraphNode& n, const std::string& what, const std::string& more = "") {
    out += "[style=\"solid\" shape=\"rectangle\" label=\"" + id(n) + "\n" + what + "\n" + handleLine(n) + more;
  }
  void record(const char* what) { out += std::string("[style=\"solid\" shape=\"record\" label=\"{\n") + what + "\n"; }

  void describe(const GraphNode& n, const KernelNode& kernel) {
    const backend::LaunchShape& s = kernel.launch.shape;
    const CUfunction function = kernel.launch.callee();
    auto found = resolveKernel(function, *kernel.launch.context.context);
    const std::string name = found.ok() ? found.value()->name() : "?";
    const std::string shape = on(CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_PARAMS)
                                  ? format("\\<\\<\\<%u,%u,%u\\>\\>\\>", s.grid[0] * s.grid[1] * s.grid[2],
                                           s.block[0] * s.block[1] * s.block[2], s.dynamicShared)
                                  : "";
    if (!on(CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_ATTRIBUTES)) {
      out += "[style=\"bold\" shape=\"octagon\" label=\"" + id(n) + "\n" + name + "\n" + handleLine(n);
      if (handles()) out += "func handle: " + hex(function) + "\n";
      out += shape;
      return;
    }
    out += "[style=\"bold\" shape=\"record\" label=\"{KERNEL\n| {ID | " + id(n) + " | " + name + shape + "}\n";
    if (handles()) out += "| {{node handle | func handle} | {" + hex(&n) + " | " + hex(function) + "}}\n";
    CUkernelNodeAttrValue value{};
    (void)kernelAttribute(kernel, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, value);
    const CUaccessPolicyWindow& w = value.accessPolicyWindow;
    const char* const properties[] = {"N", "S", "P"};
    const auto property = [&](const CUaccessProperty& p) { return properties[std::clamp(rawValue(p), 0, 2)]; };
    out +=
        "| {accessPolicyWindow | {base_ptr | num_bytes | hitRatio | hitProp | missProp} | {" + hex(w.base_ptr) +
        format(" | %zu | %f | %s | %s}}\n", w.num_bytes, double{w.hitRatio}, property(w.hitProp), property(w.missProp));
    (void)kernelAttribute(kernel, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, value);
    out += format("| {cooperative | %d}\n", value.cooperative);
    (void)kernelAttribute(kernel, CU_LAUNCH_ATTRIBUTE_PRIORITY, value);
    out += format("| {priority | %d}\n}", value.priority);
  }

  static std::string side(int type, const void* host, CUdeviceptr device, CUarray array, const size_t (&at)[6]) {
    return format("%s (%s) | ", memoryName(type), memoryName(resolved(type, device))) + hex(array) + " | " + hex(host) +
           " | " + hex(uint64_t{device}) +
           format(" | %zu | %zu | %zu | %zu | %zu | %zu", at[0], at[1], at[2], at[3], at[4], at[5]);
  }

  void describe(const GraphNode& n, const work::Copy& node) {
    const CUDA_MEMCPY3D& c = node.box;
    const int from = rawValue(c.srcMemoryType), to = rawValue(c.dstMemoryType);
    if (!on(CU_GRAPH_DEBUG_DOT_FLAGS_MEMCPY_NODE_PARAMS)) {
      out += "[style=\"solid\" shape=\"trapezium\"label=\"" + id(n) + "\nMEMCPY\n";
      out += handleLine(n);
      out += format("(%cto%c,%zu)\n", letter(resolved(from, c.srcDevice)), letter(resolved(to, c.dstDevice)),
                    c.WidthInBytes * c.Height * c.Depth);
      return;
    }
    const std::string columns = "MemoryType | Array | Host | Device | XInBytes | Y | Z | Pitch | Height | LOD";
    record("MEMCPY");
    out += idTable(n) + "\n| {{src | dst} | { " + columns + " | " + columns + "} | {" +
           side(from, c.srcHost, c.srcDevice, c.srcArray,
                {c.srcXInBytes, c.srcY, c.srcZ, c.srcPitch, c.srcHeight, c.srcLOD}) +
           " | " +
           side(to, c.dstHost, c.dstDevice, c.dstArray,
                {c.dstXInBytes, c.dstY, c.dstZ, c.dstPitch, c.dstHeight, c.dstLOD}) +
           "}}\n" +
           format("| {Extent | {WidthInBytes | Height | Depth} | {%zu | %zu | %zu}}\n}", c.WidthInBytes, c.Height,
                  c.Depth);
  }

  void describe(const GraphNode& n, const work::Fill& node) {
    const CUDA_MEMSET_NODE_PARAMS_v2& f = node.rows;
    if (!on(CU_GRAPH_DEBUG_DOT_FLAGS_MEMSET_NODE_PARAMS)) {
      out += "[style=\"solid\" shape=\"invtrapezium\"label=\"" + id(n) + "\nMEMSET\n" + handleLine(n) +
             format("(%u,%zu)\n", f.value, f.width * f.height * f.elementSize);
      return;
    }
    out += "[style=\"solid\" style=\"solid\" shape=\"record\" label=\"{MEMSET\n" +
           idTable(n, " | dptr | pitch | value | elementSize | width | height",
                   " | " + hex(uint64_t{f.dst}) +
                       format(" | %zu | %u | %u | %zu | %zu", f.pitch, f.value, f.elementSize, f.width, f.height)) +
           "}";
  }

  void describe(const GraphNode& n, const work::HostCall& host) {
    std::string more;
    if (on(CU_GRAPH_DEBUG_DOT_FLAGS_HOST_NODE_PARAMS))
      more = "fn: " + hex(reinterpret_cast<void*>(host.call.fn)) + "\nuserData: " + hex(host.call.userData) + "\n";
    box(n, "HOST", more);
  }
  void describe(const GraphNode& n, const ChildNode& child) {
    box(n, format("graph_%llu", static_cast<unsigned long long>(child.graph->number())));
  }
  void describe(const GraphNode& n, const EmptyNode&) { box(n, "EMPTY"); }
  void event(const GraphNode& n, const char* what, CUevent event) {
    box(n, what, on(CU_GRAPH_DEBUG_DOT_FLAGS_EVENT_NODE_PARAMS) ? "event: " + hex(event) + "\n" : "");
  }
  void describe(const GraphNode& n, const work::Wait& wait) { event(n, "EVENT_WAIT", wait.event); }
  void describe(const GraphNode& n, const work::Record& record) { event(n, "EVENT_RECORD", record.event); }
  void describe(const GraphNode& n, const SemaphoreSignalNode&) { box(n, "EXT_SEMAS_SIGNAL"); }
  void describe(const GraphNode& n, const SemaphoreWaitNode&) { box(n, "EXT_SEMAS_WAIT"); }
  void describe(const GraphNode& n, const ConditionalNode&) { box(n, "CONDITIONAL"); }
  void describe(const GraphNode& n, const work::CopyBatch& batch) {
    if (!on(CU_GRAPH_DEBUG_DOT_FLAGS_MEMCPY_BATCH_NODE_PARAMS)) return box(n, "MEMCPY_BATCH");
    record("MEMCPY_BATCH");
    out += idTable(n, " | count", format(" | %zu", batch.sizes.size()));
    for (size_t i = 0; i < batch.sizes.size(); ++i)
      out += format("\n| {{copy %zu | {src | dst | size}}\n| {", i) + hex(uint64_t{batch.sources[i]}) + " | " +
             hex(uint64_t{batch.destinations[i]}) + format(" | %zu}}", batch.sizes[i]);
    out += "\n}";
  }

  void describe(const GraphNode& n, const MemAllocNode& alloc) {
    if (!on(CU_GRAPH_DEBUG_DOT_FLAGS_MEM_ALLOC_NODE_PARAMS)) return box(n, "MEM_ALLOC");
    record("MEM_ALLOC");
    out += idTable(n) + "\n| {{{poolProps | {allocType | handleTypes | {location | {type | id}}} | " +
           format("{PINNED | NONE | DEVICE | %d}}}}\n", alloc.params.poolProps.location.id) +
           format("| {{bytesize | dptr} | {%zu | ", alloc.params.bytesize) + hex(uint64_t{alloc.params.dptr}) + "}}\n}";
  }
  void describe(const GraphNode& n, const work::Free& free) {
    if (!on(CU_GRAPH_DEBUG_DOT_FLAGS_MEM_FREE_NODE_PARAMS)) return box(n, "MEM_FREE");
    record("MEM_FREE");
    out += idTable(n) + "\n| {{dptr} | {" + hex(uint64_t{free.address}) + "}}\n}";
  }

  void describe(const GraphNode& n, const work::MemoryOperations& batch) {
    if (!on(CU_GRAPH_DEBUG_DOT_FLAGS_BATCH_MEM_OP_NODE_PARAMS)) return box(n, "BATCH_MEM_OP");
    record("BATCH_MEM_OP");
    out += idTable(n, " | count | flags ", format(" | %zu | ", batch.operations.size()) + hex(batch.flags) + " ");
    size_t i = 0;
    for (const CUstreamBatchMemOpParams& operation : batch.operations) {
      const auto& write = operation.writeValue;
      out += format("\n| {{{paramArray[%zu] | {op | addr | val | flags }}}\n| {%s | ", i++,
                    operationName(rawValue(operation.operation))) +
             hex(uint64_t{write.address}) + " | " + hex(uint64_t{write.value64}) + " | " +
             (write.flags ? format("%#x", write.flags) : "DEFAULT") + "}}";
    }
    out += "\n}";
  }

  const unsigned flags_;
  std::string name_;
  std::unordered_map<const GraphNode*, Number> numbers_;
};

}  // namespace

std::string dot(const Graph& graph, unsigned flags) {
  Writer writer(flags);
  writer.out = "digraph dot {\n";
  writer.write(graph);
  return writer.out + "}\n";
}

}  // namespace vg::core::graphs
