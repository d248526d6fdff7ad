// Puts addresses where the compiler could not know them. Where the bits of an address go is a table of the kinds of
// relocations: of pieces {of which bit of the value, to which bit of the place, how many}.
#include <cstring>
#include <string>

#include "cubin/cubin.h"

namespace vg::cubin {
namespace {

struct Piece {
  uint8_t from, to, bits;  // bits 0: none
};

struct Rule {
  uint16_t first, last;  // kinds
  Piece pieces[2];
};

constexpr uint32_t kNothing = 0;
constexpr uint32_t kFirstByte = 76, kFirstGenericByte = 84, kFirstUnifiedByte = 104;
constexpr uint32_t kBytes = 8;

// Plain, generic and unified addresses are the same number, and so are those of functions and their descriptors.
constexpr Rule kRules[] = {
    {1, 1, {{0, 0, 32}}},                  // 32 bits of data
    {2, 2, {{0, 0, 64}}},                  // 64
    {3, 3, {{0, 0, 32}}},                  // generic
    {4, 4, {{0, 0, 64}}},                  //
    {34, 34, {{0, 0, 32}}},                // a function
    {35, 35, {{0, 0, 64}}},                //
    {55, 56, {{0, 32, 32}}},               // the immediate operand of an instruction: 32 bits, the low half
    {57, 57, {{32, 32, 32}}},              // the high half
    {58, 58, {{2, 34, 47}}},               // the target of a branch, in words
    {61, 62, {{0, 32, 32}}},               // a function in an immediate operand
    {63, 63, {{32, 32, 32}}},              //
    {70, 70, {{0, 0, 32}}},                // halves in data
    {71, 71, {{32, 0, 32}}},               //
    {75, 75, {{2, 16, 8}, {10, 34, 47}}},  // the target of a branch in two pieces
    {102, 102, {{0, 0, 64}}},              // unified
    {103, 103, {{0, 0, 32}}},              //
    {112, 112, {{0, 32, 32}}},             //
    {113, 113, {{32, 32, 32}}},            //
    {114, 114, {{2, 16, 8}, {10, 34, 47}}},
};

bool byteOf(uint32_t type, uint32_t first, Rule& rule) {
  if (type < first || type >= first + kBytes) return false;
  rule.pieces[0] = {static_cast<uint8_t>((type - first) * 8), 0, 8};
  return true;
}

bool ruleFor(uint32_t type, Rule& rule) {
  for (const Rule& one : kRules)
    if (type >= one.first && type <= one.last) {
      rule = one;
      return true;
    }
  return byteOf(type, kFirstByte, rule) || byteOf(type, kFirstGenericByte, rule) ||
         byteOf(type, kFirstUnifiedByte, rule);
}

size_t bytesOf(const Rule& rule) {
  unsigned end = 0;
  for (const Piece& piece : rule.pieces) end = piece.bits ? std::max(end, unsigned{piece.to} + piece.bits) : end;
  return (end + 7) / 8;
}

// Places are at most 16 bytes, an instruction.
using Field = unsigned __int128;

Field maskOf(const Piece& piece) { return ((Field{1} << piece.bits) - 1) << piece.to; }

Field insert(Field field, const Rule& rule, uint64_t value) {
  for (const Piece& piece : rule.pieces)
    if (piece.bits) field = (field & ~maskOf(piece)) | ((Field{value >> piece.from} << piece.to) & maskOf(piece));
  return field;
}

uint64_t extract(Field field, const Rule& rule) {
  uint64_t value = 0;
  for (const Piece& piece : rule.pieces)
    if (piece.bits) value |= static_cast<uint64_t>((field & maskOf(piece)) >> piece.to) << piece.from;
  return value;
}

Result<uint64_t> addressOf(const Cubin& cubin, uint32_t index, const Addresses& addresses, const External& external) {
  const Symbol& symbol = cubin.symbols[index];
  if (const auto elsewhere = addresses.variables.find(index); elsewhere != addresses.variables.end())
    return elsewhere->second;
  if (symbol.section != kNone) return addresses.sections[symbol.section] + symbol.value;
  if (symbol.undefined && symbol.name.ends_with("refDescSize")) return uint64_t{kDescriptionBytes};
  // Offsets in shared memory and in bank 0, symbols without a name, and what the compiler takes for granted.
  if (!symbol.undefined || symbol.weak) return symbol.value;
  return external(symbol.name);
}

CUresult apply(const Cubin& cubin, const Relocation& relocation, std::string& bytes, const Addresses& addresses,
               const External& external) {
  if (relocation.type == kNothing) return CUDA_SUCCESS;
  Rule rule{};
  if (!ruleFor(relocation.type, rule))
    return unsupported("relocation %u of %s in native code", relocation.type,
                       cubin.symbols[relocation.symbol].name.c_str());
  const size_t size = bytesOf(rule);
  if (relocation.offset > bytes.size() || size > bytes.size() - relocation.offset)
    return fail(CUDA_ERROR_INVALID_IMAGE, "cubin relocation at %#llx of a section of %#zx bytes",
                static_cast<unsigned long long>(relocation.offset), bytes.size());
  VG_TRY(uint64_t value, addressOf(cubin, relocation.symbol, addresses, external));
  Field field = 0;
  std::memcpy(&field, &bytes[relocation.offset], size);
  value += relocation.addendInPlace ? extract(field, rule) : static_cast<uint64_t>(relocation.addend);
  field = insert(field, rule, value);
  std::memcpy(&bytes[relocation.offset], &field, size);
  return CUDA_SUCCESS;
}

}  // namespace

Result<std::string> relocate(const Cubin& cubin, uint32_t section, const Addresses& addresses,
                             const External& external) {
  std::string bytes(cubin.contents(section));
  for (const Relocation& relocation : cubin.relocations[section])
    VG_CHECK(apply(cubin, relocation, bytes, addresses, external));
  return bytes;
}

}  // namespace vg::cubin
