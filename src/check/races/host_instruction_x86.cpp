#include "check/races/host_instruction.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace vg::check {
namespace {

enum Prefix : unsigned { kNone, k66, kF3, kF2 };  // as VEX and EVEX number them

constexpr uint32_t wordOf(bool wide) { return wide ? 8 : 4; }

// Of arithmetic and moves that are scalar by their prefix.
uint32_t scalarOr(unsigned prefix, uint32_t all) { return prefix == kF3 ? 4 : prefix == kF2 ? 8 : all; }

// Of the opcodes behind 0F that work on vectors; `all`: the bytes of a whole one. 0: it is none of them.
uint32_t vectorBytes(uint8_t op, unsigned prefix, uint32_t all, bool wide) {
  if (op == 0x5a && prefix == kNone) return all / 2;  // floats that become doubles
  if (op == 0x5b) return all;
  if (op == 0xe6) return prefix == kF3 ? all / 2 : all;  // integers that become doubles
  if (op == 0x10 || op == 0x11 || (op >= 0x51 && op <= 0x5f) || op == 0xc2) return scalarOr(prefix, all);
  switch (op) {
    case 0x28:
    case 0x29:
    case 0x2b:
    case 0xe7:
      return all;
    case 0x6f:
    case 0x7f:
      return prefix == kNone ? 8 : all;
    case 0x12:
    case 0x13:
    case 0x16:
    case 0x17:
    case 0xd6:
      return 8;
    case 0x7e:
      return prefix == kF3 ? 8 : wordOf(wide);
    case 0x6e:
    case 0x2a:
      return wordOf(wide);
    case 0x2e:
    case 0x2f:
      return prefix == k66 ? 8 : 4;
    default:
      return 0;
  }
}

// Of the opcodes behind 0F 38.
uint32_t moreVectorBytes(uint8_t op, uint32_t all, bool wide) {
  if (op == 0x18 || op == 0x58) return 4;
  if (op == 0x19 || op == 0x59) return 8;
  const uint8_t row = op >> 4, column = op & 15;  // products that are added
  if (row >= 9 && row <= 11 && column >= 6) return column >= 8 && column % 2 ? wordOf(wide) : all;
  return 1;
}

uint32_t orOne(uint32_t bytes) { return bytes ? bytes : 1; }

uint32_t byMap(unsigned map, uint8_t op, unsigned prefix, uint32_t all, bool wide) {
  if (map == 1) return orOne(vectorBytes(op, prefix, all, wide));
  return map == 2 ? moreVectorBytes(op, all, wide) : 1;
}

uint32_t ofVex(const uint8_t* at) {
  if (*at == 0xc5) return byMap(1, at[2], at[1] & 3, at[1] & 4 ? 32 : 16, false);
  return byMap(at[1] & 31, at[3], at[2] & 3, at[2] & 4 ? 32 : 16, at[2] & 0x80);
}

// With a mask, some elements may be left out.
uint32_t ofEvex(const uint8_t* at) {
  const bool wide = at[2] & 0x80;
  if (at[3] & 7) return 1;
  if (at[3] & 0x10) return wordOf(wide);
  return byMap(at[1] & 7, at[4], at[2] & 3, 16u << (at[3] >> 5 & 3), wide);
}

// Behind 0F.
uint32_t ofTwoBytes(uint8_t op, unsigned prefix, uint32_t general, bool wide) {
  switch (op) {
    case 0xb6:
    case 0xbe:
    case 0xb0:
    case 0xc0:
      return 1;
    case 0xb7:
    case 0xbf:
      return 2;
    case 0xb1:
    case 0xc1:
    case 0xaf:
    case 0xc3:
      return general;
    default:
      if (op >= 0x40 && op <= 0x4f) return general;
      return orOne(vectorBytes(op, prefix, 16, wide));
  }
}

uint32_t ofOneByte(uint8_t op, uint32_t general) {
  if (op < 0x40) return (op & 7) <= 3 && op % 2 ? general : 1;
  switch (op) {
    case 0x63:
    case 0xd9:
      return 4;
    case 0xdd:
      return 8;
    case 0x81:
    case 0x83:
    case 0x85:
    case 0x87:
    case 0x89:
    case 0x8b:
    case 0xa5:
    case 0xa7:
    case 0xab:
    case 0xad:
    case 0xaf:
    case 0xc1:
    case 0xc7:
    case 0xd1:
    case 0xd3:
    case 0xf7:
    case 0xff:
    case 0x69:
    case 0x6b:
      return general;
    default:
      return 1;
  }
}

// Where an instruction says which memory it means: behind all prefixes and the opcode. Null: of this one nobody knows.
struct Operand {
  const uint8_t* modrm = nullptr;
  unsigned index = 0, base = 0;  // 8: of the registers from 8 on
};

Operand operandOf(const uint8_t* at) {
  for (; *at == 0x66 || *at == 0xf3 || *at == 0xf2 || *at == 0xf0; ++at) {
  }
  if (*at == 0xc5) return {at + 3, 0, 0};
  if (*at == 0xc4) return {at + 4, at[1] & 0x40 ? 0u : 8u, at[1] & 0x20 ? 0u : 8u};
  unsigned rex = 0;
  if (*at >> 4 == 4) rex = *at++;
  const Operand here{at, rex & 2 ? 8u : 0u, rex & 1 ? 8u : 0u};
  if (*at != 0x0f) return {at + 1, here.index, here.base};
  return {at + (at[1] == 0x38 || at[1] == 0x3a ? 3 : 2), here.index, here.base};
}

bool isString(const uint8_t* at) {
  for (; *at == 0x66 || *at == 0xf3 || *at == 0xf2 || *at >> 4 == 4; ++at) {
  }
  return (*at >= 0xa4 && *at <= 0xa7) || (*at >= 0xaa && *at <= 0xaf);
}

// Where the operand begins; nothing: nobody knows.
std::optional<uint64_t> beginOf(const uint8_t* code, const uint64_t (&registers)[16]) {
  const Operand operand = operandOf(code);
  const uint8_t mod = *operand.modrm >> 6, rm = *operand.modrm & 7;
  const bool scaled = rm == 4;
  const uint8_t* displacement = operand.modrm + 1 + scaled;
  if (mod == 3 || (mod == 0 && rm == 5)) return std::nullopt;  // a register, or beside the instruction
  uint64_t begin = 0;
  const uint8_t base = scaled ? operand.modrm[1] & 7 : rm;
  const bool hasBase = !(scaled && mod == 0 && base == 5);
  if (hasBase) begin += registers[base + operand.base];
  if (const unsigned index = scaled ? (operand.modrm[1] >> 3 & 7) + operand.index : 4; index != 4)
    begin += registers[index] << (operand.modrm[1] >> 6);
  int32_t far = 0;
  if (mod == 2 || !hasBase) std::memcpy(&far, displacement, sizeof far);
  if (mod == 1) far = static_cast<int8_t>(*displacement);
  return begin + static_cast<uint64_t>(int64_t{far});
}

bool isOtherPrefix(uint8_t byte) {
  return byte == 0x2e || byte == 0x36 || byte == 0x3e || byte == 0x26 || byte == 0x64 || byte == 0x65 || byte == 0x67 ||
         byte == 0xf0;
}

}  // namespace

uint32_t accessedBytes(const uint8_t* at) {
  unsigned prefix = kNone;
  bool isShort = false;
  for (;; ++at) {
    if (*at == 0x66)
      isShort = true;
    else if (*at == 0xf3 || *at == 0xf2)
      prefix = *at == 0xf3 ? kF3 : kF2;
    else if (!isOtherPrefix(*at))
      break;
  }
  if (*at == 0xc5 || *at == 0xc4) return ofVex(at);
  if (*at == 0x62) return ofEvex(at);
  bool wide = false;
  if (*at >> 4 == 4) wide = *at++ & 8;
  const uint32_t general = wide ? 8 : isShort ? 2 : 4;
  if (*at != 0x0f) return ofOneByte(*at, general);
  if (prefix == kNone && isShort) prefix = k66;
  if (at[1] == 0x38 || at[1] == 0x3a) return 1;
  return ofTwoBytes(at[1], prefix, general, wide);
}

uint32_t accessedBytesFrom(uint64_t address, const uint8_t* code, const uint64_t (&registers)[16]) {
  constexpr uint64_t kPage = 4096;
  constexpr unsigned kRsi = 6, kRdi = 7;
  const uint32_t bytes = accessedBytes(code);
  if (address % kPage || bytes == 1) return bytes;
  if (isString(code)) {
    for (const unsigned which : {kRsi, kRdi})
      if (address - registers[which] < bytes) return bytes - static_cast<uint32_t>(address - registers[which]);
    return 1;
  }
  const std::optional<uint64_t> begin = *code == 0x62 || isOtherPrefix(*code) ? std::nullopt : beginOf(code, registers);
  if (!begin || address - *begin >= bytes) return 1;
  return bytes - static_cast<uint32_t>(address - *begin);
}

}  // namespace vg::check
