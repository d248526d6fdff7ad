#include "ptx/llvm/textures/texture_rows.h"

#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <bit>

#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/text/op.h"

namespace vg::ptx::gen {

namespace {

constexpr uint32_t kMostChannels = 4;

// Loads and stores of floats that a coordinate is made of.
bool isWholeSum(const Program& program, const Instruction& i, ValueId& counted) {
  if (i.ast->op != Op::Add || i.ast->type() != Type::F32 || i.guard != kNone) return false;
  for (int side = 0; side < 2; ++side) {
    const auto bits = knownBits(program, i.sources[1 - side]);
    if (!bits) continue;
    const float plus = std::bit_cast<float>(static_cast<uint32_t>(*bits));
    counted = i.sources[side];
    return plus >= 0 && plus <= 0.5f;  // what is rounded stays below the next number
  }
  return false;
}

}  // namespace

// What must hold for all lanes, and for all chunks.
class RowTextures::Tests {
 public:
  Tests(RowTextures& owner, const Mask& mask, Value* first) : owner_(owner), mask_(mask), all_(first) {}

  void beginChunk(uint32_t chunk) { chunk_ = chunk; }
  void add(Value* test) {
    Builder& b = owner_.b_;
    if (!test->getType()->isVectorTy()) {
      all_ = b.CreateAnd(all_, test);
      return;
    }
    if (!mask_.full) test = b.CreateOr(test, b.CreateNot(mask_.chunks[chunk_]));
    Mask lanes;
    lanes.full = false;
    lanes.chunks = {test};
    auto* const type = llvm::cast<llvm::FixedVectorType>(test->getType());
    Value* const bits = b.CreateBitCast(test, b.getIntNTy(type->getNumElements()));
    all_ = b.CreateAnd(all_, b.CreateICmpEQ(bits, llvm::Constant::getAllOnesValue(bits->getType())));
  }
  Value* all() const { return all_; }

 private:
  RowTextures& owner_;
  const Mask& mask_;
  Value* all_;
  uint32_t chunk_ = 0;
};

std::optional<TextureHint> RowTextures::hintFor(uint32_t parameter) const {
  for (const TextureHint& hint : options_.textures)
    if (hint.kind && hint.parameter == parameter) return hint;
  return {};
}

const RowTextures::Texture& RowTextures::textureAt(uint32_t parameter, uint16_t kind) {
  if (const auto found = textures_.find(parameter); found != textures_.end()) return found->second;
  Texture& texture = textures_[parameter];
  Value* const handle = runner_.parameter(parameter, b_.getInt64Ty());
  (void)runner_.atLaunch([&]() -> Value* {
    Value* const rows =
        runner_.runtimeCall(offsetof(RuntimeCalls, textureRows), b_.getPtrTy(), {runner_.block, handle});
    const auto field = [&](size_t offset, LType* type) {
      auto* const load = b_.CreateLoad(type, b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), rows, offset));
      load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
      return load;
    };
    texture.base = field(offsetof(TextureRows, base), b_.getPtrTy());
    texture.rowPitch = field(offsetof(TextureRows, rowPitch), b_.getInt64Ty());
    for (unsigned axis = 0; axis < 2; ++axis) {
      texture.last[axis] = field(offsetof(TextureRows, last) + 4 * axis, b_.getInt32Ty());
      texture.lastReal[axis] = field(offsetof(TextureRows, lastReal) + 4 * axis, b_.getFloatTy());
      texture.size[axis] = field(offsetof(TextureRows, size) + 4 * axis, b_.getFloatTy());
    }
    return texture.fits = b_.CreateICmpEQ(field(offsetof(TextureRows, kind), b_.getInt32Ty()), b_.getInt32(kind));
  });
  return texture;
}

bool RowTextures::isRead(const Request& r, uint32_t channel) const {
  for (size_t n = 0; n < r.i.results.size(); ++n)
    if (r.shape.results[n] == channel && r.i.results[n] != kNone && values_.isRead(r.i.results[n])) return true;
  return false;
}

// A coordinate in elements.
llvm::Value* RowTextures::scaled(const Request& r, unsigned axis, Value* at) {
  at = b_.asFloat(at, b_.getFloatTy());
  return r.kind.normalized ? b_.CreateFMul(at, b_.splatLike(at, r.texture.size[axis])) : at;
}

// What is not a number becomes the least.
llvm::Value* RowTextures::clamped(Value* at, Value* least, Value* most) {
  least = b_.splatLike(at, least), most = b_.splatLike(at, most);
  at = b_.CreateSelect(b_.CreateFCmpOGT(at, least), at, least);
  return b_.CreateSelect(b_.CreateFCmpOLT(at, most), at, most);
}

RowTextures::Along RowTextures::wholeAlong(const Request& r, unsigned axis, Value* at, Tests& tests) {
  at = b_.asInteger(at, 32);
  Value* const last = b_.splatLike(at, r.texture.last[axis]);
  tests.add(b_.CreateICmpULE(at, last));
  Value* const none = llvm::Constant::getNullValue(at->getType());
  Value* const inside = b_.CreateSelect(b_.CreateICmpSGT(at, none), at, none);
  Along along;
  along.index[0] = b_.CreateSelect(b_.CreateICmpSLT(inside, last), inside, last);
  return along;
}

// The same as arrays/reading/row_sampler-inl.h does by 256ths; floats have them all.
RowTextures::Along RowTextures::mixedAlong(const Request& r, unsigned axis, Value* at, Tests& tests) {
  LType* const real = b_.getFloatTy();
  Value *const last = r.texture.lastReal[axis], *const zero = llvm::ConstantFP::get(real, 0);
  at = clamped(scaled(r, axis, at), llvm::ConstantFP::get(real, -1), r.texture.size[axis]);
  Value* const half = b_.real(at, real, 0.5);
  Value* const parts = b_.real(at, real, 256);
  Value* const fixed = floorOf(b_.CreateFAdd(b_.CreateFMul(b_.CreateFSub(at, half), parts), half));
  Value* const first = floorOf(b_.CreateFMul(fixed, b_.real(at, real, 1.0 / 256)));
  Along along;
  along.share = b_.CreateFSub(fixed, b_.CreateFMul(first, parts));
  Value* const between =
      b_.CreateAnd(b_.CreateFCmpOGE(first, b_.splatLike(at, zero)), b_.CreateFCmpOLT(first, b_.splatLike(at, last)));
  if (r.kind.clamps)
    along.share = b_.CreateSelect(between, along.share, b_.splatLike(at, zero));
  else
    tests.add(between);
  LType* const whole = b_.like(at, b_.getInt32Ty());
  along.index[0] = b_.CreateFPToSI(clamped(first, zero, last), whole);
  along.index[1] = b_.CreateFPToSI(clamped(b_.CreateFAdd(first, b_.real(at, real, 1)), zero, last), whole);
  return along;
}

RowTextures::Along RowTextures::along(const Request& r, unsigned axis, Value* at, Tests& tests) {
  if (r.whole) return wholeAlong(r, axis, at, tests);
  if (r.linear) return mixedAlong(r, axis, at, tests);
  at = scaled(r, axis, at);
  Value* const zero = llvm::ConstantFP::get(b_.getFloatTy(), 0);
  if (!r.kind.clamps) {
    tests.add(b_.CreateFCmpOGE(at, b_.splatLike(at, zero)));
    tests.add(b_.CreateFCmpOLT(at, b_.splatLike(at, r.texture.size[axis])));
  }
  Along along;
  along.index[0] = b_.CreateFPToSI(clamped(at, zero, r.texture.lastReal[axis]), b_.like(at, b_.getInt32Ty()));
  return along;
}

// The coordinate along y of all lanes of a chunk.
llvm::Value* RowTextures::rowOfLanes(const Request& r, uint32_t chunk, Tests& tests) {
  const Shape& shape = program_.values[r.at[1]].shape;
  if (shape.uniform()) return values_.scalarOf(r.at[1]);
  if (shape.sameInRow() && rowLanes_ >= w_) return values_.rowOf(r.at[1], chunk * w_ / rowLanes_);
  Value* const lanes = b_.asInteger(values_.chunkOf(r.at[1], chunk), 32);
  Value* const first = b_.CreateExtractElement(lanes, uint64_t{0});
  tests.add(b_.CreateICmpEQ(lanes, b_.splatLike(lanes, first)));
  return r.whole ? first : b_.CreateBitCast(first, b_.getFloatTy());
}

void RowTextures::setRows(const Request& r, uint32_t chunk, Place& place, Tests& tests) {
  place.row[0] = place.row[1] = r.texture.base;
  if (r.kind.axes < 2) return;
  const Along down = along(r, 1, rowOfLanes(r, chunk, tests), tests);
  for (unsigned side = 0; side < 2 && down.index[side]; ++side) {
    Value* const bytes = b_.CreateMul(b_.CreateZExt(down.index[side], b_.getInt64Ty()), r.texture.rowPitch);
    place.row[side] = b_.CreateGEP(b_.getInt8Ty(), r.texture.base, bytes);
  }
  place.shareY = down.share;
}

RowTextures::Places RowTextures::placesOf(const Request& r) {
  Tests tests(*this, r.mask, r.texture.fits);
  Places places;
  for (uint32_t c = 0; c < k_; ++c) {
    tests.beginChunk(c);
    Place place;
    place.x = along(r, 0, values_.chunkOf(r.at[0], c), tests);
    setRows(r, c, place, tests);
    if (permutes(r.kind)) {
      place.first = b_.CreateExtractElement(place.x.index[0], uint64_t{0});
      Value* const firsts = b_.CreateVectorSplat(w_, place.first);
      for (Value*& index : place.x.index) {
        if (!index) continue;
        index = b_.CreateSub(index, firsts);
        tests.add(b_.CreateICmpULT(index, b_.number(index, b_.getInt32Ty(), window(r.kind))));
      }
    }
    places.chunks.push_back(place);
  }
  places.all = tests.all();
  return places;
}

// The whole number that a coordinate is, or is a little more than; kNone where it is none that lanes count up.
ValueId RowTextures::countedLanes(ValueId coordinate) const {
  const auto counts = [&](ValueId id) {
    const auto& v = program_.values[id];
    return v.type == Class::I32 && v.shape.straight() && v.shape.stride == 1 && !v.shape.fragile;
  };
  ValueId id = coordinate;
  for (int depth = 0; depth < 2; ++depth) {
    const auto& v = program_.values[id];
    if (v.kind != vg::ptx::gen::Value::Result) return kNone;
    const Instruction& i = program_.instructions[v.instruction];
    if (i.ast->op == Op::Cvt) {
      const bool isPlain = i.guard == kNone && i.ast->type() == Type::F32 &&
                           (i.ast->types[1] == Type::S32 || i.ast->types[1] == Type::U32);
      return isPlain && counts(i.sources[0]) ? i.sources[0] : kNone;
    }
    if (!isWholeSum(program_, i, id)) return kNone;
  }
  return kNone;
}

// Where the lanes of each chunk read elements side by side; nothing where that is never so for all that is known.
std::optional<RowTextures::Places> RowTextures::consecutive(const Request& r) {
  if (r.linear || (r.kind.normalized && !r.whole)) return {};
  ValueId lanes = r.at[0];
  if (!r.whole) lanes = countedLanes(lanes);
  if (lanes == kNone) return {};
  const auto& v = program_.values[lanes];
  if (v.type != Class::I32 || !v.shape.straight() || v.shape.stride != 1 || v.shape.fragile) return {};
  const bool isRows = v.shape.rows();
  if (isRows && rowLanes_ < w_) return {};
  Tests tests(*this, r.mask, r.texture.fits);
  // Where numbers below zero would wrap they are too large.
  const auto addRange = [&](Value* first, uint32_t count) {
    Value* const before = b_.getInt32(count - 1);
    tests.add(b_.CreateICmpSGE(r.texture.last[0], before));
    tests.add(b_.CreateICmpULE(first, b_.CreateSub(r.texture.last[0], before)));
  };
  if (!isRows) addRange(values_.scalarOf(lanes), kWarpSize);
  Places places;
  for (uint32_t c = 0; c < k_; ++c) {
    tests.beginChunk(c);
    Place place;
    const uint32_t skipped = isRows ? c * w_ % rowLanes_ : c * w_;
    Value* const first = isRows ? values_.rowOf(lanes, c * w_ / rowLanes_) : values_.scalarOf(lanes);
    place.first = b_.CreateAdd(first, b_.getInt32(skipped));
    if (isRows) addRange(place.first, w_);
    setRows(r, c, place, tests);
    places.chunks.push_back(place);
  }
  places.all = tests.all();
  return places;
}

// Whether elements can be permuted out of vectors, of how many.
bool RowTextures::permutes(const TextureKind& kind) const {
  if (!options_.avx512 || w_ != 16) return false;
  return kind.unit() == 1 ? options_.permutesBytes : kind.unit() <= 4;
}
uint32_t RowTextures::window(const TextureKind& kind) const { return kind.unit() == 1 ? 64 : 32; }

// The elements of a row from the first on, as far as it goes.
Chunks RowTextures::loadWindow(const Request& r, Value* row, Value* first) {
  const uint32_t unit = r.kind.unit(), count = window(r.kind), each = std::min(count, 64 / unit);
  LType* const bits = b_.getIntNTy(count);
  Value* const beyond = b_.CreateSub(r.texture.last[0], first);  // the first
  Value* const most = b_.getInt32(count - 1);
  Value* const shift = b_.CreateSub(most, b_.CreateSelect(b_.CreateICmpULT(beyond, most), beyond, most));
  Value* const there = b_.CreateLShr(llvm::Constant::getAllOnesValue(bits), b_.CreateZExtOrTrunc(shift, bits));
  Value* const lanes = b_.CreateBitCast(there, llvm::FixedVectorType::get(b_.getInt1Ty(), count));
  Value* const start = b_.CreateMul(b_.CreateZExt(first, b_.getInt64Ty()), b_.getInt64(unit));
  auto* const type = llvm::FixedVectorType::get(b_.getIntNTy(8 * unit), each);
  Chunks out;
  for (uint32_t n = 0; n < count; n += each) {
    Value* const at = b_.CreateGEP(b_.getInt8Ty(), row, b_.CreateAdd(start, b_.getInt64(uint64_t{n} * unit)));
    out.push_back(b_.CreateMaskedLoad(type, at, llvm::Align(1), each == count ? lanes : b_.slice(lanes, n, each),
                                      llvm::Constant::getNullValue(type)));
  }
  return out;
}

// Which element of a window each lane wants, as a word.
Chunks RowTextures::permuted(const TextureKind& kind, const Chunks& window, Value* lanes) {
  if (kind.unit() == 4)
    return {b_.CreateIntrinsic(lanes->getType(), llvm::Intrinsic::x86_avx512_vpermi2var_d_512,
                               {window[0], lanes, window[1]})};
  LType* const type = window[0]->getType();
  const auto id =
      kind.unit() == 1 ? llvm::Intrinsic::x86_avx512_permvar_qi_512 : llvm::Intrinsic::x86_avx512_permvar_hi_512;
  Value* const found = b_.CreateIntrinsic(type, id, {window[0], b_.CreateBitCast(lanes, type)});
  Value* const words = b_.CreateBitCast(found, lanes->getType());
  return {b_.CreateAnd(words, b_.number(words, b_.getInt32Ty(), kind.unit() == 1 ? 0xff : 0xffff))};
}

Chunks RowTextures::gathered(const TextureKind& kind, Value* row, Value* index) {
  const uint32_t unit = kind.unit();
  LType *const word = b_.getInt32Ty(), *const type = b_.vectorOf(word);
  Value* const offsets = b_.CreateMul(index, b_.number(index, word, unit));
  const auto gather = [&](Value* bytes) {
    return b_.CreateMaskedGather(type, b_.CreateGEP(b_.getInt8Ty(), row, bytes), llvm::Align(4));
  };
  if (unit < 4) {  // the word around it
    Value* const three = b_.number(index, word, 3);
    Value* const words = gather(b_.CreateAnd(offsets, b_.CreateNot(three)));
    return {b_.CreateLShr(words, b_.CreateShl(b_.CreateAnd(offsets, three), b_.number(index, word, 3)))};
  }
  Chunks out;
  for (uint32_t at = 0; at < unit; at += 4) out.push_back(gather(b_.CreateAdd(offsets, b_.number(index, word, at))));
  return out;
}

// The words of the elements that lanes read on one side along x and along y.
Chunks RowTextures::elements(const Request& r, const Place& place, unsigned side, unsigned down) {
  if (!permutes(r.kind)) return gathered(r.kind, place.row[down], place.x.index[side]);
  return permuted(r.kind, loadWindow(r, place.row[down], place.first), place.x.index[side]);
}

// One vector for each channel, as numbers without a sign.
Chunks RowTextures::sideBySide(const Request& r, const Place& place) {
  const TextureKind& kind = r.kind;
  Value* const start = b_.CreateMul(b_.CreateZExt(place.first, b_.getInt64Ty()), b_.getInt64(kind.unit()));
  auto* const type = llvm::FixedVectorType::get(b_.getIntNTy(8u * kind.channelBytes), w_ * kind.channels);
  Value* const loaded = b_.CreateAlignedLoad(type, b_.CreateGEP(b_.getInt8Ty(), place.row[0], start), llvm::Align(1));
  Chunks out;
  for (uint32_t channel = 0; channel < kind.channels; ++channel) {
    llvm::SmallVector<int, 16> order;
    for (uint32_t l = 0; l < w_; ++l) order.push_back(static_cast<int>(l * kind.channels + channel));
    Value* const one = kind.channels == 1 ? loaded : b_.CreateShuffleVector(loaded, order);
    out.push_back(b_.CreateZExt(one, b_.vectorOf(b_.getInt32Ty())));
  }
  return out;
}

llvm::Value* RowTextures::channelOf(const TextureKind& kind, const Chunks& words, uint32_t channel) {
  const uint32_t bits = 8u * kind.channelBytes, at = channel * bits;
  Value* raw = words[at / 32];
  if (bits == 32) return raw;
  if (at % 32) raw = b_.CreateLShr(raw, b_.number(raw, b_.getInt32Ty(), at % 32));
  return b_.CreateAnd(raw, b_.number(raw, b_.getInt32Ty(), (1u << bits) - 1));
}

// number / (2^bits - 1), rounded correctly: multiplied, and the rest of that divided.
llvm::Value* RowTextures::fraction(Value* number, uint32_t channelBytes) {
  LType* const real = b_.getFloatTy();
  const float all = channelBytes == 1 ? 255 : 65535;
  if (!options_.fma) return b_.CreateFDiv(number, b_.real(number, real, all));
  Value* const share = b_.real(number, real, 1 / all);
  Value* const first = b_.CreateFMul(number, share);
  Value* const rest = b_.intrinsic(llvm::Intrinsic::fma, {first, b_.real(number, real, -all), number});
  return b_.intrinsic(llvm::Intrinsic::fma, {rest, share, first});
}

llvm::Value* RowTextures::decoded(const TextureKind& kind, Value* raw) {
  LType* const real = b_.like(raw, b_.getFloatTy());
  const uint32_t unused = 32 - 8u * kind.channelBytes;
  switch (kind.decoding) {
    case TexelDecoding::Signed: {
      Value* const shift = b_.number(raw, b_.getInt32Ty(), unused);
      return unused ? b_.CreateAShr(b_.CreateShl(raw, shift), shift) : raw;
    }
    case TexelDecoding::Unorm:
      return b_.asInteger(fraction(b_.CreateSIToFP(raw, real), kind.channelBytes), 32);
    default:
      return raw;
  }
}

Chunks RowTextures::point(const Request& r, const Place& place, bool isConsecutive) {
  const Chunks words = isConsecutive ? sideBySide(r, place) : elements(r, place, 0, 0);
  Chunks out;
  for (uint32_t channel = 0; channel < r.kind.channels; ++channel) {
    const bool wanted = isRead(r, channel);
    Value* const raw = !wanted ? nullptr : isConsecutive ? words[channel] : channelOf(r.kind, words, channel);
    out.push_back(raw ? decoded(r.kind, raw) : nullptr);
  }
  return out;
}

// What is kept of a sum of elements by weights in 256ths: as Mixture in arrays/reading/sampler.cpp. Sums of integers
// and of fractions are exact.
llvm::Value* RowTextures::sumOf(const TextureKind& kind, llvm::ArrayRef<Value*> parts, llvm::ArrayRef<Value*> weights) {
  LType *const real = b_.getFloatTy(), *const word = b_.vectorOf(b_.getInt32Ty());
  Value* sum = b_.real(weights[0], real, 0);
  if (kind.decoding == TexelDecoding::Word) {
    for (size_t n = 0; n < parts.size(); ++n) {
      Value* const share = b_.CreateFMul(weights[n], b_.real(weights[n], real, 1.0 / 256));
      Value* const part = b_.CreateFMul(share, b_.asFloat(parts[n], real));
      Value *const nothing = b_.real(weights[n], real, 0), *const counts = b_.CreateFCmpUNE(weights[n], nothing);
      sum = b_.CreateFAdd(sum, b_.CreateSelect(counts, part, nothing));
    }
    return b_.asInteger(sum, 32);
  }
  const bool isFraction = kind.decoding == TexelDecoding::Unorm;
  const auto times = [&](Value* a, Value* b, Value* plus) {
    if (options_.fma) return b_.intrinsic(llvm::Intrinsic::fma, {a, b, plus});
    return b_.CreateFAdd(b_.CreateFMul(a, b), plus);  // exact, too
  };
  for (size_t n = 0; n < parts.size(); ++n) sum = times(b_.CreateSIToFP(parts[n], b_.vectorOf(real)), weights[n], sum);
  const double scale = isFraction && kind.channelBytes == 1 ? 257.0 / 256 : 1.0 / 256;  // fractions: of 65535
  Value* const kept = floorOf(times(sum, b_.real(sum, real, scale), b_.real(sum, real, 0.5)));
  return isFraction ? b_.asInteger(fraction(kept, 2), 32) : b_.CreateFPToSI(kept, word);
}

Chunks RowTextures::mixed(const Request& r, const Place& place) {
  LType* const real = b_.getFloatTy();
  const TextureKind& kind = r.kind;
  const unsigned rows = kind.axes;
  Value* const second = place.x.share;
  llvm::SmallVector<Value*, 4> weights{b_.CreateFSub(b_.real(second, real, 256), second), second};
  if (rows == 2) {  // as Weights in arrays/reading/sampler.cpp
    Value* const down = b_.splatLike(second, place.shareY);
    for (unsigned side = 0; side < 2; ++side) {
      Value* const whole = b_.CreateFAdd(b_.CreateFMul(weights[side], down), b_.real(second, real, side ? 128 : 127));
      weights.push_back(floorOf(b_.CreateFMul(whole, b_.real(second, real, 1.0 / 256))));
      weights[side] = b_.CreateFSub(weights[side], weights[2 + side]);
    }
  }
  llvm::SmallVector<Chunks, 4> words;
  for (unsigned down = 0; down < rows; ++down) {
    const Chunks window = permutes(kind) ? loadWindow(r, place.row[down], place.first) : Chunks{};
    for (unsigned side = 0; side < 2; ++side)
      words.push_back(permutes(kind) ? permuted(kind, window, place.x.index[side])
                                     : gathered(kind, place.row[down], place.x.index[side]));
  }
  TextureKind whole = kind;  // fractions are summed as the numbers that they are stored as
  if (kind.decoding == TexelDecoding::Unorm) whole.decoding = TexelDecoding::Unsigned;
  Chunks out;
  for (uint32_t channel = 0; channel < kind.channels; ++channel) {
    llvm::SmallVector<Value*, 4> parts;
    const bool wanted = isRead(r, channel);
    for (size_t n = 0; wanted && n < words.size(); ++n)
      parts.push_back(decoded(whole, channelOf(kind, words[n], channel)));
    out.push_back(wanted ? sumOf(kind, parts, weights) : nullptr);
  }
  return out;
}

// Channels that a texture does not have are zero.
Components RowTextures::readEach(const Request& r, const Places& places, bool isConsecutive) {
  Components channels(kMostChannels);
  Value* const none = llvm::Constant::getNullValue(b_.vectorOf(b_.getInt32Ty()));
  for (const Place& place : places.chunks) {
    const Chunks read = r.linear ? mixed(r, place) : point(r, place, isConsecutive);
    for (uint32_t channel = 0; channel < kMostChannels; ++channel)
      channels[channel].push_back(channel < read.size() && read[channel] ? read[channel] : none);
  }
  Components out;
  for (size_t n = 0; n < r.i.results.size(); ++n) out.push_back(channels[r.shape.results[n]]);
  return out;
}

std::optional<Components> RowTextures::read(const Instruction& i, const TextureShape& shape, const Mask& mask,
                                            const std::function<Components()>& call) {
  const TextureForm& form = shape.form;
  const bool isKnown = form.operation == TextureOperation::Sample && form.levels == TextureLevels::Base &&
                       form.detail == 0 && (form.flags & ~kWholeCoordinates) == 0 &&
                       (form.geometry == TextureGeometry::Line || form.geometry == TextureGeometry::Plane);
  const auto axes = static_cast<size_t>(axesOf(form.geometry));
  if (!isKnown || shape.slots.size() != 1 + axes) return {};
  for (const uint8_t slot : shape.results)
    if (slot >= kMostChannels) return {};
  const std::optional<uint32_t> parameter = givenPointer(program_, i.sources[0]);
  if (!parameter) return {};
  emission_.traits.samples = true;
  const std::optional<TextureHint> hint = hintFor(*parameter);
  if (!hint || emission_.lean) return {};
  const TextureKind kind = textureKindOf(hint->kind);
  if (kind.axes != axes) return {};
  const bool whole = form.has(kWholeCoordinates);
  const Request r{i,
                  shape,
                  mask,
                  kind,
                  whole,
                  kind.linear && !whole,
                  {i.sources[1], axes > 1 ? i.sources[2] : kNone},
                  textureAt(*parameter, hint->kind)};
  BB *const rows = b_.newBlock("texels"), *const lanes = b_.newBlock("lanes");
  const auto inLanes = [&](const Places& places, BB* there, BB* elsewhere) {
    return b_.eitherOf(
        there, [&] { return readEach(r, places, false); }, elsewhere, call);
  };
  if (const std::optional<Places> places = consecutive(r)) {
    b_.branchToRow(places->all, rows, lanes);
    return b_.eitherOf(
        rows, [&] { return readEach(r, *places, true); }, lanes,
        [&] {
          BB *const there = b_.newBlock("texels"), *const elsewhere = b_.newBlock("call");
          const Places each = placesOf(r);
          b_.CreateCondBr(each.all, there, elsewhere);
          return inLanes(each, there, elsewhere);
        });
  }
  const Places places = placesOf(r);
  b_.branchToRow(places.all, rows, lanes);
  return inLanes(places, rows, lanes);
}

}  // namespace vg::ptx::gen
