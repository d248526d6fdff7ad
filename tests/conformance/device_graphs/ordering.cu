// When what runs that kernels launch: the order of notes in a log. 50 and 51 come from graphs that take long.
#include <chrono>
#include <thread>

#include "host.h"

namespace {

using Plays = std::vector<Play*>;  // the launcher first, then those of the graphs that it launches
struct Order {
  const char* name;
  void (*write)(Plays& plays);
};

Play& more(Plays& plays) { return *plays.emplace_back(new Play); }
CUgraphExec playing(Play& play) { return launchable(graphOf(follow, play.put())); }

const Order kOrders[] = {
    {"tails of tails",
     [](Plays& p) {
       Play &left = more(p).note(11).launch(notes(1), kTail).launch(notes(2), kTail),
            &right = more(p).note(12).launch(notes(3), kTail).launch(notes(4), kTail);
       p[0]->note(10).launch(playing(left), kTail).launch(playing(right), kTail);
     }},
    {"tail behind what was fired",
     [](Plays& p) { p[0]->note(10).launch(notes(1), kTail).launch(slowNotes(50), kFire); }},
    {"tail and sibling", [](Plays& p) { p[0]->note(10).launch(notes(1), kTail).launch(slowNotes(50), kSibling); }},
    {"tail behind what the fired one fired",
     [](Plays& p) {
       Play& fired = more(p).note(11).launch(slowNotes(50), kFire);
       p[0]->note(10).launch(notes(1), kTail).launch(playing(fired), kFire);
     }},
    {"tail behind the fired one's tail",
     [](Plays& p) {
       Play& fired = more(p).note(11).launch(slowNotes(50), kTail);
       p[0]->note(10).launch(notes(1), kTail).launch(playing(fired), kFire);
     }},
    {"tail behind the fired one's sibling",
     [](Plays& p) {
       Play& fired = more(p).note(11).launch(slowNotes(50), kSibling);
       p[0]->note(10).launch(notes(1), kTail).launch(playing(fired), kFire);
     }},
    {"tail's siblings",
     [](Plays& p) {
       Play& tail = more(p).note(11).launch(slowNotes(50), kSibling);
       p[0]->note(10).launch(playing(tail), kTail).launch(notes(2), kTail);
     }},
    {"tails of a fired one and its own",
     [](Plays& p) {
       Play& fired = more(p).note(11).launch(notes(1), kTail).launch(slowNotes(50), kFire);
       p[0]->note(10).launch(playing(fired), kFire).launch(notes(2), kTail);
     }},
    {"tail's tail behind its fired one",
     [](Plays& p) {
       Play& tail = more(p).note(11).launch(notes(1), kTail).launch(slowNotes(50), kFire);
       p[0]->note(10).launch(playing(tail), kTail).launch(notes(2), kTail);
     }},
    {"two fired",
     [](Plays& p) {
       p[0]->note(10).launch(slowNotes(51, 60000), kFire).launch(slowNotes(50), kFire).launch(notes(1), kTail);
     }},
    {"fired before its parent is over", [](Plays& p) { p[0]->note(10).launch(notes(1), kFire).spin(50000).note(11); }},
    {"sibling before its parent is over",
     [](Plays& p) { p[0]->note(10).launch(notes(1), kSibling).spin(50000).note(11); }},
};

void order(int number) {
  Plays plays;
  kOrders[number].write((more(plays), plays));
  const CUgraph graph = graphOf(follow, plays[0]->put());
  for (const uint64_t flags : {0, 4}) {
    clear();
    const CUgraphExec exec = made(graph, flags, true);
    for (Play* play : plays) play->put();
    MUST(cuGraphLaunch(exec, stream));
    const CUresult end = kernelOf(note, theLog, 99).launch();
    say(kOrders[number].name + std::string(flags ? ", for device" : ", for host"), "%s: log %s", nameOf(end),
        end ? "" : entries().c_str());
  }
}

// Nodes behind the launching one do not wait for what it fired.
void nodes(int) {
  Play play;
  play.note(10).launch(slowNotes(50), kFire).launch(notes(1), kTail);
  clear();
  const CUgraph graph = newGraph();
  const CUgraphNode first = addKernel(graph, {}, follow, play.put());
  addKernel(graph, {first}, note, theLog, 11);
  MUST(runs(made(graph, 0, true)));
  say("nodes behind the launcher", "%s", entries().c_str());
}

void host(int number) {
  const CUgraphExec slow = slowNotes(7, 50000);
  clear();
  Play play;
  if (number == 0) {
    const auto start = std::chrono::steady_clock::now();
    MUST(cuGraphLaunch(slow, stream));
    MUST(cuGraphLaunch(slow, secondStream));
    MUST(cuCtxSynchronize());
    const bool long_ = std::chrono::steady_clock::now() - start > std::chrono::milliseconds(90);
    say("launched twice by the host", "log %s, %s", entries().c_str(), long_ ? "one after the other" : "at once");
  } else if (number == 1) {
    const CUgraphExec exec = made(graphOf(follow, play.launch(slow, kFire).note(1).put()), 0, true);
    MUST(cuGraphLaunch(exec, stream));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const CUresult uploaded = cuGraphUpload(slow, secondStream);
    say("uploaded while a kernel's runs", "%s, %s", nameOf(uploaded), nameOf(cuCtxSynchronize()));
  } else if (number == 2) {
    const CUgraphExec exec = made(graphOf(follow, play.launch(slow, kTail).spin(200000).note(1).put()), 0, true);
    MUST(cuGraphLaunch(exec, stream));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const CUresult destroyed = cuGraphExecDestroy(slow);
    const CUresult end = cuStreamSynchronize(stream);
    say("destroyed while it waits as a tail", "%s: %s, log %s", nameOf(destroyed), nameOf(end), entries().c_str());
  } else {
    const CUgraphExec loop = made(graphOf(follow, play.note(1).self(kTail, 3).spin(5000).put()), 4, true);
    for (const CUstream each : {stream, stream, secondStream}) MUST(cuGraphLaunch(loop, each));
    const CUresult end = cuCtxSynchronize();
    say("a loop launched thrice by the host", "%s: log %s", nameOf(end), entries().c_str());
  }
}

void faults(int number) {
  Play bad, play;
  const CUgraphExec leaf = launchable(graphOf(follow, bad.step(Verb::Trap).put()));
  const CUresult end = play.launch(leaf, number ? kTail : kFire).inGraph();
  say(number ? "a tail traps" : "a fired one traps", "%s", nameOf(end));
}

}  // namespace

const std::vector<Group> kOrdering = {
    {"order", 12, order}, {"order", 1, nodes}, {"host", 4, host}, {"faults", 2, faults}};
