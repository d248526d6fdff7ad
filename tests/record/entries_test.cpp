// What the recorder knows of every entry point by its row and the rules.
#include "record/entries.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace {

using namespace vg::record;

bool isReplayed(const Entry& entry) {
  return entry.symbol && entry.told && entry.action != Action::List && entry.action != Action::Missing;
}

template <class Visit>
void eachReplayedParameter(Visit visit) {
  for (const Entry& entry : entries())
    if (isReplayed(entry))
      for (const Parameter& parameter : entry.parameters) visit(entry, parameter);
}

// A pointer of which nothing is known is passed as null. These may be: replaying needs nothing of them.
TEST(Entries, EveryPointerThatReplayingNeedsIsKnown) {
  const std::set<std::string> known = {
      "userData", "optionValues", "jitOptionsValues", "libraryOptions", "libraryOptionValues", "ptr", "destroy"};
  eachReplayedParameter([&](const Entry& entry, const Parameter& parameter) {
    if (parameter.role != Role::Unknown) return;
    EXPECT_TRUE(known.count(std::string(parameter.name))) << entry.symbol << ": " << parameter.name;
  });
}

// What is written to memory has a size.
TEST(Entries, EveryMemoryHasASize) {
  eachReplayedParameter([](const Entry& entry, const Parameter& parameter) {
    if (parameter.role != Role::Memory && parameter.role != Role::Structure) return;
    EXPECT_GT(parameter.pointee, 0u) << entry.symbol << ": " << parameter.name;
  });
}

// A pointer beside a number of things has that number, or points to one thing.
TEST(Entries, ListsHaveTheirCounts) {
  const std::set<std::string> counts = {
      "numDependencies", "numEdges",   "numNodes",        "numRootNodes", "numDependentNodes",
      "numFunctions",    "numKernels", "numPrefetchLocs", "count",        "tensorRank"};
  const std::set<std::string> single = {"phGraphNode", "hGraph", "nodeParams", "tensorMap"};
  eachReplayedParameter([&](const Entry& entry, const Parameter& parameter) {
    if (parameter.role != Role::Memory || parameter.companion >= 0 || single.count(std::string(parameter.name))) return;
    if (counts.count(std::string(parameter.name))) return;  // the number itself
    for (const Parameter& other : entry.parameters)
      EXPECT_FALSE(counts.count(std::string(other.name)))
          << entry.symbol << ": " << parameter.name << " beside " << other.name;
  });
}

// Handles are recognised by their type, wherever they are.
TEST(Entries, EveryHandleHasAKind) {
  eachReplayedParameter([&](const Entry& entry, const Parameter& parameter) {
    const bool pointerSized = parameter.size == sizeof(void*) && !parameter.stars;
    if (!pointerSized || !parameter.type.starts_with("CU") || parameter.role != Role::Word) return;
    EXPECT_TRUE(parameter.type == "CUmemLocation") << entry.symbol << ": " << parameter.type << " " << parameter.name;
  });
  EXPECT_EQ(entries()[entryNamed("cuStreamSynchronize_ptsz")].parameters[0].kind, Kind::CUstream);
  EXPECT_EQ(entries()[entryNamed("cuKernelGetFunction")].parameters[1].kind, Kind::CUfunction);
}

TEST(Entries, CallsWithMoreThanFitAreNone) {
  for (const Entry& entry : entries()) EXPECT_LE(entry.parameters.size(), kMostParameters) << entry.symbol;
  eachReplayedParameter([](const Entry& entry, const Parameter& parameter) {
    EXPECT_LE(parameter.size, sizeof(uint64_t)) << entry.symbol << ": " << parameter.name;
  });
}

}  // namespace
