// What code may come to call, by the addresses that it holds.
#include "cubin/calls.h"

#include <gtest/gtest.h>

namespace vg::cubin::testing {
namespace {

constexpr uint32_t kBranch = 75, kAddress = 62;

struct Held {
  uint32_t symbol, type = kBranch;
};

// Sections of code that each hold the addresses of some symbols, which are named after their sections, as kernels.
Cubin holding(const std::vector<std::vector<Held>>& held) {
  Cubin cubin;
  for (uint32_t i = 0; i < held.size(); ++i) {
    cubin.sections.push_back({std::to_string(i), vg::cubin::Kind::Code, 0, kNone, 128, 128});
    cubin.symbols.push_back({std::to_string(i), i, 0, false, false});
    std::vector<Relocation> relocations;
    for (const Held& one : held[i]) relocations.push_back({0, one.type, one.symbol, 0, false});
    cubin.relocations.push_back(relocations);
  }
  return cubin;
}

SymbolTest named(const std::string& name) {
  return [=](const Symbol& symbol) { return symbol.name == name; };
}

Kernel kernelAt(uint32_t section, bool callsPointers = false) {
  Kernel kernel;
  kernel.section = section;
  kernel.unknownStack = callsPointers;
  return kernel;
}

// For each section, whether a kernel there names what is wanted.
std::vector<bool> naming(const std::vector<std::vector<Held>>& held, const std::string& wanted,
                         const std::string& elsewhere = "") {
  const Cubin cubin = holding(held);
  const Calls calls(cubin, named(wanted), named(elsewhere));
  std::vector<bool> found;
  for (uint32_t i = 0; i < held.size(); ++i) found.push_back(calls.names(kernelAt(i)));
  return found;
}

TEST(Calls, LeadThroughWhatIsCalledAndWhatHoldsAddresses) {
  //                     0 -> 1 -> 2 -> 3, 4 -> 0, 5 alone
  EXPECT_EQ(naming({{{1}}, {{2, kAddress}}, {{3}}, {}, {{0}}, {}}, "3"),
            (std::vector<bool>{true, true, true, false, true, false}));
}

TEST(Calls, EndAtWhatIsElsewhere) {
  EXPECT_EQ(naming({{{1}}, {{2}}, {{3}}, {}}, "3", "1"), (std::vector<bool>{false, true, true, false}));
  EXPECT_EQ(naming({{{1}}, {{2}}, {}}, "1", "1"), (std::vector<bool>{true, false, false}));
}

TEST(Calls, GoRoundWithoutAnEnd) {
  EXPECT_EQ(naming({{{1}}, {{0}, {1}}, {{0}}}, "9"), (std::vector<bool>{false, false, false}));
  EXPECT_EQ(naming({{{1}}, {{0}, {2}}, {}}, "2"), (std::vector<bool>{true, true, false}));
}

TEST(Calls, LeadThroughConstantBanks) {
  const Cubin cubin = holding({{}, {{2}}, {}});
  const Calls calls(cubin, named("2"), named(""));
  Kernel kernel = kernelAt(0);
  EXPECT_FALSE(calls.mayReach(kernel));
  kernel.banks = {{4, 1}};
  EXPECT_TRUE(calls.mayReach(kernel));
}

// 1 leads to 2; 3 holds its address, or calls it only.
TEST(Calls, ThroughPointersLeadWhereAnAddressWasTaken) {
  for (const uint32_t type : {kBranch, kAddress}) {
    const Cubin cubin = holding({{}, {{2}}, {}, {{1, type}}});
    const Calls calls(cubin, named("2"), named(""));
    EXPECT_FALSE(calls.mayReach(kernelAt(0)));
    EXPECT_EQ(calls.mayReach(kernelAt(0, true)), type == kAddress);
  }
}

TEST(Calls, WhoHasAKernelsAddressDoesNotCallIt) {
  Cubin cubin = holding({{}, {{2}}, {}, {{1, kAddress}}});
  cubin.kernels = {kernelAt(1)};
  const Calls calls(cubin, named("2"), named(""));
  EXPECT_FALSE(calls.mayReach(kernelAt(0, true)));
  EXPECT_FALSE(calls.names(kernelAt(3)));
  EXPECT_TRUE(calls.names(kernelAt(1)));
}

}  // namespace
}  // namespace vg::cubin::testing
