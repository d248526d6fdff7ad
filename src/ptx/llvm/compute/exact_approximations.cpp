// Approximate functions to the bit, for all lanes at once: what ptx/operations/special_functions.h does, in
// 32-bit arithmetic. A segment's coefficients come from permutes of registers where there are AVX-512's, else from
// memory.
#include "ptx/llvm/compute/exact_approximations.h"

#include <llvm/IR/IntrinsicsX86.h>

#include <array>
#include <iterator>
#include <utility>

#include "ptx/operations/special_functions.h"
#include "ptx/text/op.h"

namespace vg::ptx::gen {

using llvm::ArrayRef;

namespace {

constexpr uint32_t kNaN = 0x7fffffff, kInfinity = 0x7f800000, kSign = 0x80000000, kSmallest = 0x00800000;
constexpr uint32_t kFraction = 0x7fffff;
constexpr int kTowardsZero = 3;                                         // a rounding, as in MXCSR
constexpr uint32_t kInfinity64 = 0x7ff00000, kSmallest64 = 0x00100000;  // upper words of f64

using Column = llvm::SmallVector<uint32_t, 128>;

// One coefficient of all segments; of two tables, the segments of the first come first.
Column column(ArrayRef<special::Segment> first, ArrayRef<special::Segment> second, int32_t special::Segment::*member) {
  Column all;
  for (const ArrayRef<special::Segment> table : {first, second})
    for (const special::Segment& segment : table) all.push_back(static_cast<uint32_t>(segment.*member));
  return all;
}

}  // namespace

// --- Pieces

llvm::Value* ExactApproximations::word(Value* shape, uint32_t bits) { return b_.number(shape, b_.getInt32Ty(), bits); }

// Entries of a table whose length is a power of two from 32 on.
llvm::Value* ExactApproximations::permuted(ArrayRef<uint32_t> table, Value* index) {
  const auto values = [&](size_t first) {
    return llvm::ConstantDataVector::get(b_.getContext(), table.slice(first, 16));
  };
  if (table.size() == 32)
    return b_.callIntrinsic(llvm::Intrinsic::x86_avx512_vpermi2var_d_512, {}, {values(0), index, values(16)});
  const size_t half = table.size() / 2;
  Value* const upper = b_.CreateICmpNE(b_.CreateAnd(index, word(index, static_cast<uint32_t>(half))), word(index, 0));
  return b_.CreateSelect(upper, permuted(table.drop_front(half), index), permuted(table.take_front(half), index));
}

// One variable of the module for all uses of a table.
llvm::Constant* ExactApproximations::tableOf(ArrayRef<uint32_t> words) {
  llvm::Constant* const values = llvm::ConstantDataArray::get(b_.getContext(), words);
  llvm::GlobalVariable*& known = tables_[values];
  if (known) return known;
  known =
      new llvm::GlobalVariable(module_, values->getType(), true, llvm::GlobalValue::PrivateLinkage, values, "segments");
  known->setAlignment(llvm::Align(16));
  return known;
}

// Rows of four words, one for each segment.
llvm::Constant* ExactApproximations::rowsOf(const SegmentTable& table) {
  llvm::SmallVector<uint32_t, 512> words;
  for (const ArrayRef<special::Segment> part : {table.first, table.second})
    for (const special::Segment& s : part)
      for (const int32_t c : {s.c0, s.c1, s.c2, 0}) words.push_back(static_cast<uint32_t>(c));
  return tableOf(words);
}

// Of a table of 16.
llvm::Value* ExactApproximations::entryOf(ArrayRef<uint32_t> table, Value* index) {
  const auto* const lanes = llvm::dyn_cast<llvm::FixedVectorType>(index->getType());
  if (options_.avx512 && lanes && lanes->getNumElements() == 16) {
    Value* const values = llvm::ConstantDataVector::get(b_.getContext(), table);
    return b_.callIntrinsic(llvm::Intrinsic::x86_avx512_permvar_si_512, {}, {values, index});
  }
  LType* const element = b_.getInt32Ty();
  llvm::Constant* const words = tableOf(table);
  const auto at = [&](Value* place) { return b_.CreateLoad(element, b_.CreateInBoundsGEP(element, words, place)); };
  if (!lanes) return at(index);
  Value* all = llvm::Constant::getNullValue(index->getType());
  for (uint32_t lane = 0; lane < lanes->getNumElements(); ++lane)
    all = b_.CreateInsertElement(all, at(b_.CreateExtractElement(index, lane)), lane);
  return all;
}

// The columns of rows of four words: of each row the first three, as vectors of a word for each row.
ExactApproximations::Coefficients ExactApproximations::transposed(ArrayRef<Value*> rows) {
  const auto lanes = static_cast<int>(rows.size());
  const auto woven = [&](Value* a, Value* b, int first, int width) {  // pieces of both in turns, in each four words
    llvm::SmallVector<int, 16> places;
    for (int quad = 0; quad < lanes; quad += 4)
      for (int piece = first; piece < first + 4 / width / 2; ++piece)
        for (const int from : {quad, lanes + quad})
          for (int n = 0; n < width; ++n) places.push_back(from + piece * width + n);
    return b_.CreateShuffleVector(a, b, places);
  };
  Value* group[4];  // rows n, n + 4 ... one behind the other
  for (size_t n = 0; n < 4; ++n) {
    llvm::SmallVector<Value*, 4> pieces;
    for (size_t row = n; row < rows.size(); row += 4) pieces.push_back(rows[row]);
    group[n] = b_.joined(pieces);
  }
  Value *const low01 = woven(group[0], group[1], 0, 1), *const high01 = woven(group[0], group[1], 2, 1);
  Value *const low23 = woven(group[2], group[3], 0, 1), *const high23 = woven(group[2], group[3], 2, 1);
  return {woven(low01, low23, 0, 2), woven(low01, low23, 1, 2), woven(high01, high23, 0, 2)};
}

ExactApproximations::Coefficients ExactApproximations::coefficients(const SegmentTable& table, Value* index) {
  const auto* const lanes = llvm::dyn_cast<llvm::FixedVectorType>(index->getType());
  if (options_.avx512 && lanes && lanes->getNumElements() == 16) {
    const auto of = [&](auto member) { return permuted(column(table.first, table.second, member), index); };
    return {of(&special::Segment::c0), of(&special::Segment::c1), of(&special::Segment::c2)};
  }
  LType* const element = b_.getInt32Ty();
  llvm::Constant* const rows = rowsOf(table);
  Value* const first = b_.CreateShl(index, word(index, 2));
  const auto at = [&](Value* place) { return b_.CreateInBoundsGEP(element, rows, place); };
  if (!lanes) {
    const auto of = [&](uint32_t n) { return b_.CreateLoad(element, at(b_.CreateAdd(first, word(index, n)))); };
    return {of(0), of(1), of(2)};
  }
  LType* const row = llvm::FixedVectorType::get(element, 4);
  llvm::SmallVector<Value*, 16> loaded;
  for (uint32_t lane = 0; lane < lanes->getNumElements(); ++lane)
    loaded.push_back(b_.CreateAlignedLoad(row, at(b_.CreateExtractElement(first, lane)), llvm::Align(16)));
  return transposed(loaded);
}

// The square of 17 bits without products of two bits that weigh less than 2^-15. Of the upper eight bits all products
// count; each of the upper seven goes with as many of the lower nine as are heavy enough.
llvm::Value* ExactApproximations::lightSquare(Value* x) {
  Value *const upper = b_.CreateLShr(x, word(x, 9)), *const lower = b_.CreateAnd(x, word(x, 511));
  Value* sum = b_.CreateLShr(b_.CreateMul(upper, upper), word(x, 1));
  for (uint32_t i = 1; i <= 7; ++i) {
    Value* const set = b_.CreateICmpNE(b_.CreateAnd(x, word(x, 1u << (17 - i))), word(x, 0));
    Value* const more = b_.CreateAdd(sum, b_.CreateLShr(lower, word(x, i + 1)));
    sum = b_.CreateSelect(set, more, sum);
  }
  return sum;
}

// c0 * 2^13 + bias + c1 * x + curved, as its upper bits and its lowest 18.
static std::pair<llvm::Value*, llvm::Value*> sumOfTerms(llvm::IRBuilder<>& b, llvm::Value* c0, llvm::Value* c1,
                                                        llvm::Value* x, llvm::Value* curved, int bias) {
  const auto word = [&](uint32_t bits) { return llvm::ConstantInt::get(x->getType(), bits); };
  llvm::Value *const upper = b.CreateLShr(x, word(9)), *const lower = b.CreateAnd(x, word(511));
  // In units of 2^-18, less than 2^31; then of 2^-9.
  llvm::Value* fine = b.CreateAdd(b.CreateMul(c1, lower), word(static_cast<uint32_t>(bias)));
  fine = b.CreateAdd(fine, curved);
  llvm::Value* middle = b.CreateShl(b.CreateAnd(c0, word(31)), word(4));
  middle = b.CreateAdd(b.CreateAdd(middle, b.CreateMul(c1, upper)), b.CreateAShr(fine, word(9)));
  llvm::Value* const high = b.CreateAdd(b.CreateAShr(c0, word(5)), b.CreateAShr(middle, word(9)));
  llvm::Value* const low =
      b.CreateOr(b.CreateShl(b.CreateAnd(middle, word(511)), word(9)), b.CreateAnd(fine, word(511)));
  return {high, low};
}

// With c2 * 4 * square(x).
ExactApproximations::SegmentSum ExactApproximations::segmentSum(const SegmentTable& table, Value* index, Value* x) {
  const auto [c0, c1, c2] = coefficients(table, index);
  Value* const curved = b_.CreateShl(b_.CreateMul(c2, lightSquare(x)), word(x, 2));
  const auto [high, low] = sumOfTerms(b_, c0, c1, x, curved, table.bias);
  return {high, low};
}

ExactApproximations::SegmentSum ExactApproximations::segmentSum(const SegmentTable& table, Value* fraction) {
  return segmentSum(table, b_.CreateLShr(fraction, word(fraction, 17)),
                    b_.CreateAnd(fraction, word(fraction, 0x1ffff)));
}

// sum * 2^-18 in f64, exact; and what f64 is cut to 24 bits in f32.
llvm::Value* ExactApproximations::wideSum(const SegmentSum& sum) {
  LType* const wide = b_.like(sum.high, b_.getDoubleTy());
  Value* const high = b_.CreateSIToFP(sum.high, wide);
  Value* const low = b_.CreateSIToFP(sum.low, wide);
  return b_.CreateFAdd(high, b_.CreateFMul(low, b_.real(high, b_.getDoubleTy(), 0x1p-18)));
}
llvm::Value* ExactApproximations::cutToFloat(Value* wide) {
  Value* const bits = b_.asInteger(wide, 64);
  Value* const cut = b_.CreateAnd(bits, b_.number(bits, b_.getInt64Ty(), ~uint64_t{0x1fffffff}));
  return b_.CreateFPTrunc(b_.asFloat(cut, b_.getDoubleTy()), b_.like(wide, b_.getFloatTy()));
}

// The exponent and the fraction of a magnitude; without ftz of a subnormal one, too.
ExactApproximations::FloatParts ExactApproximations::partsOf(Value* magnitude, bool ftz) {
  Value* normal = magnitude;
  Value* bias = word(magnitude, 127);
  if (!ftz) {
    Value* const tiny = b_.CreateICmpULT(magnitude, word(magnitude, kSmallest));
    Value* const number = b_.asFloat(magnitude, b_.getFloatTy());
    normal = b_.CreateSelect(tiny, b_.asInteger(b_.CreateFMul(number, b_.real(number, b_.getFloatTy(), 0x1p24)), 32),
                             normal);
    bias = b_.CreateSelect(tiny, word(magnitude, 127 + 24), bias);
  }
  return {b_.CreateSub(b_.CreateLShr(normal, word(normal, 23)), bias), b_.CreateAnd(normal, word(normal, kFraction))};
}

// 1.fraction * 2^exponent of its 24 bits: the bits of f32, where the exponent is one that f32 has.
llvm::Value* ExactApproximations::assembled(Value* exponent, Value* digits) {
  return b_.CreateAdd(b_.CreateShl(b_.CreateAdd(exponent, word(exponent, 126)), word(exponent, 23)), digits);
}

// --- Digits: 24 bits of a fraction of 23, of the roots by whether the exponent is odd

llvm::Value* ExactApproximations::reciprocalDigits(Value* fraction) {
  Value* const x = b_.CreateShl(b_.CreateAnd(fraction, word(fraction, 0xffff)), word(fraction, 1));
  const SegmentTable table{special::kReciprocal, {}, special::kReciprocalBias};
  return segmentSum(table, b_.CreateLShr(fraction, word(fraction, 16)), x).high;
}

llvm::Value* ExactApproximations::rootDigits(const SegmentTable& table, Value* odd, Value* fraction) {
  Value* const index = b_.CreateOr(b_.CreateShl(odd, word(odd, 6)), b_.CreateLShr(fraction, word(odd, 17)));
  return segmentSum(table, index, b_.CreateAnd(fraction, word(odd, 0x1ffff))).high;
}

// Of even powers of two they are exact.
llvm::Value* ExactApproximations::rootReciprocalDigits(Value* odd, Value* fraction) {
  const SegmentTable table{special::kRootReciprocalEven, special::kRootReciprocalOdd, special::kRootReciprocalBias};
  Value* const digits = rootDigits(table, odd, fraction);
  Value* const exact = b_.CreateICmpEQ(b_.CreateOr(odd, fraction), word(odd, 0));
  return b_.CreateSelect(exact, word(odd, 1u << 24), digits);
}

// --- Functions, of bits

llvm::Value* ExactApproximations::exactReciprocal(Value* bits, bool ftz) {
  Value* const sign = b_.CreateAnd(bits, word(bits, kSign));
  Value* const magnitude = b_.CreateAnd(bits, word(bits, ~kSign));
  const FloatParts p = partsOf(magnitude, ftz);
  Value* const digits = reciprocalDigits(p.fraction);
  Value* const exponent = b_.CreateSub(word(bits, static_cast<uint32_t>(-1)), p.exponent);
  Value* out = assembled(exponent, digits);
  Value* const tiny = b_.CreateICmpUGT(magnitude, word(bits, 0x7e800000));  // 2^126
  if (ftz) {
    out = b_.CreateSelect(tiny, word(bits, 0), out);
    out = b_.CreateSelect(b_.CreateICmpULT(magnitude, word(bits, kSmallest)), word(bits, kInfinity), out);
  } else {
    Value* const larger = b_.asFloat(assembled(b_.CreateAdd(exponent, word(bits, 8)), digits), b_.getFloatTy());
    Value* const rounded = b_.asInteger(b_.CreateFMul(larger, b_.real(larger, b_.getFloatTy(), 0x1p-8)), 32);
    out = b_.CreateSelect(tiny, rounded, out);
    out = b_.CreateSelect(b_.CreateICmpUGE(magnitude, word(bits, kInfinity)), word(bits, 0), out);
    out = b_.CreateSelect(b_.CreateICmpSGT(exponent, word(bits, 127)), word(bits, kInfinity), out);
  }
  out = b_.CreateOr(out, sign);
  return b_.CreateSelect(b_.CreateICmpUGT(magnitude, word(bits, kInfinity)), word(bits, kNaN), out);
}

// What the two roots have in common: half of the exponent, and the digits by the tables of even and odd ones.
llvm::Value* ExactApproximations::exactRoot(Value* bits, bool ftz, bool inverse) {
  const FloatParts p = partsOf(bits, ftz);  // of negative ones nothing is used
  Value* const odd = b_.CreateAnd(p.exponent, word(bits, 1));
  Value* const half = b_.CreateAShr(p.exponent, word(bits, 1));
  Value* const digits = inverse
                            ? rootReciprocalDigits(odd, p.fraction)
                            : rootDigits({special::kRootEven, special::kRootOdd, special::kRootBias}, odd, p.fraction);
  Value* const exponent = inverse ? b_.CreateSub(word(bits, static_cast<uint32_t>(-1)), half) : half;
  Value* out = assembled(exponent, digits);
  Value* const magnitude = b_.CreateAnd(bits, word(bits, ~kSign));
  Value* const none = b_.CreateICmpULT(magnitude, word(bits, ftz ? kSmallest : 1));
  Value* const sign = b_.CreateAnd(bits, word(bits, kSign));
  const auto choose = [&](Value* when, Value* what) { out = b_.CreateSelect(when, what, out); };
  choose(b_.CreateICmpEQ(bits, word(bits, kInfinity)), word(bits, inverse ? 0 : kInfinity));
  choose(b_.CreateICmpUGT(bits, word(bits, kInfinity)), word(bits, kNaN));
  choose(none, b_.CreateOr(sign, word(bits, inverse ? kInfinity : 0)));
  return out;
}

// Two to the power of a number of any size, in f32: beneath its normal numbers zero.
llvm::Value* ExactApproximations::powerOfTwo(Value* x) {
  LType* const type = b_.getFloatTy();
  Value* const magnitude = pieces_.absolute(x);
  Value* const most = b_.real(x, type, 255.0);  // what is larger gives the same
  Value* const bounded = b_.CreateSelect(b_.CreateFCmpOLT(magnitude, most), magnitude, most);
  Value* const places = b_.CreateFPToSI(b_.CreateFMul(bounded, b_.real(x, type, 0x1p23)), b_.like(x, b_.getInt32Ty()));
  // Below zero all bits are turned, but whole numbers are exact.
  Value* const whole = b_.CreateICmpEQ(b_.CreateAnd(places, word(x, kFraction)), word(x, 0));
  Value* const turned = b_.CreateSelect(whole, b_.CreateNeg(places), b_.CreateNot(places));
  Value* const at = b_.CreateSelect(b_.CreateFCmpOLT(x, b_.real(x, type, 0.0)), turned, places);
  const SegmentTable table{special::kPower, {}, special::kPowerBias};
  Value* const digits = segmentSum(table, b_.CreateAnd(at, word(x, kFraction))).high;
  Value* const exponent = b_.CreateAShr(at, word(x, 23));
  Value* out = assembled(exponent, digits);
  out = b_.CreateSelect(b_.CreateICmpSLT(exponent, word(x, static_cast<uint32_t>(-126))), word(x, 0), out);
  out = b_.CreateSelect(b_.CreateICmpSGT(exponent, word(x, 127)), word(x, kInfinity), out);
  return b_.asFloat(out, type);
}

llvm::Value* ExactApproximations::exactPower(Value* x, bool ftz) {
  LType* const type = b_.getFloatTy();
  Value* out;
  if (ftz) {
    out = powerOfTwo(x);
  } else {  // subnormal results are squares
    Value* const far = b_.CreateFCmpOLT(x, b_.real(x, type, -126.0));
    Value* const root = powerOfTwo(b_.CreateSelect(far, b_.CreateFMul(x, b_.real(x, type, 0.5)), x));
    out = b_.CreateSelect(far, b_.CreateFMul(root, root), root);
  }
  return b_.CreateSelect(b_.CreateFCmpUNO(x, x), b_.asFloat(word(x, kNaN), type), out);
}

llvm::Value* ExactApproximations::exactLogarithm(Value* bits, bool ftz) {
  LType* const wide = b_.getDoubleTy();
  LType* const type = b_.getFloatTy();
  const FloatParts p = partsOf(bits, ftz);
  Value* exponent = p.exponent;
  Value* const tiny = b_.CreateICmpULT(bits, word(bits, kSmallest));
  if (!ftz) exponent = b_.CreateSelect(tiny, b_.CreateAdd(exponent, word(bits, 24)), exponent);
  const SegmentTable table{special::kLogarithm, {}, special::kLogarithmBias};
  SegmentSum sum = segmentSum(table, p.fraction);
  // The unit has 36 places behind the point: five bits go, towards zero.
  Value* const below = b_.CreateICmpSLT(exponent, word(bits, 0));
  sum.low = b_.CreateAdd(sum.low, b_.CreateSelect(below, word(bits, 31), word(bits, 0)));
  sum.low = b_.CreateAnd(sum.low, word(bits, ~31u));
  Value* const ones = b_.CreateSIToFP(b_.CreateSub(exponent, word(bits, 1)), b_.like(bits, wide));
  Value* const total = b_.CreateFAdd(b_.CreateFMul(wideSum(sum), b_.real(ones, wide, 0x1p-23)), ones);
  Value* out = cutToFloat(total);
  if (!ftz) out = b_.CreateSelect(tiny, b_.CreateFSub(out, b_.real(out, type, 24.0)), out);
  Value* result = b_.asInteger(out, 32);
  const auto choose = [&](Value* when, uint32_t what) { result = b_.CreateSelect(when, word(bits, what), result); };
  choose(b_.CreateICmpEQ(bits, word(bits, 0x3f800000)), 0);  // of one it is exact
  choose(b_.CreateICmpEQ(bits, word(bits, kInfinity)), kInfinity);
  choose(b_.CreateICmpUGT(bits, word(bits, kInfinity)), kNaN);
  Value* const magnitude = b_.CreateAnd(bits, word(bits, ~kSign));
  choose(b_.CreateICmpULT(magnitude, word(bits, ftz ? kSmallest : 1)), kSign | kInfinity);
  return result;
}

// How many turns a magnitude of radians is, cut to 24 bits: the places of a turn behind the point.
llvm::Value* ExactApproximations::placeInTurn(Value* magnitude) {
  LType* const wide = b_.getDoubleTy();
  Value* const radians = b_.CreateFPExt(b_.asFloat(magnitude, b_.getFloatTy()), b_.like(magnitude, wide));
  Value* const turns = b_.CreateFMul(radians, b_.real(radians, wide, special::kTurnsOfRadian));
  // Rounding to f32 and back by a step where that went up; subnormal results have no places that count.
  Value* const near = b_.CreateFPTrunc(turns, b_.like(magnitude, b_.getFloatTy()));
  Value* const up = b_.CreateFCmpOGT(b_.CreateFPExt(near, turns->getType()), turns);
  Value* const bits = b_.CreateAdd(b_.asInteger(near, 32), b_.CreateSExt(up, magnitude->getType()));
  Value* const digits = b_.CreateOr(b_.CreateAnd(bits, word(bits, kFraction)), word(bits, kSmallest));
  constexpr uint32_t kUnit = 127 + 23 - special::kTurnBits;  // the exponent field of numbers whose unit is a place
  const auto by = [&](Value* amount) {                       // what is shifted out of 32 bits leaves none of the 25
    return b_.CreateSelect(b_.CreateICmpULT(amount, word(bits, 31)), amount, word(bits, 31));
  };
  Value* const left = b_.CreateSub(b_.CreateLShr(bits, word(bits, 23)), word(bits, kUnit));
  Value* const large = b_.CreateICmpSGE(left, word(bits, 0));
  return b_.CreateSelect(large, b_.CreateShl(digits, by(left)), b_.CreateLShr(digits, by(b_.CreateNeg(left))));
}

llvm::Value* ExactApproximations::exactSine(Value* bits, bool cosine) {
  Value* const magnitude = b_.CreateAnd(bits, word(bits, ~kSign));
  Value* const finite = b_.CreateICmpULT(magnitude, word(bits, kInfinity));
  Value* at = placeInTurn(b_.CreateSelect(finite, magnitude, word(bits, 0)));
  if (cosine) at = b_.CreateAdd(at, word(bits, 1u << (special::kTurnBits - 2)));
  Value* const back = b_.CreateICmpNE(b_.CreateAnd(at, word(bits, 1u << 23)), word(bits, 0));
  Value* const within = b_.CreateAnd(b_.CreateSelect(back, b_.CreateNot(at), at), word(bits, kFraction));
  const SegmentTable table{special::kSine, {}, special::kSineBias};
  Value* const sum = wideSum(segmentSum(table, within));
  Value* const out = cutToFloat(b_.CreateFMul(sum, b_.real(sum, b_.getDoubleTy(), 0x1p-24)));
  Value* sign = b_.CreateShl(b_.CreateLShr(at, word(bits, 24)), word(bits, 31));
  if (!cosine) sign = b_.CreateXor(sign, b_.CreateAnd(bits, word(bits, kSign)));
  return b_.CreateSelect(finite, b_.CreateXor(b_.asInteger(out, 32), sign), word(bits, kNaN));
}

llvm::Value* ExactApproximations::exactTangent(Value* bits) {
  static const std::array<uint32_t, 16> kBinades = [] {  // the bits of a power of two, then how many choose, the first
    std::array<uint32_t, 16> all{};
    for (size_t n = 0; n < std::size(special::kTangentBinades); ++n) {
      const special::TangentBinade& binade = special::kTangentBinades[n];
      all[n] = static_cast<uint32_t>(127 + 18 + binade.unit) << 23 | uint32_t{binade.choosing} << 8 | binade.first;
    }
    return all;
  }();
  Value *const sign = b_.CreateAnd(bits, word(bits, kSign)), *const magnitude = b_.CreateAnd(bits, word(bits, ~kSign));
  Value* const exponent = b_.CreateLShr(magnitude, word(bits, 23));
  Value* const binade = b_.CreateSub(exponent, word(bits, 127 + special::kLeastTangent));
  Value* const entry = entryOf(kBinades, b_.CreateAnd(binade, word(bits, 15)));
  Value* const choosing = b_.CreateAnd(b_.CreateLShr(entry, word(bits, 8)), word(bits, 31));
  Value* const moved = b_.CreateShl(b_.CreateAnd(bits, word(bits, kFraction)), choosing);
  Value* const index = b_.CreateAdd(b_.CreateAnd(entry, word(bits, 63)), b_.CreateLShr(moved, word(bits, 23)));
  Value* const x = b_.CreateLShr(b_.CreateAnd(moved, word(bits, kFraction)), word(bits, 6));
  const auto [c0, c1, c2] = coefficients({special::kTangent, {}, 0}, b_.CreateAnd(index, word(bits, 63)));
  const auto [high, low] = sumOfTerms(b_, c0, c1, x, b_.CreateMul(c2, lightSquare(x)), 0);
  Value* const unit = b_.asFloat(b_.CreateAnd(entry, word(bits, kInfinity)), b_.getFloatTy());
  Value* out = b_.asInteger(b_.CreateFMul(cutToFloat(wideSum({high, low})), unit), 32);
  out = b_.CreateSelect(b_.CreateICmpUGE(magnitude, word(bits, 0x41000000)), word(bits, 0x3f800000), out);  // from 8 on
  out = b_.CreateOr(out, sign);
  out = b_.CreateSelect(b_.CreateICmpULT(exponent, word(bits, 127 + special::kLeastTangent)), bits, out);
  return b_.CreateSelect(b_.CreateICmpUGT(magnitude, word(bits, kInfinity)), word(bits, kNaN), out);
}

// What f32 has beyond a half is cut; what is too large for one is infinite.
llvm::Value* ExactApproximations::exactHalf(Op op, Value* bits, Type type) {
  Value* const x = conversions_.halfToFloat(bits, type);
  Value* const out =
      op == Op::Ex2 ? exactPower(x, true) : b_.asFloat(exactTangent(b_.asInteger(x, 32)), b_.getFloatTy());
  Value* const half = conversions_.floatToHalf(out, type, kTowardsZero);
  if (type == Type::BF16) return half;
  Value* const large = b_.CreateFCmpOGE(out, b_.real(out, b_.getFloatTy(), 65536.0));
  return b_.CreateSelect(large, b_.number(half, b_.getInt16Ty(), 0x7c00), half);
}

// Of upper words, cut to 21 digits.
llvm::Value* ExactApproximations::exactReciprocal64(Value* bits, bool root) {
  Value *const sign = b_.CreateAnd(bits, word(bits, kSign)), *const magnitude = b_.CreateAnd(bits, word(bits, ~kSign));
  Value* const field = b_.CreateLShr(magnitude, word(bits, 20));
  Value* const fraction = b_.CreateShl(b_.CreateAnd(bits, word(bits, 0xfffff)), word(bits, 3));
  const auto assembledWith = [&](Value* digits, Value* exponent) {
    return b_.CreateAdd(b_.CreateShl(exponent, word(bits, 20)), b_.CreateLShr(digits, word(bits, 3)));
  };
  Value* const infinite = b_.CreateICmpEQ(magnitude, word(bits, kInfinity64));
  Value* const none = b_.CreateICmpULT(magnitude, word(bits, kSmallest64));
  Value* nan = b_.CreateICmpUGT(magnitude, word(bits, kInfinity64));
  Value* out;
  if (root) {
    Value* const exponent = b_.CreateSub(field, word(bits, 1023));
    Value* const odd = b_.CreateAnd(exponent, word(bits, 1));
    Value* const digits = rootReciprocalDigits(odd, fraction);
    out = assembledWith(digits, b_.CreateSub(word(bits, 1021), b_.CreateAShr(exponent, word(bits, 1))));
    out = b_.CreateSelect(infinite, word(bits, 0), out);
    Value* const negative = b_.CreateICmpNE(sign, word(bits, 0));
    nan = b_.CreateOr(nan, b_.CreateAnd(negative, b_.CreateNot(none)));
  } else {
    Value* const digits = reciprocalDigits(fraction);
    out = assembledWith(digits, b_.CreateSub(word(bits, 2044), field));
    Value* const tiny = b_.CreateICmpSLT(out, word(bits, kSmallest64));
    out = b_.CreateOr(b_.CreateSelect(b_.CreateOr(tiny, infinite), word(bits, 0), out), sign);
  }
  out = b_.CreateSelect(none, b_.CreateOr(sign, word(bits, kInfinity64)), out);
  return b_.CreateSelect(nan, word(bits, kNaN), out);
}

// --- As instructions

llvm::Value* ExactApproximations::exactSpecial(Op op, Value* x, bool ftz) {
  Value* const bits = b_.asInteger(x, 32);
  const auto made = [&](Value* out) { return b_.asFloat(out, b_.getFloatTy()); };
  switch (op) {
    case Op::Rcp:
      return made(exactReciprocal(bits, ftz));
    case Op::Rsqrt:
      return made(exactRoot(bits, ftz, true));
    case Op::Sqrt:
      return made(exactRoot(bits, ftz, false));
    case Op::Ex2:
      return exactPower(x, ftz);
    case Op::Lg2:
      return made(exactLogarithm(bits, ftz));
    case Op::Sin:
      return made(exactSine(bits, false));
    case Op::Tanh:
      return made(exactTangent(bits));
    default:
      return made(exactSine(bits, true));
  }
}

// a / b as the reciprocal of b, brought to where it is neither lost nor subnormal, times a. `ftz`: what is too small
// before it is rounded is zero.
llvm::Value* ExactApproximations::exactQuotient(Value* a, Value* b, bool full, bool ftz) {
  LType* const type = b_.getFloatTy();
  Value* const magnitude = b_.CreateAnd(b_.asInteger(b, 32), word(b, ~kSign));
  Value* const huge = b_.CreateICmpUGT(magnitude, word(b, 0x7e800000));
  Value* scale = b_.CreateSelect(huge, b_.real(b, type, 0.25), b_.real(b, type, 1.0));
  scale = b_.CreateSelect(b_.CreateICmpULT(magnitude, word(b, kSmallest)), b_.real(b, type, 0x1p24), scale);
  Value* const inverse = exactSpecial(Op::Rcp, b_.CreateFMul(b, scale), true);
  Value* const dividend = b_.CreateFMul(a, scale);
  Value* out = b_.CreateFMul(dividend, inverse);
  if (ftz) {
    LType* const wide = b_.like(out, b_.getDoubleTy());
    Value* const product = b_.CreateFMul(b_.CreateFPExt(dividend, wide), b_.CreateFPExt(inverse, wide));
    Value* const small = b_.CreateFCmpOLT(pieces_.absolute(product), b_.real(product, b_.getDoubleTy(), 0x1p-126));
    out = b_.CreateSelect(small, b_.asFloat(b_.CreateAnd(b_.asInteger(out, 32), word(out, kSign)), type), out);
  }
  if (full) return out;
  // The reciprocal of a divisor beyond 2^126 is lost.
  Value* const zero = b_.asFloat(b_.CreateAnd(b_.asInteger(b, 32), word(b, kSign)), type);
  Value* const lost = b_.CreateAnd(huge, b_.CreateICmpULE(magnitude, word(b, kInfinity)));
  return b_.CreateSelect(lost, b_.CreateFMul(a, zero), out);
}

}  // namespace vg::ptx::gen
