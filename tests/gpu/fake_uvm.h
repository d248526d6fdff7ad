// The unified-memory driver of the fake: ranges, what they show, and how a GPU address becomes memory.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <vector>

#include "backend/nvidia/driver/abi.h"
#include "backend/nvidia/driver/rm_abi.h"
#include "backend/nvidia/driver/status.h"
#include "backend/nvidia/driver/uvm_abi.h"
#include "gpu/fake_memory.h"

namespace vg::testing {

class FakeUvm {
 public:
  struct Hooks {
    // The memory of a client's object; null: no such object. Of this GPU, or -1: the host's.
    struct Found {
      FakeMemoryRef memory;
      int gpu = -1;
    };
    std::function<Found(uint32_t client, uint32_t object)> memory;
    std::function<bool(uint32_t client, uint32_t object, uint32_t objectClass)> isObject;
    std::function<void(uint32_t channel)> channelRegistered;
    uint32_t channelClass = 0;
  };
  // `linked`: the GPUs are peers by NVLink; `bus`: they may become peers over a bus.
  FakeUvm(const backend::nvidia::Abi*& abi, std::vector<CUuuid> gpus, bool linked, bool bus, Hooks hooks)
      : abi_(abi), gpus_(std::move(gpus)), linked_(linked), bus_(bus), hooks_(std::move(hooks)) {}

  // 0 or -errno; the status goes into the structure.
  int control(int file, unsigned long request, void* argument);
  // The next call answers this.
  void refuse(backend::nvidia::Status status) { refusal_ = status; }
  void fileClosed(int file);
  // mmap of managed memory: 0 or -errno.
  int mapManaged(int file, void* address, size_t bytes, uint64_t offset);
  // What is known of a page of managed memory; places are GPUs, -1 is the host. Accesses of the host are not seen
  // here.
  static constexpr int kHost = -1, kNowhere = -2;
  struct Page {
    int place = kNowhere, preferred = kNowhere;
    std::set<int> accessors;
    bool readMostly = false;
    bool there = false;
  };
  Page managedPage(uint64_t address) const;

  // Memory that a GPU finds behind [address, address + bytes); null when a part is not mapped, or may not be written.
  // A page of managed memory comes to the GPU, unless that reaches it where it is.
  std::byte* translate(uint32_t gpu, uint64_t address, size_t bytes, bool write);
  size_t ranges() const { return ranges_.size(); }

 private:
  using Status = backend::nvidia::Status;
  struct Mapping {
    uint64_t end = 0, offset = 0;
    FakeMemoryRef memory;  // null: sparse
    bool readOnly = false;
  };
  struct Range {
    uint64_t end = 0;
    std::map<uint64_t, Mapping> mappings[2];  // of each GPU, by start
  };
  size_t statusAt(unsigned long request) const;
  Status initialize(int file, uint64_t flags);
  Status registerGpu(const CUuuid& gpu);
  Status registerSpace(const backend::nvidia::uvm::RegisterSpace& arguments);
  Status registerChannel(const backend::nvidia::uvm::RegisterChannel& arguments);
  Status createRange(uint64_t base, uint64_t length);
  Status mapExternal(std::byte* arguments);
  Status mapSparse(const backend::nvidia::uvm::RangeOf& arguments);
  Status unmapExternal(const backend::nvidia::uvm::RangeOf& arguments);
  Status freeRange(uint64_t base, uint64_t length, bool lengthKnown);
  Range* rangeOf(uint64_t base, uint64_t end);
  bool rangeOverlaps(uint64_t base, uint64_t end) const;
  // Calls change(page) for whole pages of managed memory that are all there.
  template <class Change>
  Status changePages(uint64_t base, uint64_t length, Change change);
  std::byte* managedMemory(uint32_t gpu, uint64_t address, size_t bytes);
  int placeOf(const CUuuid& uuid) const;  // kNowhere: no place
  static bool canCut(const std::map<uint64_t, Mapping>& mappings, uint64_t base, uint64_t end);
  static void cut(std::map<uint64_t, Mapping>& mappings, uint64_t base, uint64_t end);
  int gpuOf(const CUuuid& uuid) const;  // -1: none of ours
  bool isGpu(const CUuuid& uuid) const { return gpuOf(uuid) >= 0; }

  const backend::nvidia::Abi*& abi_;
  const std::vector<CUuuid> gpus_;
  const bool linked_, bus_;
  const Hooks hooks_;
  Status refusal_ = backend::nvidia::kOk;
  int main_ = -1;                      // the file that was initialised
  std::set<int> registered_, spaces_;  // GPUs
  bool peers_ = false;                 // over the bus
  std::map<uint64_t, Range> ranges_;   // by start
  std::map<uint64_t, Page> managed_;   // by address
  std::vector<std::byte> hole_;        // what an access of sparse addresses finds
};

}  // namespace vg::testing
