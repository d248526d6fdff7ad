#include "ptx/facts/texture_form.h"

#include <algorithm>
#include <bit>
#include <initializer_list>

#include "ptx/text/op.h"
#include "ptx/text/opcodes.h"

namespace vg::ptx {
namespace {

template <class Value>
struct Row {
  Mod mod;
  Value value;
};

constexpr Row<TextureGeometry> kGeometries[] = {
    {Mod::D1, TextureGeometry::Line},         {Mod::D2, TextureGeometry::Plane},
    {Mod::D3, TextureGeometry::Box},          {Mod::A1d, TextureGeometry::LineLayers},
    {Mod::A2d, TextureGeometry::PlaneLayers}, {Mod::Cube, TextureGeometry::Cube},
    {Mod::Acube, TextureGeometry::CubeLayers}};
constexpr Row<uint8_t> kChannels[] = {{Mod::R, 0}, {Mod::G, 1}, {Mod::B, 2}, {Mod::A, 3}};
constexpr Row<TextureEdge> kEdges[] = {
    {Mod::Trap, TextureEdge::Trap}, {Mod::Clamp, TextureEdge::Clamp}, {Mod::Zero, TextureEdge::Zero}};
constexpr Row<SurfaceReduction> kReductions[] = {{Mod::Add, SurfaceReduction::Add},
                                                 {Mod::Min, SurfaceReduction::Min},
                                                 {Mod::Max, SurfaceReduction::Max},
                                                 {Mod::And, SurfaceReduction::And},
                                                 {Mod::Or, SurfaceReduction::Or}};
constexpr Row<TextureQuery> kQueries[] = {{Mod::Width, TextureQuery::Width},
                                          {Mod::Height, TextureQuery::Height},
                                          {Mod::Depth, TextureQuery::Depth},
                                          {Mod::NumMipmapLevels, TextureQuery::Levels},
                                          {Mod::ChannelDataType, TextureQuery::ChannelDataType},
                                          {Mod::ChannelOrder, TextureQuery::ChannelOrder},
                                          {Mod::NormalizedCoords, TextureQuery::NormalizedCoordinates},
                                          {Mod::ArraySize, TextureQuery::ArraySize},
                                          {Mod::NumSamples, TextureQuery::Samples},
                                          {Mod::FilterMode, TextureQuery::FilterMode},
                                          {Mod::AddrMode0, TextureQuery::AddressMode0},
                                          {Mod::AddrMode1, TextureQuery::AddressMode1},
                                          {Mod::AddrMode2, TextureQuery::AddressMode2},
                                          {Mod::ForceUnnormalizedCoords, TextureQuery::ForceUnnormalized},
                                          {Mod::MemoryLayout, TextureQuery::MemoryLayout}};

// Sets `to` to what the first row says that the instruction has; false when it has none.
template <class Value, size_t kCount, class To>
bool choose(const Instruction& i, const Row<Value> (&rows)[kCount], To& to) {
  for (const Row<Value>& row : rows)
    if (i.has(row.mod)) {
      to = static_cast<To>(row.value);
      return true;
    }
  return false;
}

// Axes that gradients and offsets have, as elements of their vectors: three are written as four.
uint32_t elementsOf(TextureGeometry geometry) {
  const int axes = axesOf(geometry);
  return axes == 3 ? 4 : static_cast<uint32_t>(axes);
}

// Coordinates, the layer among them.
uint32_t coordinatesOf(TextureGeometry geometry) {
  if (geometry == TextureGeometry::LineLayers) return 2;
  return geometry == TextureGeometry::PlaneLayers ? 4 : elementsOf(geometry);
}

// Reads the operands from left to right and gives each its slots.
class Operands {
 public:
  Operands(const Instruction& i, const Function& f, TextureShape& shape) : i_(i), f_(f), shape_(shape) {
    const uint32_t destinations = destinationCount(i);
    if (destinations) results(next(), 0);
    if (destinations > 1) results(next(), kTextureResident);
  }

  bool any() const { return at_ < i_.count; }
  const Operand& peek() const { return f_.operands[i_.first + at_]; }

  // The next operand, in consecutive slots; false when there is none or it does not fit. A vector has 1, 2 or 4
  // elements.
  bool take(uint32_t slot, uint32_t most = 1, uint32_t least = 1) {
    if (!any()) return false;
    const Operand& operand = next();
    const bool isVector = operand.kind == Operand::Kind::Vector;
    const uint32_t count = isVector ? operand.count : 1;
    if (isVector && (!std::has_single_bit(count) || count < least)) return false;
    if (count > most) return false;
    for (uint32_t k = 0; k < count; ++k) shape_.slots.push_back(static_cast<uint8_t>(slot + k));
    return true;
  }

  // The place in a texture of several samples: the sample before four coordinates, of which the last does not count.
  bool takeSample() {
    if (!any() || peek().kind != Operand::Kind::Vector || peek().count != 4) return false;
    (void)next();
    for (const uint32_t slot : {kTextureExtra, kTextureCoordinates, kTextureCoordinates + 1, kTextureCoordinates + 2})
      shape_.slots.push_back(static_cast<uint8_t>(slot));
    return true;
  }

  // A sampler is a name or a register of 64 bits; coordinates have 32.
  bool atSampler() const {
    if (!any()) return false;
    if (peek().kind == Operand::Kind::Symbol) return true;
    return peek().kind == Operand::Kind::Register && bitsOf(f_.registers[peek().reg].type) == 64;
  }

 private:
  const Operand& next() { return f_.operands[i_.first + at_++]; }
  void results(const Operand& operand, uint32_t slot) {
    const uint32_t count = operand.kind == Operand::Kind::Vector ? operand.count : 1;
    for (uint32_t k = 0; k < std::min(count, 4u); ++k) shape_.results.push_back(static_cast<uint8_t>(slot + k));
  }

  const Instruction& i_;
  const Function& f_;
  TextureShape& shape_;
  uint32_t at_ = 0;
};

// The texture, perhaps a sampler, and the coordinates.
bool places(Operands& operands, TextureForm& form) {
  if (!operands.take(kTextureHandle)) return false;
  if (operands.atSampler()) {
    form.flags |= kSampler;
    if (!operands.take(kTextureSampler)) return false;
  }
  return operands.take(kTextureCoordinates, 4, coordinatesOf(form.geometry));
}

// Whether as many results are asked for as there are: four, halves in two pairs.
bool fillsResults(const Instruction& i, const Function& f) {
  const uint32_t count = i.type() == Type::F16x2 ? 2 : 4;
  const Operand& results = f.operands[i.first];
  return i.vectorWidth == count && results.kind == Operand::Kind::Vector && results.count == count;
}

// What may follow: offsets, and what depths are compared with. No array of CUDA holds depths, and the elements of
// others are read as they are, as an H200 does.
bool trailing(Operands& operands, TextureForm& form) {
  if (operands.any() && operands.peek().kind == Operand::Kind::Vector) {
    form.flags |= kOffsets;
    if (isCube(form.geometry) || !operands.take(kTextureOffset, 4, elementsOf(form.geometry))) return false;
  }
  const bool compares = form.geometry != TextureGeometry::Box && !form.has(kWholeCoordinates);
  if (operands.any() && compares && !operands.take(kTextureExtra)) return false;
  return !operands.any();
}

// One sample of a texture that may have several. Those of CUDA have one, the first: others are zero.
bool sampledForm(const Instruction& i, Operands& operands, TextureForm& form) {
  form.operation = TextureOperation::Sample;
  form.geometry = i.has(Mod::A2dms) ? TextureGeometry::PlaneLayers : TextureGeometry::Plane;
  form.detail = 1;
  form.flags |= kWholeCoordinates;
  const bool isKnown = i.types[1] == Type::S32 && !i.has(Mod::Level) && !i.has(Mod::Grad);
  return isKnown && operands.take(kTextureHandle) && operands.takeSample() && trailing(operands, form);
}

bool sampleForm(const Instruction& i, Operands& operands, TextureForm& form) {
  if (i.type() == Type::F16) form.flags |= kHalves;
  if (i.type() == Type::F16x2) form.flags |= kPackedHalves;
  if (i.has(Mod::D2ms) || i.has(Mod::A2dms)) return sampledForm(i, operands, form);
  if (!choose(i, kGeometries, form.geometry) || !places(operands, form)) return false;
  if (i.types[1] == Type::S32) form.flags |= kWholeCoordinates;
  if (isCube(form.geometry) && form.has(kWholeCoordinates)) return false;
  if (i.has(Mod::Level)) {
    form.levels = TextureLevels::Given;
    if (!operands.take(kTextureLevel)) return false;
  } else if (i.has(Mod::Grad)) {
    form.levels = TextureLevels::Gradients;
    const uint32_t most = elementsOf(form.geometry), least = isCube(form.geometry) ? 1 : most;
    if (!operands.take(kTextureGradientX, most, least) || !operands.take(kTextureGradientY, most, least)) return false;
  }
  form.operation = TextureOperation::Sample;
  return trailing(operands, form);
}

bool gatherForm(const Instruction& i, Operands& operands, TextureForm& form) {
  form.operation = TextureOperation::Gather;
  if (i.types[1] != Type::F32) return false;
  return choose(i, kGeometries, form.geometry) && choose(i, kChannels, form.detail) &&
         (isCube(form.geometry) || elementsOf(form.geometry) == 2) && places(operands, form) &&
         trailing(operands, form);
}

// Sizes are those of a level too; of surfaces nothing is asked that only samplers and levels have.
bool answerable(const Instruction& i, TextureQuery query) {
  switch (query) {
    case TextureQuery::Width:
    case TextureQuery::Height:
    case TextureQuery::Depth:
      return true;
    case TextureQuery::ChannelDataType:
    case TextureQuery::ChannelOrder:
    case TextureQuery::ArraySize:
    case TextureQuery::MemoryLayout:
      return !i.has(Mod::Level);
    default:
      return i.op == Op::Txq && !i.has(Mod::Level);
  }
}

bool queryForm(const Instruction& i, Operands& operands, TextureForm& form) {
  form.operation = TextureOperation::Query;
  if (!choose(i, kQueries, form.detail) || !answerable(i, static_cast<TextureQuery>(form.detail)) ||
      !operands.take(kTextureHandle))
    return false;
  if (i.has(Mod::Level)) {
    form.levels = TextureLevels::Given;
    if (!operands.take(kTextureLevel)) return false;
  }
  return !operands.any();
}

bool isOneOf(Type type, std::initializer_list<Type> types) {
  return std::find(types.begin(), types.end(), type) != types.end();
}

bool reducible(const Instruction& i) {
  const Type type = i.type();
  const bool orders = i.has(Mod::Min) || i.has(Mod::Max);
  if (i.has(Mod::P)) return type == Type::B32 || (type == Type::B64 && orders);
  if (orders) return isOneOf(type, {Type::U32, Type::S32, Type::U64, Type::S64});
  return i.has(Mod::Add) ? isOneOf(type, {Type::U32, Type::S32, Type::U64}) : type == Type::B32;
}

// What a surface instruction may move: at most 16 bytes, formatted words of 32 bits, and for reductions one number.
bool movable(const Instruction& i) {
  const uint32_t components = i.vectorWidth;
  if (i.op == Op::Sured) return components == 1 && reducible(i);
  if (i.has(Mod::P) && i.type() != Type::B32) return false;
  return isOneOf(i.type(), {Type::B8, Type::B16, Type::B32, Type::B64}) &&
         (components == 1 || components == 2 || components == 4) && bitsOf(i.type()) * components <= 128;
}

// Boxes and what has no layers are reduced.
bool hasSurface(Op op, TextureGeometry geometry) {
  if (isCube(geometry)) return false;
  const bool hasLayers = geometry == TextureGeometry::LineLayers || geometry == TextureGeometry::PlaneLayers;
  return op != Op::Sured || !hasLayers;
}

bool surfaceForm(const Instruction& i, Operands& operands, TextureForm& form) {
  if (!movable(i) || !choose(i, kEdges, form.edge)) return false;
  form.flags |= kWholeCoordinates | (i.has(Mod::P) ? kElements : 0);
  form.bits = static_cast<uint8_t>(bitsOf(i.type()));
  form.components = i.vectorWidth;
  if (!choose(i, kGeometries, form.geometry) || !hasSurface(i.op, form.geometry) || !operands.take(kTextureHandle) ||
      !operands.take(kTextureCoordinates, 4, coordinatesOf(form.geometry)))
    return false;
  if (i.op == Op::Suld) {
    form.operation = TextureOperation::Load;
    return !operands.any() && !i.has(Mod::P);
  }
  form.operation = i.has(Mod::P) ? TextureOperation::StoreFormatted : TextureOperation::Store;
  if (i.op == Op::Sured) {
    form.operation = TextureOperation::Reduce;
    if (isSigned(i.type())) form.flags |= kSigned;
    if (!choose(i, kReductions, form.detail)) return false;
  }
  return operands.take(kTextureData, 4) && !operands.any();
}

bool typeForm(const Instruction& i, Operands& operands, TextureForm& form) {
  form.operation = TextureOperation::IsType;
  form.detail = i.type() == Type::SamplerRef;
  if (i.type() == Type::SurfRef) form.flags |= kOfSurface;
  return operands.take(kTextureHandle) && !operands.any();
}

}  // namespace

std::optional<TextureShape> describeTexture(const Instruction& i, const Function& f) {
  if (i.count == 0) return {};
  TextureShape shape;
  Operands operands(i, f, shape);
  const auto known = [&] {
    switch (i.op) {
      case Op::Tex:
        return fillsResults(i, f) && sampleForm(i, operands, shape.form);
      case Op::Tld4:
        return fillsResults(i, f) && gatherForm(i, operands, shape.form);
      case Op::Txq:
      case Op::Suq:
        return queryForm(i, operands, shape.form);
      case Op::Istypep:
        return typeForm(i, operands, shape.form);
      default:
        return surfaceForm(i, operands, shape.form);
    }
  };
  if (!known()) return {};
  return shape;
}

}  // namespace vg::ptx
