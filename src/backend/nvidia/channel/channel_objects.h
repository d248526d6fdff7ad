// What the kernel driver makes for a channel: the channel itself, the objects of its engines, its place with UVM, and
// the words in which it says why the channel died.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "backend/nvidia/driver/block.h"

namespace vg::backend::nvidia {

// Where a channel belongs: its group, and its share of the block that the group's channels have their rings in.
struct ChannelPlace {
  rm::Handle group = 0, contextShare = 0;
  uint32_t engine = 0;
  const Block& rings;
  size_t slot = 0;
  bool graphics() const { return engine == rm::kEngineGraphics; }
};

// Of the block of rings: where the ring begins, and the words shared with the host behind it.
struct RingPlace {
  size_t at;
  uint32_t entries;
  size_t sharedAt() const { return at + entries * sizeof(uint64_t); }
};

class ChannelObjects {
 public:
  explicit ChannelObjects(Gpu& gpu) : gpu_(gpu) {}
  ~ChannelObjects();
  ChannelObjects(const ChannelObjects&) = delete;
  CUresult make(Addresses& addresses, const ChannelPlace& place, const RingPlace& ring);
  // Takes the channel from the hardware, also in the middle of work.
  void close();

  // Tells the GPU that the ring has something new. Any thread.
  void ringDoorbell() const { gpu_.ringDoorbell(token_); }
  // What ended the channel, or CUDA_SUCCESS.
  CUresult state() const;
  // Whether the driver ended it because its work could not be interrupted for another process's for some seconds.
  bool keptOthersWaiting() const;
  // What the driver has written; status 0xffff says that the channel died.
  const volatile rm::Notification& notification() const {
    return *reinterpret_cast<const volatile rm::Notification*>(notifier_->start());
  }
  // Of a channel of the graphics engine.
  rm::Handle handle() const { return handle_; }
  rm::Handle computeObject() const { return computeObject_; }

 private:
  CUresult createChannel(const ChannelPlace& place, const RingPlace& ring);
  CUresult createEngineObjects(const ChannelPlace& place);
  CUresult registerWithUvm(bool graphics);

  Gpu& gpu_;
  rm::Handle group_ = 0, handle_ = 0, computeObject_ = 0;
  uint32_t token_ = 0;  // for the doorbell
  bool registered_ = false;
  std::unique_ptr<Block> notifier_;
  std::byte* window_ = nullptr;  // addresses of the context's own buffers
  size_t windowBytes_ = 0;
};

}  // namespace vg::backend::nvidia
