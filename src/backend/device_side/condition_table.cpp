#include "backend/device_side/condition_table.h"

#include <atomic>

#include "base/memory/own_memory.h"

namespace vg::backend::conditions {
namespace {

using Value = std::atomic<uint32_t>;
static_assert(sizeof(Value) == sizeof(uint32_t));

constinit std::atomic<Value*> values{nullptr};  // null: no handle was made yet

Value* find(uint64_t handle) {
  Value* const all = values.load(std::memory_order_acquire);
  return all && handle < kMost ? &all[handle] : nullptr;
}

}  // namespace

// Pages are taken when they are touched.
Result<std::byte*> memory() {
  Value* all = values.load(std::memory_order_acquire);
  if (!all) {
    constexpr size_t kBytes = kMost * sizeof(Value);
    auto* const made = reinterpret_cast<Value*>(own_memory::take(kBytes));
    if (!made) return fail(CUDA_ERROR_OUT_OF_MEMORY, "no memory for conditional handles");
    if (values.compare_exchange_strong(all, made, std::memory_order_acq_rel))
      all = made;
    else
      own_memory::give(made, kBytes);
  }
  return reinterpret_cast<std::byte*>(all);
}

CUresult add(uint64_t handle) {
  if (handle >= kMost)
    return fail(CUDA_ERROR_OUT_OF_MEMORY, "%llu conditional handles", static_cast<unsigned long long>(handle));
  VG_CHECK(memory());
  set(handle, 0);
  return CUDA_SUCCESS;
}

void set(uint64_t handle, uint32_t value) {
  if (Value* const place = find(handle)) place->store(value, std::memory_order_release);
}

uint32_t value(uint64_t handle) {
  const Value* const place = find(handle);
  return place ? place->load(std::memory_order_acquire) : 0;
}

}  // namespace vg::backend::conditions
