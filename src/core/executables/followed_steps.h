// What the steps of a plan come after, for checked mode, which tells races by it. Empty unless that follows an order.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/graphs/graph.h"

namespace vg::core {

class FollowedSteps {
 public:
  using StepOf = std::unordered_map<uint64_t, size_t>;  // by the id of the node

  // A node whose step is the next one, or of a child graph, whose steps are those until endChild().
  void note(const GraphNode& node, const StepOf& stepOf, size_t step);
  void endChild(const GraphNode& node, size_t end);
  const std::vector<uint32_t>& before(size_t step) const { return after_[step]; }

  // The numbers of the steps in the last run, by step; none: nobody follows it.
  void number(std::vector<uint64_t> works) { works_ = std::move(works); }
  bool isUnnumbered() const { return works_.empty(); }
  uint64_t workOf(size_t step) const { return works_.empty() ? 0 : works_[step]; }

 private:
  struct Child {
    uint32_t first, end;          // steps
    std::vector<uint32_t> outer;  // what the graph around it comes after
  };
  std::vector<std::vector<uint32_t>> after_;      // steps, by step
  std::unordered_map<uint64_t, Child> children_;  // by their node
  std::vector<uint32_t> outer_;                   // what the child graph comes after
  std::vector<uint64_t> works_;
};

}  // namespace vg::core
