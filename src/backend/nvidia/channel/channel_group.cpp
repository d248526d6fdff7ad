#include "backend/nvidia/channel/channel_group.h"

#include "base/log.h"

namespace vg::backend::nvidia {

Result<std::unique_ptr<ChannelGroup>> ChannelGroup::create(Gpu& gpu, Addresses& addresses, uint32_t engine, int count) {
  std::unique_ptr<ChannelGroup> group(new ChannelGroup(gpu, engine));
  VG_CHECK(group->makeGroup());
  VG_TRY(group->rings_, Block::create(gpu, addresses, {Where::Video, kHugePage, kHugePage, true}, SeenBy::GpuAndCpu));
  VG_CHECK(group->add(addresses, count));
  return group;
}

CUresult ChannelGroup::add(Addresses& addresses, int count) {
  // Room first: a channel that has begun to work is not to go because it cannot be noted.
  channels_.reserve(channels_.size() + static_cast<size_t>(count));
  std::vector<std::unique_ptr<Channel>> made;
  made.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    VG_TRY(std::unique_ptr<Channel> channel,
           Channel::create(gpu_, addresses, place(channels_.size() + static_cast<size_t>(i))));
    made.push_back(std::move(channel));
  }
  if (graphics())
    for (const std::unique_ptr<Channel>& channel : made) preemptBetweenBlocks(*channel);
  VG_CHECK(schedule());
  for (std::unique_ptr<Channel>& channel : made) {
    VG_TRY(Push push, channel->begin());
    push.write(kCopySubchannel, host::kSetObject, {gpu_.facts().classes.copy});
    channel->submit(push);
    channels_.push_back(std::move(channel));
  }
  return CUDA_SUCCESS;
}

CUresult ChannelGroup::setTimeslice(uint64_t microseconds) {
  rm::Timeslice timeslice{microseconds};
  const Status status = gpu_.client().control(handle_, rm::kSetTimeslice, &timeslice, sizeof timeslice);
  return status ? refused(status, "a time slice of %llu us", static_cast<unsigned long long>(microseconds))
                : CUDA_SUCCESS;
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

// Unasked, the hardware ends a whole grid before it turns to another process. Inside of blocks it would need native
// code that saves a multiprocessor.
void ChannelGroup::preemptBetweenBlocks(const Channel& channel) {
  rm::Preemption preemption{rm::kSetCompute, channel.handle(), 0, rm::kBetweenBlocks, 0, 0, 0};
  const Status status = gpu_.client().control(gpu_.subdevice(), rm::kSetPreemption, &preemption, sizeof preemption);
  if (status) VG_LOG(Debug, "grids are not interrupted between blocks: %s", statusText(status));
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
