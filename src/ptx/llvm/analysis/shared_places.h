// Places in shared memory that instructions read and write, and whether those of two warps may be the same.
#pragma once

#include <map>
#include <set>

#include "ptx/llvm/ir/warp_ir.h"

namespace vg::ptx::gen {

// An address: a constant and multiples of values of which nothing is known.
struct LinearPlace {
  int64_t constant = 0;
  std::map<ValueId, int64_t> terms;
};

struct SharedAccess {
  uint32_t instruction = 0;
  uint32_t position = 0;  // in its block
  bool reads = false, writes = false, atomic = false;
  uint32_t bytes = 0;
  LinearPlace place;
  std::set<std::pair<uint32_t, uint32_t>> variables;  // (function, symbol) that the address may point into; empty: any
  bool uniform = false;                               // one place for all lanes
};

// Looks at addresses of a program. Requires analyseShapes.
class SharedPlaces {
 public:
  explicit SharedPlaces(const Program& program);

  // What the instruction does to shared memory; of generic addresses only what may lie there. Neither reads nor writes:
  // nothing.
  SharedAccess accessOf(uint32_t instruction) const;

  // Whether what a warp stores may be what another one loads. `again`: the store comes in a later round of a loop
  // around both.
  bool mayMeet(const SharedAccess& load, const SharedAccess& store, bool again) const;

  // The same of a loop behind the store, and whether rounds of the loop may load what other threads have stored: not if
  // each goes through places of its own (`a[k * threads + tid]`).
  bool mayMeetInLoop(const SharedAccess& load, const SharedAccess& store) const;

 private:
  using Variables = std::set<std::pair<uint32_t, uint32_t>>;
  LinearPlace placeOf(ValueId value, int depth) const;
  void add(LinearPlace& to, const LinearPlace& place, int64_t factor) const;
  void findVariables(ValueId value, Variables& found, std::set<ValueId>& seen) const;
  bool mayBeShared(ValueId address) const;
  using Turns = std::map<ValueId, bool>;
  void findTurns(ValueId value, bool turned, int depth, Turns& found) const;
  bool takeTurns(ValueId a, ValueId b) const;
  bool turnsInLoop(ValueId value) const;
  static bool inOtherVariables(const SharedAccess& a, const SharedAccess& b);
  bool inOtherBuffers(const LinearPlace& load, const LinearPlace& store, bool again) const;
  bool changesBetween(const LinearPlace& place, BlockId load, BlockId store) const;
  bool sameInBlock(ValueId value, int depth) const;
  LinearPlace firstOfRounds(const LinearPlace& place) const;

  const Program& program_;
  bool givesOutShared_ = false;  // generic addresses may be shared ones
};

}  // namespace vg::ptx::gen
