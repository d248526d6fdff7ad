// What kernels of one context ask of the host while they run: launches from kernels, and all else of CUDA's device
// runtime. The functions that they call are ours (launch_functions.h); a ring of requests lies in pinned memory, and
// the Watcher answers them in order while it waits for the grids that may ask (serve()). Nothing that a kernel writes
// there is believed: grids, kernels, buffers and streams are looked up, sizes and places of copies checked.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "backend/device_side/child_grids.h"
#include "backend/nvidia/driver/block.h"
#include "backend/nvidia/functions/kernel_request.h"
#include "backend/nvidia/functions/launch_functions.h"
#include "backend/nvidia/kernels/kernel_roles.h"
#include "backend/nvidia/kernels/pinned_pieces.h"
#include "backend/nvidia/kernels/placed_cubin.h"
#include "base/sync/mutex.h"

namespace vg::backend::nvidia {

struct GpuParts;

class KernelRequests final : public AskedRuntime, public std::enable_shared_from_this<KernelRequests> {
 public:
  // Those of the source's context. `external` finds malloc and free.
  static Result<std::shared_ptr<KernelRequests>> create(const GpuParts& gpu, const ImageSource& source,
                                                        const cubin::External& external);
  KernelRequests(const GpuParts& gpu, const ImageSource& source, const LaunchFunctions& functions);
  KernelRequests(const KernelRequests&) = delete;
  ~KernelRequests() override;

  const LaunchFunctions& functions() const { return functions_; }
  CUdeviceptr addressOf(ptx::DeviceCall call) const { return code_.addressOf(*functions_.find(call)); }
  // Of a kernel that may be launched: threads do not take buffers by themselves that are too small for one.
  CUresult noteParameters(uint32_t bytes);
  CUdeviceptr nobodyCalls() const { return code_.addressOf(*functions_.nobodyCalls); }

  uint32_t stackBytes() const override { return functions_.stackBytes; }
  std::unique_ptr<ParentGrid> parent(const GpuKernel& kernel, const LaunchRecord& record, FaultSink& faults,
                                     const std::array<uint32_t, 4>& disabledTpcs) override;

  // kRequestPlaces of the first two, and kParameterBuffers.
  KernelRequest* ring() const { return ring_; }
  const uint64_t* answers() const { return reinterpret_cast<const uint64_t*>(answers_->start()); }
  ParameterBuffer* buffers() const { return buffers_; }
  const GpuParts& gpu() const { return gpu_; }
  const KernelLimits& limits() const { return limits_; }
  PinnedPieces& pieces() { return pieces_; }
  // Made when the request is answered. Of serve().
  void later(const HostCall& call) { rest_.push_back(call); }
  // Where kernels can read it. 0 without memory.
  uint64_t shown(const char* text);

 private:
  class Grid;
  class Caller;
  // Thread-safe, but for serve().
  void add(Grid& grid);
  void remove(Grid& grid);
  bool serve();
  CUresult make(const ImageSource& source, const cubin::External& external);
  CUresult write(const cubin::Variable& variable, uint64_t value);
  struct Asked;
  bool read(const KernelRequest& place, Asked& asked) const;
  void answer(KernelRequest& place, Asked& asked, Grid* parent);
  void sendAnswer(uint64_t result);

  const GpuParts& gpu_;
  const LaunchFunctions& functions_;
  const KernelLimits& limits_;
  PlacedCubin code_;
  PinnedPieces pieces_;
  KernelRequest* ring_ = nullptr;   // kRequestPlaces
  std::unique_ptr<Block> answers_;  // a word a place, in memory of the device
  ParameterBuffer* buffers_ = nullptr;
  Mutex noting_;
  bool buffersAreSmall_ VG_GUARDED_BY(noting_) = false;
  uint64_t next_ = 0;           // the request to answer; of serve()
  std::vector<HostCall> rest_;  // what is left to do of the request that was answered last; of serve()
  Mutex mutex_;
  std::unordered_map<uint64_t, Grid*> parents_ VG_GUARDED_BY(mutex_);  // by number
  std::unordered_map<std::string_view, std::byte*> texts_;             // of serve()
};

}  // namespace vg::backend::nvidia
