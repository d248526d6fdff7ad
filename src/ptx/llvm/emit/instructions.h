// One PTX instruction: who emits it, in scalar or vector form.
#pragma once

#include "ptx/llvm/compute/operations.h"
#include "ptx/llvm/emit/meeting_checks.h"
#include "ptx/llvm/emit/part.h"
#include "ptx/llvm/emit/values.h"
#include "ptx/llvm/flow/warp_teller.h"
#include "ptx/llvm/opcodes/async.h"
#include "ptx/llvm/opcodes/atomic.h"
#include "ptx/llvm/opcodes/barrier.h"
#include "ptx/llvm/opcodes/copy.h"
#include "ptx/llvm/opcodes/count.h"
#include "ptx/llvm/opcodes/keep.h"
#include "ptx/llvm/opcodes/lanes.h"
#include "ptx/llvm/opcodes/load.h"
#include "ptx/llvm/opcodes/matrix.h"
#include "ptx/llvm/opcodes/stack.h"
#include "ptx/llvm/opcodes/store.h"
#include "ptx/llvm/opcodes/syscall.h"
#include "ptx/llvm/textures/texture.h"

namespace vg::ptx::gen {

class Instructions : public EmitterPart {
 public:
  Instructions(Emission& emission, Operations& operations, Values& values, WarpTeller& teller, Loads& loads,
               Stores& stores, LaneCopies& copies, Atomics& atomics, Stacks& stacks, Lanes& lanes, Barriers& barriers,
               Syscalls& syscalls, AsyncOperations& async, Textures& textures, Matrices& matrices, LaneCounts& counts,
               KeptRegisters& kept, MeetingChecks& meetings)
      : EmitterPart(emission),
        operations_(operations),
        values_(values),
        teller_(teller),
        loads_(loads),
        stores_(stores),
        copies_(copies),
        atomics_(atomics),
        stacks_(stacks),
        lanes_(lanes),
        barriers_(barriers),
        syscalls_(syscalls),
        async_(async),
        textures_(textures),
        matrices_(matrices),
        counts_(counts),
        kept_(kept),
        meetings_(meetings) {}

  void emitInstruction(const Instruction& i);

 private:
  using Scalars = llvm::SmallVector<Value*, 8>;
  Scalars sourcesOf(const Instruction& i, llvm::function_ref<Value*(ValueId)> read);
  void computeVectors(const Instruction& i, llvm::SmallVectorImpl<Form>& forms);
  void testWidening(const Instruction& i, uint32_t row, const Scalars& sources, Value*& holds);
  void computeScalars(const Instruction& i, llvm::SmallVectorImpl<Form>& forms);
  void emitPointwise(const Instruction& i);
  bool emitWarpOperation(const Instruction& i);

  Operations& operations_;
  Values& values_;
  WarpTeller& teller_;
  Loads& loads_;
  Stores& stores_;
  LaneCopies& copies_;
  Atomics& atomics_;
  Stacks& stacks_;
  Lanes& lanes_;
  Barriers& barriers_;
  Syscalls& syscalls_;
  AsyncOperations& async_;
  Textures& textures_;
  Matrices& matrices_;
  LaneCounts& counts_;
  KeptRegisters& kept_;
  MeetingChecks& meetings_;
};

}  // namespace vg::ptx::gen
