#include "core/executables/graph_environment.h"

#include <new>
#include <unordered_map>
#include <utility>

#include "base/log.h"
#include "base/undying.h"

namespace vg::core {
namespace {

// As the CUDA Programming Guide gives them: for one run of the launching graph.
constexpr unsigned kMostFired = 120;
constexpr size_t kMostTails = 255;

// What kernels launch, by handle; who takes a plan out keeps it until then. Never destroyed: kernels may run while the
// process exits.
std::unordered_map<uint64_t, LaunchedGraph*>& launchable() VG_REQUIRES(graphLaunches) {
  return undying<std::unordered_map<uint64_t, LaunchedGraph*>, LaunchedGraph>();
}

}  // namespace

void Environment::open() {
  open_ = 1;
  fired_ = 0;
}

CUresult Environment::fire(LaunchedGraph& plan, backend::HostCall& rest) {
  if (fired_ >= kMostFired) return fail(CUDA_ERROR_INVALID_VALUE, "%u graphs were launched to fire and forget", fired_);
  GraphEnvironment& environment = plan.environment();
  VG_CHECK(environment.reserve(false));
  ++fired_;
  ++open_;
  environment.firedInto_ = this;
  rest.data = &plan;
  rest.brief = plan.beginsAtOnce();
  rest.function = [](void* data) {
    auto& begun = *static_cast<LaunchedGraph*>(data);
    begun.runFromKernel(begun.environment().firedInto(), {});
  };
  return CUDA_SUCCESS;
}

Environment& GraphEnvironment::firedInto() const {
  const MutexLock guard(graphLaunches);
  return *firedInto_;
}

void Environment::finishOne() {
  {
    const MutexLock guard(graphLaunches);
    if (--open_) return;
  }
  complete();
}

GraphEnvironment::Launched::Launched() : timeline_(Timeline::create()), queued_(timeline_->value()), over_(queued_) {}
GraphEnvironment::Launched::~Launched() { Timeline::destroy(timeline_); }
void GraphEnvironment::Launched::complete() { timeline_->advance(++over_); }

GraphEnvironment::~GraphEnvironment() = default;

void GraphEnvironment::setLaunchable(uint64_t exec, LaunchedGraph* plan) {
  const MutexLock guard(graphLaunches);
  if (plan)
    launchable()[exec] = plan;
  else
    launchable().erase(exec);
}

CUresult GraphEnvironment::launch(uint64_t exec, Launch how, backend::HostCall& rest) noexcept {
  try {
    const MutexLock guard(graphLaunches);
    return launchLocked(exec, how, rest);
  } catch (const std::bad_alloc&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
}

CUresult GraphEnvironment::launchLocked(uint64_t exec, Launch how, backend::HostCall& rest) {
  if (!running_) return fail(CUDA_ERROR_INVALID_VALUE, "the launching graph is over");
  const auto found = launchable().find(exec);
  if (found == launchable().end())
    return fail(CUDA_ERROR_INVALID_VALUE, "%#llx is not a graph that was uploaded for device launch",
                static_cast<unsigned long long>(exec));
  LaunchedGraph& plan = *found->second;
  if (plan.device() != plan_.device()) return fail(CUDA_ERROR_INVALID_VALUE, "the graph is one of another device");
  switch (how) {
    case Launch::TailLaunch:
      return queueTail(plan);
    case Launch::FireAndForget:
      return fire(plan, rest);
    case Launch::FireAndForgetAsSibling:
      return parent_->fire(plan, rest);
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult GraphEnvironment::queueTail(LaunchedGraph& plan) {
  if (tails_.size() >= kMostTails)
    return fail(CUDA_ERROR_INVALID_VALUE, "%zu tail launches are pending", tails_.size());
  later_.reserve(later_.size() + tails_.size() + 1);  // complete() needs no memory
  tails_.push_back(&plan);
  const CUresult result = plan.environment().reserve(&plan == &plan_);
  if (result != CUDA_SUCCESS) tails_.pop_back();
  return result;
}

CUresult GraphEnvironment::reserve(bool again) {
  if (reserved_ || (running_ && !again)) return fail(CUDA_ERROR_INVALID_VALUE, "the graph is launched already");
  reserved_ = true;
  plan_.reference();
  return CUDA_SUCCESS;
}

bool GraphEnvironment::begin(Environment& parent, LaterGraphs& later) {
  const MutexLock guard(graphLaunches);
  reserved_ = false;
  if (running_) return false;
  open();
  running_ = fromKernel_ = true;
  parent_ = &parent;
  later_.swap(later);
  return true;
}

// CUDA does not say what a launch by the host is beside one by a kernel. Here it takes part in that.
void GraphEnvironment::beginFromHost() {
  const MutexLock guard(graphLaunches);
  fromHost_.open();
  joined_ = running_;
  if (joined_) return addOne();
  open();
  running_ = true;
  fromKernel_ = false;
  parent_ = &fromHost_;
}

void GraphEnvironment::finishFromHost() {
  const bool joined = [this] {
    const MutexLock guard(graphLaunches);
    return std::exchange(joined_, false);
  }();
  finishOne();
  if (joined) fromHost_.finishOne();
}

void GraphEnvironment::follow(Environment& parent, LaterGraphs later) {
  if (later.empty()) return parent.finishOne();
  LaunchedGraph* const next = later.back();
  later.pop_back();
  next->beginFromKernel(parent, std::move(later));
}

// Last of all the plan goes, and this with it, if nobody else has it.
void GraphEnvironment::complete() {
  LaunchedGraph& plan = plan_;
  bool fromKernel;
  Environment* parent;
  LaterGraphs next;
  {
    const MutexLock guard(graphLaunches);
    fromKernel = fromKernel_;
    parent = parent_;
    next.swap(later_);
    next.insert(next.end(), tails_.rbegin(), tails_.rend());
    tails_.clear();
    running_ = false;
  }
  follow(*parent, std::move(next));
  if (fromKernel) plan.endRun();
}

}  // namespace vg::core
