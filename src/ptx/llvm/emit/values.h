// Values in LLVM form: the shapes they come in, the slots that carry them between copies of blocks.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "ptx/llvm/compute/operations.h"
#include "ptx/llvm/emit/masks.h"
#include "ptx/llvm/emit/part.h"
#include "ptx/llvm/emit/specials.h"
#include "ptx/llvm/flow/copy_plan.h"

namespace vg::ptx::gen {

struct Slot {
  llvm::AllocaInst* scalar = nullptr;
  llvm::AllocaInst* holds = nullptr;
  llvm::SmallVector<llvm::AllocaInst*, 8> rows, chunks;
  bool empty() const { return !scalar && rows.empty() && chunks.empty(); }
};

class Values : public EmitterPart {
 public:
  Values(Emission& emission, CopyPlan& plan, Specials& specials, Operations& operations, Masks& masks)
      : EmitterPart(emission), plan_(plan), specials_(specials), operations_(operations), masks_(masks) {}

  void prepare();    // once, before all others
  void beginCopy();  // of a block: nothing has been loaded or made in it yet
  void loadAt(llvm::Instruction* point) { loadPoint_ = point; }  // where the present copy loads from slots
  void forgetVectors() { vectors_.clear(); }
  Form formOf(ValueId id);
  // Whether formOf has it here: it is used in this block, or was kept for other blocks.
  bool readable(ValueId id) const;
  void define(ValueId id, Form form);
  Value* scalarOf(ValueId id);                 // requires a uniform value
  Value* laneZero(ValueId id);                 // uniform or affine
  Value* rowOf(ValueId id, uint32_t row);      // the row's first lane's, of any shape
  Value* chunkOf(ValueId id, uint32_t chunk);  // vector form of any shape
  Chunks vectorsOf(ValueId id);
  Chunks integersOf(ValueId id, uint32_t bits);  // the same as integers of so many bits
  Value* laneOf(ValueId id, Value* lane);
  Value* rowOfForm(const Form& form, uint32_t row);
  Value* chunkOfForm(const Form& form, uint32_t chunk);
  Value* firstsOfRows(const Chunks& rows, uint32_t chunk);
  Slot makeSlot(const vg::ptx::gen::Value& v, const char* name);
  Form loadSlot(const Slot& slot, const vg::ptx::gen::Value& v);
  Form loadEarly(const Slot& slot, const vg::ptx::gen::Value& v);  // where the present copy begins
  void storeSlot(const Slot& slot, const vg::ptx::gen::Value& v, const Form& form);
  Form toShape(ValueId id, const vg::ptx::gen::Value& v);
  void finish(const Instruction& i, size_t result, Form form);
  // The same with what lies in memory: elements of so many bits, the chunk's at place(chunk).
  void finishFrom(const Instruction& i, size_t result, llvm::function_ref<Value*(uint32_t chunk)> place, uint32_t bits);
  bool isRead(ValueId id) const { return read_[id]; }
  // What one lane has of values of other blocks, where code for a lane is emitted (flow/lane_loops.h).
  void giveLane(std::map<ValueId, Form> given) { given_ = std::move(given); }

 private:
  void markFragileSources();
  void markRead();
  Value* madeAgain(ValueId id, llvm::function_ref<Value*(ValueId)> read);
  Form blended(const Slot& slot, const vg::ptx::gen::Value& v, Form form);

  CopyPlan& plan_;
  Specials& specials_;
  Operations& operations_;
  Masks& masks_;
  std::vector<Slot> slots_;
  std::vector<std::optional<Form>> direct_;
  std::vector<bool> read_;  // by any instruction, phi or branch
  std::map<ValueId, Form> local_, given_;
  std::map<std::pair<ValueId, uint32_t>, Value*> vectors_;  // vector forms of scalars made in this copy
  llvm::Instruction* loadPoint_ = nullptr;                  // start of the present copy
};

}  // namespace vg::ptx::gen
