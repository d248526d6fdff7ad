#include "ptx/facts/matrix_form.h"
#include "ptx/text/op.h"

#include <algorithm>

namespace vg::ptx {
namespace {

struct Dimensions {
  Mod mod;
  uint8_t m, n, kLog2;
};
constexpr Dimensions kDimensions[] = {
    {Mod::M8n8k4, 8, 8, 2},     {Mod::M8n8k16, 8, 8, 4},    {Mod::M8n8k32, 8, 8, 5},    {Mod::M8n8k128, 8, 8, 7},
    {Mod::M16n8k4, 16, 8, 2},   {Mod::M16n8k8, 16, 8, 3},   {Mod::M16n8k16, 16, 8, 4},  {Mod::M16n8k32, 16, 8, 5},
    {Mod::M16n8k64, 16, 8, 6},  {Mod::M16n8k128, 16, 8, 7}, {Mod::M16n8k256, 16, 8, 8}, {Mod::M16n16k16, 16, 16, 4},
    {Mod::M16n16k8, 16, 16, 3}, {Mod::M32n8k16, 32, 8, 4},  {Mod::M8n32k16, 8, 32, 4}};

struct TypeName {
  Type type;
  MatrixType matrixType;
};
constexpr TypeName kTypes[] = {
    {Type::F16, MatrixType::F16},  {Type::BF16, MatrixType::BF16}, {Type::TF32, MatrixType::TF32},
    {Type::F32, MatrixType::F32},  {Type::F64, MatrixType::F64},   {Type::S8, MatrixType::S8},
    {Type::U8, MatrixType::U8},    {Type::S4, MatrixType::S4},     {Type::U4, MatrixType::U4},
    {Type::B1, MatrixType::B1},    {Type::E4M3, MatrixType::E4M3}, {Type::E5M2, MatrixType::E5M2},
    {Type::S32, MatrixType::S32},  {Type::E2M3, MatrixType::E2M3}, {Type::E3M2, MatrixType::E3M2},
    {Type::E2M1, MatrixType::E2M1}};

// Types that may be multiplied with each other.
enum class Family : uint8_t { Half, Brain, Tensor, Double, Byte, Nibble, Bit, Eighth, Small, Pair, None };

Family familyOf(MatrixType type) {
  switch (type) {
    case MatrixType::F16:
      return Family::Half;
    case MatrixType::BF16:
      return Family::Brain;
    case MatrixType::TF32:
      return Family::Tensor;
    case MatrixType::F64:
      return Family::Double;
    case MatrixType::S8:
    case MatrixType::U8:
      return Family::Byte;
    case MatrixType::S4:
    case MatrixType::U4:
      return Family::Nibble;
    case MatrixType::B1:
      return Family::Bit;
    case MatrixType::E4M3:
    case MatrixType::E5M2:
      return Family::Eighth;
    case MatrixType::E2M3:
    case MatrixType::E3M2:
    case MatrixType::E2M1:
      return Family::Small;
    case MatrixType::E2M1Pair:
      return Family::Pair;
    default:
      return Family::None;
  }
}

// The products that exist, but for those of the kinds below.
enum class Kind : uint8_t { Mma, Sparse, Wmma };
struct Product {
  Kind kind;
  Family family;
  Mod shape;
};
constexpr Product kProducts[] = {
    {Kind::Mma, Family::Half, Mod::M8n8k4},        {Kind::Mma, Family::Half, Mod::M16n8k8},
    {Kind::Mma, Family::Half, Mod::M16n8k16},      {Kind::Mma, Family::Brain, Mod::M16n8k8},
    {Kind::Mma, Family::Brain, Mod::M16n8k16},     {Kind::Mma, Family::Tensor, Mod::M16n8k4},
    {Kind::Mma, Family::Tensor, Mod::M16n8k8},     {Kind::Mma, Family::Eighth, Mod::M16n8k16},
    {Kind::Mma, Family::Eighth, Mod::M16n8k32},    {Kind::Mma, Family::Double, Mod::M8n8k4},
    {Kind::Mma, Family::Double, Mod::M16n8k4},     {Kind::Mma, Family::Double, Mod::M16n8k8},
    {Kind::Mma, Family::Double, Mod::M16n8k16},    {Kind::Mma, Family::Byte, Mod::M8n8k16},
    {Kind::Mma, Family::Byte, Mod::M16n8k16},      {Kind::Mma, Family::Byte, Mod::M16n8k32},
    {Kind::Mma, Family::Nibble, Mod::M8n8k32},     {Kind::Mma, Family::Nibble, Mod::M16n8k32},
    {Kind::Mma, Family::Nibble, Mod::M16n8k64},    {Kind::Mma, Family::Bit, Mod::M8n8k128},
    {Kind::Mma, Family::Bit, Mod::M16n8k128},      {Kind::Mma, Family::Bit, Mod::M16n8k256},
    {Kind::Sparse, Family::Half, Mod::M16n8k16},   {Kind::Sparse, Family::Half, Mod::M16n8k32},
    {Kind::Sparse, Family::Brain, Mod::M16n8k16},  {Kind::Sparse, Family::Brain, Mod::M16n8k32},
    {Kind::Sparse, Family::Tensor, Mod::M16n8k8},  {Kind::Sparse, Family::Tensor, Mod::M16n8k16},
    {Kind::Sparse, Family::Byte, Mod::M16n8k32},   {Kind::Sparse, Family::Byte, Mod::M16n8k64},
    {Kind::Sparse, Family::Nibble, Mod::M16n8k64}, {Kind::Sparse, Family::Nibble, Mod::M16n8k128},
    {Kind::Sparse, Family::Eighth, Mod::M16n8k64}, {Kind::Wmma, Family::Half, Mod::M16n16k16},
    {Kind::Wmma, Family::Half, Mod::M32n8k16},     {Kind::Wmma, Family::Half, Mod::M8n32k16},
    {Kind::Wmma, Family::Brain, Mod::M16n16k16},   {Kind::Wmma, Family::Brain, Mod::M32n8k16},
    {Kind::Wmma, Family::Brain, Mod::M8n32k16},    {Kind::Wmma, Family::Tensor, Mod::M16n16k8},
    {Kind::Wmma, Family::Double, Mod::M8n8k4},     {Kind::Wmma, Family::Byte, Mod::M16n16k16},
    {Kind::Wmma, Family::Byte, Mod::M32n8k16},     {Kind::Wmma, Family::Byte, Mod::M8n32k16},
    {Kind::Wmma, Family::Nibble, Mod::M8n8k32},    {Kind::Wmma, Family::Bit, Mod::M8n8k128}};

std::optional<MatrixType> matrixType(Type type) {
  for (const TypeName& row : kTypes)
    if (row.type == type) return row.matrixType;
  return {};
}

bool setShape(const Instruction& i, MatrixForm& form) {
  for (const Dimensions& row : kDimensions)
    if (i.has(row.mod)) {
      form.m = row.m;
      form.n = row.n;
      form.detail = row.kLog2;
      return true;
    }
  return false;
}

bool exists(const Instruction& i, Kind kind, Family family) {
  return std::any_of(std::begin(kProducts), std::end(kProducts), [&](const Product& product) {
    return product.kind == kind && product.family == family && i.has(product.shape);
  });
}

// Whether a product of the family is summed in this type.
bool sums(Family family, MatrixType type) {
  switch (family) {
    case Family::Half:
    case Family::Eighth:
      return type == MatrixType::F16 || type == MatrixType::F32;
    case Family::Brain:
    case Family::Tensor:
      return type == MatrixType::F32;
    case Family::Double:
      return type == MatrixType::F64;
    default:
      return type == MatrixType::S32;
  }
}

// The operands after the destinations and their registers.
struct Operands {
  uint32_t results = 0, sources = 0;
  const Operand* last = nullptr;
};

Operands countOperands(const Instruction& i, const Function& f, bool hasResult) {
  Operands counted;
  for (uint32_t k = 0; k < i.count; ++k) {
    const Operand& o = f.operands[i.first + k];
    const uint32_t parts = o.kind == Operand::Kind::Vector ? o.count : 1;
    (hasResult && k == 0 ? counted.results : counted.sources) += parts;
    counted.last = &o;
  }
  return counted;
}

void addRegisters(MatrixShape& shape, uint32_t first, uint32_t count, uint32_t bytes) {
  for (uint32_t k = 0; k < count; ++k) {
    shape.order.push_back(static_cast<uint8_t>(first + k));
    shape.operandBytes.push_back(static_cast<uint8_t>(bytes));
  }
}

// Rounding of f64 as Rounding of half.h numbers it; only wmma says one.
uint8_t roundingOf(const Instruction& i) { return i.has(Mod::Rz) ? 1 : i.has(Mod::Rm) ? 2 : i.has(Mod::Rp) ? 3 : 0; }

// m8n32k16 is the turned product of m32n8k16: A and B, rows and columns change places, in the fragments too.
bool isTurned(const Instruction& i) { return i.op == Op::Wmma && i.has(Mod::M8n32k16); }

void turnProduct(MatrixShape& shape) {
  MatrixForm& form = shape.form;
  const uint32_t a = registerCount(form, MatrixRole::A, form.a), b = registerCount(form, MatrixRole::B, form.b);
  std::rotate(shape.order.begin(), shape.order.begin() + a, shape.order.begin() + a + b);
  std::swap(form.a, form.b);
  std::swap(form.m, form.n);
}

MatrixRole turnedRole(MatrixRole role) {
  return role == MatrixRole::A ? MatrixRole::B : role == MatrixRole::B ? MatrixRole::A : role;
}

// Products of floats of 8, 6 and 4 bits, which single architectures have.
struct SmallKind {
  Mod word, shape, sparseShape;
  bool pairs, scaled;
  uint8_t logBlocks, logMostBlocks;  // log2 of the scales of a row: without a word that says it, and at most
  bool mayHaveE4M3;
};
constexpr SmallKind kSmallKinds[] = {{Mod::KindF8f6f4, Mod::M16n8k32, Mod::M16n8k64, false, false, 0, 0, false},
                                     {Mod::KindMxf8f6f4, Mod::M16n8k32, Mod::M16n8k64, false, true, 0, 0, false},
                                     {Mod::KindMxf4, Mod::M16n8k64, Mod::M16n8k128, true, true, 1, 1, false},
                                     {Mod::KindMxf4nvf4, Mod::M16n8k64, Mod::M16n8k128, true, true, 0, 2, true}};

const SmallKind* smallKindOf(const Instruction& i) {
  for (const SmallKind& kind : kSmallKinds)
    if (i.has(kind.word)) return &kind;
  return nullptr;
}

// The type of A or B.
std::optional<MatrixType> smallType(Type type, bool pairs) {
  const auto known = matrixType(type);
  if (!known || (pairs && known != MatrixType::E2M1)) return {};
  if (pairs) return MatrixType::E2M1Pair;
  return familyOf(*known) == Family::Eighth || familyOf(*known) == Family::Small ? known : std::nullopt;
}

bool setScales(const Instruction& i, const SmallKind& kind, MatrixForm& form) {
  const bool isE4M3 = i.types[4] == Type::UE4M3;
  if (i.typeCount != 5 || (!isE4M3 && i.types[4] != Type::UE8M0) || (isE4M3 && !kind.mayHaveE4M3)) return false;
  uint8_t log = kind.logBlocks;
  if (i.has(Mod::ScaleVec1X)) log = 0;
  if (i.has(Mod::ScaleVec2X)) log = 1;
  if (i.has(Mod::ScaleVec4X)) log = 2;
  if (log > kind.logMostBlocks || (kind.pairs && log == 0) || (isE4M3 && log != 2)) return false;
  form.detail |= static_cast<uint8_t>(kMatrixScaled | (isE4M3 ? kMatrixScalesE4M3 : 0) | log << 4);
  return true;
}

// The operand of sparse products that says whose metadata count.
bool isSelector(const Operand& o, uint64_t most) { return o.kind == Operand::Kind::Immediate && o.bits <= most; }

bool smallProductForm(const Instruction& i, const Function& f, const SmallKind& kind, MatrixShape& shape) {
  MatrixForm& form = shape.form;
  const bool isSparse = i.has(Mod::SpOrderedMetadata);
  if (i.has(Mod::Sp) || !i.has(isSparse ? kind.sparseShape : kind.shape) || !setShape(i, form)) return false;
  if (i.has(Mod::BlockScale) != kind.scaled || (kind.scaled ? !setScales(i, kind, form) : i.typeCount != 4))
    return false;
  const auto a = smallType(i.types[1], kind.pairs), b = smallType(i.types[2], kind.pairs);
  const auto d = matrixType(i.types[0]), c = matrixType(i.types[3]);
  if (!a || !b || !c || d != c || !sums(Family::Eighth, *c) || (kind.scaled && c != MatrixType::F32)) return false;
  form.a = *a;
  form.b = *b;
  form.accumulators = static_cast<uint8_t>(static_cast<uint8_t>(*c) * 17);
  if (isSparse) form.flags |= kMatrixSparse;
  uint32_t count = registerCount(form, MatrixRole::A, *a) + registerCount(form, MatrixRole::B, *b) +
                   registerCount(form, MatrixRole::C, *c);
  addRegisters(shape, 0, count, 4);
  if (isSparse) {
    constexpr uint32_t kSelectorAt = 5;  // behind D, A, B, C and the metadata
    if (i.count <= kSelectorAt || !isSelector(f.operands[i.first + kSelectorAt], 0)) return false;
    addRegisters(shape, count, 1, 4);
    count += 2;
  }
  if (kind.scaled) {
    addRegisters(shape, count, kMatrixScaleOperands, 4);
    count += kMatrixScaleOperands;
  }
  shape.results = registerCount(form, MatrixRole::C, *c);
  const Operands operands = countOperands(i, f, true);
  return operands.sources == count && operands.results == shape.results;
}

bool productForm(const Instruction& i, const Function& f, MatrixShape& shape) {
  MatrixForm& form = shape.form;
  const bool isWmma = i.op == Op::Wmma;
  const bool isSparse = i.has(Mod::Sp) || i.has(Mod::SpOrderedMetadata);
  if (const SmallKind* kind = smallKindOf(i)) return smallProductForm(i, f, *kind, shape);
  if (i.has(Mod::BlockScale) || !setShape(i, form) || (i.typeCount != 4 && !(isWmma && i.typeCount == 2))) return false;
  const bool isShort = i.typeCount == 2;  // wmma.mma of halves names only D and C
  const auto d = matrixType(i.types[0]), a = isShort ? MatrixType::F16 : matrixType(i.types[1]),
             b = isShort ? MatrixType::F16 : matrixType(i.types[2]), c = matrixType(i.types[isShort ? 1 : 3]);
  if (!a || !b || !c || !d || familyOf(*a) != familyOf(*b)) return false;
  const Family family = familyOf(*a);  // Small ones exist by kinds only
  if (!exists(i, isWmma ? Kind::Wmma : isSparse ? Kind::Sparse : Kind::Mma, family)) return false;
  if (!sums(family, *c) || !sums(family, *d)) return false;
  form.a = *a;
  form.b = *b;
  form.accumulators = static_cast<uint8_t>(static_cast<uint8_t>(*c) | static_cast<uint8_t>(*d) << 4);
  if (i.has(Mod::Col)) form.flags |= kMatrixColumnsA;
  if (i.has(Mod::RowB)) form.flags |= kMatrixRowsB;
  if (i.has(Mod::Satfinite)) form.flags |= kMatrixSaturate;
  if (i.has(Mod::And)) form.flags |= kMatrixAnd;
  if (isSparse) form.flags |= kMatrixSparse;
  if (isWmma) form.flags |= kMatrixWarp;
  if (family == Family::Half && form.k() == 4) form.flags |= kMatrixQuads;
  if (family == Family::Double) form.detail |= static_cast<uint8_t>(roundingOf(i) << 4);

  const Operands operands = countOperands(i, f, true);
  const uint32_t sizes[] = {registerCount(form, MatrixRole::A, *a), registerCount(form, MatrixRole::B, *b),
                            registerCount(form, MatrixRole::C, *c)};
  uint32_t count = sizes[0] + sizes[1] + sizes[2];
  addRegisters(shape, 0, count, registerBytes(*c));
  shape.results = registerCount(form, MatrixRole::C, *d);
  shape.resultBytes = static_cast<uint8_t>(registerBytes(*d));
  if (isSparse) {
    if (!operands.last || !isSelector(*operands.last, 3)) return false;
    form.detail |= static_cast<uint8_t>(operands.last->bits << 4);
    addRegisters(shape, count++, 1, 4);
    ++count;  // the selector
  }
  if (isTurned(i)) turnProduct(shape);
  return operands.sources == count && operands.results == shape.results;
}

// Of wgmma: bytes of k in one instruction, and the types it multiplies.
constexpr uint32_t kBytesAlongK = 32;

bool groupTypes(const Instruction& i, MatrixForm& form) {
  if (i.typeCount != 3 || !i.columns8) return false;
  const auto d = matrixType(i.types[0]), a = matrixType(i.types[1]), b = matrixType(i.types[2]);
  if (!d || !a || !b || familyOf(*a) != familyOf(*b)) return false;
  const Family family = familyOf(*a);
  const bool exists = family != Family::Double && family != Family::Nibble && family < Family::Small;
  if (!exists || !sums(family, *d)) return false;
  const bool isSparse = i.has(Mod::Sp), isBit = family == Family::Bit;
  if ((isSparse && isBit) || (isBit && !i.has(Mod::And)) || (i.has(Mod::Satfinite) && family != Family::Byte))
    return false;
  if (1u << i.depthLog2 != kBytesAlongK * 8 / bitsOf(*a) * (isSparse ? 2 : 1)) return false;
  form.a = *a;
  form.b = *b;
  form.accumulators = static_cast<uint8_t>(static_cast<uint8_t>(*d) * 17);
  form.detail = i.depthLog2;
  if (i.has(Mod::Satfinite)) form.flags |= kMatrixSaturate;
  if (isBit) form.flags |= kMatrixAnd;
  if (isSparse) form.flags |= kMatrixSparse;
  return true;
}

// The numbers at the end: 1 or -1 for A and B, and where elements have 16 bits whether those of one k are neighbours.
bool groupNumbers(const Instruction& i, const Function& f, uint32_t at, MatrixForm& form) {
  const uint32_t end = i.count - 1;  // the accumulators once more
  const auto next = [&](uint64_t most, uint8_t flag, uint64_t flagged) {
    if (at == end) return false;
    const Operand& o = f.operands[i.first + at++];
    if (o.kind != Operand::Kind::Immediate || (o.bits != flagged && o.bits != most)) return false;
    if (o.bits == flagged) form.flags |= flag;
    return true;
  };
  if (!isWhole(form.a)) {
    if (!next(1, kMatrixNegatedA, ~uint64_t{0}) || !next(1, kMatrixNegatedB, ~uint64_t{0})) return false;
    if (bitsOf(form.a) == 16) {
      if (form.has(kMatrixDescribedA) && !next(0, kMatrixColumnsA, 1)) return false;
      if (!next(0, kMatrixRowsB, 1)) return false;
    }
  }
  return at == end;
}

// wgmma.mma_async, as the parser has made it: D, A or its descriptor, B's descriptor, sparse ones the metadata and a
// number, whether C counts, numbers, D.
bool groupForm(const Instruction& i, const Function& f, MatrixShape& shape) {
  MatrixForm& form = shape.form;
  form.operation = MatrixOperation::MultiplyGroup;
  form.m = 16;
  form.n = i.columns8;
  const bool isSparse = i.has(Mod::Sp);
  const uint32_t fixed = isSparse ? 6 : 4;
  if (i.count < fixed + 1 || !groupTypes(i, form)) return false;
  const auto partsOf = [&](uint32_t k) {
    const Operand& o = f.operands[i.first + k];
    return o.kind == Operand::Kind::Vector ? o.count : 1;
  };
  constexpr uint32_t kRegistersOfA = 4;
  shape.results = form.n * 2 * registersOfC(form.d());
  const uint32_t ofA = partsOf(1);
  if (partsOf(0) != shape.results || (ofA != 1 && ofA != kRegistersOfA)) return false;
  if (ofA == 1) form.flags |= kMatrixDescribedA;
  addRegisters(shape, 0, ofA, ofA == 1 ? 8 : 4);
  addRegisters(shape, ofA, 1, 8);
  uint32_t next = ofA + 1;
  if (isSparse) {
    const Operand& selector = f.operands[i.first + 4];
    if (!isSelector(selector, 3)) return false;
    form.detail |= static_cast<uint8_t>(selector.bits << 4);
    addRegisters(shape, next, 1, 4);
    next += 2;
  }
  addRegisters(shape, next, 1, 4);
  if (!groupNumbers(i, f, fixed, form)) return false;
  const uint32_t sources = countOperands(i, f, true).sources;
  addRegisters(shape, sources - shape.results, shape.results, 4);
  return true;
}

// ldmatrix and stmatrix: what a row of 16 bytes holds.
std::optional<MatrixType> rowElements(const Instruction& i) {
  if (i.has(Mod::B8x16)) {
    const bool sixths = i.has(Mod::B6x16P32);
    if (i.typeCount || sixths == i.has(Mod::B4x16P64)) return {};
    return sixths ? MatrixType::E2M3 : MatrixType::U4;
  }
  if (i.typeCount != 1) return {};
  return i.type() == Type::B16  ? std::optional(MatrixType::F16)
         : i.type() == Type::B8 ? std::optional(MatrixType::U8)
                                : std::nullopt;
}

struct RowsShape {
  Op op;
  Mod shape;
  bool ofHalves, ofBytes, ofParts;  // elements of 16 bits, of 8, of fewer
  bool mayTurn, mayNotTurn;
  uint32_t rowBlocks;  // of 8 rows
};
constexpr RowsShape kRowsShapes[] = {{Op::Ldmatrix, Mod::M8n8, true, false, false, true, true, 1},
                                     {Op::Ldmatrix, Mod::M8n16, false, false, true, false, true, 1},
                                     {Op::Ldmatrix, Mod::M16n16, false, true, true, true, false, 2},
                                     {Op::Stmatrix, Mod::M8n8, true, false, false, true, true, 1},
                                     {Op::Stmatrix, Mod::M16n8, false, true, false, true, false, 1}};

const RowsShape* rowsShapeOf(const Instruction& i, MatrixType elements) {
  const bool turns = i.has(Mod::Trans);
  for (const RowsShape& row : kRowsShapes) {
    if (row.op != i.op || !i.has(row.shape)) continue;
    const bool exists = elements == MatrixType::F16  ? row.ofHalves
                        : elements == MatrixType::U8 ? row.ofBytes
                                                     : row.ofParts;
    return exists && (turns ? row.mayTurn : row.mayNotTurn) ? &row : nullptr;
  }
  return nullptr;
}

bool rowsForm(const Instruction& i, const Function& f, MatrixShape& shape) {
  constexpr uint32_t kMostTiles = 4;
  MatrixForm& form = shape.form;
  const auto elements = rowElements(i);
  const RowsShape* const known = elements ? rowsShapeOf(i, *elements) : nullptr;
  const uint32_t tiles = known ? known->rowBlocks * (i.has(Mod::X4) ? 4 : i.has(Mod::X2) ? 2 : 1) : 0;
  if (!tiles || tiles > kMostTiles) return false;
  form.a = *elements;
  form.n = static_cast<uint8_t>(tiles);
  if (i.has(Mod::Trans)) form.flags |= kMatrixTransposed;
  form.operation = i.op == Op::Ldmatrix ? MatrixOperation::LoadRows : MatrixOperation::StoreRows;
  shape.space = i.space;
  addRegisters(shape, 0, 1, 8);
  const bool loads = i.op == Op::Ldmatrix;
  const Operands operands = countOperands(i, f, loads);
  if (loads)
    shape.results = form.n;
  else
    addRegisters(shape, 1, form.n, 4);
  return operands.results == shape.results && operands.sources == shape.order.size();
}

bool transposeForm(const Instruction& i, MatrixShape& shape) {
  shape.form.operation = MatrixOperation::Transpose;
  shape.results = 1;
  addRegisters(shape, 0, 1, 4);
  return i.has(Mod::M8n8) && i.type() == Type::B16 && i.count == 2;
}

// The role of what wmma.load and wmma.store move.
std::optional<MatrixRole> roleOf(const Instruction& i) {
  if (i.has(Mod::A)) return MatrixRole::A;
  if (i.has(Mod::B)) return MatrixRole::B;
  if (i.has(Mod::C) || i.has(Mod::D)) return MatrixRole::C;
  return {};
}

bool fragmentExists(const Instruction& i, MatrixRole role, MatrixType type) {
  return std::any_of(std::begin(kProducts), std::end(kProducts), [&](const Product& product) {
    if (product.kind != Kind::Wmma || !i.has(product.shape)) return false;
    return role == MatrixRole::C ? sums(product.family, type) : familyOf(type) == product.family;
  });
}

// wmma.load and wmma.store.
bool fragmentForm(const Instruction& i, const Function& f, MatrixShape& shape) {
  MatrixForm& form = shape.form;
  const auto role = roleOf(i);
  const auto type = i.typeCount == 1 ? matrixType(i.type()) : std::nullopt;
  const bool stores = i.has(Mod::Store), columns = i.has(Mod::Col);
  if (!role || !type || !setShape(i, form) || !fragmentExists(i, *role, *type)) return false;
  if (stores && *role != MatrixRole::C) return false;
  // Parts of bytes are only laid out along k.
  if (bitsOf(*type) < 8 && columns != (*role == MatrixRole::B)) return false;
  form.operation = stores ? MatrixOperation::StoreFragment : MatrixOperation::LoadFragment;
  form.a = form.b = *type;
  form.accumulators = static_cast<uint8_t>(static_cast<uint8_t>(*type) * 17);
  const bool turned = isTurned(i);
  form.detail |= static_cast<uint8_t>(static_cast<uint8_t>(turned ? turnedRole(*role) : *role) << 4);
  form.flags = static_cast<uint8_t>(kMatrixWarp | (columns != turned ? kMatrixColumnsA : 0));
  shape.space = i.space;
  const uint32_t rows = *role == MatrixRole::B ? form.k() : form.m, width = *role == MatrixRole::A ? form.k() : form.n;
  shape.stride = columns ? rows : width;
  if (turned) std::swap(form.m, form.n);
  const uint32_t registers = registerCount(form, form.role(), *type), bytes = registerBytes(*type);
  const Operands operands = countOperands(i, f, !stores);
  const uint32_t before = stores ? 1 + registers : 1;
  if (operands.sources != before && operands.sources != before + 1) return false;
  addRegisters(shape, 0, 1, 8);
  addRegisters(shape, operands.sources == before ? kMatrixStride : before, 1, 4);
  if (stores) {
    addRegisters(shape, 1, registers, bytes);
    return true;
  }
  shape.results = registers;
  shape.resultBytes = static_cast<uint8_t>(bytes);
  return operands.results == registers;
}

}  // namespace

std::optional<MatrixShape> describeMatrix(const Instruction& i, const Function& f) {
  if (i.count == 0 || i.pair) return {};
  MatrixShape shape;
  const auto known = [&] {
    switch (i.op) {
      case Op::Ldmatrix:
      case Op::Stmatrix:
        return rowsForm(i, f, shape);
      case Op::Movmatrix:
        return transposeForm(i, shape);
      case Op::Wgmma:
        return groupForm(i, f, shape);
      case Op::Wmma:
        return i.has(Mod::Mma) ? productForm(i, f, shape) : fragmentForm(i, f, shape);
      default:
        return productForm(i, f, shape);
    }
  };
  if (!known()) return {};
  return shape;
}

uint64_t extentOf(const MatrixForm& form, uint64_t stride) {
  const bool columns = form.has(kMatrixColumnsA);
  const uint32_t rows = form.role() == MatrixRole::B ? form.k() : form.m,
                 width = form.role() == MatrixRole::A ? form.k() : form.n;
  const uint64_t lines = columns ? width : rows, length = columns ? rows : width;
  return ((lines - 1) * stride + length) * bitsOf(form.a) / 8;
}

uint32_t namingLanes(const MatrixForm& form, uint32_t mask) {
  switch (form.operation) {
    case MatrixOperation::LoadRows:
    case MatrixOperation::StoreRows:
      return mask & static_cast<uint32_t>((uint64_t{1} << 8u * form.n) - 1);
    case MatrixOperation::LoadFragment:
    case MatrixOperation::StoreFragment:
      return mask & (0 - mask);
    default:
      return 0;
  }
}

}  // namespace vg::ptx
