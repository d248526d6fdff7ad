// Names of nested scopes: the meaning of a name is its innermost declaration. Memory and time are proportional to
// the names seen, whatever the nesting; reset() is constant time. Views must outlive the table. One thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ptx/text/ast.h"

namespace vg::ptx {

struct Declaration {
  enum class Kind : uint8_t { Symbol, Register, VectorRegister, RegisterRange };
  Kind kind = Kind::Symbol;
  SymbolKind symbol = SymbolKind::None;
  Type type = Type::None;  // RegisterRange
  uint8_t width = 1;       // VectorRegister: components
  uint32_t depth = 0;      // of the scope
  uint32_t name = 0;       // set by declare()
  uint32_t index = 0;      // of the register, symbol or first component
  uint32_t count = 0;      // RegisterRange: valid numbers are below
  int64_t shadowed = -1;   // set by declare()
};

class NameTable {
 public:
  void reset();
  void openScope() {
    ++depth_;
    scopes_.push_back(static_cast<uint32_t>(live_.size()));
  }
  void closeScope();
  uint32_t depth() const { return depth_; }

  // A number for the name, the same for equal names until reset().
  uint32_t intern(std::string_view name);
  // The innermost declaration, or null. Valid until the next declare().
  Declaration* find(uint32_t name) { return names_[name].current < 0 ? nullptr : &declarations_[names_[name].current]; }
  Declaration* find(std::string_view name);
  // A stable number for a declaration found.
  uint32_t numberOf(const Declaration* d) const { return static_cast<uint32_t>(d - declarations_.data()); }
  // Declares in the current scope; false when the name is already declared in this very scope.
  bool declare(std::string_view name, Declaration declaration);
  std::string_view text(uint32_t name) const { return names_[name].text; }

 private:
  struct Slot {
    uint32_t generation = 0, name = 0;
  };
  struct Name {
    std::string_view text;
    uint32_t hash = 0;
    int64_t current = -1;
  };
  size_t slotOf(std::string_view name, uint32_t hash) const;
  void grow();

  std::vector<Slot> slots_;
  std::vector<Name> names_;
  std::vector<Declaration> declarations_;
  std::vector<uint32_t> live_;    // declarations in force, innermost last
  std::vector<uint32_t> scopes_;  // where each open scope starts in live_
  uint32_t generation_ = 1;
  uint32_t depth_ = 0;
};

// (range, number) -> register, for register ranges such as %r<100> whose members are made when first used.
class RegisterNumbers {
 public:
  void reset();
  // The value slot of the pair; UINT32_MAX when new.
  uint32_t& at(uint32_t range, uint32_t number);

 private:
  struct Slot {
    uint64_t key = 0;
    uint32_t generation = 0, value = 0;
  };
  void grow();

  std::vector<Slot> slots_;
  size_t used_ = 0;
  uint32_t generation_ = 1;
};

}  // namespace vg::ptx
