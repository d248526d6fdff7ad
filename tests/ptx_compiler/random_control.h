// Random kernels whose control flow is hard: jumps out of several loops, into loops and through tables, early returns,
// calls by name and by address, warps and blocks that meet in the middle of it.
#pragma once

#include "ptx_compiler/random_statements.h"

namespace vg::ptx::test {

// A function of the module and what its callers owe it.
struct Callee {
  Name name;
  bool meets = false;    // lanes meet in it: they say who comes along
  bool uniform = false;  // the whole block calls it
  bool exits = false;    // threads may end in it
};

// One body of code: the kernel's or a function's.
class ControlFlow : protected Statements {
 public:
  // `counts`: many meetings of lanes are of the kind of countsApart().
  ControlFlow(uint64_t seed, bool shares, bool counts) : Statements(seed), shares_(shares), counts_(counts) {}
  std::string makeKernel(const std::vector<Callee>& callees);
  std::string makeFunction(const Callee& self, const std::vector<Callee>& callees);

 private:
  // Who is here. Lanes that may have left a loop or the code for good are not known to the rest: then nobody meets.
  struct Flow {
    Name members;          // the lanes of the warp that come along, empty: nobody knows
    bool uniform = false;  // all threads of the block do
  };
  struct Loop {
    uint32_t id;
    bool open;  // anybody may leave it from anywhere
  };

  void statements(int depth);
  void statement(int depth);
  void body(int depth, const Flow& flow);
  std::string finish(const std::string& head);

  // Control flow.
  void branch(int depth);
  void uniformBranch(int depth);
  void joinedBranch(int depth);
  void leftHalfWay(int depth, uint32_t id);
  void loop(int depth);
  void countedLoop(int depth);
  void trackedLoop(int depth);
  void openLoop(int depth);
  void loopUntilNobodyWants(int depth);
  void jumpTable(int depth);
  void leave();
  void call();
  Name among(const Name& members, const Name& test);

  // Lanes and threads meet, while none has left for good.
  bool uniform() const { return flow_.uniform && !left_; }
  Name members() const { return left_ ? Name() : flow_.members; }
  void meet();
  void vote(const Name& members);
  void shuffle(const Name& members);
  void shuffleBetweenNeighbours(const Name& members);
  void reduce(const Name& members);
  void match(const Name& members);
  void exchangeInWarp(const Name& members);
  enum class Mix { Memory, Shuffle, Vote, Reduction, Match, Leader };
  void mixTogether(const Name& word, const Name& members, const Name& from, const Name& first, Mix way);
  void exchangeApart(const Name& members);
  void roundsApart(const Name& members);
  void countsApart(const Name& members);
  void exchangeInBlock();
  void exchangeInBlockApart();
  void reduceInBlock();

  // Memory and packed halves.
  void count();
  void countTogether();
  void retry();
  void atomicOnOwn();
  void keep(const Name& got, bool wide);
  void array();
  void vectors();
  void bits();
  void floats();
  void halves();
  Name counterAt();

  const bool shares_;  // uses shared memory, and no thread returns early from the kernel
  const bool counts_;
  bool kernel_ = false, exits_ = false, left_ = false;
  int budget_ = 0;
  Flow flow_;
  std::vector<Loop> loops_;
  std::vector<Callee> callees_;
  Names uniform_;  // words that are the same in the whole block
  Name thread_, lane_;
};

}  // namespace vg::ptx::test
