// What is emitted, how, and where to: known to all parts of the emitter.
#pragma once

#include <string>

#include "ptx/abi/engine.h"
#include "ptx/facts/kept_registers.h"
#include "ptx/llvm/emit/builder.h"
#include "ptx/llvm/ir/warp_ir.h"

namespace vg::ptx::gen {

struct EmitOptions : ShapeOptions {
  uint32_t lanes = 16;  // W
  bool avx512 = false;  // with BW, DQ, VL
  bool avx2 = false;
  bool fma = false;
  bool f16c = false;
  bool fullWarps = false;
  bool loneWarp = false;               // a block is one warp
  uint32_t mostLanes = kWarpSize;      // that a warp has: of those from there on none is there
  bool allLanes = false;               // ... and all others are
  bool permutesBytes = false;          // AVX-512 VBMI
  bool exactApproximations = true;     // of f32, to the bit
  bool trustsParameters = true;        // pointers that the kernel is given are aligned as it uses them
  bool testsReach = false;             // what addresses lead to (analysis/reach.h)
  bool testsOwn = false;               // that addresses are none of the library's own
  bool checksAccesses = false;         // for checked mode (access_checks.h); nothing is tested besides
  bool tellsAccesses = false;          // ... and tells of every one
  bool tellsMeetings = false;          // of lanes and warps (meeting_checks.h)
  uint64_t leanBeyond = UINT64_MAX;    // so much work (plannedWork), fewer copies have to do: a launch waits
  TextureHints textures{};             // that a launch is likely to be given
  const kept::Layout* kept = nullptr;  // null: registers are not kept
  std::string cpu, features;
};

struct Emission {
  Emission(Program& program, llvm::Module& module, const EmitOptions& options)
      : program(program),
        module(module),
        options(options),
        w(options.lanes),
        k(kWarpSize / options.lanes),
        rowLanes(options.rowLanes),
        rows(options.rowLanes ? kWarpSize / options.rowLanes : 0),
        b(module.getContext(), w, k) {}
  Emission(const Emission&) = delete;
  // Whether it is the code of a function that a kernel calls apart.
  bool apart() const { return program.root != program.entry; }

  Program& program;
  llvm::Module& module;
  EmitOptions options;
  uint32_t w, k;                  // lanes of a vector, vectors of a warp
  const uint32_t rowLanes, rows;  // rows in a warp and their lanes, 0 where it is not made of rows
  bool lean = false;              // there are fewer copies than good code has
  KernelTraits traits;
  const Instruction* present = nullptr;  // that is being emitted
  Builder b;
};

}  // namespace vg::ptx::gen
