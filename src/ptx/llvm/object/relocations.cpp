#include "ptx/llvm/object/relocations.h"

#include <elf.h>

#include <cstring>

namespace vg::ptx::gen::relocations {
namespace {

template <class Word>
bool put(std::byte* at, uint64_t value) {
  const auto word = static_cast<Word>(value);
  std::memcpy(at, &word, sizeof word);
  return true;
}

// Some bits of an instruction.
bool putBits(std::byte* at, uint64_t value, unsigned first, unsigned count) {
  uint32_t instruction;
  std::memcpy(&instruction, at, sizeof instruction);
  const uint32_t mask = ((uint32_t{1} << count) - 1) << first;
  instruction = (instruction & ~mask) | (static_cast<uint32_t>(value) << first & mask);
  return put<uint32_t>(at, instruction);
}

bool fits(int64_t value, unsigned bits) {
  return value >= -(int64_t{1} << (bits - 1)) && value < int64_t{1} << (bits - 1);
}

// A distance in instructions.
bool putBranch(std::byte* at, int64_t distance, unsigned first, unsigned count) {
  return !(distance & 3) && fits(distance, count + 2) &&
         putBits(at, static_cast<uint64_t>(distance >> 2), first, count);
}

// Of ADR and ADRP: two bits in the middle, the rest below the register.
bool putFar(std::byte* at, int64_t distance) {
  return fits(distance, 21) && putBits(at, static_cast<uint64_t>(distance), 29, 2) &&
         putBits(at, static_cast<uint64_t>(distance >> 2), 5, 19);
}

int64_t pageOf(uint64_t offset) { return static_cast<int64_t>(offset >> 12); }

// What is added to the beginning of a page, in units of what is loaded.
bool putInPage(std::byte* at, uint64_t target, unsigned shift) {
  return !(target & ((uint64_t{1} << shift) - 1)) && putBits(at, (target & 0xfff) >> shift, 10, 12);
}

}  // namespace

bool applyX86(uint32_t type, std::byte* at, uint64_t target, uint64_t where) {
  switch (type) {
    case R_X86_64_PC32:
    case R_X86_64_PLT32:
      return put<uint32_t>(at, target - where);
    case R_X86_64_PC64:
      return put<uint64_t>(at, target - where);
    default:
      return false;
  }
}

bool applyArm(uint32_t type, std::byte* at, uint64_t target, uint64_t where) {
  const auto distance = static_cast<int64_t>(target - where);
  switch (type) {
    case R_AARCH64_PREL64:
      return put<uint64_t>(at, target - where);
    case R_AARCH64_PREL32:
      return fits(distance, 32) && put<uint32_t>(at, target - where);
    case R_AARCH64_CALL26:
    case R_AARCH64_JUMP26:
      return putBranch(at, distance, 0, 26);
    case R_AARCH64_CONDBR19:
    case R_AARCH64_LD_PREL_LO19:
      return putBranch(at, distance, 5, 19);
    case R_AARCH64_TSTBR14:
      return putBranch(at, distance, 5, 14);
    case R_AARCH64_ADR_PREL_LO21:
      return putFar(at, distance);
    case R_AARCH64_ADR_PREL_PG_HI21:
      return putFar(at, pageOf(target) - pageOf(where));
    case R_AARCH64_ADD_ABS_LO12_NC:
    case R_AARCH64_LDST8_ABS_LO12_NC:
      return putInPage(at, target, 0);
    case R_AARCH64_LDST16_ABS_LO12_NC:
      return putInPage(at, target, 1);
    case R_AARCH64_LDST32_ABS_LO12_NC:
      return putInPage(at, target, 2);
    case R_AARCH64_LDST64_ABS_LO12_NC:
      return putInPage(at, target, 3);
    case R_AARCH64_LDST128_ABS_LO12_NC:
      return putInPage(at, target, 4);
    default:
      return false;
  }
}

}  // namespace vg::ptx::gen::relocations
