#include "backend/device_side/updatable_node.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "backend/device.h"
#include "base/memory/slab.h"

namespace vg::backend {
namespace {

constexpr size_t kAlignment = 256;  // of parameters

constinit Slab<UpdatableNode> slab;

struct alignas(kAlignment) WithArguments : LaunchRecord {};

}  // namespace

constinit Mutex UpdatableNode::mutex_;

Result<UpdatableNode&> UpdatableNode::find(uint64_t handle) {
  UpdatableNode* const node = slab.find(reinterpret_cast<const void*>(handle));
  if (node && node->living_) return *node;
  return fail(CUDA_ERROR_INVALID_VALUE, "%#llx is not a node that kernels may change, or its graph is not instantiated",
              static_cast<unsigned long long>(handle));
}

std::shared_ptr<UpdatableNode> UpdatableNode::make() {
  return {slab.create(), [](UpdatableNode* node) {
            const MutexLock lock(mutex_);
            slab.destroy(node);
          }};
}

void UpdatableNode::set(uint64_t version, const LaunchRecord& record, bool enabled) {
  const MutexLock lock(mutex_);
  if (living_ && version_ == version) return;
  living_ = true;
  enabled_ = enabled;
  version_ = version;
  record_ = record;
  arguments_.assign(record.parameters, record.parameters + record.kernel->parameterBytes());
}

void UpdatableNode::end() {
  const MutexLock lock(mutex_);
  living_ = false;
}

void UpdatableNode::Free::operator()(LaunchRecord* record) const { std::free(record); }

Result<UpdatableNode::OwnRecord> UpdatableNode::now(GraphRun* graph) const {
  const MutexLock lock(mutex_);
  if (!enabled_) return OwnRecord();
  const size_t bytes = (arguments_.size() + kAlignment - 1) / kAlignment * kAlignment;
  void* const memory = std::aligned_alloc(kAlignment, sizeof(WithArguments) + bytes);
  if (!memory) return fail(CUDA_ERROR_OUT_OF_MEMORY, "no memory for %zu bytes of arguments", bytes);
  auto* const own = new (memory) WithArguments;
  auto* const parameters = reinterpret_cast<std::byte*>(own + 1);
  static_cast<LaunchRecord&>(*own) = record_;
  if (!arguments_.empty()) std::memcpy(parameters, arguments_.data(), arguments_.size());
  own->parameters = parameters;
  own->release = nullptr;
  own->graph = graph;
  own->node = nullptr;
  return OwnRecord(own);
}

CUresult UpdatableNode::checkRange(size_t offset, size_t size) const {
  const size_t all = arguments_.size();
  if (offset <= all && size <= all - offset) return CUDA_SUCCESS;
  return fail(CUDA_ERROR_INVALID_VALUE, "%zu bytes at %zu of %zu bytes of arguments", size, offset, all);
}

CUresult UpdatableNode::hasParameters(uint64_t handle, size_t offset, size_t size) {
  const MutexLock lock(mutex_);
  VG_TRY(UpdatableNode & node, find(handle));
  return node.checkRange(offset, size);
}

CUresult UpdatableNode::setParameter(uint64_t handle, size_t offset, const void* bytes, size_t size) {
  const MutexLock lock(mutex_);
  VG_TRY(UpdatableNode & node, find(handle));
  VG_CHECK(node.checkRange(offset, size));  // the host may have changed the node since it was asked
  if (size) std::memcpy(node.arguments_.data() + offset, bytes, size);
  return CUDA_SUCCESS;
}

CUresult UpdatableNode::setEnabled(uint64_t handle, bool on) {
  const MutexLock lock(mutex_);
  VG_TRY(UpdatableNode & node, find(handle));
  node.enabled_ = on;
  return CUDA_SUCCESS;
}

CUresult UpdatableNode::checkGrid(const uint32_t (&grid)[3], const uint32_t (&limits)[3]) const {
  for (int i = 0; i < 3; ++i)
    if (!grid[i] || grid[i] > limits[i] || grid[i] % record_.shape.cluster[i])
      return fail(CUDA_ERROR_INVALID_VALUE, "a grid of %u x %u x %u blocks", grid[0], grid[1], grid[2]);
  return CUDA_SUCCESS;
}

CUresult UpdatableNode::canHaveGrid(uint64_t handle, const uint32_t (&grid)[3], const uint32_t (&limits)[3]) {
  const MutexLock lock(mutex_);
  VG_TRY(UpdatableNode & node, find(handle));
  return node.checkGrid(grid, limits);
}

CUresult UpdatableNode::setGrid(uint64_t handle, const uint32_t (&grid)[3], const uint32_t (&limits)[3]) {
  const MutexLock lock(mutex_);
  VG_TRY(UpdatableNode & node, find(handle));
  VG_CHECK(node.checkGrid(grid, limits));
  std::memcpy(node.record_.shape.grid, grid, sizeof grid);
  return CUDA_SUCCESS;
}

}  // namespace vg::backend
