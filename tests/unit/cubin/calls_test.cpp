// What code may come to call, by the addresses that it holds.
#include "cubin/calls.h"

#include <gtest/gtest.h>

namespace vg::cubin::testing {
namespace {

// Of sections that each hold the addresses of some symbols, which are named after their sections.
Cubin holding(const std::vector<std::vector<uint32_t>>& symbols) {
  Cubin cubin;
  for (uint32_t i = 0; i < symbols.size(); ++i) {
    cubin.sections.push_back({std::to_string(i), Kind::Code, 0, kNone, 128, 128});
    cubin.symbols.push_back({std::to_string(i), i, 0, false, false});
    std::vector<Relocation> relocations;
    for (const uint32_t symbol : symbols[i]) relocations.push_back({0, 2, symbol, 0, false});
    cubin.relocations.push_back(relocations);
  }
  return cubin;
}

std::vector<bool> reaching(const std::vector<std::vector<uint32_t>>& symbols, const std::string& wanted) {
  return sectionsReaching(holding(symbols), [&](const Symbol& symbol) { return symbol.name == wanted; });
}

TEST(Calls, ReachThroughWhatIsCalledAndWhatHoldsAddresses) {
  //                       0 -> 1 -> 2 -> 3, 4 -> 0, 5 alone
  EXPECT_EQ(reaching({{1}, {2}, {3}, {}, {0}, {}}, "3"), (std::vector<bool>{true, true, true, false, true, false}));
}

TEST(Calls, GoRoundWithoutAnEnd) {
  EXPECT_EQ(reaching({{1}, {0, 1}, {0}}, "9"), (std::vector<bool>{false, false, false}));
  EXPECT_EQ(reaching({{1}, {0, 2}, {}}, "2"), (std::vector<bool>{true, true, false}));
}

TEST(Calls, KernelsReachThroughTheirConstantBanksAndUnknownPointers) {
  const std::vector<bool> found = reaching({{}, {2}, {}}, "2");
  Kernel kernel;
  kernel.section = 0;
  EXPECT_FALSE(mayReach(kernel, found));
  kernel.banks = {{4, 1}};
  EXPECT_TRUE(mayReach(kernel, found));
  kernel.banks.clear();
  kernel.unknownStack = true;
  EXPECT_TRUE(mayReach(kernel, found));
}

}  // namespace
}  // namespace vg::cubin::testing
