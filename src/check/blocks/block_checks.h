// The checks of one running block: what the interpreter asks and tells is judged here and becomes records.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "check/blocks/block_meeting.h"
#include "check/blocks/block_reports.h"
#include "check/blocks/cluster_meeting.h"
#include "check/memory/read_notes.h"
#include "check/memory/shared_memory.h"
#include "check/memory/store_under_way.h"
#include "check/races/clocks.h"
#include "check/races/global_races.h"
#include "check/reports/report.h"
#include "ptx/abi/check_abi.h"
#include "ptx/interpreter/observer.h"

namespace vg::check {

// What lanes of a warp are about to store, all by one instruction.
struct StoredData {
  const std::byte* data = nullptr;  // elements of all lanes, one kind after the other
  uint32_t elementBytes = 0, bytes = 0, mask = 0;
  const uint64_t* addresses = nullptr;

  void valueOf(uint32_t lane, std::byte* to) const;
  // The lane whose value is there when this one's comes, if one of them stores to the same place before.
  int before(uint32_t lane) const;
};

// Where shared memory is that an access goes to, if it does.
struct SharedPlace {
  bool isShared, own;  // own: not of another block of the cluster
  uint64_t offset;
};
// Of what is not the block's own; `window`: the size of a block's.
SharedPlace sharedElsewhere(const ptx::BlockState& block, const ptx::Access& access, uint64_t offset, uint64_t window);
inline uint32_t linear(uint32_t warp, uint32_t lane) { return warp * ptx::kWarpSize + lane; }

class BlockChecks final : public ptx::BlockObserver {
 public:
  // A warp of the block is about to run. `carries`: what of fences and the like the kernel has, so that atomics
  // and flags carry order. `reserved`: bytes of shared memory, from its beginning, that the system fills.
  void enter(ptx::BlockState& block, const ptx::Module& module, const ptx::Function& entry, ptx::Carries carries,
             uint32_t reserved) {
    if (grid_ != block.launch->gridId || number_ != block.blockNumber) begin(block, module, entry, carries, reserved);
  }
  // allows() in parts: whether the access may happen, and what comes of it for those that read and write later.
  bool permits(const ptx::Access& access, Own own);
  void touches(const ptx::Access& access);
  // The same of an access that consecutive lanes make together, `laneBytes` each, or all to one place
  // (0); false: each is to be looked at. `lanes`: those that do, from the first on; of one place
  // kAllLanes means one lane only, else the first and the next one load.
  bool touchesTogether(const ptx::Access& access, uint64_t laneBytes, uint32_t lanes = global_memory::kAllLanes);
  // What those to come store, where that is known before they do; null: not. Of one warp's access at a time.
  void storing(const StoredData* stored);
  // Reports an access to another place of shared memory than the variable that its address is computed from. False.
  bool beyondVariable(const ptx::Access& access, const ptx::Variable& variable);
  // Memory around what allows() or permits() found good last that is as good; nothing where that is not known.
  ptx::CheckedRange goodRange() const { return good_; }
  // The block has ended.
  void leave() { resolveOverwrite(); }
  // Every warp waits at a barrier that nobody can complete.
  void stuck();

  bool watchesAccesses() const override { return wants(Tool::Memory) || wants(Tool::Race) || wants(Tool::Init); }
  bool allows(const ptx::Access& access, Own own) override;
  void passes(const ptx::Access& object) override;
  void fills(const ptx::Access& to, const ptx::Access* reports) override;
  void copies(uint32_t warp, uint32_t mask, Copies what, uint32_t left) override;
  void arrives(const ptx::BarrierArrival& arrival) override;
  void leaves(uint32_t warp, uint32_t id, uint32_t mask) override;
  void arrivesCluster(const ptx::ClusterArrival& arrival) override;
  void leavesCluster(uint32_t warp) override;
  void meet(uint32_t warp, uint32_t mask) override;
  void operate(uint32_t warp, uint32_t mask) override;
  void notNamed(uint32_t warp, uint32_t lane, uint32_t mask, const ptx::Instruction& at) override;
  void missing(uint32_t warp, uint32_t mask, uint32_t present, const ptx::Instruction& at) override;

 private:
  // A store over what another thread has stored: a fault if it changes the value.
  struct Overwrite {
    bool pending = false;
    uint64_t address = 0;
    uint32_t bytes = 0;
    std::byte before[64];
    bool global = false;
    Hazard hazard;                     // of shared memory
    global_memory::Conflict conflict;  // of global memory
    const ptx::Instruction* at = nullptr;
  };
  void begin(ptx::BlockState& block, const ptx::Module& module, const ptx::Function& entry, ptx::Carries carries,
             uint32_t reserved);
  SharedPlace sharedPlace(const ptx::Access& access) const {
    constexpr uint64_t kWindow = 1024;  // the size of a block's shared memory is rounded up to it
    const uint64_t offset = access.address - (access.isShared ? 0 : reinterpret_cast<uint64_t>(block_->shared));
    const uint64_t own = offset - block_->sharedOffset, window = (block_->sharedLimit + kWindow - 1) & ~(kWindow - 1);
    return own < window ? SharedPlace{true, true, own} : sharedElsewhere(*block_, access, offset, window);
  }
  bool touchSharedTogether(const ptx::Access& access, const SharedPlace& place, uint64_t laneBytes, uint32_t lanes);
  bool fitsShared(const ptx::Access& access, const SharedPlace& place) const;
  std::byte* ownShared() const { return block_->shared + block_->sharedOffset; }

  bool beyond(const ptx::Access& access, unsigned kind, const char* why, const std::vector<std::string>& around);
  bool fitsGlobal(const ptx::Access& access);
  bool aligned(const ptx::Access& access);
  bool refuse(const ptx::Access& access, const std::string& why, const std::vector<std::string>& around);
  void checkShared(const ptx::Access& access, uint32_t offset);
  void checkRace(const ptx::Access& access, uint32_t offset);
  void checkGlobal(const ptx::Access& access);
  bool guesses(const global_memory::Conflict& conflict, const ptx::Access& access);
  void checkGlobalRace(const ptx::Access& access, uint64_t address);
  void uninitialised(const ptx::Access& access, uint64_t address, size_t good, bool shared);
  void resolveOverwrite();
  bool changes(const ptx::Access& access, const std::byte* place) const;
  void overwrites(const ptx::Access& access, const std::byte* place);

  uint64_t clusterWord(uint32_t warp) const;

  ptx::BlockState* block_ = nullptr;
  const ptx::Module* module_ = nullptr;
  uint64_t grid_ = 0, number_ = 0;
  ptx::Carries carries_ = ptx::Carries::Nothing;
  bool inCluster_ = false;  // others may touch its shared memory, which is not followed
  Clocks clocks_;
  SharedMemory shared_;
  ReadNotes notes_;
  GlobalRaces global_{clocks_};
  StoreUnderWay underWay_;
  BlockMeeting meetings_[BlockMeeting::kBarriers];
  ClusterMeeting clusterMeeting_;
  WarpMeetings came_[BlockMeeting::kWarps];
  Overwrite overwrite_;
  ptx::CheckedRange good_;
  const StoredData* stored_ = nullptr;
  std::unordered_map<uint32_t, bool> guesses_;  // by PTX line: whether a load is one (guesses.h)
  BlockReports reports_;
};

}  // namespace vg::check
