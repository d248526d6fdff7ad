#include "core/executables/followed_steps.h"

#include "check/races/order.h"

namespace vg::core {

// What a child graph comes after is what all of its steps come after, too.
void FollowedSteps::note(const GraphNode& node, const StepOf& stepOf, size_t step) {
  if (!check::order::on()) return;
  std::vector<uint32_t> after = outer_;
  for (const Dependency& dependency : node.dependencies()) {
    const auto child = children_.find(dependency.node->id());
    const auto other = stepOf.find(dependency.node->id());
    if (child != children_.end())
      for (uint32_t k = child->second.first; k < child->second.end; ++k) after.push_back(k);
    else if (other != stepOf.end())
      after.push_back(static_cast<uint32_t>(other->second));
  }
  if (!node.as<ChildNode>()) return after_.push_back(std::move(after));
  const auto first = static_cast<uint32_t>(step);
  children_[node.id()] = {first, first, std::exchange(outer_, std::move(after))};
}

void FollowedSteps::endChild(const GraphNode& node, size_t end) {
  const auto child = children_.find(node.id());
  if (child == children_.end()) return;
  child->second.end = static_cast<uint32_t>(end);
  outer_ = child->second.outer;
}

}  // namespace vg::core
