// Gathers and scatters by a base and 32-bit distances from it: half as many instructions as by 64-bit addresses, to
// compile and to run. What has such a base are addresses in shared memory, and lanes that are a constant step apart.
#include "ptx/llvm/opcodes/gather.h"

#include <llvm/IR/IntrinsicsX86.h>

#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/text/op.h"

namespace vg::ptx::gen {
namespace {

// Processors extend indices by their sign, and addresses in shared memory have none: all count from the middle of the
// 4 GiB that they reach, so that wild ones hit what lies behind the window.
constexpr uint32_t kMiddle = uint32_t{1} << 31;

// Bytes by which an address of the processor can multiply an index.
constexpr uint64_t kLargestStep = 8;

}  // namespace

bool Gathers::hasIndices(const Address& a, bool isVolatile) const {
  if (!options_.avx512 || w_ != 16 || isVolatile) return false;
  const bool inWindow = a.space == Space::Shared && bitsOf(program_.values[a.value].type) == 32;
  return inWindow || (addresses_.hasSteps(a) && addresses_.lanesInPiece(a) == w_);
}

Indices Gathers::indicesOf(const Address& a, uint32_t chunk, int64_t offset, uint32_t bits) {
  if (addresses_.hasSteps(a) && addresses_.lanesInPiece(a) == w_) return stepsOf(a, chunk, offset, bits);
  Value* const lanes = b_.asInteger(values_.chunkOf(a.value, chunk), 32);
  return {b_.pointer(b_.CreateAdd(runner_.sharedBase(), b_.getInt64(kMiddle))),
          b_.CreateAdd(lanes, b_.number(lanes, b_.getInt32Ty(), static_cast<uint32_t>(a.offset + offset) + kMiddle))};
}

// Elements smaller than a word are found from an aligned base.
Indices Gathers::stepsOf(const Address& a, uint32_t chunk, int64_t offset, uint32_t bits) {
  Value* const steps = b_.iota(0, b_.getInt32Ty(), a.shape.stride);
  Value* const first = addresses_.placeInRow(a, chunk * w_, a.shape.stride, offset);
  if (bits >= 32) return {first, steps};
  Value* const address = b_.CreatePtrToInt(first, b_.getInt64Ty());
  Value* const rest = b_.CreateTrunc(b_.CreateAnd(address, 3), b_.getInt32Ty());
  return {b_.pointer(b_.CreateAnd(address, ~uint64_t{3})), b_.CreateAdd(steps, b_.CreateVectorSplat(w_, rest))};
}

llvm::Value* Gathers::gatherIndexed(const Indices& at, uint32_t bits, Value* mask) {
  if (bits < 32) {
    Value* const words = b_.CreateAnd(at.bytes, b_.number(at.bytes, b_.getInt32Ty(), ~uint32_t{3}));
    return partOfWord(gatherIndexed({at.base, words}, 32, mask), at.bytes, bits);
  }
  if (bits == 64 && llvm::cast<llvm::FixedVectorType>(at.bytes->getType())->getNumElements() > 8)
    return b_.concat(gatherIndexed({at.base, b_.slice(at.bytes, 0, 8)}, bits, b_.slice(mask, 0, 8)),
                     gatherIndexed({at.base, b_.slice(at.bytes, 8, 8)}, bits, b_.slice(mask, 8, 8)));
  const auto id =
      bits == 32 ? llvm::Intrinsic::x86_avx512_mask_gather_dpi_512 : llvm::Intrinsic::x86_avx512_mask_gather_dpq_512;
  Value* const zero = llvm::Constant::getNullValue(b_.like(at.bytes, b_.integerType(bits)));
  return b_.callIntrinsic(id, {}, {zero, at.base, at.bytes, mask, b_.getInt32(1)});
}

void Gathers::scatterIndexed(const Indices& at, Value* data, uint32_t bits, Value* mask) {
  if (bits == 64 && llvm::cast<llvm::FixedVectorType>(at.bytes->getType())->getNumElements() > 8) {
    scatterIndexed({at.base, b_.slice(at.bytes, 8, 8)}, b_.slice(data, 8, 8), bits, b_.slice(mask, 8, 8));
    return scatterIndexed({at.base, b_.slice(at.bytes, 0, 8)}, b_.slice(data, 0, 8), bits, b_.slice(mask, 0, 8));
  }
  Value* bytes = at.bytes;
  const auto* const steps = llvm::dyn_cast<llvm::Constant>(bytes);
  if (!steps || steps->isNullValue())  // places may be the same: the lowest lane's value stays
    bytes = b_.reversed(bytes), data = b_.reversed(data), mask = b_.reversed(mask);
  const auto id =
      bits == 32 ? llvm::Intrinsic::x86_avx512_mask_scatter_dpi_512 : llvm::Intrinsic::x86_avx512_mask_scatter_dpq_512;
  b_.callIntrinsic(id, {}, {at.base, mask, bytes, data, b_.getInt32(1)});
}

// As compilers write a[i]: the array plus the product of mul.wide.
std::optional<Elements> Gathers::elementsOf(const Address& a) {
  const auto madeBy = [&](ValueId id, Op op) -> const Instruction* {
    const auto& v = program_.values[id];
    if (v.kind != vg::ptx::gen::Value::Result) return nullptr;
    const Instruction& i = program_.instructions[v.instruction];
    const bool plain = i.guard == kNone && i.carryIn == kNone && i.results.size() == 1 && i.sources.size() == 2 &&
                       i.ast->typeCount == 1 && !ptx::isFloat(i.ast->type());
    return plain && i.ast->op == op ? &i : nullptr;
  };
  const Instruction* const sum = madeBy(a.value, Op::Add);
  if (a.space == Space::Shared || !sum || ptx::bitsOf(sum->ast->type()) != 64) return {};
  for (size_t n = 0; n < 2; ++n) {
    const ValueId array = sum->sources[n];
    const Instruction* const product = madeBy(sum->sources[1 - n], Op::Mul);
    if (!product || !product->ast->has(Mod::Wide) || ptx::bitsOf(product->ast->type()) != 32) continue;
    const ValueId index = product->sources[0];
    const std::optional<uint64_t> step = knownBits(program_, product->sources[1]);
    if (!program_.values[array].shape.uniform() || !program_.values[index].shape.varying()) continue;
    if (!step || *step > kLargestStep || !values_.readable(array) || !values_.readable(index)) continue;
    return Elements{addresses_.displaced(values_.scalarOf(array), a.offset), index, *step,
                    isSigned(product->ast->type())};
  }
  return {};
}

llvm::Value* Gathers::placeOf(const Elements& all, Value* index) {
  return b_.CreateAdd(all.base, b_.CreateMul(b_.extend(index, 64, all.isSigned), b_.getInt64(all.step)));
}

// Where loads do no harm.
llvm::Value* Gathers::nowhere() {
  if (!dummy_) dummy_ = b_.entryAlloca(llvm::ArrayType::get(b_.getInt64Ty(), 8), "nowhere", llvm::Align(64));
  return b_.CreatePtrToInt(dummy_, b_.getInt64Ty());
}

// The addresses of the lanes of a mask, and for the others one where loads do no harm.
llvm::Value* Gathers::orNowhere(Value* addresses, Value* mask) {
  const uint32_t lanes = llvm::cast<llvm::FixedVectorType>(addresses->getType())->getNumElements();
  return b_.CreateSelect(mask, addresses, b_.CreateVectorSplat(lanes, nowhere()));
}

llvm::Value* Gathers::gather(Value* addresses, uint32_t bits, Value* mask, bool isVolatile) {
  const uint32_t lanes = llvm::cast<llvm::FixedVectorType>(addresses->getType())->getNumElements();
  if (options_.avx512 && !isVolatile && lanes >= 8) {
    if (bits < 32) {
      Value* const words = b_.CreateAnd(addresses, b_.number(addresses, b_.getInt64Ty(), ~uint64_t{3}));
      Value* const low = b_.asInteger(addresses, 32);
      return partOfWord(gather(words, 32, mask, false), low, bits);
    }
    if (lanes > 8)
      return b_.concat(gather(b_.slice(addresses, 0, 8), bits, b_.slice(mask, 0, 8), false),
                       gather(b_.slice(addresses, 8, 8), bits, b_.slice(mask, 8, 8), false));
    auto* type = llvm::FixedVectorType::get(b_.integerType(bits), 8);
    return b_.callIntrinsic(
        bits == 32 ? llvm::Intrinsic::x86_avx512_mask_gather_qpi_512 : llvm::Intrinsic::x86_avx512_mask_gather_qpq_512,
        {},
        {llvm::Constant::getNullValue(type), llvm::ConstantPointerNull::get(b_.getPtrTy()), addresses, mask,
         b_.getInt32(1)});
  }
  Value* const safe = orNowhere(addresses, mask);
  Value* out = llvm::PoisonValue::get(llvm::FixedVectorType::get(b_.integerType(bits), lanes));
  for (uint32_t l = 0; l < lanes; ++l) {
    auto* load = b_.CreateAlignedLoad(b_.integerType(bits), b_.pointer(b_.CreateExtractElement(safe, l)),
                                      llvm::Align(bits / 8), isVolatile);
    out = b_.CreateInsertElement(out, load, l);
  }
  return out;
}

// Of the aligned words around them, the elements of 8 or 16 bits at these places. No word is in two pages, so whoever
// may read an element may read the others too.
llvm::Value* Gathers::partOfWord(Value* words, Value* places, uint32_t bits) {
  Value* const bytes = b_.CreateAnd(places, b_.number(places, b_.getInt32Ty(), 3));
  Value* const shifted = b_.CreateLShr(words, b_.CreateShl(bytes, b_.number(bytes, b_.getInt32Ty(), 3)));
  return b_.asInteger(shifted, bits);
}

// All lanes of a chunk, half of them by loads of their own. Processors gather elements that their caches have faster
// than they load them one by one, but have fewer of others under way at a time.
llvm::Value* Gathers::gatherAndLoad(Value* addresses, const Elements& all, uint32_t chunk, uint32_t bits) {
  const uint32_t half = w_ / 2;
  Value* const lanes = llvm::ConstantInt::getTrue(llvm::FixedVectorType::get(b_.getInt1Ty(), half));
  Value* const gathered = gather(b_.slice(addresses, 0, half), bits, lanes, false);
  Value* loaded = llvm::PoisonValue::get(gathered->getType());
  uint32_t lane = 0;
  for (Value* const index : b_.wordsOf(b_.slice(b_.asInteger(values_.chunkOf(all.index, chunk), 32), half, half))) {
    Value* const element =
        b_.CreateAlignedLoad(b_.integerType(bits), b_.pointer(placeOf(all, index)), llvm::Align(bits / 8));
    loaded = b_.CreateInsertElement(loaded, element, lane++);
  }
  return b_.concat(gathered, loaded);
}

// Of lanes with one place the lowest's value stays.
void Gathers::scatter(Value* addresses, Value* data, uint32_t bits, Value* mask) {
  const uint32_t lanes = llvm::cast<llvm::FixedVectorType>(addresses->getType())->getNumElements();
  if (lanes > 8) {
    scatter(b_.slice(addresses, 8, 8), b_.slice(data, 8, 8), bits, b_.slice(mask, 8, 8));
    return scatter(b_.slice(addresses, 0, 8), b_.slice(data, 0, 8), bits, b_.slice(mask, 0, 8));
  }
  addresses = b_.reversed(addresses), data = b_.reversed(data), mask = b_.reversed(mask);
  b_.callIntrinsic(
      bits == 32 ? llvm::Intrinsic::x86_avx512_mask_scatter_qpi_512 : llvm::Intrinsic::x86_avx512_mask_scatter_qpq_512,
      {}, {llvm::ConstantPointerNull::get(b_.getPtrTy()), mask, addresses, data, b_.getInt32(1)});
}

}  // namespace vg::ptx::gen
