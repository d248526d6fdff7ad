// What a sequence of calls is made of: numbers that a seed repeats, calls of the library, and the line that each
// leaves:
//
//     seed <tab> line <tab> function <tab> what is wrong <tab> arguments <tab> result <tab> outputs
//
// Numbers begin anew with each operation, from the seed and the operation's place in the sequence. So a sequence goes
// the same way with any library as long as the same calls succeed, and two transcripts compare line by line. Nothing
// that differs from run to run, like addresses, is written.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

namespace calls {

// --- numbers

void beginOperation(unsigned seed, unsigned place);
uint64_t randomWord();
inline uint64_t below(uint64_t count) { return randomWord() % count; }
inline int belowInt(int count) { return static_cast<int>(below(static_cast<uint64_t>(count))); }
inline bool chance(int percent) { return belowInt(100) < percent; }
template <class T>
T oneOf(std::initializer_list<T> values) {
  return values.begin()[below(values.size())];
}
template <class T>
T mostly(int percent, std::initializer_list<T> usual, std::initializer_list<T> rare) {
  return chance(percent) ? oneOf(usual) : oneOf(rare);
}
size_t anySize();  // small, round, just past round, any; may be 0

// --- the library

void openLibrary(const char* path);  // ends the process where there is none
void* entryPoint(const char* name);  // ends the process where the library has none
void* findEntryPoint(const char* name);

#define CALLS_NAME(name) #name
#define CALLS_EXPANDED_NAME(name) CALLS_NAME(name)  // with the suffix that cuda.h gives it
#define CALLS_ENTRY(function)                                                                      \
  [] {                                                                                             \
    static const auto entry =                                                                      \
        reinterpret_cast<decltype(&function)>(::calls::entryPoint(CALLS_EXPANDED_NAME(function))); \
    return entry;                                                                                  \
  }()

// A call that leaves no line.
#define CALL(function, ...) CALLS_ENTRY(function)(__VA_ARGS__)

// A call that leaves one. Its arguments are evaluated in their order, before the call: given() and out() describe them.
#define RECORD(function, ...)                                                   \
  [&] {                                                                         \
    ::calls::beginLine(CALLS_EXPANDED_NAME(function));                          \
    const std::tuple callArguments{__VA_ARGS__};                                \
    ::calls::noteLine();                                                        \
    return ::calls::answered(std::apply(CALLS_ENTRY(function), callArguments)); \
  }()

// --- lines

// Where a sequence is: in memory that the process shares with the one that started it, which so learns what a crash
// ended.
struct Progress {
  unsigned seed, line;
  char call[4096];
};
extern Progress* progress;
extern std::FILE* transcript;

void beginLine(const char* function);
void noteLine();
CUresult answered(CUresult result);
void endLine();  // of the call that was answered last, if its line is still open for outputs

void describe(const char* name, const std::string& value);
void output(const char* name, const std::string& value);  // written when the call succeeded
void outputAlways(const char* name, const std::string& value);
void tag(const char* whatIsWrong);
bool wrong(const char* what, int percent);  // whether the call gets this wrong; then its line says so
void settle();                              // all work is done, unless a stream captures; its errors leave a line

std::string text(uint64_t value);
std::string text(int value);
inline std::string text(unsigned value) { return text(uint64_t{value}); }
inline std::string text(unsigned long long value) { return text(uint64_t{value}); }
std::string text(double value);
template <class T>
requires std::is_enum_v<T> std::string text(T value) { return text(static_cast<int>(value)); }
template <class... Values>
std::string list(const Values&... values) {
  std::string all;
  ((all += (all.empty() ? "" : ",") + text(values)), ...);
  return all;
}

template <class T>
concept Number = std::is_arithmetic_v<T> || std::is_enum_v<T>;
template <Number T>
std::string shown(T value) {
  if constexpr (std::is_floating_point_v<T>)
    return text(static_cast<double>(value));
  else if constexpr (sizeof(T) <= sizeof(int) && !std::is_same_v<T, unsigned>)
    return text(static_cast<int>(value));
  else
    return text(static_cast<uint64_t>(value));
}
template <Number T>
T given(const char* name, T value) {
  describe(name, shown(value));
  return value;
}
template <class T, Number V>
T givenAs(const char* name, V value) {
  describe(name, shown(value));
  return static_cast<T>(value);
}
template <Number T>
void output(const char* name, T value) {
  output(name, shown(value));
}

// Where an answer goes: now and then nowhere.
template <class T>
T* out(const char* name, T* place, int percent = 2) {
  return wrong((std::string("no ") + name).c_str(), percent) ? nullptr : place;
}

uint64_t hashOf(const void* bytes, size_t count);

// --- operations

using Operation = void (*)();
struct Weighted {
  int weight;
  Operation operation;
};
void pickOf(const std::vector<Weighted>& operations);

}  // namespace calls
