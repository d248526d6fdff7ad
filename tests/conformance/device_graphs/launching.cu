// What kernels are answered that launch graphs.
#include "host.h"

namespace {

// "code: answers, sum of what was launched".
void report(const std::string& fact, CUresult end, Play& play) {
  say(fact, "%s: %s, sum %d", nameOf(end), play.answers(end).c_str(), end ? -1 : total());
}

void outside(int) {
  const CUgraphExec exec = adds();
  for (const uint64_t how : {kFire, kTail, kSibling}) {
    Play play;
    play.launch(exec, how);
    report(wayOf(how), play.outside(), play);
    report(std::string(wayOf(how)) + ", a kernel that does nothing else", play.outside(launchAlone), play);
  }
  const CUgraph graph = newGraph();
  const CUgraphDeviceNode node = updatable(addKernel(graph, {}, add, sum, 1));
  const CUgraphExec changed = made(graph, 0, true);
  Play play;
  play.enable(node, false);
  const CUresult end = play.outside(enableAlone);
  say("a kernel that changes a node", "%s: %s, sum then %d", nameOf(end), play.answers(end).c_str(), sumAfter(changed));
}

void inside(int) {
  const CUgraphExec exec = adds();
  for (const uint64_t flags : {0, 4})
    for (const uint64_t how : {kFire, kTail, kSibling}) {
      Play play;
      play.launch(exec, how);
      report(std::string(wayOf(how)) + (flags ? ", for device" : ", for host"), play.inGraph(flags), play);
    }
  Play play;
  play.launch(nullptr, kFire).note(1);
  const CUresult end = play.inGraph(0, launchAndAsk);
  say("last error after a launch that failed", "%s: %s", nameOf(end), play.answers(end).c_str());
}

CUgraphExec withParameters(uint64_t flags) {
  CUgraphExec exec;
  CUDA_GRAPH_INSTANTIATE_PARAMS params{};
  params.flags = flags;
  params.hUploadStream = stream;
  MUST(cuGraphInstantiateWithParams(&exec, graphOf(add, sum, 1), &params));
  MUST(cuStreamSynchronize(stream));
  return exec;
}

struct Wanted {
  const char* name;
  CUgraphExec (*make)();
};
const Wanted kWanted[] = {
    {"not uploaded", [] { return made(graphOf(add, sum, 1), 4, false); }},
    {"launched by the host",
     [] {
       const CUgraphExec exec = made(graphOf(add, sum, 1), 4, false);
       MUST(runs(exec));
       return exec;
     }},
    {"uploaded when it was made", [] { return withParameters(6); }},
    {"graph destroyed",
     [] {
       const CUgraph graph = graphOf(add, sum, 1);
       const CUgraphExec exec = launchable(graph);
       MUST(cuGraphDestroy(graph));
       return exec;
     }},
    {"null", [] { return CUgraphExec{}; }},
    {"memory of the device", [] { return reinterpret_cast<CUgraphExec>(sum); }},
    {"for the host", [] { return made(graphOf(add, sum, 1), 0, true); }},
    {"an odd number", [] { return reinterpret_cast<CUgraphExec>(uintptr_t{0x12345}); }},
    {"a graph", [] { return reinterpret_cast<CUgraphExec>(graphOf(add, sum, 1)); }},
    {"destroyed",
     [] {
       const CUgraphExec exec = adds();
       MUST(cuGraphExecDestroy(exec));
       return exec;
     }},
};

void which(int number) {
  const Wanted& wanted = kWanted[number];
  const CUgraphExec exec = wanted.make();
  Play play;
  play.launch(exec, kFire);
  report(wanted.name, play.inGraph(), play);
}

const uint64_t kStreams[] = {0, 1, 2, 3, 4, 4ull << 56, kFire + 1, 5ull << 56};
void streams(int number) {
  Play play;
  play.launch(adds(), kStreams[number]);
  char name[32];
  std::snprintf(name, sizeof name, "stream %#llx", static_cast<unsigned long long>(kStreams[number]));
  report(name, play.inGraph(), play);
}

// The same graph more than once; `self`: in a graph for device launch.
struct Repeat {
  const char* name;
  bool self;
  void (*write)(Play& play, CUgraphExec slow, CUgraphExec quick);
};
const Repeat kRepeats[] = {
    {"fire, and again while it runs", false,
     [](Play& p, CUgraphExec slow, CUgraphExec) { p.launch(slow, kFire).spin(5000).launch(slow, kFire); }},
    {"fire twice", false, [](Play& p, CUgraphExec slow, CUgraphExec) { p.launch(slow, kFire).launch(slow, kFire); }},
    {"fire, and again when it is over", false,
     [](Play& p, CUgraphExec, CUgraphExec quick) { p.launch(quick, kFire).spin(50000).launch(quick, kFire); }},
    {"tail twice", false, [](Play& p, CUgraphExec, CUgraphExec quick) { p.launch(quick, kTail).launch(quick, kTail); }},
    {"fire, then tail", false,
     [](Play& p, CUgraphExec slow, CUgraphExec) { p.launch(slow, kFire).launch(slow, kTail); }},
    {"tail, then fire", false,
     [](Play& p, CUgraphExec slow, CUgraphExec) { p.launch(slow, kTail).launch(slow, kFire); }},
    {"sibling twice", false,
     [](Play& p, CUgraphExec slow, CUgraphExec) { p.launch(slow, kSibling).launch(slow, kSibling); }},
    {"itself as tail", true, [](Play& p, CUgraphExec, CUgraphExec) { p.note(1).self(kTail, 3); }},
    {"itself as tail, twice", true, [](Play& p, CUgraphExec, CUgraphExec) { p.note(1).self(kTail, 2).self(kTail, 2); }},
    {"itself fired", true, [](Play& p, CUgraphExec, CUgraphExec) { p.note(1).self(kFire, 1); }},
    {"itself as sibling", true, [](Play& p, CUgraphExec, CUgraphExec) { p.note(1).self(kSibling, 1); }},
    {"itself as tail, then another", true,
     [](Play& p, CUgraphExec, CUgraphExec quick) { p.note(1).self(kTail, 2).launch(quick, kTail); }},
    {"another as tail, then itself", true,
     [](Play& p, CUgraphExec, CUgraphExec quick) { p.note(1).launch(quick, kTail).self(kTail, 2); }},
};
void repeats(int number) {
  const Repeat& repeat = kRepeats[number];
  const CUgraphExec slow = slowNotes(7, 100000), quick = notes(3);
  Play play;
  repeat.write(play, slow, quick);
  clear();
  const CUresult end = play.inGraph(repeat.self ? 4 : 0);
  say(repeat.name, "%s: %s, log %s", nameOf(end), play.answers(end).c_str(), end ? "" : entries().c_str());
}

void limits(int number) {
  constexpr int kMany = 300;
  static const char* const names[] = {"300 fired", "300 tails", "300 siblings", "100 of each",
                                      "100 fired in each of 3 runs"};
  std::vector<CUgraphExec> many;
  for (int i = 0; i < kMany; ++i) many.push_back(adds());
  Play play;
  if (number == 4) {
    for (int i = 0; i < kMany / 3; ++i) play.launch(many[i], kFire);
    play.self(kTail, 2);
  } else {
    const uint64_t ways[] = {kFire, kTail, kSibling};
    for (int i = 0; i < kMany; ++i) play.launch(many[i], number < 3 ? ways[number] : ways[i / (kMany / 3)]);
  }
  report(names[number], play.inGraph(number == 4 ? 4 : 0), play);
}

void threads(int number) {
  static const struct {
    const char* name;
    uint64_t how;
    unsigned blocks, threads;
  } cases[] = {{"64 threads fire", kFire, 1, 64},
               {"64 blocks fire", kFire, 64, 1},
               {"64 blocks launch tails", kTail, 64, 1},
               {"64 threads launch siblings", kSibling, 1, 64},
               {"64 blocks launch siblings", kSibling, 64, 1}};
  const auto& wanted = cases[number];
  const unsigned count = wanted.blocks * wanted.threads;
  std::vector<CUgraphExec> many;
  for (unsigned i = 0; i < count; ++i) many.push_back(adds());
  auto** const graphs = static_cast<cudaGraphExec_t*>(room(count * sizeof(cudaGraphExec_t)));
  auto* const answers = static_cast<int*>(room(count * sizeof(int)));
  MUST(cuMemcpyHtoD(at(graphs), many.data(), count * sizeof(cudaGraphExec_t)));
  KernelParams params = kernelOf(launchEach, graphs, reinterpret_cast<cudaStream_t>(wanted.how), answers);
  params.params.gridDimX = wanted.blocks;
  params.params.blockDimX = wanted.threads;
  const CUgraph graph = newGraph();
  addKernel(graph, {}, params);
  MUST(runs(made(graph, 0, true)));
  std::vector<int> found(count);
  MUST(cuMemcpyDtoH(found.data(), at(answers), count * sizeof(int)));
  unsigned good = 0;
  for (const int answer : found) good += !answer;
  say(wanted.name, "%u of %u, sum %d", good, count, total());
}

// The graph that a kernel believes to be in.
void current(int) {
  auto* const where = static_cast<uint64_t*>(room(sizeof(uint64_t)));
  const auto found = [&](CUgraphExec own) {
    uint64_t value = 0;
    MUST(cuMemcpyDtoH(&value, at(where), sizeof value));
    MUST(cuMemsetD8(at(where), 0xff, sizeof value));
    return !value ? "none" : value == reinterpret_cast<uint64_t>(own) ? "it" : "other";
  };
  CUgraphExec exec = nullptr;
  for (const uint64_t flags : {0, 4}) {
    const std::string kind = flags ? ", for device" : ", for host";
    exec = made(graphOf(currentOf, where), flags, true);
    MUST(runs(exec));
    say("launched by the host" + kind, "%s", found(exec));
    const CUgraph graph = newGraph();
    CUgraphNode node;
    MUST(cuGraphAddChildGraphNode(&node, graph, nullptr, 0, graphOf(currentOf, where)));
    const CUgraphExec outer = made(graph, flags, true);
    MUST(runs(outer));
    say("in a child" + kind, "%s", found(outer));
  }
  for (const uint64_t how : {kFire, kTail, kSibling}) {
    Play play;
    play.launch(exec, how);
    MUST(play.inGraph());
    say(wayOf(how), "%s", found(exec));
  }
  Play play;
  play.step(Verb::Current);
  MUST(play.inGraph());
  play.answers();
  say("for host, of a kernel that launches", "%s", play.currentOf(0) ? "some" : "none");
}

// From kernels in children of graphs, and in captured ones.
void children(int) {
  const CUgraphExec leaf = adds();
  for (const uint64_t flags : {0, 4})
    for (const uint64_t how : {kFire, kTail, kSibling}) {
      Play play;
      play.launch(leaf, how);
      const CUgraph graph = newGraph();
      CUgraphNode node;
      MUST(cuGraphAddChildGraphNode(&node, graph, nullptr, 0, graphOf(follow, play.put())));
      report(std::string(wayOf(how)) + (flags ? ", for device" : ", for host"), runs(made(graph, flags, false)), play);
    }
  Play play;
  play.launch(leaf, kFire);
  KernelParams params = kernelOf(follow, play.put());
  CUgraph graph;
  MUST(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  MUST(cuLaunchKernel(params.params.func, 1, 1, 1, 1, 1, 1, 0, stream, params.get()->kernelParams, nullptr));
  MUST(cuStreamEndCapture(stream, &graph));
  report("captured, fire", runs(made(graph, 0, false)), play);
}

// From kernels that kernels launched.
void nested(int number) {
  Play play;
  play.launch(adds(), number == 2 ? kTail : kFire);
  if (!number) return report("outside", kernelOf(parentOfFollower, play.put()).launch(), play);
  report(number == 1 ? "fire" : "tail", runs(made(graphOf(parentOfFollower, play.put()), 0, false)), play);
}

}  // namespace

const std::vector<Group> kLaunching = {{"outside", 1, outside}, {"inside", 1, inside},    {"which", 10, which},
                                       {"streams", 8, streams}, {"repeats", 13, repeats}, {"limits", 5, limits},
                                       {"threads", 5, threads}, {"current", 1, current},  {"children", 1, children},
                                       {"nested", 3, nested}};
