// What streams know of whom they belong to. A context is a StreamOwner and a green context a StreamPart; what else
// these are is no business of streams.
#pragma once

#include <atomic>
#include <cstdint>

#include "backend/command.h"
#include "backend/device.h"
#include "base/result.h"

namespace vg::core {

class Device;

class StreamOwner : public backend::FaultSink {
 public:
  Device& device() const { return *device_.load(std::memory_order_relaxed); }
  // Unique in the process for this life of the owner.
  uint64_t id() const { return id_.load(std::memory_order_acquire); }
  // CUDA_SUCCESS or the sticky error. The first report sticks until the owner ends.
  CUresult state() const noexcept final { return static_cast<CUresult>(fault_.load(std::memory_order_acquire)); }

 protected:
  StreamOwner() = default;
  ~StreamOwner() = default;
  std::atomic<uint64_t> id_{0};
  std::atomic<int> fault_{0};
  std::atomic<Device*> device_{nullptr};  // atomic: a stale handle may be asked while a new owner begins
};

// A part of an owner's device, with streams of its own.
class StreamPart {
 public:
  // Unique in the process among all owners and parts.
  uint64_t id() const { return id_.load(std::memory_order_acquire); }
  // The owner lives as long, as it cannot be reset meanwhile.
  bool alive() const { return held_.load(std::memory_order_acquire); }
  const backend::MultiprocessorSet& multiprocessors() const {
    return *multiprocessors_.load(std::memory_order_relaxed);
  }

 protected:
  StreamPart() = default;
  ~StreamPart() = default;
  std::atomic<bool> held_{false};  // not destroyed
  std::atomic<uint64_t> id_{0};
  std::atomic<const backend::MultiprocessorSet*> multiprocessors_{nullptr};
};

}  // namespace vg::core
