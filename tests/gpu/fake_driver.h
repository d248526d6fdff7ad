// A kernel driver and one GPU in this process, under the backend's system calls: files, objects by handle, controls of
// the right size, memory, ranges, and channels that really copy. What the real driver refuses this one refuses, with
// the same status; what it does not know it refuses too, so that a test notices.
//
// One GPU of `Description`, or two alike. A thread plays the hardware while channels exist.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "backend/nvidia/driver/abi.h"
#include "backend/nvidia/driver/rm_abi.h"
#include "backend/nvidia/driver/share_abi.h"
#include "backend/nvidia/driver/status.h"
#include "backend/nvidia/driver/system_calls.h"
#include "gpu/fake_engine.h"
#include "gpu/fake_uvm.h"

namespace vg::testing {

// The classes that the fake's GPUs have: numbers of the public headers, beside those that the library keeps
// (backend/nvidia/driver/generation.h), so that a wrong one there is seen.
struct FakeClasses {
  uint32_t smVersion, usermode, channel, compute, copy;
};

class FakeDriver final : public backend::nvidia::SystemCalls {
 public:
  struct Description {
    std::string version = "580.159.04";
    std::string name = "NVIDIA H100 80GB HBM3";
    uint32_t pciDevice = 0x233010de;
    uint64_t memory = uint64_t{512} << 20;  // bytes, of all GPUs together
    unsigned gpus = 1;                      // at most 2
    bool linked = true;                     // by NVLink
    bool bus = true;                        // or at least by a bus
    // node -> errno of opening it
    std::map<std::string, int> refusedNodes;
    bool confidential = false;
    uint32_t smVersion = 0x900;  // of the multiprocessors
    FakeProgram program;         // what grids do
    unsigned lostDoorbells = 0;  // the hardware looks for work when it has been rung this often, and once more
  };
  FakeDriver() : FakeDriver(Description{}) {}
  explicit FakeDriver(Description description);
  ~FakeDriver();

  int open(const std::string& path) override;
  void close(int descriptor) override;
  int control(int descriptor, unsigned long request, void* argument) override;
  int map(int descriptor, void* address, size_t bytes, uint64_t offset) override;
  bool present(void* address) override;
  std::string moduleVersion() override { return description_.version; }

  const FakeClasses& classes() const { return classes_; }

  // What is left behind, for tests.
  size_t openFiles() const;
  size_t objects() const;  // without the clients
  size_t ranges() const;
  // Whether the first or the second GPU finds memory at the address.
  bool sees(uint32_t gpu, const void* address);
  // The same, and may write it.
  bool canWrite(uint32_t gpu, const void* address);
  // The page of managed memory at this address.
  FakeUvm::Page managedPage(const void* address) const;
  uint64_t usedMemory() const { return used_; }
  size_t calls() const { return calls_; }
  // Of each channel that runs grids, in the order in which they were made: where they may be interrupted.
  std::vector<uint32_t> preemptions() const;
  // The next allocation of this class fails with the status.
  void failNext(uint32_t objectClass, backend::nvidia::Status status);
  // The n-th call from now on, from 1, of those that may be refused fails once: open, mmap and every ioctl that does
  // not end something. A status of the driver's is for ioctls that have one; open and mmap fail as system calls do, and
  // with a system call's error so does every ioctl.
  void refuse(size_t n, backend::nvidia::Status status);
  bool refused() const;  // whether that has happened
  // What a debugger reads of a multiprocessor from now on.
  struct Exception {
    uint32_t multiprocessor = 0, warp = 0;  // its register for warps
    uint64_t address = 0, counter = 0;
  };
  void setException(const Exception& exception) { exception_ = exception; }

  static const CUuuid kUuid, kSecondUuid;

 private:
  using Handle = backend::nvidia::rm::Handle;
  using Status = backend::nvidia::Status;
  enum class Node { Control, Gpu, Uvm };
  struct File {
    Node node;
    uint32_t gpu = 0;
    int client = -1;        // the control file that a GPU's file belongs to
    FakeMemoryRef mapping;  // what mmap will show
    size_t mappingOffset = 0, mappingBytes = 0;
    // An exported object, and what its exporter says of it.
    FakeMemoryRef exported;
    std::array<uint8_t, backend::nvidia::rm::kExportNoteBytes> note{};
  };
  struct Object {
    uint32_t objectClass = 0;
    uint32_t gpu = 0;
    Handle parent = 0;
    FakeMemoryRef memory;
    std::shared_ptr<FakeChannel> channel;
  };
  struct Client {
    int file = -1;
    std::map<Handle, Object> objects;
  };

  int request(File& file, int descriptor, uint32_t number, size_t bytes, void* argument);
  int cardInfo(void* argument, size_t bytes);
  Status exportDmaBuf(const File& file, backend::nvidia::rm::DmaBufCall& call);
  Status exportObjects(Client& client, std::byte* parameters);
  Status importObject(Client& client, std::byte* parameters);
  Status exportInfo(std::byte* parameters);
  static ino_t inodeOf(int descriptor);
  const File* exportedBy(int descriptor) const;  // null: nothing
  int registerFile(File& file, int control);
  Status allocate(int descriptor, backend::nvidia::rm::AllocCall& call);
  Status allocateMemory(const File& file, backend::nvidia::rm::AllocMemoryCall& call);
  Status free(int descriptor, const backend::nvidia::rm::FreeCall& call);
  Status runControl(int descriptor, const backend::nvidia::rm::ControlCall& call);
  Status mapMemory(int descriptor, backend::nvidia::rm::MapMemoryCall& call);
  Status unmapMemory(int descriptor, const backend::nvidia::rm::UnmapMemoryCall& call);

  Client* clientOf(int descriptor, Handle handle);
  static Object* objectOf(Client& client, Handle handle);
  Status makeObject(Client& client, Object& object, const backend::nvidia::rm::AllocCall& call);
  Status makeMemory(Object& object, const backend::nvidia::rm::AllocCall& call);
  Status makeChannel(Client& client, Object& object, const backend::nvidia::rm::AllocCall& call);
  Status setPreemption(Client& client, const backend::nvidia::rm::Preemption& asked);
  Status answerControl(Object& object, uint32_t command, std::byte* parameters, size_t bytes);
  Status answerInfo(uint32_t command, std::byte* parameters, size_t bytes);
  bool refusesNow();
  int refuseControl(const File& file, unsigned long request, void* argument);
  void freeTree(Client& client, Handle handle);
  void play();
  bool hearsDoorbell();

  const Description description_;
  const FakeClasses classes_;
  Exception exception_;
  const backend::nvidia::Abi* abi_ = nullptr;
  std::atomic<uint64_t> used_{0};
  std::atomic<size_t> calls_{0};
  mutable std::mutex mutex_;  // guards all below
  std::map<int, File> files_;
  std::map<ino_t, File> exports_;  // by the file that travels
  std::map<Handle, Client> clients_;
  std::map<uint32_t, Status> failNext_;
  size_t callsToRefusal_ = 0;  // 0: none
  Status refusal_ = backend::nvidia::kOk;
  FakeUvm uvm_;
  FakeMemoryRef doorbell_;
  unsigned rings_ = 0;
  std::vector<std::shared_ptr<FakeChannel>> channels_;
  static constexpr int kFirstFile = 100000;
  int nextFile_ = kFirstFile;
  Handle nextClient_ = 0xc1d00001;
  uint64_t nextMapping_ = 0x1000;
  bool over_ = false;
  std::thread hardware_;
};

}  // namespace vg::testing
