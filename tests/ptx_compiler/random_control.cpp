#include "ptx_compiler/random_control.h"

#include "ptx_compiler/random_kernel.h"

namespace vg::ptx::test {

std::string ControlFlow::makeKernel(const std::vector<Callee>& callees) {
  kernel_ = exits_ = true;
  callees_ = callees;
  budget_ = 8 + static_cast<int>(below(14));
  threadPrologue();
  uniform_ = {"%r3", "%r4", "%r6", "%r7", "%r14", "%r16"};
  thread_ = "%r11";
  special("%laneid");
  lane_ = scope_.words.back();
  // Lanes that exist: of the last warp perhaps not all.
  const Name all = fresh('r', words_), rest = fresh('r', words_), last = fresh('p', tests_);
  line("sub.u32 %s, %s, %s;", rest.c_str(), thread_.c_str(), lane_.c_str());
  line("sub.u32 %s, %%r13, %s;", rest.c_str(), rest.c_str());
  line("setp.lt.u32 %s, %s, 32;", last.c_str(), rest.c_str());
  line("shl.b32 %s, -1, %s;", all.c_str(), rest.c_str());
  line("not.b32 %s, %s;", all.c_str(), all.c_str());
  line("selp.b32 %s, %s, -1, %s;", all.c_str(), all.c_str(), last.c_str());
  flow_ = {all, true};
  if (shares_) line("bar.sync 0;");
  statements(0);
  if (shares_) {
    line("bar.sync 0;");
    line("ld.shared.u32 %s, [%s];", newWord().c_str(), counterAt().c_str());
    line("xor.b32 %%v0, %%v0, %s;", scope_.words.back().c_str());
  }
  line("xor.b32 %%v1, %%v1, %s;", scope_.words.back().c_str());
  for (uint32_t k = 0; k < kVariables; ++k) line("st.global.u32 [%%out+%u], %%v%u;", 4 * k, k);
  line("ret;");
  return finish(".visible .entry random(.param .u64 in, .param .u64 out, .param .u32 n)");
}

std::string ControlFlow::makeFunction(const Callee& self, const std::vector<Callee>& callees) {
  exits_ = self.exits;
  callees_ = callees;
  budget_ = 7;
  for (const char* name : {"a", "b", "members"}) line("ld.param.b32 %s, [%s];", newWord().c_str(), name);
  line("ld.param.b64 %%in, [in];");
  line("ld.param.b64 %%out, [out];");
  for (const char* name : {"%tid.x", "%laneid", "%ctaid.x"}) special(name);
  lane_ = "%r4";
  line("ld.param.b32 %s, [thread];", newWord().c_str());
  thread_ = "%r6";
  uniform_ = {"%r5", "1", "2"};
  flow_ = {self.meets ? "%r2" : "", self.uniform};
  line("cvt.u64.u32 %s, %%r1;", newWide().c_str());
  line("setp.lt.u32 %s, %%r0, %%r1;", newTest().c_str());
  for (uint32_t k = 0; k < kVariables; ++k) line("mov.u32 %%v%u, %s;", k, pick(scope_.words).c_str());
  statements(0);
  for (uint32_t k = 1; k < kVariables; ++k) line("mad.lo.u32 %%v0, %%v0, 5, %%v%u;", k);
  line("st.param.b32 [result], %%v0;");
  line("ret;");
  return finish(".func (.param .b32 result) " + self.name +
                "(.param .b32 a, .param .b32 b, .param .b32 members, .param .b64 in, .param .b64 out, "
                ".param .b32 thread)");
}

std::string ControlFlow::finish(const std::string& head) {
  std::string places = "\t.local .align 16 .b32 places[16];\n";
  for (uint32_t k = 0; k < 16; k += 4) {
    places += "\tst.local.v4.u32 [places+" + std::to_string(4 * k) + "], {%z" + std::to_string(k % 3) + ", %z0, %z" +
              std::to_string(k % 2) + ", %z1};\n";
  }
  return head + "\n{\n" + registers() +
         "\t.reg .b32 %z<3>;\n\t.reg .f64 %g<2>;\n\tmov.u32 %z0, %tid.x;\n\tmov.u32 %z1, %ctaid.x;\n" +
         "\tmov.u32 %z2, 7;\n" + places + text_ + "}\n";
}

void ControlFlow::statements(int depth) {
  for (uint32_t n = depth == 0 ? 3 + below(5) : 1 + below(3); n > 0; --n) statement(depth);
}

void ControlFlow::body(int depth, const Flow& flow) {
  const Scope saved = scope_;
  const Flow around = flow_;
  flow_ = flow;
  statements(depth + 1);
  effect();
  flow_ = around;
  scope_ = saved;
}

void ControlFlow::statement(int depth) {
  const uint32_t kind = below(100);
  if (--budget_ > 0 && depth < 4) {
    if (kind < 12) return branch(depth);
    if (kind < 24) return loop(depth);
    if (kind < 29) return jumpTable(depth);
    if (kind < 36 && !callees_.empty()) return call();
  }
  if (kind < 44 && !members().empty()) return meet();
  if (kind < 52 && shares_ && uniform())
    return chance(50) ? exchangeInBlock() : chance(50) ? exchangeInBlockApart() : reduceInBlock();
  if (kind < 58 && depth > 0) return leave();
  if (kind < 62) return array();
  if (kind < 65) return vectors();
  if (kind < 68) return halves();
  if (kind < 70) return chance(60) ? bits() : floats();
  if (kind < 75) return atomicOnOwn();
  if (kind < 80 && shares_) return chance(40) ? count() : chance(60) ? countTogether() : retry();
  if (kind < 90) return effect();
  if (kind < 94) return test();
  compute();
}

Name ControlFlow::among(const Name& members, const Name& test) {
  if (members.empty()) return members;
  const Name those = fresh('r', words_);
  line("vote.sync.ballot.b32 %s, %s, %s;", those.c_str(), test.c_str(), members.c_str());
  return those;
}

void ControlFlow::branch(int depth) {
  if (uniform() && chance(30)) return chance(60) ? uniformBranch(depth) : joinedBranch(depth);
  const Name p = condition();
  const uint32_t id = labels_++;
  const bool otherwise = chance(50);
  Name then = chance(80) ? among(members(), p) : "", rest;
  if (!then.empty()) {
    rest = fresh('r', words_);
    line("xor.b32 %s, %s, %s;", rest.c_str(), then.c_str(), members().c_str());
  }
  line("@!%s bra $%s%u;", p.c_str(), otherwise ? "Else" : "End", id);
  body(depth, {then, false});
  if (otherwise) {
    line("bra $End%u;", id);
    label("Else", id);
    body(depth, {rest, false});
  }
  label("End", id);
}

void ControlFlow::uniformBranch(int depth) {
  const Name p = fresh('p', tests_);
  const uint32_t id = labels_++;
  line("setp.gt.u32 %s, %s, %u;", p.c_str(), pick(uniform_).c_str(), below(9));
  line("@%s bra $Else%u;", p.c_str(), id);
  body(depth, flow_);
  line("bra $End%u;", id);
  label("Else", id);
  body(depth, flow_);
  label("End", id);
}

// Two ways of the whole block, each of which some lanes leave half-way; all others go on at one place.
void ControlFlow::joinedBranch(int depth) {
  const Name p = fresh('p', tests_);
  const uint32_t id = labels_++;
  line("setp.gt.u32 %s, %s, %u;", p.c_str(), pick(uniform_).c_str(), below(9));
  line("@%s bra $Else%u;", p.c_str(), id);
  leftHalfWay(depth, id);
  line("bra $Next%u;", id);
  label("Else", id);
  leftHalfWay(depth, id);
  label("Next", id);
  body(depth, {"", false});
  label("End", id);
}

void ControlFlow::leftHalfWay(int depth, uint32_t id) {
  const Scope saved = scope_;
  const Flow around = flow_;
  statements(depth + 1);
  line("@%s bra $End%u;", condition().c_str(), id);
  flow_ = {"", false};
  statements(depth + 1);
  effect();
  flow_ = around;
  scope_ = saved;
}

void ControlFlow::loop(int depth) {
  if (uniform() && chance(50)) return shares_ && chance(50) ? loopUntilNobodyWants(depth) : countedLoop(depth);
  if (!members().empty() && chance(50)) return trackedLoop(depth);
  openLoop(depth);
}

// The same rounds for the whole block.
void ControlFlow::countedLoop(int depth) {
  const uint32_t id = labels_++;
  const Name counter = fresh('r', words_), bound = fresh('r', words_), again = fresh('p', tests_);
  line("and.b32 %s, %s, 3;", bound.c_str(), pick(uniform_).c_str());
  line("mov.u32 %s, 0;", counter.c_str());
  label("Loop", id);
  loops_.push_back({id, false});
  scope_.words.push_back(counter);
  uniform_.push_back(counter);
  body(depth, flow_);
  uniform_.pop_back();
  scope_.words.pop_back();
  loops_.pop_back();
  endLoop(id, counter, bound, again);
}

// Lanes say who comes along into each round.
void ControlFlow::trackedLoop(int depth) {
  const uint32_t id = labels_++;
  const Name counter = fresh('r', words_), bound = fresh('r', words_), again = fresh('p', tests_);
  const Name alive = fresh('r', words_);
  const bool testsFirst = chance(50);
  line("and.b32 %s, %s, %u;", bound.c_str(), wordRegister().c_str(), depth == 0 ? 7 : 3);
  line("mov.u32 %s, 0;", counter.c_str());
  line("mov.u32 %s, %s;", alive.c_str(), members().c_str());
  label("Loop", id);
  if (testsFirst) {
    line("setp.lt.u32 %s, %s, %s;", again.c_str(), counter.c_str(), bound.c_str());
    line("vote.sync.ballot.b32 %s, %s, %s;", alive.c_str(), again.c_str(), alive.c_str());
    line("@!%s bra $End%u;", again.c_str(), id);
  }
  const Scope saved = scope_;
  scope_.words.push_back(counter);
  loops_.push_back({id, false});
  body(depth, {alive, false});
  if (chance(50)) {
    const Name gone = condition(), those = among(alive, gone);
    line("@%s bra $End%u;", gone.c_str(), id);
    line("xor.b32 %s, %s, %s;", alive.c_str(), alive.c_str(), those.c_str());
    body(depth, {alive, false});
  }
  if (chance(30)) {
    line("@%s bra $Next%u;", condition().c_str(), id);
    effect();
  }
  loops_.pop_back();
  scope_ = saved;
  label("Next", id);
  line("add.u32 %s, %s, 1;", counter.c_str(), counter.c_str());
  if (testsFirst) {
    line("bra $Loop%u;", id);
  } else {
    line("setp.lt.u32 %s, %s, %s;", again.c_str(), counter.c_str(), bound.c_str());
    line("vote.sync.ballot.b32 %s, %s, %s;", alive.c_str(), again.c_str(), alive.c_str());
    line("@%s bra $Loop%u;", again.c_str(), id);
  }
  label("End", id);
}

// Lanes leave it, and loops around it, from anywhere; at times they enter it in the middle.
void ControlFlow::openLoop(int depth) {
  const uint32_t id = labels_++;
  const Name counter = fresh('r', words_), bound = fresh('r', words_), again = fresh('p', tests_);
  line("and.b32 %s, %s, %u;", bound.c_str(), wordRegister().c_str(), depth == 0 ? 7 : 3);
  line("mov.u32 %s, 0;", counter.c_str());
  const bool middle = chance(15);
  if (middle) line("@%s bra $Middle%u;", condition().c_str(), id);
  const Scope saved = scope_;
  label("Loop", id);
  loops_.push_back({id, true});
  scope_.words.push_back(counter);
  body(depth, {});
  if (middle) {
    label("Middle", id);
    body(depth, {});
  }
  loops_.pop_back();
  scope_ = saved;
  label("Next", id);
  endLoop(id, counter, bound, again);
  label("End", id);
}

// Different rounds, and a barrier in each.
void ControlFlow::loopUntilNobodyWants(int depth) {
  const uint32_t id = labels_++;
  const Name counter = fresh('r', words_), bound = fresh('r', words_), more = fresh('p', tests_);
  line("and.b32 %s, %s, 3;", bound.c_str(), wordRegister().c_str());
  line("mov.u32 %s, 0;", counter.c_str());
  label("Loop", id);
  line("setp.lt.u32 %s, %s, %s;", more.c_str(), counter.c_str(), bound.c_str());
  const Name those = among(members(), more);
  line("@!%s bra $Next%u;", more.c_str(), id);
  loops_.push_back({id, false});
  scope_.words.push_back(counter);
  body(depth, {those, false});
  scope_.words.pop_back();
  loops_.pop_back();
  label("Next", id);
  line("add.u32 %s, %s, 1;", counter.c_str(), counter.c_str());
  line("setp.lt.u32 %s, %s, %s;", more.c_str(), counter.c_str(), bound.c_str());
  line("bar.red.or.pred %s, 0, %s;", more.c_str(), more.c_str());
  line("@%s bra $Loop%u;", more.c_str(), id);
}

void ControlFlow::jumpTable(int depth) {
  const uint32_t id = labels_++, cases = 2 + below(3);
  const Name index = fresh('r', words_);
  line("and.b32 %s, %s, 3;", index.c_str(), wordRegister().c_str());
  Name same;
  if (!members().empty() && chance(60)) {
    same = fresh('r', words_);
    line("match.any.sync.b32 %s, %s, %s;", same.c_str(), index.c_str(), members().c_str());
  }
  std::string targets;
  for (uint32_t k = 0; k < 4; ++k)
    targets += (k ? ", $Case" : "$Case") + std::to_string(id) + "_" + std::to_string(chance(70) ? k % cases : 0);
  line("$Table%u: .branchtargets %s;", id, targets.c_str());
  line("brx.idx %s, $Table%u;", index.c_str(), id);
  for (uint32_t k = 0; k < cases; ++k) {
    text_ += "$Case" + std::to_string(id) + "_" + std::to_string(k) + ":\n";
    body(depth, {same, false});
    if (chance(70)) {
      line("bra $End%u;", id);
    } else {
      same.clear();  // lanes of this case come along into the next
    }
  }
  label("End", id);
}

// Out of any loop that is open, or for good.
void ControlFlow::leave() {
  size_t first = loops_.size();
  while (first > 0 && loops_[first - 1].open) --first;
  const Name p = condition();
  if (first == 0 && chance(loops_.empty() ? 30 : 15) && (!shares_ || !kernel_)) {
    left_ = true;
    if (exits_ && chance(50)) return line("@%s exit;", p.c_str());
    if (!kernel_) line("st.param.b32 [result], %s;", wordRegister().c_str());
    return line("@%s ret;", p.c_str());
  }
  if (first == loops_.size()) return;
  const Loop& out = loops_[first + below(static_cast<uint32_t>(loops_.size() - first))];
  line("@%s bra $%s%u;", p.c_str(), chance(60) ? "End" : "Next", out.id);
}

void ControlFlow::call() {
  const Callee& one = callees_[below(static_cast<uint32_t>(callees_.size()))];
  const Callee& other = callees_[below(static_cast<uint32_t>(callees_.size()))];
  // From a function it might be a circle, in which lanes that meet are not compiled.
  const bool byAddress = kernel_ && chance(40) && !one.uniform && !other.uniform;
  const bool meets = one.meets || (byAddress && other.meets), exits = one.exits || (byAddress && other.exits);
  if (meets && members().empty()) return compute();
  if (one.uniform && !(uniform() && shares_)) return compute();
  if (exits) {
    for (const Loop& l : loops_)
      if (!l.open) return compute();
    if (!exits_ || shares_) return compute();
  }
  Name those = members().empty() ? "0" : members(), target = one.name;
  const uint32_t id = labels_++;
  if (byAddress) {
    target = fresh('d', wides_);
    const Name second = fresh('d', wides_);
    line("mov.u64 %s, %s;", target.c_str(), one.name.c_str());
    line("mov.u64 %s, %s;", second.c_str(), other.name.c_str());
    line("selp.b64 %s, %s, %s, %s;", target.c_str(), target.c_str(), second.c_str(), condition().c_str());
    if (meets) {
      const Name same = fresh('r', words_);
      line("match.any.sync.b64 %s, %s, %s;", same.c_str(), target.c_str(), those.c_str());
      those = same;
    }
    line(
        "$Prototype%u: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _, .param .b32 _, .param .b64 _, "
        ".param .b64 _, .param .b32 _);",
        id);
  }
  const Name a = wordRegister(), b = wordRegister();
  line("{");
  line(".param .b32 a, b, m, t, r;");
  line(".param .b64 i, o;");
  line("st.param.b32 [a], %s;", a.c_str());
  line("st.param.b32 [b], %s;", b.c_str());
  line("st.param.b32 [m], %s;", those.c_str());
  line("st.param.b32 [t], %s;", thread_.c_str());
  line("st.param.b64 [i], %%in;");
  line("st.param.b64 [o], %%out;");
  if (byAddress)
    line("call (r), %s, (a, b, m, i, o, t), $Prototype%u;", target.c_str(), id);
  else
    line("call (r), %s, (a, b, m, i, o, t);", target.c_str());
  line("ld.param.b32 %s, [r];", newWord().c_str());
  line("}");
  if (exits) left_ = true;
}

static std::string randomControl(uint64_t seed, bool counts) {
  std::mt19937_64 random(seed);
  const bool shares = random() % 2;
  std::vector<Callee> callees;
  std::string functions;
  for (uint64_t n = random() % 4; n > 0; --n) {
    Callee c{"callee" + std::to_string(n), random() % 2 == 0, shares && random() % 4 == 0,
             !shares && random() % 4 == 0};
    c.meets |= c.uniform;
    functions += ControlFlow(random(), shares, counts).makeFunction(c, callees);
    callees.push_back(c);
  }
  const std::string kernel = ControlFlow(random(), shares, counts).makeKernel(callees);
  return "// Random kernel\n.version 8.0\n.target sm_90\n.address_size 64\n\n" +
         std::string(shares ? ".shared .align 16 .b32 counters[8], words[256];\n\n" : "") + functions + kernel;
}

std::string randomControl(uint64_t seed) { return randomControl(seed, false); }
std::string randomCounts(uint64_t seed) { return randomControl(seed, true); }

}  // namespace vg::ptx::test
