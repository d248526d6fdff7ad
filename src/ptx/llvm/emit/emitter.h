// Warp IR -> LLVM IR. A PTX register becomes one scalar when all lanes agree or differ by a constant step, else K
// vectors of W lanes (K * W = 32).
//
// Blocks are emitted in up to four copies: with all lanes present or only some (Full, Part), and convergent (real
// branches) or masked (a divergent region in linear order, each block under its own mask). Values that cross blocks
// which exist in several copies go through stack slots that the first LLVM pass promotes to registers again.
//
// The work is that of parts, each of which uses those above it in the list below.
#pragma once

#include <vector>

#include "ptx/llvm/emit/instructions.h"
#include "ptx/llvm/flow/convergent_code.h"
#include "ptx/llvm/flow/edges.h"
#include "ptx/llvm/flow/frame.h"
#include "ptx/llvm/flow/lane_loops.h"
#include "ptx/llvm/flow/masked_code.h"

namespace vg::ptx::gen {

class Emitter {
 public:
  Emitter(Program& program, llvm::Module& module, const EmitOptions& options);
  // Emits the entry function. Throws Unsupported.
  llvm::Function* run();
  const KernelTraits& traits() const { return emission_.traits; }
  bool lean() const { return emission_.lean; }
  const std::vector<AlignmentRule>& alignmentRules() const { return tests_.alignmentRules(); }

 private:
  void makeFunction();
  void findTraits();
  void emitWayIn();
  void emitWayInOf(llvm::Value* lanes);
  void emitCopy(const CopyKey& key);
  void finishSuspensions();

  Emission emission_;
  Program& program_;
  Builder& b_;

  CopyPlan plan_{emission_};
  Runner runner_{emission_};
  Specials specials_{emission_, runner_};
  FloatPieces pieces_{emission_, runner_};
  Integers integers_{emission_};
  Video video_{emission_};
  Sparse sparse_{emission_};
  Conversions conversions_{emission_, pieces_};
  ExactApproximations exact_{emission_, pieces_, conversions_};
  Approximations approximations_{emission_, pieces_, exact_};
  Floats floats_{emission_, pieces_, conversions_, exact_, approximations_};
  Comparisons comparisons_{emission_, pieces_, conversions_};
  Moves moves_{emission_, runner_, pieces_};
  Operations operations_{emission_, integers_, video_, conversions_, floats_, comparisons_, moves_, sparse_};
  Masks masks_{emission_};
  Values values_{emission_, plan_, specials_, operations_, masks_};
  Predicates predicates_{emission_, masks_, values_};
  WarpTeller teller_{emission_, runner_};
  Suspensions suspensions_{emission_, values_, teller_};
  Addresses addresses_{emission_, runner_, masks_, values_};
  Gathers gathers_{emission_, runner_, values_, addresses_};
  AccessTests tests_{emission_, runner_, masks_, values_, addresses_};
  AccessChecks checks_{emission_, runner_, masks_, values_, addresses_};
  Loads loads_{emission_, runner_, comparisons_, masks_, values_, predicates_, addresses_, gathers_, tests_, checks_};
  Stores stores_{emission_, runner_, masks_, values_, predicates_, addresses_, gathers_, tests_, checks_};
  LaneCopies copies_{emission_, masks_, values_, predicates_, addresses_, tests_, checks_, loads_, stores_};
  Atomics atomics_{emission_, runner_,     pieces_,    conversions_, floats_, masks_,
                   values_,   predicates_, addresses_, gathers_,     tests_,  checks_};
  Stacks stacks_{emission_, runner_, masks_, values_, predicates_};
  HeldLanes held_{emission_, runner_, masks_, values_, predicates_};
  Lanes lanes_{emission_, masks_, values_, predicates_, held_};
  PartedBarriers parted_{emission_, runner_, masks_, values_, predicates_};
  Barriers barriers_{emission_, runner_, masks_, values_, predicates_, suspensions_, held_, parted_};
  Syscalls syscalls_{emission_, runner_, masks_, values_, predicates_};
  AsyncOperations async_{emission_, runner_, masks_, values_, predicates_};
  RowTextures rowTextures_{emission_, runner_, masks_, values_};
  Textures textures_{emission_, runner_, masks_, values_, predicates_, rowTextures_};
  Matrices matrices_{emission_, runner_, masks_, values_, predicates_, addresses_};
  LaneCounts counts_{emission_, runner_, masks_, predicates_};
  KeptRegisters kept_{emission_, runner_, masks_, values_, predicates_};
  MeetingChecks meetings_{emission_, runner_, masks_, values_};
  Instructions instructions_{emission_, operations_, values_,   teller_, loads_,    stores_,
                             copies_,   atomics_,    stacks_,   lanes_,  barriers_, syscalls_,
                             async_,    textures_,   matrices_, counts_, kept_,     meetings_};
  Frame frame_{emission_, runner_, specials_, masks_, values_, teller_, suspensions_};
  Edges edges_{emission_, plan_, runner_, masks_, values_, predicates_, frame_};
  MaskedCode masked_{emission_, plan_, runner_, masks_, predicates_, frame_, edges_};
  LaneLoops laneLoops_{emission_, plan_, masks_, values_, teller_, tests_, instructions_, edges_};
  ConvergentCode convergent_{emission_, plan_, masks_, values_, predicates_, frame_, edges_};
};

}  // namespace vg::ptx::gen
