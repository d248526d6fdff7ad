// Addresses of shared memory between the blocks of a cluster: whose it is, and the same place in another block.
#include "ptx/interpreter/interpreter_impl.h"
#include "ptx/text/op.h"

namespace vg::ptx::interpreter {
namespace {

// Where the addresses of the instruction count from: generic ones are the host's.
uint64_t baseOf(const Warp& w, const Step& s) {
  return s.space == Space::None ? reinterpret_cast<uint64_t>(w.block->clusterShared) : 0;
}

void mapToRank(Warp& w, const Step& s, uint32_t mask) {
  const uint64_t base = baseOf(w, s);
  eachLane(mask, [&](uint32_t lane) {
    const uint64_t within = (w.read(lane, s.sources[0]) - base) % kSharedStride;
    const uint64_t rank = w.read(lane, s.sources[1]) & 0xffffffff;
    w.write(lane, s.targets[0], base + rank * kSharedStride + within);
  });
}

void rankOf(Warp& w, const Step& s, uint32_t mask) {
  const uint64_t base = baseOf(w, s);
  eachLane(mask, [&](uint32_t lane) {
    w.write(lane, s.targets[0], (w.read(lane, s.sources[0]) - base) >> kSharedStrideBits);
  });
}

}  // namespace

void selectCluster(const Instruction& i, Step& s) {
  s.space = i.space;
  if (i.op == Op::Mapa && s.sourceCount == 2) s.execute = mapToRank;
  if (i.op == Op::Getctarank && s.sourceCount == 1) s.execute = rankOf;
}

}  // namespace vg::ptx::interpreter
