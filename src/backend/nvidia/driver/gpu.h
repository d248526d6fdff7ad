// One GPU of this process: its file, device and subdevice, the address space that it shares with the process, and the
// doorbell. Closing the process closes all of it, so the destructor matters to tests and tools only.
#pragma once

#include <atomic>
#include <memory>

#include "backend/nvidia/driver/gpu_facts.h"
#include "backend/nvidia/driver/spare_memory.h"
#include "backend/nvidia/driver/uvm.h"

namespace vg::backend::nvidia {

class Gpu {
 public:
  // `client` and `uvm` outlive the GPU. The reason of a failure is in the log.
  static Result<std::unique_ptr<Gpu>> open(Client& client, Uvm& uvm, const rm::CardInfo& card);
  ~Gpu();
  Gpu(const Gpu&) = delete;

  Client& client() const { return client_; }
  Uvm& uvm() const { return uvm_; }
  const GpuFacts& facts() const { return facts_; }
  const rm::CardInfo& card() const { return card_; }
  uint32_t instance() const { return instance_; }  // the number of its device
  rm::Handle device() const { return device_; }
  rm::Handle subdevice() const { return subdevice_; }
  rm::Handle addressSpace() const { return addressSpace_; }
  int file() const { return file_.descriptor(); }

  SpareMemory& spare() { return *spare_; }

  Result<uint64_t> freeMemory() const { return askFreeMemory(client_, subdevice_); }
  Result<uint64_t> time() const { return askTime(client_, subdevice_); }
  // The lower half of the same clock, read beside the doorbell. Anything where this hardware does not show it there.
  uint32_t timeLow() const { return *reinterpret_cast<const volatile uint32_t*>(registers_ + rm::kTimeLow); }
  // Whether it may read and write the other's memory, through NVLink or the bus.
  bool reaches(const Gpu& other) const;
  // Tells the GPU that the channel of this token has new work. Requires: what it will read is visible (a store fence).
  // From any thread.
  void ringDoorbell(uint32_t token) const { __atomic_store_n(doorbell_, token, __ATOMIC_RELAXED); }

 private:
  Gpu(Client& client, Uvm& uvm, const rm::CardInfo& card) : client_(client), uvm_(uvm), card_(card) {}
  class Registration;
  CUresult makeDevice();
  CUresult boost();
  CUresult checkConfidential();
  CUresult mapDoorbell();
  CUresult makeAddressSpace();
  CUresult registerSpace(Registration& registration);

  Client& client_;
  Uvm& uvm_;
  const rm::CardInfo card_;
  DeviceFile file_;
  GpuFacts facts_;
  uint32_t instance_ = 0;
  rm::Handle device_ = 0, subdevice_ = 0, usermode_ = 0, addressSpace_ = 0;
  bool registered_ = false, spaceRegistered_ = false;
  std::unique_ptr<SpareMemory> spare_;
  std::byte* registers_ = nullptr;
  uint64_t registersInKernel_ = 0;
  volatile uint32_t* doorbell_ = nullptr;
};

}  // namespace vg::backend::nvidia
