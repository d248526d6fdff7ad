// What checked mode is told of a kernel while the reference interpreter runs it. A program that was prepared with an
// observer asks it before every access to memory and tells it of every meeting of threads; others pay one test.
//
// A BlockObserver belongs to one running block, and so to one thread at a time. None of its functions may switch to
// another warp's fibre.
#pragma once

#include <cstdint>

#include "ptx/abi/kernel_abi.h"
#include "ptx/text/ast.h"

namespace vg::ptx {

struct Access {
  enum class Kind : uint8_t {
    Load,
    Store,
    Atomic,  // reads and writes in one
    Touch,   // may do either, in part: only the address is known
  };
  Kind kind = Kind::Touch;
  bool strong = false;    // atomic, volatile or with an order: meant to meet those of other threads
  bool isShared = false;  // by the instruction's own word: `address` counts from BlockState::shared
  uint8_t lane = 0;
  uint32_t warp = 0;
  uint64_t address = 0;  // of the host, unless isShared
  uint64_t bytes = 0, alignment = 1;
  Space space = Space::None;  // None: generic
  const Instruction* instruction = nullptr;
};

// What an instruction does by its first address, or by another one.
Access::Kind kindOfAccess(const Instruction& i, bool first);
bool isStrongAccess(const Instruction& i);
// Whether it may order what threads do in memory: a fence, an access with an order, an object that threads wait at.
bool carriesOrder(const Instruction& i);
// The same between threads of different blocks: not what has the scope of a block (.cta).
bool carriesOrderBetweenBlocks(const Instruction& i);
// How far what a kernel has of these carries.
enum class Carries : uint8_t { Nothing, WithinBlocks, BetweenBlocks };
inline Carries carries(Carries before, const Instruction& i) {
  if (before == Carries::BetweenBlocks || !carriesOrder(i)) return before;
  return carriesOrderBetweenBlocks(i) ? Carries::BetweenBlocks : Carries::WithinBlocks;
}
// Of cp.async without bulk: whether it ends a group or waits for some, and does not copy.
bool waitsForCopies(const Instruction& i);

// Lanes of a warp that come to a barrier of the block.
struct BarrierArrival {
  uint32_t warp = 0, id = 0;
  uint32_t threads = 0;  // that the barrier waits for; 0: all of the block
  uint32_t mask = 0;     // who comes
  uint32_t live = 0;     // lanes that have not ended
  bool waits = true;     // false: bar.arrive
  bool aligned = true;   // all lanes of the warp must come by the same instruction
  bool sameLine = true;  // they do
  const Instruction* instruction = nullptr;
};

// Lanes of a warp that come to the barrier of their cluster.
struct ClusterArrival {
  uint32_t warp = 0;
  uint32_t mask = 0;     // who comes; 0: lanes have ended, which counts as arriving
  uint32_t live = 0;     // lanes that have not ended
  bool waits = false;    // for those who have arrived
  bool aligned = false;  // all lanes of the warp must come by the same instruction
  bool sameLine = true;  // they do
  const Instruction* instruction = nullptr;
};

class BlockObserver {
 public:
  // Whether it wants to be asked about accesses: constant.
  virtual bool watchesAccesses() const = 0;
  // Whether the bytes are the lane's own: its frames of local memory, or parameters. Beside: between those.
  enum class Own : uint8_t { No, Yes, Beside };
  // False: the access must not happen; a load gives zeros and a store is dropped.
  virtual bool allows(const Access& access, Own own) = 0;
  // A lane has used a barrier object, which hands on what it did to those who use the object later.
  virtual void passes(const Access& object) = 0;
  // A bulk or tensor copy has written shared memory. How much is not known of tensors: bytes is 0.
  // `reports`: the barrier object that those who want to read it have to wait at; null: there is none.
  virtual void fills(const Access& to, const Access* reports) = 0;
  // Lanes end a group of their cp.async, or wait for all groups but the last `left`, or for all copies.
  enum class Copies : uint8_t { Commit, Wait, WaitForAll };
  virtual void copies(uint32_t warp, uint32_t mask, Copies what, uint32_t left) = 0;
  virtual void arrives(const BarrierArrival& arrival) = 0;
  virtual void leaves(uint32_t warp, uint32_t id, uint32_t mask) = 0;
  // Lanes of a warp arrive at the barrier of their cluster, and wait at it; the warp goes on behind it.
  virtual void arrivesCluster(const ClusterArrival& arrival) = 0;
  virtual void leavesCluster(uint32_t warp) = 0;
  // Lanes meet at bar.warp.sync, which orders their accesses.
  virtual void meet(uint32_t warp, uint32_t mask) = 0;
  // Lanes meet at another warp operation, as a shuffle, which orders none.
  virtual void operate(uint32_t warp, uint32_t mask) = 0;
  // A lane executes a warp operation whose mask does not name it.
  virtual void notNamed(uint32_t warp, uint32_t lane, uint32_t mask, const Instruction& at) = 0;
  // A warp operation ran with the lanes `present` only: the others that `mask` names wait elsewhere.
  virtual void missing(uint32_t warp, uint32_t mask, uint32_t present, const Instruction& at) = 0;

 protected:
  ~BlockObserver() = default;
};

class Observer {
 public:
  // Before a warp of the block runs; the same block gets the same answer until its last warp has ended.
  // `carries`: what of fences and the like the kernel has, so that atomics and flags may order the accesses of threads.
  // `reserved`: bytes of shared memory, from its beginning, that are not the kernel's own.
  virtual BlockObserver* enter(BlockState& block, const Module& module, const Function& entry, Carries carries,
                               uint32_t reserved) = 0;

 protected:
  ~Observer() = default;
};

}  // namespace vg::ptx
