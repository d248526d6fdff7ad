// What an executable graph does when it is launched: its nodes as a flat list of steps in an order that keeps every
// edge, child graphs in line.
//
// Launching turns the steps into commands for the stream's queue: neighbouring small steps are one command that a
// thread of the device runs through (tens of nanoseconds a node), kernels and long copies are commands of their own,
// and so are all copies where the host does not see the device's memory: it would have to wait for what is before them.
// A plan is constant while a launch of it is under way: who changes a step then works on a new plan. References keep it
// alive.
//
// All functions require graphs::Lock unless said otherwise.
#pragma once

#include <cuda.h>

#include <atomic>
#include <memory>
#include <optional>
#include <unordered_map>
#include <variant>
#include <vector>

#include "backend/command.h"
#include "backend/device_side/updatable_node.h"
#include "backend/queues/executor.h"
#include "core/executables/followed_steps.h"
#include "core/executables/graph_environment.h"
#include "core/executables/graph_levels.h"
#include "core/executables/prepared_run.h"
#include "core/graphs/graph.h"
#include "core/streams/stream.h"
#include "core/work/copy.h"
#include "core/work/memory_operations.h"

namespace vg::core {

class Event;

// The memory that a step was checked against; it may be gone when the plan is launched. What is queued has its memory:
// freeing waits for it, or comes after it in the stream's order.
struct Remembered {
  const alloc::Record* record = nullptr;  // null: pageable
  uint64_t id = 0;
  bool there() const;
};

struct CopyStep {
  copy::Shape shape;
  Remembered destination, source;
};
// A side is an array that the application maps.
struct PagedStep {
  memory::DescribedCopy copy;
};
// Copies of a batch: in any order, so each is a command of its own.
struct CopyBatchStep {
  std::vector<CopyStep> copies;
};
struct FillStep {
  copy::Fill fill;
  Remembered destination;
};
// The record's parameters are owned here, 256-byte aligned.
struct KernelStep {
  struct Free {
    void operator()(void* memory) const;
  };
  CUfunction function;
  ContextReference context;
  backend::LaunchRecord record;
  std::unique_ptr<std::byte, Free> parameters;
  // Of a node that kernels may change: what the host has made of it last, applied whenever the plan is uploaded or run.
  std::shared_ptr<backend::UpdatableNode> node;
  uint64_t version = 0;
  bool enabled = true;
  uint64_t checked = 0;  // LaunchCommand::checked of the last run
};
struct HostStep {
  CUDA_HOST_NODE_PARAMS call;
};
struct MemoryStep {
  OwnMemoryOperations operations;
};
// Each launch takes the timeline one further.
struct RecordStep {
  CUevent event;
  Timeline* timeline;
  uint64_t recorded = 0;
};
struct WaitStep {
  CUevent event;
};
// An allocation (`memory`) or a free (`address`); nothing is left of them in the steps.
struct MemoryEnd {
  std::shared_ptr<GraphMemory> memory;
  CUdeviceptr address = 0;
};
class GraphPlan;
struct BranchStep {
  CUgraphConditionalNodeType type;
  CUgraphConditionalHandle handle;
  unsigned initial;
  bool assigned;    // `initial` is its value whenever the graph that it was made for begins
  unsigned inside;  // so many bodies are between that graph and the step
  std::vector<GraphPlan*> bodies;
  CUstream stream;  // in which the bodies run
};
struct NoStep {};

using Step = std::variant<NoStep, CopyStep, CopyBatchStep, PagedStep, FillStep, HostStep, MemoryStep, KernelStep,
                          RecordStep, WaitStep, BranchStep>;

// Where a step stands: as graph_levels.h counts, child graphs with numbers of their own.
struct StepOrder {
  uint32_t level;
  bool early;  // a kernel behind the step before by a programmatic edge alone
  ChainPlace chain;
  bool earlyInChain;  // the same, behind the one before in its chain
};

class GraphPlan final : public LaunchedGraph, private backend::Executor::Task {
 public:
  // `disabled`: ids of nodes that do nothing. `exec`: the handle, when kernels may launch it; else 0. `ownPriorities`:
  // kernels have those of their nodes, not the stream's. On failure `culprit` is the node that could not be done.
  static Result<GraphPlan*> make(const Graph& graph, Context& context,
                                 const std::unordered_map<uint64_t, bool>& disabled, uint64_t exec, bool ownPriorities,
                                 GraphNode** culprit);

  void reference() override { references_.fetch_add(1, std::memory_order_relaxed); }
  // Gives a reference up; the last one ends the plan. unreference() is for who does not hold the lock.
  void drop();
  void unreference();
  bool shared() const { return references_.load(std::memory_order_acquire) > 1; }

  // Makes the step of this node anew; an error, with nothing done, for nodes in the bodies of conditional ones.
  // Requires: !shared().
  CUresult patch(const GraphNode& node, bool disabled);
  // Whether all memory is there that the steps were checked against.
  bool intact() const;
  // Whether there is memory now wherever its memory operations go. Bodies of conditional nodes have none.
  bool operationsReach() const;
  // Queues one run of the plan; it holds a reference meanwhile. `after`: a point that it must wait for. Requires:
  // intact().
  CUresult submit(Stream& stream, Point after);
  // Makes it what kernels find: values of nodes that they may change, in the stream's order.
  CUresult upload(Stream& stream);

  GraphEnvironment& environment() const override { return *environment_; }
  int device() const override;
  // Requires, for a plan that kernels may launch: this was called before they know of it.
  void prepare();
  // Requires: prepare().
  bool beginsAtOnce() const override { return cut_.launchesAlone; }
  // These do not require graphs::Lock.
  void runFromKernel(Environment& parent, LaterGraphs later) override;
  void beginFromKernel(Environment& parent, LaterGraphs later) override;
  void endRun() override;

  // The allocations and frees among the steps, in their order.
  const std::vector<MemoryEnd>& memoryEnds() const { return memoryEnds_; }

 private:
  // `top`: of the graph that the plan's is a body in; null: its own.
  GraphPlan(Context& context, GraphPlan* top) : context_(context), top_(top ? top : this) {}
  ~GraphPlan();
  // Steps that one thread runs through, [first, last); or a single step with commands of its own.
  struct Piece {
    GraphPlan* plan;
    size_t first, last;
    bool together;
  };

  using Disabled = std::unordered_map<uint64_t, bool>;
  Result<GraphPlan*> makeBody(const Graph& graph, const Disabled& disabled) const;
  CUresult becomeLaunchable(uint64_t exec);
  CUresult append(const Graph& graph, const std::unordered_map<uint64_t, bool>& disabled, GraphNode** culprit);
  Result<Step> compile(const GraphNode& node, const Disabled& disabled, bool enabled);
  Result<Step> compileOther(const GraphNode& node, const Disabled& disabled);
  Result<Step> compileKernel(const KernelNode& node, bool enabled);
  Result<Step> compileBranch(const ConditionalNode& node, const Disabled& disabled);
  void cut();
  // What a run from the host begins with.
  bool needsBegin() const;
  void begin() const;
  void beginConditions(unsigned inside) const;
  // Tells nodes that kernels may change what the host has made of them.
  void applyNodes() const;
  CUresult gather(Stream& stream, std::vector<backend::Command>& commands) noexcept;
  // `prepared`: by what is made ready, or can be now.
  CUresult addPieces(Stream& stream, std::vector<backend::Command>& commands, bool prepared);
  CUresult tryFromKernel() noexcept;
  CUresult submitFromKernel();
  CUresult checkSteps() const;
  CUresult addCommands(size_t index, Stream& stream, std::vector<backend::Command>& commands);
  bool small() const;
  bool tryInPlace(Stream& stream, void (*runAll)(void*));
  bool unreferenceUnlessLast();
  void run() override;

  void run(size_t first, size_t last) const noexcept;
  void numberSteps(Stream& stream, Point after);

  Context& context_;
  GraphPlan* const top_;
  std::unique_ptr<GraphEnvironment> environment_;  // of a top plan; null: no kernel has to do with it
  CUstream stream_ = nullptr;                      // in which it runs when kernels launch it
  struct Whole {
    bool ownPriorities = false;  // make()'s
    bool updatable = false;      // it has nodes that kernels may change
  };
  Whole whole_;  // of a top plan
  std::atomic<uint32_t> references_{1};
  std::vector<Step> steps_;
  std::vector<StepOrder> order_;  // of steps
  FollowedSteps followed_;
  PlaceNumbers placed_;                          // that were given
  std::unordered_map<uint64_t, size_t> stepOf_;  // by the id of the node
  std::vector<MemoryEnd> memoryEnds_;
  // A run that a thread is to begin.
  struct Beginning {
    Environment* parent;
    LaterGraphs later;
  };
  std::optional<Beginning> beginning_;  // made where nothing may fail, so in place
  // How the steps are run, as long as none is changed.
  struct Cut {
    bool made = false, launchesAlone = false;
    std::vector<Piece> pieces;
    std::vector<PreparedRun> runs;  // of steps that are pieces of their own
    std::vector<uint32_t> naming;   // steps that name memory which may be freed
    size_t bytes = 0;               // that copies and fills move
    bool onlyMoves = false;         // copies and fills, nothing else
  };
  Cut cut_;
  bool operates_ = false;  // on words of memory: it has a MemoryStep
};

}  // namespace vg::core
