#include "ptx/llvm/ir/settled_values.h"

#include <numeric>
#include <queue>
#include <utility>
#include <vector>

namespace vg::ptx::gen {
namespace {

// By value, those that are made of it.
class Users {
 public:
  explicit Users(const Program& program) : first_(program.values.size() + 1, 0) {
    forEachUse(program, [&](ValueId used, ValueId) { ++first_[used + 1]; });
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    users_.resize(first_.back());
    std::vector<uint32_t> next(first_.begin(), first_.end() - 1);
    forEachUse(program, [&](ValueId used, ValueId user) { users_[next[used]++] = user; });
  }

  template <class Visit>
  void forEach(ValueId used, Visit visit) const {
    for (uint32_t n = first_[used]; n < first_[used + 1]; ++n) visit(users_[n]);
  }

 private:
  template <class Visit>
  static void forEachUse(const Program& program, Visit visit) {
    for (ValueId user = 0; user < program.values.size(); ++user) {
      const Value& v = program.values[user];
      const auto visitAll = [&](const std::vector<ValueId>& used) {
        for (const ValueId one : used)
          if (one != kNone) visit(one, user);
      };
      if (v.kind == Value::Phi) visitAll(v.incoming);
      if (v.kind != Value::Result) continue;
      const Instruction& i = program.instructions[v.instruction];
      visitAll(i.sources);
      visitAll(i.old);
    }
  }

  std::vector<uint32_t> first_;
  std::vector<ValueId> users_;
};

// Values to look at, the first in order first.
class Round {
 public:
  explicit Round(size_t count) : waits_(count, false) {}

  void add(ValueId id) {
    if (waits_[id]) return;
    waits_[id] = true;
    order_.push(id);
  }
  bool empty() const { return order_.empty(); }
  ValueId take() {
    const ValueId id = order_.top();
    order_.pop();
    waits_[id] = false;
    return id;
  }

 private:
  std::priority_queue<ValueId, std::vector<ValueId>, std::greater<>> order_;
  std::vector<bool> waits_;
};

}  // namespace

void settleValues(const Program& program, const std::function<bool(ValueId)>& update) {
  const Users users(program);
  Round now(program.values.size()), next(program.values.size());
  for (ValueId id = 0; id < program.values.size(); ++id) now.add(id);
  for (; !now.empty(); std::swap(now, next))
    while (!now.empty()) {
      const ValueId id = now.take();
      if (!update(id)) continue;
      users.forEach(id, [&](ValueId user) { (user > id ? now : next).add(user); });
    }
}

}  // namespace vg::ptx::gen
