// This process as a client of the resource manager: objects by handle, controls on them, memory mapped to the CPU.
//
// Handles are chosen here and never used twice. All objects die with the client's file. Thread-safe: the kernel
// serialises the calls.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "backend/nvidia/driver/abi.h"
#include "backend/nvidia/driver/rm_abi.h"
#include "backend/nvidia/driver/share_abi.h"
#include "backend/nvidia/driver/status.h"
#include "backend/nvidia/driver/system_calls.h"

namespace vg::backend::nvidia {

class Client {
 public:
  static constexpr const char* kControlNode = "/dev/nvidiactl";

  // CUDA_ERROR_NO_DEVICE when there is no kernel driver, CUDA_ERROR_NOT_PERMITTED when its files may not be opened,
  // CUDA_ERROR_SYSTEM_DRIVER_MISMATCH when its version is unknown; the log says which in words.
  static Result<std::unique_ptr<Client>> open(SystemCalls& calls);
  Client(const Client&) = delete;

  SystemCalls& calls() const { return calls_; }
  const Abi& abi() const { return *abi_; }
  const std::string& version() const { return version_; }
  rm::Handle handle() const { return handle_; }
  int descriptor() const { return file_.descriptor(); }

  // A new object; its handle. `parameters` may be null.
  struct Made {
    rm::Handle handle = 0;
    Status status = kOk;
  };
  Made make(rm::Handle parent, uint32_t objectClass, const void* parameters, size_t bytes);
  Status free(rm::Handle parent, rm::Handle object);
  // `parameters` are read and written; `bytes` must be exactly what this version expects.
  Status control(rm::Handle object, uint32_t command, void* parameters, size_t bytes);
  // A memory object of the pages that the application has at `address`. On the GPU's file.
  Made makeFromUser(int gpuFile, rm::Handle device, void* address, size_t bytes, uint32_t flags);

  // The entries of all GPUs, `count` of them at most; how many there are.
  Result<int> cards(rm::CardInfo* entries, int count);
  // A GPU's file, tied to this client. `minor` as in the card's entry.
  Result<DeviceFile> openGpu(uint32_t minor);
  // On the GPU's file.
  Status exportDmaBuf(int gpuFile, rm::DmaBufCall& arguments);
  // Never used before, for a control that makes an object.
  rm::Handle newHandle() { return nextHandle_.fetch_add(1, std::memory_order_relaxed); }
  // Maps the memory from `offset` on over reserved addresses: through the GPU's file for video memory and registers,
  // through the client's kind of file for system memory (minor -1). Undone by unmapping there, and unmap() here.
  CUresult map(int minor, rm::Handle device, rm::Handle memory, size_t offset, void* address, size_t bytes,
               uint32_t flags, uint64_t* kernelAddress);
  void unmap(rm::Handle device, rm::Handle memory, uint64_t kernelAddress);

 private:
  Client(SystemCalls& calls, DeviceFile file, const Abi* abi, std::string version)
      : calls_(calls), file_(std::move(file)), abi_(abi), version_(std::move(version)) {}
  Status call(int descriptor, rm::Escape escape, void* arguments, size_t bytes);
  CUresult makeRoot();

  SystemCalls& calls_;
  const DeviceFile file_;
  const Abi* const abi_;
  const std::string version_;
  rm::Handle handle_ = 0;
  std::atomic<rm::Handle> nextHandle_{0x56000001};
};

// Opens a device file, or says in words why it cannot be opened.
Result<DeviceFile> openDeviceFile(SystemCalls& calls, const std::string& path);

}  // namespace vg::backend::nvidia
