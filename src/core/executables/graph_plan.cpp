#include "core/executables/graph_plan.h"
#include "core/graphs/graph_describe.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "backend/device.h"
#include "backend/device_side/condition_table.h"
#include "base/log.h"
#include "base/raw_enum.h"
#include "copy/copy.h"
#include "core/contexts/context.h"
#include "core/executables/graph_levels.h"
#include "core/graphs/graph_conditional.h"
#include "core/graphs/graph_memory.h"
#include "core/memory/memory.h"
#include "core/modules/kernel.h"
#include "core/process/device.h"
#include "core/streams/event.h"
#include "core/work/host_function.h"
#include "core/work/launch.h"
#include "core/work/when.h"
#include "core/work/work_activity.h"

namespace vg::core {
namespace {

Remembered remember(const alloc::Record* record) {
  return {record, record ? record->id.load(std::memory_order_relaxed) : 0};
}

}  // namespace

bool Remembered::there() const {
  return !record || (record->live() && record->id.load(std::memory_order_relaxed) == id);
}

void KernelStep::Free::operator()(void* memory) const { std::free(memory); }

namespace {

Result<Step> compileCopies(const work::CopyBatch& node) {
  CopyBatchStep step;
  for (size_t i = 0; i < node.sizes.size(); ++i) {
    VG_TRY(const memory::DescribedCopy described, memory::describe(work::rowOf(node, i).box));
    step.copies.push_back({described.shape, remember(described.destination), remember(described.source)});
  }
  return Step(std::move(step));
}

// With commands of its own; the other steps are run through by one thread.
bool alone(const Step& step, const Device& device) {
  const size_t most = device.backend().hostAddressable() ? when::kTogether.bytes : 0;
  if (const auto* copy = std::get_if<CopyStep>(&step)) return copy->shape.bytes() > most;
  if (const auto* fill = std::get_if<FillStep>(&step)) return fill->fill.width * fill->fill.height > most;
  return std::holds_alternative<KernelStep>(step) || std::holds_alternative<RecordStep>(step) ||
         std::holds_alternative<WaitStep>(step) || std::holds_alternative<CopyBatchStep>(step);
}

CUresult check(const KernelStep& step) {
  if (!step.context.context->usable(step.context.generation))
    return fail(CUDA_ERROR_CONTEXT_IS_DESTROYED, "a kernel node's context has ended");
  VG_TRY(backend::Kernel* const kernel, resolveKernel(step.function, *step.context.context));
  return kernel == step.record.kernel ? CUDA_SUCCESS
                                      : fail(CUDA_ERROR_INVALID_HANDLE, "a kernel node's function has changed");
}

// A kernel of another device: the queue's thread launches it there and waits.
backend::HostCall foreign(KernelStep& step) {
  return {[](void* data) {
            auto& kernel = *static_cast<KernelStep*>(data);
            backend::LaunchCommand launches{&kernel.record, kernel.context.context};
            launches.checked = kernel.checked;
            const backend::Command launch = launches;
            (void)kernel.context.context->legacyStream().submit(&launch, 1, Completion::Host);
          },
          &step};
}

void reportUnless(bool done, Context& context) {
  if (!done) [[unlikely]]
    context.report(CUDA_ERROR_ILLEGAL_ADDRESS, copy::kFault);
}

void runStep(const CopyStep& step, Context& context) {
  reportUnless(work_activity::inGraph([&] { return backend::Command(backend::CopyCommand{step.shape}); },
                                      [&] { return copy::copy(step.shape); }),
               context);
}

void runStep(const PagedStep& step, Context& context) { memory::runPaged(step.copy, context); }

void runStep(const FillStep& step, Context& context) {
  reportUnless(work_activity::inGraph([&] { return backend::Command(backend::FillCommand{step.fill}); },
                                      [&] { return copy::fill(step.fill); }),
               context);
}

void runStep(const HostStep& step, Context& context) {
  if (context.state() != CUDA_SUCCESS) return;
  const InsideHostFunction inside;
  if (const uint64_t work = check::order::Doing::now()) check::order::hostKnows(work);
  work_activity::inGraph([] { return activity::WorkKind::HostFunction; }, [&] { step.call.fn(step.call.userData); });
}

void runStep(const MemoryStep& step, Context&) { perform(*step.operations); }

// Which body runs next; null when none does.
GraphPlan* chosen(const BranchStep& step) {
  const unsigned value = backend::conditions::value(step.handle);
  switch (rawValue(step.type)) {
    case CU_GRAPH_COND_TYPE_IF:
      if (value) return step.bodies[0];
      return step.bodies.size() > 1 ? step.bodies[1] : nullptr;
    case CU_GRAPH_COND_TYPE_WHILE:
      return value ? step.bodies[0] : nullptr;
    default:
      return value < step.bodies.size() ? step.bodies[value] : nullptr;
  }
}

void runStep(const BranchStep& step, Context& context) {
  while (GraphPlan* const body = context.alive() && context.state() == CUDA_SUCCESS ? chosen(step) : nullptr) {
    Result<Stream&> stream = resolveStream(step.stream, nullptr);
    if (!stream) return;
    if (check::order::on()) check::order::loseOrder(checked::lineOf(*stream));
    {
      const graphs::Lock lock;
      if (body->submit(*stream, {}) != CUDA_SUCCESS) return;
    }
    if (stream->synchronize() != CUDA_SUCCESS || step.type != CU_GRAPH_COND_TYPE_WHILE) return;
  }
}

template <class Other>
void runStep(const Other&, Context&) {}

// A copy or fill that nobody is told of; small ones take no longer than the questions who is. Whether it was one.
bool runUntold(const Step& step, Context& context) {
  if (const auto* const copy = std::get_if<CopyStep>(&step))
    return reportUnless(copy::copy(copy->shape), context), true;
  if (const auto* const fill = std::get_if<FillStep>(&step)) return reportUnless(copy::fill(fill->fill), context), true;
  return false;
}

}  // namespace

Result<GraphPlan*> GraphPlan::make(const Graph& graph, Context& context,
                                   const std::unordered_map<uint64_t, bool>& disabled, uint64_t exec,
                                   bool ownPriorities, GraphNode** culprit) {
  auto* const plan = new GraphPlan(context, nullptr);
  plan->whole_.ownPriorities = ownPriorities;
  CUresult bad = exec ? plan->becomeLaunchable(exec) : CUDA_SUCCESS;
  if (bad == CUDA_SUCCESS) bad = plan->append(graph, disabled, culprit);
  if (bad == CUDA_SUCCESS) return plan;
  delete plan;
  return bad;
}

Result<GraphPlan*> GraphPlan::makeBody(const Graph& graph, const Disabled& disabled) const {
  GraphNode* culprit = nullptr;
  auto* const plan = new GraphPlan(context_, top_);
  if (const CUresult bad = plan->append(graph, disabled, &culprit)) {
    delete plan;
    return bad;
  }
  return plan;
}

CUresult GraphPlan::becomeLaunchable(uint64_t exec) {
  environment_ = std::make_unique<GraphEnvironment>(*this, exec);
  VG_TRY(stream_, streams::create(context_.streams(), CU_STREAM_NON_BLOCKING, streams::kLeastPriority));
  return CUDA_SUCCESS;
}

GraphPlan::~GraphPlan() {
  if (stream_) (void)streams::destroy(stream_);
  for (Step& step : steps_) {
    if (auto* record = std::get_if<RecordStep>(&step)) Timeline::destroy(record->timeline);
    auto* branch = std::get_if<BranchStep>(&step);
    if (!branch) continue;
    for (GraphPlan* body : branch->bodies) delete body;
    (void)streams::destroy(branch->stream);
  }
}

void GraphPlan::drop() {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

bool GraphPlan::unreferenceUnlessLast() {
  uint32_t references = references_.load(std::memory_order_relaxed);
  while (references > 1)
    if (references_.compare_exchange_weak(references, references - 1, std::memory_order_acq_rel)) return true;
  return false;
}

void GraphPlan::unreference() {
  if (unreferenceUnlessLast()) return;
  const graphs::Lock lock;
  drop();
}

// Takes no lock, as who has it may wait for what comes behind; to end the plan is a thread's.
void GraphPlan::endRun() {
  if (!unreferenceUnlessLast()) backend::Executor::shared().schedule(*this);
}

// The last reference to be given up, or a run to begin, which has one.
void GraphPlan::run() {
  std::optional<Beginning> beginning;
  beginning.swap(beginning_);
  if (!beginning) return unreference();
  const backend::Executor::Blocking blocking(backend::Executor::shared());  // behind kernels
  runFromKernel(*beginning->parent, std::move(beginning->later));
}

namespace {

// Whether all that a kernel comes after is one other, which says when it may begin.
const GraphNode* beginsBy(const GraphNode& node) {
  if (!node.as<KernelNode>() || node.dependencies().size() != 1) return nullptr;
  const Dependency& only = node.dependencies().front();
  const bool programmatic = only.data.type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC &&
                            only.data.from_port == CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
  return programmatic ? only.node : nullptr;
}

}  // namespace

// A fill or copy in one context's device memory.
static bool goesAsKernel(const GraphNode& node, Device& device) {
  if (const auto* set = node.as<work::Fill>()) {
    Result<memory::DescribedFill> fill = memory::describe(device, set->rows);
    return fill.ok() && device.backend().isLaunch(fill->fill);
  }
  const auto* const copy = node.as<work::Copy>();
  if (!copy) return false;
  Result<memory::DescribedCopy> described = memory::describe(copy->box);
  return described.ok() && !described->paged && device.backend().isLaunch(described->shape);
}

CUresult GraphPlan::append(const Graph& graph, const std::unordered_map<uint64_t, bool>& disabled,
                           GraphNode** culprit) {
  steps_.reserve(steps_.size() + graph.nodes().size());
  stepOf_.reserve(stepOf_.size() + graph.nodes().size());
  const GraphNode* before = nullptr;
  const auto asKernel = [&](const GraphNode& node) { return goesAsKernel(node, context_.device()); };
  for (const auto& [node, level, chain] : inLevels(graph, placed_, asKernel)) {
    const GraphNode* const behind = std::exchange(before, node);
    followed_.note(*node, stepOf_, steps_.size());
    if (const auto* child = node->as<ChildNode>()) {
      VG_CHECK(append(*child->graph, disabled, culprit));
      followed_.endChild(*node, steps_.size());
      continue;
    }
    auto step = compile(*node, disabled, !disabled.contains(node->id()));
    if (!step.ok()) {
      *culprit = node;
      return step.error();
    }
    if (const auto* alloc = node->as<MemAllocNode>()) memoryEnds_.push_back({alloc->memory, 0});
    if (const auto* free = node->as<work::Free>()) memoryEnds_.push_back({nullptr, free->address});
    stepOf_.emplace(node->id(), steps_.size());
    operates_ |= std::holds_alternative<MemoryStep>(step.value());
    steps_.push_back(std::move(step).value());
    const GraphNode* const by = beginsBy(*node);
    order_.push_back({level, by && by == behind, chain, by && chain.follows});
  }
  return CUDA_SUCCESS;
}

// Tells checked mode of a run: what it comes after, and its steps.
void GraphPlan::numberSteps(Stream& stream, Point after) {
  using check::order::Form;
  const check::order::Line line = checked::lineOf(stream);
  if (after.timeline) check::order::waits(line, after.timeline, after.value);
  if (operates_) check::order::loseOrder(line);
  for (const Step& step : steps_)
    if (const auto* wait = std::get_if<WaitStep>(&step))
      if (const Result<Event&> event = events::find(wait->event); event.ok())
        if (const Point point = event->point(); point.timeline) check::order::waits(line, point.timeline, point.value);
  const uint64_t begin = check::order::beginGraph(line);
  std::vector<uint64_t> works;
  for (size_t i = 0; i < steps_.size(); ++i) {
    auto* const kernel = std::get_if<KernelStep>(&steps_[i]);
    const uint32_t* const grid = kernel ? kernel->record.shape.grid : nullptr;
    const Form form = kernel ? Form::Kernel : std::holds_alternative<FillStep>(steps_[i]) ? Form::Fill : Form::Copy;
    std::vector<uint64_t> before;
    for (const uint32_t k : followed_.before(i)) before.push_back(works[k]);
    works.push_back(check::order::nodeSubmitted(begin, before, form, grid ? uint64_t{grid[0]} * grid[1] * grid[2] : 1));
    if (kernel) kernel->checked = works.back();
  }
  check::order::endGraph(line, works);
  followed_.number(std::move(works));
}

CUresult GraphPlan::patch(const GraphNode& node, bool disabled) {
  const auto found = stepOf_.find(node.id());
  if (found == stepOf_.end()) return CUDA_ERROR_NOT_FOUND;
  Step& place = steps_[found->second];
  if (auto* record = std::get_if<RecordStep>(&place)) {  // its timeline stays
    record->event = node.as<work::Record>()->event;
    return CUDA_SUCCESS;
  }
  VG_TRY(place, compile(node, {}, !disabled));
  operates_ |= std::holds_alternative<MemoryStep>(place);
  cut_.made = false;
  return CUDA_SUCCESS;
}

// What a node does that is switched off is checked all the same.
Result<Step> GraphPlan::compile(const GraphNode& node, const Disabled& disabled, bool enabled) {
  if (const auto* kernel = node.as<KernelNode>()) return compileKernel(*kernel, enabled);
  VG_TRY(Step step, compileOther(node, disabled));
  return enabled ? std::move(step) : Step(NoStep{});
}

Result<Step> GraphPlan::compileOther(const GraphNode& node, const Disabled& disabled) {
  if (const auto* copy = node.as<work::Copy>()) {
    VG_TRY(const memory::DescribedCopy described, memory::describe(copy->box));
    if (described.paged) return Step(PagedStep{described});
    return Step(CopyStep{described.shape, remember(described.destination), remember(described.source)});
  }
  if (const auto* copies = node.as<work::CopyBatch>()) return compileCopies(*copies);
  if (const auto* set = node.as<work::Fill>()) {
    VG_TRY(const memory::DescribedFill described, memory::describe(context_.device(), set->rows));
    return Step(FillStep{described.fill, remember(described.destination)});
  }
  if (const auto* host = node.as<work::HostCall>()) return Step(HostStep{host->call});
  if (const auto* batch = node.as<work::MemoryOperations>()) {
    VG_TRY(OwnMemoryOperations operations,
           describeMemoryOperations(context_, batch->operations.data(), static_cast<unsigned>(batch->operations.size()),
                                    memory::Addresses::Any));
    return Step(MemoryStep{std::move(operations)});
  }
  if (const auto* record = node.as<work::Record>()) {
    Timeline* const timeline = Timeline::create();
    return Step(RecordStep{record->event, timeline, timeline->value()});
  }
  if (const auto* wait = node.as<work::Wait>()) return Step(WaitStep{wait->event});
  if (const auto* conditional = node.as<ConditionalNode>()) return compileBranch(*conditional, disabled);
  return Step(NoStep{});
}

Result<Step> GraphPlan::compileKernel(const KernelNode& node, bool enabled) {
  const work::Launch& launch = node.launch;
  KernelStep step{launch.callee(), launch.context, {}, nullptr, node.updatable, node.version, enabled};
  VG_TRY(const work::PreparedLaunch prepared, work::prepare(launch));
  step.record.kernel = prepared.kernel;
  step.record.shape = prepared.shape;
  step.record.shape.priority =
      top_->whole_.ownPriorities ? static_cast<int8_t>(launch.attributes.priority()) : backend::LaunchShape::kOfQueue;
  constexpr size_t kAlignment = 256;
  const size_t size = (std::max<size_t>(launch.arguments.size(), 1) + kAlignment - 1) / kAlignment * kAlignment;
  step.parameters.reset(static_cast<std::byte*>(std::aligned_alloc(kAlignment, size)));
  if (!step.parameters) throw std::bad_alloc();
  if (!launch.arguments.empty()) std::memcpy(step.parameters.get(), launch.arguments.data(), launch.arguments.size());
  step.record.parameters = step.parameters.get();
  step.record.node = step.node.get();
  if (step.record.kernel->calls().launchesGraphs && !top_->environment_)
    top_->environment_ = std::make_unique<GraphEnvironment>(*top_, 0);
  step.record.graph = top_->environment_.get();
  top_->whole_.updatable |= step.node != nullptr;
  return enabled || step.node ? Step(std::move(step)) : Step(NoStep{});
}

Result<Step> GraphPlan::compileBranch(const ConditionalNode& node, const Disabled& disabled) {
  BranchStep step{node.params.type, node.params.handle, node.initial, node.assigned, node.inside, {}, nullptr};
  VG_TRY(step.stream, streams::create(context_.streams(), CU_STREAM_NON_BLOCKING, streams::kLeastPriority));
  for (const Graph* body : node.bodies) {
    auto plan = makeBody(*body, disabled);
    if (!plan.ok()) {
      for (GraphPlan* made : step.bodies) delete made;
      (void)streams::destroy(step.stream);
      return plan.error();
    }
    step.bodies.push_back(plan.value());
    const std::vector<MemoryEnd>& inside = plan.value()->memoryEnds_;  // balanced, so as if the body ran once
    memoryEnds_.insert(memoryEnds_.end(), inside.begin(), inside.end());
  }
  return Step(std::move(step));
}

namespace {

// What it begins by is launched just before it, too.
bool mayBeginEarly(const std::vector<Step>& steps, const std::vector<StepOrder>& order, size_t index,
                   const Device& device) {
  if (!order[index].early) return false;
  const auto* const before = std::get_if<KernelStep>(&steps[index - 1]);
  return before && &before->context.context->device() == &device;
}

// What goes as a kernel, in this context; null where another has it, or nothing is to be done.
std::optional<backend::ChainedWork> workOf(Step& step, const StepOrder& place, Context& context) {
  backend::ChainedWork work{{}, place.chain.section, place.chain.follows};
  if (auto* const kernel = std::get_if<KernelStep>(&step)) {
    if (kernel->context.context != &context) return std::nullopt;
    work.work = backend::LaunchCommand{&kernel->record, &context, 0, 0, place.earlyInChain};
  } else if (const auto* const fill = std::get_if<FillStep>(&step)) {
    work.work = backend::FillCommand{fill->fill, &context};
  } else if (const auto* const copy = std::get_if<CopyStep>(&step)) {
    work.work = backend::CopyCommand{copy->shape, &context};
  } else {
    return std::nullopt;
  }
  return work;
}

// Steps [first, last), chain by chain; empty: some of them cannot be prepared.
std::vector<backend::ChainedWork> chained(std::vector<Step>& steps, const std::vector<StepOrder>& order, size_t first,
                                          size_t last, Context& context) {
  std::vector<size_t> indices;
  for (size_t i = first; i < last; ++i) indices.push_back(i);
  std::stable_sort(indices.begin(), indices.end(), [&](size_t a, size_t b) {
    const ChainPlace &x = order[a].chain, &y = order[b].chain;
    return std::pair(x.section, x.chain) < std::pair(y.section, y.chain);
  });
  std::vector<backend::ChainedWork> all;
  for (const size_t i : indices) {
    std::optional<backend::ChainedWork> work = workOf(steps[i], order[i], context);
    if (!work) return {};
    all.push_back(*work);
  }
  return all;
}

// Those that are long enough to be worth it.
std::vector<PreparedRun> runsOf(std::vector<Step>& steps, const std::vector<StepOrder>& order, Context& context) {
  constexpr size_t kFewest = 4;
  std::vector<PreparedRun> runs;
  for (size_t first = 0, last = 0; first < steps.size(); first = last) {
    for (last = first + 1; last < steps.size() && order[last].chain.run == order[first].chain.run;) ++last;
    if (!order[first].chain.run || last - first < kFewest) continue;
    std::vector<backend::ChainedWork> work = chained(steps, order, first, last, context);
    if (!work.empty()) runs.emplace_back(first, last, std::move(work));
  }
  return runs;
}

bool moves(const Step& step) {
  return std::holds_alternative<CopyStep>(step) || std::holds_alternative<FillStep>(step);
}

bool namesMemory(const Step& step) {
  return moves(step) || std::holds_alternative<CopyBatchStep>(step) || std::holds_alternative<BranchStep>(step);
}

// Whether the memory that a step names is still there.
bool stillThere(const Step& step) {
  if (const auto* copy = std::get_if<CopyStep>(&step)) return copy->destination.there() && copy->source.there();
  if (const auto* fill = std::get_if<FillStep>(&step)) return fill->destination.there();
  if (const auto* batch = std::get_if<CopyBatchStep>(&step))
    return std::all_of(batch->copies.begin(), batch->copies.end(),
                       [](const CopyStep& copy) { return copy.destination.there() && copy.source.there(); });
  const auto* branch = std::get_if<BranchStep>(&step);
  return !branch ||
         std::all_of(branch->bodies.begin(), branch->bodies.end(), [](auto* body) { return body->intact(); });
}

}  // namespace

void GraphPlan::cut() {
  cut_.pieces.clear();
  cut_.naming.clear();
  cut_.runs = runsOf(steps_, order_, context_);
  cut_.bytes = 0;
  cut_.onlyMoves = true;
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (namesMemory(steps_[i])) cut_.naming.push_back(static_cast<uint32_t>(i));
    cut_.onlyMoves &= moves(steps_[i]) || std::holds_alternative<NoStep>(steps_[i]);
    if (const auto* copy = std::get_if<CopyStep>(&steps_[i])) cut_.bytes += copy->shape.bytes();
    if (const auto* fill = std::get_if<FillStep>(&steps_[i])) cut_.bytes += fill->fill.width * fill->fill.height;
    const bool together = !alone(steps_[i], context_.device());
    if (together && !cut_.pieces.empty() && cut_.pieces.back().together)
      ++cut_.pieces.back().last;
    else
      cut_.pieces.push_back({this, i, i + 1, together});
  }
  cut_.launchesAlone = std::all_of(steps_.begin(), steps_.end(), [this](const Step& step) {
    const auto* const kernel = std::get_if<KernelStep>(&step);
    return kernel ? !kernel->node && &kernel->context.context->device() == &context_.device()
                  : std::holds_alternative<NoStep>(step);
  });
  cut_.made = true;
}

void GraphPlan::prepare() {
  if (!cut_.made) cut();
}

// Only copies and fills, and not many bytes: sure to end soon.
bool GraphPlan::small() const {
  return cut_.onlyMoves && cut_.pieces.size() <= 1 && when::within(when::kGraph, cut_.bytes, steps_.size());
}

// What steps name may be gone since: modules, events. Looked at before anything is recorded or queued.
CUresult GraphPlan::checkSteps() const {
  for (const Piece& piece : cut_.pieces) {
    if (piece.together) continue;
    const Step& step = steps_[piece.first];
    if (const auto* kernel = std::get_if<KernelStep>(&step)) VG_CHECK(check(*kernel));
    if (const auto* record = std::get_if<RecordStep>(&step)) VG_CHECK(events::find(record->event));
    if (const auto* wait = std::get_if<WaitStep>(&step)) VG_CHECK(events::find(wait->event));
  }
  return CUDA_SUCCESS;
}

CUresult GraphPlan::addCommands(size_t index, Stream& stream, std::vector<backend::Command>& commands) {
  Step& step = steps_[index];
  const uint64_t work = followed_.workOf(index);
  if (auto* kernel = std::get_if<KernelStep>(&step)) {
    if (&kernel->context.context->device() != &stream.context().device()) {
      commands.push_back(foreign(*kernel));
      return CUDA_SUCCESS;
    }
    commands.push_back(backend::LaunchCommand{&kernel->record, kernel->context.context, 0, order_[index].level,
                                              mayBeginEarly(steps_, order_, index, context_.device()), work});
    return CUDA_SUCCESS;
  }
  if (auto* record = std::get_if<RecordStep>(&step)) {
    VG_TRY(Event & event, events::find(record->event));
    const Point point{record->timeline, ++record->recorded};
    if (uint64_t* nanoseconds = event.recordAt(point)) commands.push_back(backend::Timestamp{nanoseconds});
    commands.push_back(backend::Write{point.timeline, point.value});
    return CUDA_SUCCESS;
  }
  if (const auto* wait = std::get_if<WaitStep>(&step)) {
    VG_TRY(Event & event, events::find(wait->event));
    if (const Point point = event.point(); point.timeline) commands.push_back(backend::Wait{point});
    return CUDA_SUCCESS;
  }
  if (const auto* copy = std::get_if<CopyStep>(&step))
    commands.push_back(backend::CopyCommand{copy->shape, &context_, work});
  if (const auto* fill = std::get_if<FillStep>(&step))
    commands.push_back(backend::FillCommand{fill->fill, &context_, work});
  if (const auto* batch = std::get_if<CopyBatchStep>(&step))
    for (const CopyStep& copy : batch->copies) commands.push_back(backend::CopyCommand{copy.shape, &context_, work});
  return CUDA_SUCCESS;
}

bool GraphPlan::operationsReach() const {
  if (!operates_) return true;
  return std::all_of(steps_.begin(), steps_.end(), [](const Step& step) {
    const auto* memory = std::get_if<MemoryStep>(&step);
    return !memory || reachable(*memory->operations);
  });
}

bool GraphPlan::intact() const {
  if (!cut_.made) return std::all_of(steps_.begin(), steps_.end(), stillThere);
  return std::all_of(cut_.naming.begin(), cut_.naming.end(), [this](uint32_t i) { return stillThere(steps_[i]); });
}

bool GraphPlan::tryInPlace(Stream& stream, void (*runAll)(void*)) {
  if (!activity::recording()) return stream.tryInline(runAll, this);
  struct Recorded {
    GraphPlan* plan;
    void (*runAll)(void*);
    const activity::Origin origin;
  } recorded{this, runAll, originOf(stream)};
  const auto run = [](void* data) {
    const auto& r = *static_cast<const Recorded*>(data);
    const work_activity::Here here(r.origin, activity::WorkKind::Graph, static_cast<uint32_t>(r.plan->steps_.size()));
    const work_activity::Inside inside(r.origin);
    r.runAll(r.plan);
  };
  return stream.tryInline(run, &recorded);
}

CUresult GraphPlan::submit(Stream& stream, Point after) {
  prepare();
  if (check::order::on()) numberSteps(stream, after);
  const bool free = after.done() || after.timeline == stream.tail().timeline;
  const auto runAll = [](void* data) {
    auto* const plan = static_cast<GraphPlan*>(data);
    plan->run(0, plan->steps_.size());
  };
  if (free && small() && tryInPlace(stream, runAll)) return CUDA_SUCCESS;

  VG_CHECK(checkSteps());
  std::vector<backend::Command> commands;
  commands.reserve(2 * cut_.pieces.size() + 5);  // a record may be two
  if (!free) commands.push_back(backend::Wait{after});
  if (needsBegin())
    commands.push_back(
        backend::HostCall{[](void* data) { static_cast<const GraphPlan*>(data)->begin(); }, this, cut_.launchesAlone});
  CUresult result = gather(stream, commands);
  if (environment_) {  // the stream goes on when all is over that kernels have launched
    const auto finish = [](void* data) { static_cast<GraphPlan*>(data)->environment_->finishFromHost(); };
    commands.push_back(backend::HostCall{finish, this, true});
    commands.push_back(backend::Wait{environment_->queueFromHost(), true});
  }
  commands.push_back(backend::HostCall{[](void* data) { static_cast<GraphPlan*>(data)->endRun(); }, this, true});
  std::unique_ptr<work_activity::WholeGraph> whole;
  if (activity::recording())
    whole = work_activity::WholeGraph::around(originOf(stream), stream.context().device().backend(),
                                              static_cast<uint32_t>(steps_.size()), commands, free ? 0 : 1);
  reference();
  if (result == CUDA_SUCCESS) result = stream.submit(commands.data(), commands.size());
  if (result == CUDA_SUCCESS) {
    (void)whole.release();  // the last command frees it
    return CUDA_SUCCESS;
  }
  if (environment_) environment_->cancelFromHost();
  references_.fetch_sub(1, std::memory_order_relaxed);
  for (const backend::Command& command : commands)  // events were recorded already, and nobody else will
    if (const auto* write = std::get_if<backend::Write>(&command)) write->timeline->advance(write->value);
  return result;
}

// An event that is recorded is reached, whatever fails behind it: nothing here throws.
CUresult GraphPlan::gather(Stream& stream, std::vector<backend::Command>& commands) noexcept {
  try {
    return addPieces(stream, commands, true);
  } catch (...) {
    return fail(CUDA_ERROR_OUT_OF_MEMORY, "no memory for a run of a graph");
  }
}

// One that begins at this step, where nobody wants to hear of each launch; or null.
static PreparedRun* runAt(std::vector<PreparedRun>& runs, size_t step) {
  if (activity::recording()) return nullptr;
  const auto run = std::lower_bound(runs.begin(), runs.end(), step,
                                    [](const PreparedRun& one, size_t first) { return one.first() < first; });
  return run == runs.end() || run->first() != step ? nullptr : &*run;
}

CUresult GraphPlan::addPieces(Stream& stream, std::vector<backend::Command>& commands, bool prepared) {
  const auto runPiece = [](void* data) {
    const Piece& piece = *static_cast<Piece*>(data);
    piece.plan->run(piece.first, piece.last);
  };
  size_t done = 0;
  for (Piece& piece : cut_.pieces) {
    if (piece.first < done) continue;
    PreparedRun* const run = prepared ? runAt(cut_.runs, piece.first) : nullptr;
    if (backend::PreparedLaunches* const launches = run ? run->readyFor(stream.queue(), shared()) : nullptr) {
      commands.push_back(backend::PreparedCommand{launches, &context_});
      done = run->last();
    } else if (piece.together) {
      commands.push_back(backend::HostCall{runPiece, &piece});
    } else {
      VG_CHECK(addCommands(piece.first, stream, commands));
    }
  }
  return CUDA_SUCCESS;
}

int GraphPlan::device() const { return context_.device().ordinal(); }

void GraphPlan::runFromKernel(Environment& parent, LaterGraphs later) {
  if (!environment_->begin(parent, later)) {
    VG_LOG(Warn, "the host has launched a graph that a kernel has also launched: the kernel's launch is ignored");
    GraphEnvironment::follow(parent, std::move(later));
    return endRun();
  }
  std::optional<graphs::Lock> lock;
  if (!cut_.launchesAlone) lock.emplace();
  const CUresult result = tryFromKernel();
  lock.reset();
  if (result != CUDA_SUCCESS) environment_->finishOne();
}

void GraphPlan::beginFromKernel(Environment& parent, LaterGraphs later) {
  if (cut_.launchesAlone) return runFromKernel(parent, std::move(later));
  beginning_.emplace(Beginning{&parent, std::move(later)});
  backend::Executor::shared().schedule(*this);
}

CUresult GraphPlan::tryFromKernel() noexcept {
  try {
    return submitFromKernel();
  } catch (const std::bad_alloc&) {
    context_.report(CUDA_ERROR_OUT_OF_MEMORY, "no memory for a graph that a kernel launches");
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
}

CUresult GraphPlan::submitFromKernel() {
  VG_TRY(Stream & stream, resolveStream(stream_, nullptr));
  if (!intact()) {
    context_.report(CUDA_ERROR_LAUNCH_FAILED, "memory of a graph's node was freed");
    return CUDA_ERROR_LAUNCH_FAILED;
  }
  VG_CHECK(checkSteps());
  if (check::order::on()) check::order::loseOrder(checked::lineOf(stream));
  followed_.number({});
  std::vector<backend::Command> commands;
  commands.reserve(cut_.pieces.size() + 1);
  VG_CHECK(addPieces(stream, commands, false));  // kernels wait for the thread that does this
  const auto finish = [](void* data) { static_cast<GraphPlan*>(data)->environment_->finishOne(); };
  commands.push_back(backend::HostCall{finish, this, true});
  return cut_.launchesAlone ? stream.submitAtOnce(commands.data(), commands.size())
                            : stream.submit(commands.data(), commands.size());
}

CUresult GraphPlan::upload(Stream& stream) {
  prepare();
  for (PreparedRun& run : cut_.runs) (void)run.readyFor(stream.queue(), shared(), true);
  if (!whole_.updatable) return stream.context().state();
  const auto apply = [](void* data) {
    auto* const plan = static_cast<GraphPlan*>(data);
    plan->applyNodes();
    plan->unreference();
  };
  reference();
  const CUresult result = stream.hostCall(apply, this);
  if (result != CUDA_SUCCESS) references_.fetch_sub(1, std::memory_order_relaxed);
  return result;
}

bool GraphPlan::needsBegin() const {
  return environment_ || (top_ == this && whole_.updatable) ||
         std::any_of(steps_.begin(), steps_.end(), [](const Step& s) { return std::holds_alternative<BranchStep>(s); });
}

// Gives the conditions that were made for this graph their first values; of it are nodes so many bodies inside it.
void GraphPlan::beginConditions(unsigned inside) const {
  for (const Step& step : steps_) {
    const auto* const branch = std::get_if<BranchStep>(&step);
    if (!branch) continue;
    if (branch->assigned && branch->inside == inside) backend::conditions::set(branch->handle, branch->initial);
    for (const GraphPlan* body : branch->bodies) body->beginConditions(inside + 1);
  }
}

void GraphPlan::begin() const {
  beginConditions(0);
  if (top_ != this) return;
  if (whole_.updatable) applyNodes();
  if (environment_) environment_->beginFromHost();
}

void GraphPlan::applyNodes() const {
  for (const Step& step : steps_) {
    if (const auto* kernel = std::get_if<KernelStep>(&step); kernel && kernel->node)
      kernel->node->set(kernel->version, kernel->record, kernel->enabled);
    if (const auto* branch = std::get_if<BranchStep>(&step))
      for (const GraphPlan* body : branch->bodies) body->applyNodes();
  }
}

// On a thread where nobody can be answered.
void GraphPlan::run(size_t first, size_t last) const noexcept {
  const bool untold = followed_.isUnnumbered() && !work_activity::isToldInGraph();
  try {
    for (size_t i = first; i < last; ++i) {
      if (std::holds_alternative<NoStep>(steps_[i]) || (untold && runUntold(steps_[i], context_))) continue;
      const check::order::Doing doing(followed_.workOf(i));
      std::visit([this](const auto& step) { runStep(step, context_); }, steps_[i]);
    }
  } catch (...) {
    context_.report(CUDA_ERROR_OUT_OF_MEMORY, "no memory for a step of a graph");
  }
}

}  // namespace vg::core
