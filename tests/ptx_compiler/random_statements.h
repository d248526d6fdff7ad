// What random kernels are made of: registers that are defined where a statement stands, arithmetic, tests and effects
// on them. Who derives from it makes the control flow.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <vector>

namespace vg::ptx::test {

using Name = std::string;
using Names = std::deque<Name>;  // a name stays where it is while others are added: lines hold pointers to several

class Statements {
 protected:
  static constexpr uint32_t kVariables = 6;  // registers that any statement may change, stored at the end

  // What is defined where a statement stands.
  struct Scope {
    Names words, wides, tests;
  };

  explicit Statements(uint64_t seed) : random_(seed) {}

  uint32_t below(uint32_t n) { return std::uniform_int_distribution<uint32_t>(0, n - 1)(random_); }
  bool chance(uint32_t percent) { return below(100) < percent; }
  template <size_t N>
  const char* oneOf(const char* const (&list)[N]) {
    return list[below(N)];
  }
  // Late ones more often: they depend on more.
  const Name& pick(const Names& names) {
    const size_t a = below(static_cast<uint32_t>(names.size())), b = below(static_cast<uint32_t>(names.size()));
    return names[chance(50) ? std::max(a, b) : a];
  }

  __attribute__((format(printf, 2, 3))) void line(const char* format, ...);
  void label(const char* kind, uint32_t id) { text_ += std::string("$") + kind + std::to_string(id) + ":\n"; }

  Name fresh(char kind, uint32_t& count) { return Name("%") + kind + std::to_string(count++); }
  Name newWord() { return scope_.words.emplace_back(fresh('r', words_)); }
  Name newWide() { return scope_.wides.emplace_back(fresh('d', wides_)); }
  Name newTest() { return scope_.tests.emplace_back(fresh('p', tests_)); }

  std::string registers() const;  // their declarations
  void special(const char* source);
  // Places of the thread, pointers, one word of the input; the variables.
  void threadPrologue();
  // An address of shared memory, of one of `count` words from `symbol`.
  Name sharedWord(const char* symbol, const Name& index);

  // A register or a number that is likely to matter.
  Name word();
  Name wordRegister();
  Name wide();

  void compute();
  // --- random_unwritten.cpp
  struct Unwritten {
    Name name, written;  // the register, and the word that is 1 where it was written
  };
  static std::string unwrittenRegisters();
  void unwritten();
  Unwritten pickUnwritten();
  void writeUnwritten(const Unwritten& u);
  void changeUnwritten(const Unwritten& u);
  void readUnwritten(const Unwritten& u);
  void writtenInALoop();
  void unwrittenTest();
  void unwrittenFloat();
  void partlyWritten();

  void test();
  // A test made of several, as conditions of programs are.
  Name condition();
  Name guard();
  // Changes a variable or stores a word, some of the lanes at times.
  void effect();
  // Counts up, and back to the label Loop of that number while it is below the bound.
  void endLoop(uint32_t id, const Name& counter, const Name& bound, const Name& again);

  std::mt19937_64 random_;
  uint32_t unwritten_ = 10;  // of a hundred computations: with registers that may not have been written
  std::string text_;
  Scope scope_;
  uint32_t words_ = 0, wides_ = 0, tests_ = 0, labels_ = 0;
};

}  // namespace vg::ptx::test
