#include "backend/cpu/code/check_calls.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "backend/cpu/run/block.h"
#include "backend/cpu/run/thread.h"
#include "check/blocks/compiled.h"
#include "ptx/operations/matrix.h"

namespace vg::backend::cpu {
namespace {

using ptx::BlockState;
using ptx::MatrixOperation;

const check::CompiledKernel* kernelOf(const BlockState& state) {
  return static_cast<const check::CompiledKernel*>(state.launch->code);
}

uint64_t addressOf(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

template <class T>
T& operandAt(void* operands, size_t before, uint32_t lane) {
  return static_cast<T*>(static_cast<void*>(static_cast<std::byte*>(operands) + before * ptx::kWarpSize))[lane];
}

bool stores(const ptx::MatrixForm& form) {
  return form.operation == MatrixOperation::StoreRows || form.operation == MatrixOperation::StoreFragment;
}

}  // namespace

uint32_t checkAccess(BlockState* state, ptx::CheckedRanges*, uint32_t warp, uint32_t block, uint32_t mask,
                     const uint64_t* addresses, uint64_t form, uint32_t line, const void* locals, const void* frameEnd,
                     const void* data) {
  ResidentBlock& resident = ResidentBlock::of(state);
  const check::CompiledKernel* const kernel = kernelOf(*state);
  if (!kernel) return mask;
  const KernelThread::Critical critical(resident.thread());
  state->blockIndex[0] = block;  // one call may run several
  check::WarpAccess access{warp, mask, addresses, ptx::accessFormOf(form), line, {}, data};
  const ptx::KernelTraits& traits = resident.launch().code->traits;
  if (locals && traits.localPerThread)
    access.local = {addressOf(locals), traits.localStride, traits.localPerThread, 0, 0};
  if (frameEnd) {
    access.local.frame = addressOf(__builtin_frame_address(0));
    access.local.frameEnd = addressOf(frameEnd);
  }
  return check::judge(*state, *kernel, access);
}

void tellMeeting(BlockState* state, uint32_t warp, uint32_t mask, ptx::Meeting meeting, uint32_t barrier,
                 uint32_t threads, uint32_t line, const uint32_t* members) {
  const check::CompiledKernel* const kernel = kernelOf(*state);
  if (!kernel) return;
  const KernelThread::Critical critical(ResidentBlock::of(state).thread());
  check::meet(*state, *kernel, {warp, mask, meeting, barrier, threads, line, members});
}

bool checkMatrix(BlockState* state, uint32_t warp, uint32_t mask, const ptx::MatrixForm& form, uint32_t line,
                 void* operands, void* nowhere) {
  const check::CompiledKernel* const kernel = kernelOf(*state);
  const uint32_t naming = ptx::namingLanes(form, mask);
  if (!kernel || !naming) return true;
  const KernelThread::Critical critical(ResidentBlock::of(state).thread());
  const bool rows = form.operation == MatrixOperation::LoadRows || form.operation == MatrixOperation::StoreRows;
  const uint64_t own = addressOf(state->shared) + state->sharedOffset;
  bool allowed = true;
  for (uint32_t left = naming; left; left &= left - 1) {
    const auto lane = static_cast<uint32_t>(std::countr_zero(left));
    auto& address = operandAt<uint64_t>(operands, 0, lane);
    const uint64_t bytes =
        rows ? ptx::bytesOfRow(form) : ptx::extentOf(form, operandAt<uint32_t>(operands, sizeof(uint64_t), lane));
    const uint64_t alignment = rows ? ptx::kRowAlignment : std::max(ptx::bitsOf(form.a) / 8, 1u);
    const bool plainly = check::onlyMemory() && address >= own && address - own <= state->sharedLimit &&
                         bytes <= state->sharedLimit - (address - own) && !(address & (alignment - 1));
    if (plainly || check::judgeOne(*state, *kernel, {warp, lane, address, bytes, alignment, stores(form), line}))
      continue;
    allowed = false;
    if (rows) address = addressOf(nowhere);
  }
  return allowed || rows;
}

namespace {

// All lanes read all of it; the lowest one stands for them.
class SharedReads final : public ptx::GroupReads {
 public:
  SharedReads(BlockState& state, const check::CompiledKernel& kernel, uint32_t warp, uint32_t lane, uint32_t line)
      : state_(state), kernel_(kernel), warp_(warp), lane_(lane), line_(line) {}

  bool allows(uint32_t place) override {
    constexpr uint64_t kBytes = 16;
    if (check::onlyMemory() && place + kBytes <= state_.sharedLimit) return true;
    const uint64_t address = addressOf(state_.shared) + state_.sharedOffset + place;
    return check::judgeOne(state_, kernel_, {warp_, lane_, address, kBytes, kBytes, false, line_, true});
  }

 private:
  BlockState& state_;
  const check::CompiledKernel& kernel_;
  const uint32_t warp_, lane_, line_;
};

}  // namespace

bool checkGroup(BlockState* state, uint32_t warp, uint32_t mask, const ptx::MatrixForm& form, uint32_t line,
                const void* operands) {
  const check::CompiledKernel* const kernel = kernelOf(*state);
  if (!kernel || !mask) return true;
  const KernelThread::Critical critical(ResidentBlock::of(state).thread());
  SharedReads reads(*state, *kernel, warp, static_cast<uint32_t>(std::countr_zero(mask)), line);
  return ptx::mayRead(form, warp, static_cast<const std::byte*>(operands), reads);
}

}  // namespace vg::backend::cpu
