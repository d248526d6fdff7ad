// Graphs that kernels launch: in which order they run, and when a launch with all of them is over.
//
// An environment is what a run of a graph gathers: its own nodes and the graphs that it launches to fire and forget. It
// is complete when all of them are; then the graphs that it launched as its tail take its place, one after another,
// each with its own tail before the rest. The outermost environment is that of the launch from the host: its stream
// goes on when that is complete. Siblings are launched into the environment that the launching graph's is in.
//
// A plan (graph_plan.h) has one GraphEnvironment when the host has made it launchable from kernels, or when kernels in
// it launch graphs. It is in use once at a time, since launches of a graph follow each other.
//
// What kernels launch, and who sees their ends, waits for nobody: all is guarded by a lock of its own, that of
// launches, which is held for moments and never while anything is queued.
#pragma once

#include <cuda.h>

#include <vector>

#include "backend/device_side/graph_run.h"
#include "base/sync/mutex.h"
#include "base/sync/timeline.h"
#include "core/streams/stream.h"

namespace vg::core {

class Environment;
class GraphEnvironment;
class LaunchedGraph;
// Graphs that follow each other, each with a reference: the next one is the last.
using LaterGraphs = std::vector<LaunchedGraph*>;

// A graph that kernels launch, or whose kernels launch graphs.
class LaunchedGraph {
 public:
  LaunchedGraph(const LaunchedGraph&) = delete;
  // Its own. Requires: it is such a graph.
  virtual GraphEnvironment& environment() const = 0;
  virtual int device() const = 0;  // ordinal
  virtual void reference() = 0;
  // Gives up the reference of a run.
  virtual void endRun() = 0;
  // Its run from a kernel is launches alone, which wait for nobody.
  virtual bool beginsAtOnce() const = 0;
  // Runs it inside `parent`; `later` follows. Waits for nobody where it beginsAtOnce(); else it takes graphs::Lock.
  // Requires: the environment is reserved for it.
  virtual void runFromKernel(Environment& parent, LaterGraphs later) = 0;
  // The same, now or soon: waits for nobody.
  virtual void beginFromKernel(Environment& parent, LaterGraphs later) = 0;

 protected:
  LaunchedGraph() = default;
  ~LaunchedGraph() = default;
};
inline constinit Mutex graphLaunches;  // the lock of launches

// What graphs can be launched into.
class Environment {
 public:
  Environment(const Environment&) = delete;
  // Something that it waits for is complete.
  void finishOne();

 protected:
  Environment() = default;
  ~Environment() = default;
  virtual void complete() = 0;
  void open() VG_REQUIRES(graphLaunches);
  void addOne() VG_REQUIRES(graphLaunches) { ++open_; }
  // Launches a graph that is part of this environment from now on; `rest` begins it. CUDA_ERROR_INVALID_VALUE when too
  // many were.
  CUresult fire(LaunchedGraph& plan, backend::HostCall& rest) VG_REQUIRES(graphLaunches);

 private:
  friend class GraphEnvironment;
  unsigned open_ VG_GUARDED_BY(graphLaunches) = 0, fired_ VG_GUARDED_BY(graphLaunches) = 0;
};

class GraphEnvironment final : public Environment, public backend::GraphRun {
 public:
  // `exec`: the handle, when kernels may launch the graph; else 0.
  GraphEnvironment(LaunchedGraph& plan, uint64_t exec) : plan_(plan), exec_(exec) {}
  ~GraphEnvironment();

  // For kernels.
  uint64_t exec() const noexcept override { return exec_; }
  CUresult launch(uint64_t exec, Launch how, backend::HostCall& rest) noexcept override;
  // From now on kernels launch this plan by the handle; null: none.
  static void setLaunchable(uint64_t exec, LaunchedGraph* plan);

  // A launch from the host: what its stream waits for before it goes on, when it is queued; taken back when that fails.
  Point queueFromHost() { return fromHost_.queue(); }
  void cancelFromHost() { fromHost_.cancel(); }
  // It begins; its own nodes are complete.
  void beginFromHost();
  void finishFromHost();

  // Begins a run inside `parent`; when it is complete the graphs of `later`, which it takes, follow. Its own nodes are
  // complete with finishOne(). False, with nothing taken, while it runs already. Requires: a kernel has launched it.
  bool begin(Environment& parent, LaterGraphs& later);
  // What comes after a run inside `parent` that is complete. Waits for nobody.
  static void follow(Environment& parent, LaterGraphs later);

 private:
  friend class Environment;
  // Of a launch from the host.
  class Launched final : public Environment {
   public:
    Launched();
    ~Launched();
    Point queue() { return {timeline_, ++queued_}; }
    void cancel() { --queued_; }
    using Environment::open;

   private:
    void complete() override;
    Timeline* const timeline_;
    uint64_t queued_, over_;
  };

  CUresult launchLocked(uint64_t exec, Launch how, backend::HostCall& rest) VG_REQUIRES(graphLaunches);
  CUresult queueTail(LaunchedGraph& plan) VG_REQUIRES(graphLaunches);
  // Keeps the plan for one run from a kernel. CUDA_ERROR_INVALID_VALUE while it runs, or is to run, already; a run may
  // put itself behind its own end (`again`).
  CUresult reserve(bool again) VG_REQUIRES(graphLaunches);
  void complete() override;
  // Requires: fire() has reserved it, and it has not begun since.
  Environment& firedInto() const;

  LaunchedGraph& plan_;
  const uint64_t exec_;
  Launched fromHost_;
  Environment* parent_ VG_GUARDED_BY(graphLaunches) = nullptr;
  Environment* firedInto_ VG_GUARDED_BY(graphLaunches) = nullptr;
  bool running_ VG_GUARDED_BY(graphLaunches) = false;
  bool reserved_ VG_GUARDED_BY(graphLaunches) = false;    // a kernel has launched it, and it has not begun yet
  bool fromKernel_ VG_GUARDED_BY(graphLaunches) = false;  // the present run was launched by one
  bool joined_ VG_GUARDED_BY(graphLaunches) = false;      // the host has launched it meanwhile
  std::vector<LaunchedGraph*> tails_
      VG_GUARDED_BY(graphLaunches);  // in the order of their launches, each with a reference
  LaterGraphs later_ VG_GUARDED_BY(graphLaunches);
};

}  // namespace vg::core
