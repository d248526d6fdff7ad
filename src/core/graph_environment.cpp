#include "core/graph_environment.h"

#include <iterator>
#include <new>
#include <utility>

#include "base/log.h"
#include "core/graph_exec.h"
#include "core/graph_plan.h"

namespace vg::core {
namespace {

// As the CUDA Programming Guide gives them: for one run of the launching graph.
constexpr unsigned kMostFired = 120;
constexpr size_t kMostTails = 255;

}  // namespace

void Environment::open() {
  open_ = 1;
  fired_ = 0;
}

CUresult Environment::fire(GraphPlan& plan) {
  if (fired_ >= kMostFired) return fail(CUDA_ERROR_INVALID_VALUE, "%u graphs were launched to fire and forget", fired_);
  VG_CHECK(plan.environment().reserve(false));
  ++fired_;
  ++open_;
  plan.runFromKernel(*this, {});
  return CUDA_SUCCESS;
}

void Environment::finishOne() {
  if (!--open_) complete();
}

GraphEnvironment::Launched::Launched() : timeline_(Timeline::create()), queued_(timeline_->value()), over_(queued_) {}
GraphEnvironment::Launched::~Launched() { Timeline::destroy(timeline_); }
void GraphEnvironment::Launched::complete() { timeline_->advance(++over_); }

GraphEnvironment::~GraphEnvironment() = default;

CUresult GraphEnvironment::launch(uint64_t exec, Launch how) noexcept {
  try {
    const graphs::Lock lock;
    return launchLocked(exec, how);
  } catch (const std::bad_alloc&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
}

CUresult GraphEnvironment::launchLocked(uint64_t exec, Launch how) {
  if (!running_) return fail(CUDA_ERROR_INVALID_VALUE, "the launching graph is over");
  VG_TRY(GraphExec & found, graph_execs::find(reinterpret_cast<CUgraphExec>(exec)));
  VG_TRY(GraphPlan & plan, found.uploaded());
  if (!plan.sameDevice(plan_)) return fail(CUDA_ERROR_INVALID_VALUE, "the graph is one of another device");
  switch (how) {
    case Launch::TailLaunch:
      return queueTail(plan);
    case Launch::FireAndForget:
      return fire(plan);
    case Launch::FireAndForgetAsSibling:
      return parent_->fire(plan);
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult GraphEnvironment::queueTail(GraphPlan& plan) {
  if (tails_.size() >= kMostTails)
    return fail(CUDA_ERROR_INVALID_VALUE, "%zu tail launches are pending", tails_.size());
  VG_CHECK(plan.environment().reserve(&plan == &plan_));
  tails_.push_back(&plan);
  return CUDA_SUCCESS;
}

CUresult GraphEnvironment::reserve(bool again) {
  if (reserved_ || (running_ && !again)) return fail(CUDA_ERROR_INVALID_VALUE, "the graph is launched already");
  reserved_ = true;
  plan_.reference();
  return CUDA_SUCCESS;
}

bool GraphEnvironment::begin(Environment& parent, std::deque<GraphPlan*> later) {
  reserved_ = false;
  if (running_) return false;
  open();
  running_ = fromKernel_ = true;
  parent_ = &parent;
  later_ = std::move(later);
  return true;
}

// CUDA does not say what a launch by the host is beside one by a kernel. Here it takes part in that.
void GraphEnvironment::beginFromHost() {
  fromHost_.begin();
  joined_ = running_;
  if (joined_) return addOne();
  open();
  running_ = true;
  fromKernel_ = false;
  parent_ = &fromHost_;
}

void GraphEnvironment::finishFromHost() {
  const bool joined = std::exchange(joined_, false);
  finishOne();
  if (joined) fromHost_.finishOne();
}

void GraphEnvironment::follow(Environment& parent, std::deque<GraphPlan*> later) {
  if (later.empty()) return parent.finishOne();
  GraphPlan* const next = later.front();
  later.pop_front();
  next->runFromKernel(parent, std::move(later));
}

// Last of all the plan goes, and this with it, if nobody else has it.
void GraphEnvironment::complete() {
  const bool fromKernel = fromKernel_;
  GraphPlan& plan = plan_;
  std::deque<GraphPlan*> next = std::exchange(tails_, {});
  next.insert(next.end(), later_.begin(), later_.end());
  later_.clear();
  running_ = false;
  follow(*parent_, std::move(next));
  if (fromKernel) plan.drop();
}

}  // namespace vg::core
