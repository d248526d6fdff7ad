// The GPU addresses of this process, kept by the unified-memory driver: which ranges there are and which memory objects
// they show on which GPU. Thread-safe.
#pragma once

#include <memory>

#include "backend/nvidia/driver/client.h"
#include "backend/nvidia/driver/uvm_abi.h"

namespace vg::backend::nvidia {

class Uvm {
 public:
  static Result<std::unique_ptr<Uvm>> open(Client& client);
  Uvm(const Uvm&) = delete;

  Status registerGpu(const CUuuid& gpu);
  CUresult registerSpace(const CUuuid& gpu, rm::Handle addressSpace);
  // The driver may place the context's own buffers of a graphics channel into [base, base + length).
  CUresult registerChannel(const CUuuid& gpu, rm::Handle channel, uint64_t base, uint64_t length);
  void unregisterChannel(const CUuuid& gpu, rm::Handle channel);
  void unregisterSpace(const CUuuid& gpu);
  void unregisterGpu(const CUuuid& gpu);

  // Memory of either may be mapped for the other from now on. GPUs that NVLink joins are peers already.
  CUresult enablePeers(const CUuuid& one, const CUuuid& other);

  // A range that memory objects can be mapped into. Requires: multiples of 4 KiB, no overlap with another range.
  CUresult createRange(uint64_t base, uint64_t length);
  // Shows `memory` from `offset` on in a part of a range. What was mapped there is replaced.
  CUresult mapMemory(const CUuuid& gpu, uint64_t base, uint64_t length, rm::Handle memory, uint64_t offset,
                     bool readOnly);
  // Makes a part of a range one where reads are zero and writes vanish, whatever was mapped there. Requires: multiples
  // of 64 KiB.
  CUresult mapSparse(const CUuuid& gpu, uint64_t base, uint64_t length);
  CUresult unmapMemory(const CUuuid& gpu, uint64_t base, uint64_t length);
  // The whole range as it was created, with all that is mapped into it.
  CUresult freeRange(uint64_t base, uint64_t length);

  // Managed memory at reserved addresses: pages that come into being where they are touched, and move to whoever
  // touches them. It ends when something else is mapped there. In what follows ranges are whole pages of 4 KiB of
  // managed memory, and a place is a registered GPU's UUID or uvm::kHost.
  CUresult mapManaged(std::byte* start, size_t bytes);
  // Whether the host has any of it: what it has not is on a GPU, or nowhere yet. A guess where there are more pages
  // than are worth looking at.
  bool anyOnHost(uint64_t base, uint64_t length);
  // Returns when all of it is there.
  CUresult migrate(uint64_t base, uint64_t length, const CUuuid& place);
  CUresult setPreferred(uint64_t base, uint64_t length, const CUuuid& place);
  CUresult unsetPreferred(uint64_t base, uint64_t length);
  // That this place's page tables are to show the pages wherever they are.
  CUresult setAccessedBy(uint64_t base, uint64_t length, const CUuuid& place, bool on);
  // That those who only read may have copies.
  CUresult setReadDuplication(uint64_t base, uint64_t length, bool on);

 private:
  Uvm(Client& client, DeviceFile file, DeviceFile keeper)
      : client_(client), file_(std::move(file)), keeper_(std::move(keeper)) {}
  template <class T>
  Status call(unsigned long request, T& arguments);

  Client& client_;
  const DeviceFile file_;
  const DeviceFile keeper_;  // holds the process's memory descriptor for the driver
};

}  // namespace vg::backend::nvidia
