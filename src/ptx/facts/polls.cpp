#include "ptx/facts/polls.h"

#include "ptx/text/op.h"
#include "ptx/text/opcodes.h"

namespace vg::ptx {

bool readsStrongly(const Instruction& i) {
  if (i.op == Op::Atom) return true;
  if (i.op == Op::Mbarrier) return i.has(Mod::TestWait) || i.has(Mod::TryWait);
  return i.op == Op::Ld &&
         (i.has(Mod::Volatile) || i.has(Mod::Relaxed) || i.has(Mod::Acquire) || i.has(Mod::Mmio) || i.has(Mod::Cv));
}

bool readsWeakly(const Instruction& i) {
  const bool others =
      i.space != Space::Const && i.space != Space::Local && i.space != Space::Param && i.space != Space::ParamFunction;
  if (i.op == Op::Ldu || i.op == Op::Ldmatrix) return true;
  return i.op == Op::Ld && others && !readsStrongly(i);
}

bool readsPastFirstCache(const Instruction& i) {
  return readsWeakly(i) && i.space != Space::Shared && i.has(Mod::Cg) && !i.has(Mod::Nc);
}

bool copiesBeside(const Instruction& i) {
  return i.op == Op::Cp && !i.has(Mod::CommitGroup) && !i.has(Mod::WaitGroup) && !i.has(Mod::WaitAll);
}

bool fencesThreads(const Instruction& i) {
  return i.op == Op::Membar || i.op == Op::Nanosleep || (i.op == Op::Fence && !i.has(Mod::Proxy));
}

bool meetsInPart(const Instruction& i) {
  if (!isBarrier(i.op)) return false;
  if (i.has(Mod::Warp) || i.has(Mod::Cluster)) return true;
  return i.count > (i.has(Mod::Red) ? 3u : 1u);  // with a number of threads
}

}  // namespace vg::ptx
