// Channels that are scheduled together on one engine: the graphics engine, which also runs kernels, or a copy engine.
#pragma once

#include <memory>
#include <vector>

#include "backend/nvidia/channel/channel.h"

namespace vg::backend::nvidia {

class ChannelGroup {
 public:
  // `engine` as in the GPU's list; `count` channels, each with a copy object.
  static Result<std::unique_ptr<ChannelGroup>> create(Gpu& gpu, Addresses& addresses, uint32_t engine, int count);
  ~ChannelGroup();
  ChannelGroup(const ChannelGroup&) = delete;

  // So many more. The others may be at work.
  CUresult add(Addresses& addresses, int count);
  // How long the group keeps its engine while another has work for that, too.
  CUresult setTimeslice(uint64_t microseconds);
  // Ends all channels, also in the middle of work. They stay to be asked for their state. Requires: nobody submits, now
  // or later.
  void close();
  Channel& channel(int index) const { return *channels_[static_cast<size_t>(index)]; }
  int count() const { return static_cast<int>(channels_.size()); }
  uint32_t engine() const { return engine_; }

 private:
  ChannelGroup(Gpu& gpu, uint32_t engine) : gpu_(gpu), engine_(engine) {}
  bool graphics() const { return engine_ == rm::kEngineGraphics; }
  ChannelPlace place(size_t slot) const { return {handle_, contextShare_, engine_, *rings_, slot}; }
  CUresult makeGroup();
  void preemptBetweenBlocks(const Channel& channel);
  CUresult schedule();

  Gpu& gpu_;
  const uint32_t engine_;
  rm::Handle handle_ = 0, contextShare_ = 0;
  std::unique_ptr<Block> rings_;  // a slot a channel
  std::vector<std::unique_ptr<Channel>> channels_;
};

}  // namespace vg::backend::nvidia
