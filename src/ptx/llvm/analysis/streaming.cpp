#include "ptx/llvm/analysis/streaming.h"

#include <algorithm>
#include <optional>

#include "ptx/facts/async_form.h"
#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/text/op.h"
#include "ptx/text/opcodes.h"

namespace vg::ptx::gen {
namespace {

constexpr int kDeep = 16;       // of an address's making
constexpr uint32_t kLeast = 2;  // bytes a lane: a warp fills a line

// The pointer among the parameters (bytes) that an address was made of; none when there is none or it is hard to tell.
std::optional<uint32_t> pointerOf(const Program& program, ValueId id, int depth = 0) {
  if (id == kNone || depth > kDeep) return {};
  if (const auto given = givenPointer(program, id)) return given;
  const Value& v = program.values[id];
  const auto first = [&](std::initializer_list<ValueId> ids) -> std::optional<uint32_t> {
    for (const ValueId one : ids)
      if (const auto found = pointerOf(program, one, depth + 1)) return found;
    return {};
  };
  // Around a loop: what it starts with.
  if (v.kind == Value::Phi) return v.incoming.empty() ? std::nullopt : first({v.incoming[0], v.incoming.back()});
  if (v.kind != Value::Result) return {};
  const Instruction& i = program.instructions[v.instruction];
  if (i.guard != kNone) return {};
  switch (i.ast->op) {
    case Op::Mov:
    case Op::Cvta:
    case Op::Sub:
      return first({i.sources[0]});
    case Op::Add:
      return first({i.sources[0], i.sources[1]});
    case Op::Mad:
      return first({i.sources[2]});
    default:
      return {};
  }
}

bool isMemory(Space space) { return space == Space::Global || space == Space::None; }

// Whether others may look for the kernel's results before it has ended, or get them by a way that is not followed here.
bool tellsOthers(const ptx::Instruction& i) {
  if (isAtomic(i.op)) return i.space != Space::Shared;
  const Opcode& row = rowOf(i.op);
  // Calls are of the runtime: kernels that this one launches, memory that it gives back.
  if (row.has(Trait::Orders) || row.memory == MemoryUse::AnyMemory) return true;
  return isVolatileAccess(i) || isAsync(i) || (isBarrier(i.op) && i.has(Mod::Cluster));
}

// That a lane stores.
uint32_t bytesOf(const Instruction& i) { return accessBytes(*i.ast); }

bool mayStream(const Program& program, const Instruction& i) {
  if (i.sources[0] == kNone) return false;
  const uint32_t bytes = accessBytes(*i.ast);
  const Shape& shape = program.values[i.sources[0]].shape;
  return shape.straight() && shape.stride == int64_t{bytes} && bytes >= kLeast && program.blocks[i.block].loop == kNone;
}

}  // namespace

StreamedStores streamedStores(const Program& program) {
  std::set<uint32_t> loaded;
  std::vector<std::pair<const Instruction*, uint32_t>> stores;
  for (const Block& block : program.blocks) {
    for (const uint32_t index : block.instructions) {
      const Instruction& i = program.instructions[index];
      if (tellsOthers(*i.ast)) return {};
      const bool isLoad = (i.ast->op == Op::Ld || i.ast->op == Op::Ldu) && isMemory(i.ast->space);
      const bool isCopy = i.ast->op == Op::Cp && i.sources.size() > 1;  // others only wait for copies
      if (isLoad || isCopy) {
        const auto from = pointerOf(program, i.sources[isCopy ? 1 : 0]);
        if (!from) return {};
        loaded.insert(*from);
      } else if (i.ast->op == Op::St && isMemory(i.ast->space) && mayStream(program, i)) {
        if (const auto to = pointerOf(program, i.sources[0])) stores.emplace_back(&i, *to);
      }
    }
  }
  StreamedStores out;
  for (const auto& [store, to] : stores) {
    if (loaded.count(to)) continue;
    out.stores.insert(store);
    out.bytesPerThread += bytesOf(*store);
  }
  return out;
}

}  // namespace vg::ptx::gen
