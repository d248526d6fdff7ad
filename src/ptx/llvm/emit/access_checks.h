// Accesses that checked mode looks at before they happen: whether they are aligned and stay inside of memory that lives
// and is the kernel's to use. Lanes that fail are reported and left out; their loads give zeros.
//
// What a warp is about to touch is compared with one range of addresses that was found good before, which costs a
// comparison where one number speaks for all lanes. Each origin of addresses, as a parameter is, has a range of its own
// (abi/check_abi.h). Whatever is outside is asked about, by a call that knows everything and answers with the lanes
// that may go on. Where checked mode follows what memory holds and who touched it, every access is asked about.
#pragma once

#include <functional>
#include <map>

#include "ptx/interpreter/observer.h"
#include "ptx/llvm/emit/addresses.h"
#include "ptx/llvm/emit/masks.h"
#include "ptx/llvm/emit/part.h"
#include "ptx/llvm/emit/runner.h"
#include "ptx/llvm/emit/values.h"
#include "ptx/llvm/ir/ptx_facts.h"

namespace vg::ptx::gen {

class AccessChecks : public EmitterPart {
 public:
  AccessChecks(Emission& emission, Runner& runner, Masks& masks, Values& values, Addresses& addresses)
      : EmitterPart(emission), runner_(runner), masks_(masks), values_(values), addresses_(addresses) {}

  bool on() const { return options_.checksAccesses; }

  // An access to `bytes` bytes a lane by operand `source`.
  struct Checked {
    Checked(const Instruction& of, size_t operand, Space where, uint32_t lane, uint32_t aligned)
        : i(of), source(operand), space(where), bytes(lane), alignment(aligned) {}
    // One of ld, st, atom or red, whose first operand is the address.
    explicit Checked(const Instruction& of)
        : Checked(of, 0, of.ast->space, accessBytes(*of.ast), accessBytes(*of.ast)) {}
    Checked(const Instruction& of, const Components* stores, uint32_t bits) : Checked(of) {
      data = stores;
      dataBits = bits;
    }

    const Instruction& i;
    size_t source;
    Space space;
    uint32_t bytes;
    uint32_t alignment;                // 1: any
    const Components* data = nullptr;  // what it stores, of `dataBits` bits
    uint32_t dataBits = 0;
  };
  // Emits `all` for when every lane of the mask may make the access, and `some` for when these may: the loaded elements
  // are those of either.
  Components either(const Checked& access, const Mask& mask, const std::function<Components()>& all,
                    const std::function<Components(const Mask& allowed)>& some);
  // The lanes of the mask that may make the access; the mask itself where nothing is checked.
  Mask allowed(const Checked& access, const Mask& mask);
  // Zeros in place of what lanes outside of the mask have loaded.
  Components zeroed(Components loaded, const Mask& allowed);

 private:
  struct Range {
    Value *base, *room;  // i64; room: the size and one
  };
  struct Ways {
    BB *all, *some;
    Value* lanes;  // i32: of those that may, where `some` begins
  };
  bool tells(const Checked& access) const { return options_.tellsAccesses && access.space != Space::Local; }
  bool needsNone(const Checked& access);
  Value* kept(const Checked& access);
  Ways split(const Checked& access, const Mask& mask);
  Value* isFine(const Checked& access, const Address& a, const Mask& mask);  // i1
  Value* isAligned(const Checked& access, const Address& a, const Mask& mask);
  Value* fitsLocal(const Checked& access, const Address& a, const Mask& mask);
  Value* fits(const Checked& access, const Address& a, const Range& range, const Mask& mask);
  Value* startFits(Value* first, int64_t step, uint32_t lanes, uint32_t bytes, const Range& range);
  Value* allOf(const Mask& mask, const std::function<Value*(uint32_t chunk)>& holds);
  Range rangeOf(const Checked& access);
  const SharedLayout::Slot* slotOf(const Checked& access);
  uint32_t numberOf(ValueId origin);
  Value* ask(const Checked& access, const Address& a, const Mask& mask, Value* found);
  // The addresses for the call, and what AccessForm::lanes says of them (i64, in its place of the form's word).
  struct Told {
    Value *addresses, *lanes;
  };
  Told told(const Checked& access, const Address& a);
  uint8_t rowsOf(const Checked& access, const Address& a) const;
  uint64_t formOf(const Checked& access);
  void noteOrAsk(const Checked& access, const Address& a, const Mask& mask, Value* fine, const Ways& ways, BB* asks);
  Told toldByRows(const Address& a, uint8_t lanes);
  Told toldEither(Value* holds, const std::function<Told()>& one, const std::function<Told()>& other);
  Value* localArea();

  Runner& runner_;
  Masks& masks_;
  Values& values_;
  Addresses& addresses_;
  std::map<ValueId, uint32_t> numbers_;  // of origins
  llvm::AllocaInst *stored_ = nullptr, *starts_ = nullptr;
};

}  // namespace vg::ptx::gen
