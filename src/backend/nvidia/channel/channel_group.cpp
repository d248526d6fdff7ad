#include "backend/nvidia/channel/channel_group.h"

namespace vg::backend::nvidia {

Result<std::unique_ptr<ChannelGroup>> ChannelGroup::create(Gpu& gpu, Addresses& addresses, uint32_t engine, int count) {
  std::unique_ptr<ChannelGroup> group(new ChannelGroup(gpu, engine));
  VG_CHECK(group->makeGroup());
  VG_TRY(group->rings_, Block::create(gpu, addresses, {Where::Video, kHugePage, kHugePage, true}, SeenBy::GpuAndCpu));
  for (int i = 0; i < count; ++i) {
    std::unique_ptr<Channel> channel(new Channel(gpu));
    VG_CHECK(channel->create(*group, addresses, static_cast<size_t>(i)));
    group->channels_.push_back(std::move(channel));
  }
  VG_CHECK(group->schedule());
  for (const auto& channel : group->channels_) {
    VG_TRY(Push push, channel->begin());
    push.write(kCopySubchannel, host::kSetObject, {gpu.facts().classes.copy});
    channel->submit(push);
  }
  return group;
}

// Kernels need subcontexts; a copy engine's channels take the group's address space.
CUresult ChannelGroup::makeGroup() {
  Client& client = gpu_.client();
  rm::ChannelGroupParameters parameters{};
  parameters.engineType = engine_;
  if (!graphics()) parameters.addressSpace = gpu_.addressSpace();
  Client::Made made = client.make(gpu_.device(), rm::kChannelGroup, &parameters, sizeof parameters);
  if (made.status) return refused(made.status, "a channel group on engine %#x", engine_);
  handle_ = made.handle;
  if (!graphics()) return CUDA_SUCCESS;
  rm::ContextShareParameters share{gpu_.addressSpace(), rm::kAsyncSubcontext, 0};
  made = client.make(handle_, rm::kContextShare, &share, sizeof share);
  if (made.status) return refused(made.status, "a context share");
  contextShare_ = made.handle;
  return CUDA_SUCCESS;
}

CUresult ChannelGroup::schedule() {
  rm::ScheduleGroup schedule{1, 0, 0};
  const Status status =
      gpu_.client().control(handle_, rm::kScheduleGroup, &schedule, gpu_.client().abi().scheduleGroup);
  return status ? refused(status, "to schedule channels on engine %#x", engine_) : CUDA_SUCCESS;
}

void ChannelGroup::close() {
  for (const auto& channel : channels_) channel->close();
  if (handle_) gpu_.client().free(gpu_.device(), handle_);
  handle_ = 0;
}

ChannelGroup::~ChannelGroup() { close(); }

}  // namespace vg::backend::nvidia
