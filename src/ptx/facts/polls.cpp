#include "ptx/facts/polls.h"

#include "ptx/text/op.h"

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
  return i.op == Op::Ld && others && !i.has(Mod::Nc) && !readsStrongly(i);
}

bool readsPastFirstCache(const Instruction& i) { return readsWeakly(i) && i.space != Space::Shared && i.has(Mod::Cg); }

bool fencesThreads(const Instruction& i) { return i.op == Op::Membar || (i.op == Op::Fence && !i.has(Mod::Proxy)); }

}  // namespace vg::ptx
