#include "backend/cpu/code/places.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "backend/cpu/code/kernel_code.h"
#include "backend/cpu/run/block.h"
#include "backend/cpu/run/thread.h"
#include "ptx/facts/kept_registers.h"
#include "ptx/interpreter/interpreter.h"

namespace vg::backend::cpu {
namespace {

std::string bracketed(uint32_t x, uint32_t y, uint32_t z) {
  return "[" + std::to_string(x) + "," + std::to_string(y) + "," + std::to_string(z) + "]";
}

std::string bracketed(const ThreadIndex& t) { return bracketed(t.x, t.y, t.z); }

uint32_t lanesIn(const ptx::KernelLaunch& launch, uint32_t warp) {
  return std::min(launch.threadsPerBlock - warp * ptx::kWarpSize, ptx::kWarpSize);
}

std::string threadsOf(const ptx::KernelLaunch& launch, uint32_t warp, uint32_t lane) {
  if (lane != ptx::kNoLane) return "thread " + bracketed(threadOf(launch, warp, lane));
  const uint32_t last = lanesIn(launch, warp) - 1;
  if (!last) return "thread " + bracketed(threadOf(launch, warp, 0));
  return "threads " + bracketed(threadOf(launch, warp, 0)) + " to " + bracketed(threadOf(launch, warp, last));
}

uint32_t lineOf(const RunningLaunch& launch, const ResidentBlock& block, const KernelFault& fault) {
  if (fault.line) return fault.line;
  if (CodePages::contains(fault.codeAddress)) return launch.code->lineAt(fault.codeAddress);
  return block.state().line;
}

}  // namespace

uint32_t lineOfCall(const ResidentBlock& block, const void* from) {
  return CodePages::contains(from) ? block.launch().code->lineAt(static_cast<const std::byte*>(from) - 1)
                                   : block.state().line;
}

ThreadIndex threadOf(const ptx::KernelLaunch& launch, uint32_t warp, uint32_t lane) {
  const uint32_t linear = warp * ptx::kWarpSize + lane;
  const uint32_t row = linear / launch.blockSize[0];
  return {linear % launch.blockSize[0], row % launch.blockSize[1], row / launch.blockSize[1]};
}

std::string placeOf(const RunningLaunch& launch, const ResidentBlock& block, const KernelFault& fault) {
  const uint32_t* const index = block.state().blockIndex;
  const uint32_t warp = fault.lanes ? fault.warp : block.runningWarp();
  const uint32_t lane = fault.lanes ? static_cast<uint32_t>(std::countr_zero(fault.lanes)) : block.state().lane;
  const uint32_t line = lineOf(launch, block, fault);
  return "block " + bracketed(index[0], index[1], index[2]) + ", warp " + std::to_string(warp) + ", " +
         threadsOf(launch.abi, warp, lane) + (line ? ", PTX line " + std::to_string(line) : "");
}

namespace {

FaultScene blockScene(const RunningLaunch& launch, const ResidentBlock& block, CUresult error) {
  const ptx::KernelLaunch& abi = launch.abi;
  const ptx::BlockState& state = block.state();
  FaultScene scene{};
  scene.error = error;
  scene.kernel = launch.kernelName;
  scene.grid = abi.gridId;
  scene.gridSize = abi.gridSize;
  scene.blockSize = abi.blockSize;
  scene.clusterSize = abi.clusterSize;
  scene.parameters = abi.parameters;
  scene.parameterBytes = launch.parameterBytes;
  scene.blockIndex = state.blockIndex;
  scene.shared = state.shared;
  scene.sharedBytes = abi.dynamicShared ? abi.dynamicSharedOffset + abi.dynamicShared : abi.staticShared;
  scene.multiprocessor = state.worker;
  return scene;
}

WarpScene warpScene(const ptx::KernelLaunch& launch, uint32_t warp, uint32_t line) {
  const uint32_t valid = ~0u >> (ptx::kWarpSize - lanesIn(launch, warp));
  return {warp, valid, valid, line};
}

FunctionScene::Register::Kind kindOf(ptx::Type type) {
  using Kind = FunctionScene::Register::Kind;
  if (type == ptx::Type::Pred) return Kind::Predicate;
  if (ptx::isSigned(type)) return Kind::Signed;
  const bool isNumber = type == ptx::Type::F16 || type == ptx::Type::F32 || type == ptx::Type::F64;
  return isNumber ? Kind::Float : Kind::Bits;
}

FunctionScene describe(const ptx::Function& function) {
  FunctionScene scene{function.name, function.line, function.line, {}};
  for (const ptx::Instruction& i : function.body) scene.lastLine = std::max(scene.lastLine, i.line);
  for (const ptx::Register& r : function.registers)
    scene.registers.push_back({r.name, ptx::bitsOf(r.type), kindOf(r.type)});
  return scene;
}

// Of the function that the lane's line is in.
void addValues(LaneScene& to, const FaultScene& scene, const ptx::Module& module, const ptx::kept::Layout& layout,
               const std::byte* kept, uint32_t lane) {
  for (size_t n = 0; n < scene.functions.size(); ++n) {
    if (to.line < scene.functions[n].firstLine || to.line > scene.functions[n].lastLine) continue;
    const ptx::Function& f = module.functions[layout.functions[n]];
    to.function = n;
    for (uint32_t r = 0; r < f.registers.size(); ++r) {
      const uint32_t offset = layout.offsets[n][r];
      to.values.push_back(ptx::kept::valueOf(kept, f.registers[r], offset, lane));
      if (f.registers[r].type == ptx::Type::B128)
        to.values.push_back(ptx::kept::valueOf(kept, f.registers[r], offset, lane, true));
    }
    return;
  }
}

// The lanes that were there, and whose predicate was true.
void blameFewer(WarpScene& warp, const ptx::kept::Head& head, const ptx::Module& module,
                const ptx::kept::Layout& layout, const std::byte* kept) {
  uint32_t there = head.lanes;
  for (size_t n = 0; n < layout.functions.size(); ++n) {
    const ptx::Function& f = module.functions[layout.functions[n]];
    for (const ptx::Instruction& i : f.body) {
      if (i.line != warp.line || i.guard < 0) continue;
      const auto guard = static_cast<size_t>(i.guard);
      for (uint32_t lane = 0; lane < ptx::kWarpSize; ++lane)
        if ((ptx::kept::valueOf(kept, f.registers[guard], layout.offsets[n][guard], lane) != 0) == i.guardNegated)
          there &= ~(1u << lane);
    }
  }
  if (there & warp.validLanes) warp.lanes &= there;
}

// What compiled code has kept of the lanes of the warps (ptx/facts/kept_registers.h).
void addKeptLanes(FaultScene& scene, const RunningLaunch& launch, const ResidentBlock& block) {
  const ptx::Module& module = *launch.module;
  const uint32_t entry = static_cast<uint32_t>(module.findFunction(launch.kernelName) - module.functions.data());
  const ptx::kept::Layout layout = ptx::kept::layoutOf(module, entry);
  if (layout.bytes != launch.code->traits.keptBytes) return;
  for (const uint32_t index : layout.functions) scene.functions.push_back(describe(module.functions[index]));
  for (WarpScene& warp : scene.warps) {
    const std::byte* const kept = block.state().kept + size_t{launch.code->traits.keptBytes} * warp.number;
    ptx::kept::Head head;
    std::memcpy(&head, kept, sizeof head);
    const bool oneToBlame = warp.lanes != warp.validLanes;
    if (!oneToBlame) blameFewer(warp, head, module, layout, kept);
    for (uint32_t lane = 0; lane < ptx::kWarpSize; ++lane) {
      LaneScene& to = warp.each.emplace_back();
      if (!(warp.validLanes >> lane & 1)) continue;
      if (head.lines[lane] == ptx::kept::kEnded) {
        warp.validLanes &= ~(1u << lane);
        continue;
      }
      to.line = head.lanes >> lane & 1 && warp.line ? warp.line : head.lines[lane];
      addValues(to, scene, module, layout, kept, lane);
    }
  }
}

// What is known of the lanes of the warps. The functions of several are in the scene once.
void addLanes(FaultScene& scene, const RunningLaunch& launch, const ResidentBlock& block) {
  if (block.state().kept && launch.module) return addKeptLanes(scene, launch, block);
  if (!launch.code->interpreted) return;
  std::vector<const ptx::Function*> known;
  for (WarpScene& warp : scene.warps) {
    ptx::LaneView views[ptx::kWarpSize];
    if (!ptx::viewLanes(block.state(), warp.number, views)) continue;
    const bool oneToBlame = warp.lanes != warp.validLanes;
    warp.validLanes = 0;
    for (const ptx::LaneView& view : views) {
      LaneScene& lane = warp.each.emplace_back();
      if (!view.function) continue;
      warp.validLanes |= 1u << (warp.each.size() - 1);
      lane.function = static_cast<size_t>(std::find(known.begin(), known.end(), view.function) - known.begin());
      if (lane.function == known.size()) {
        known.push_back(view.function);
        scene.functions.push_back(describe(*view.function));
      }
      lane.line = view.runs ? warp.line : view.line;
      for (uint32_t k = 0; k < view.function->registers.size(); ++k) {
        lane.values.push_back(view.low(k));
        if (view.function->registers[k].type == ptx::Type::B128) lane.values.push_back(view.high(k));
      }
    }
    if (!oneToBlame)
      for (uint32_t lane = 0; lane < ptx::kWarpSize; ++lane)
        if (warp.each[lane].line != warp.line) warp.lanes &= ~(1u << lane);
  }
}

void addWaiting(FaultScene& scene, const RunningLaunch& launch, const ResidentBlock& block, uint32_t but) {
  block.eachWaiting([&](uint32_t warp, uint32_t line) {
    if (warp != but && line) scene.warps.push_back(warpScene(launch.abi, warp, line));
  });
}

}  // namespace

FaultScene sceneOf(const RunningLaunch& launch, const ResidentBlock& block, const KernelFault& fault) {
  FaultScene scene = blockScene(launch, block, fault.error);
  scene.stackOverflow = fault.stackOverflow;
  WarpScene warp = warpScene(launch.abi, fault.lanes ? fault.warp : block.runningWarp(), lineOf(launch, block, fault));
  const uint32_t lane = block.state().lane;
  if (fault.lanes)
    warp.lanes = fault.lanes;
  else if (lane != ptx::kNoLane)
    warp.lanes = 1u << lane;
  scene.warps.push_back(warp);
  addWaiting(scene, launch, block, warp.number);
  addLanes(scene, launch, block);
  return scene;
}

FaultScene sceneOfWaiting(const RunningLaunch& launch, const ResidentBlock& block, CUresult error) {
  FaultScene scene = blockScene(launch, block, error);
  addWaiting(scene, launch, block, ~0u);
  addLanes(scene, launch, block);
  return scene;
}

}  // namespace vg::backend::cpu
