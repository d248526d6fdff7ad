#include "backend/nvidia/channel/channel_objects.h"

#include <sys/mman.h>

#include <array>
#include <cstddef>
#include <cstring>

namespace vg::backend::nvidia {
namespace {

// The parameters as the kernel driver has them.
struct ChannelBytes {
  alignas(8) std::array<std::byte, sizeof(rm::ChannelParameters) + 8> all{};
  ChannelBytes(const rm::ChannelParameters& parameters, const Abi& abi) {
    constexpr size_t kHead = offsetof(rm::ChannelParameters, userdMemory);
    constexpr size_t kRest = offsetof(rm::ChannelParameters, userdOffset);
    const auto* const from = reinterpret_cast<const std::byte*>(&parameters);
    std::memcpy(all.data(), from, kHead);
    std::memcpy(all.data() + abi.channelUserd, from + kHead, sizeof parameters.userdMemory);
    std::memcpy(all.data() + abi.channelRest, from + kRest, sizeof parameters - kRest);
  }
};

}  // namespace

CUresult ChannelObjects::make(Addresses& addresses, const ChannelPlace& place, const RingPlace& ring) {
  group_ = place.group;
  VG_TRY(notifier_, Block::create(gpu_, addresses, {Where::System, kSmallPage, kSmallPage}, SeenBy::GpuAndCpu));
  VG_CHECK(createChannel(place, ring));
  VG_CHECK(createEngineObjects(place));
  rm::SubmitToken token{UINT32_MAX};
  if (const Status status = gpu_.client().control(handle_, rm::kGetSubmitToken, &token, sizeof token))
    return refused(status, "a channel's token");
  token_ = token.token;
  return registerWithUvm(place.graphics());
}

CUresult ChannelObjects::createChannel(const ChannelPlace& place, const RingPlace& ring) {
  rm::ChannelParameters parameters{};
  parameters.errorNotifier = notifier_->memory().handle();
  parameters.ringAddress = place.rings.address(ring.at);
  parameters.ringEntries = ring.entries;
  parameters.contextShare = place.contextShare;
  parameters.userdMemory[0] = place.rings.memory().handle();
  parameters.userdOffset[0] = ring.sharedAt();
  parameters.engineType = place.engine;
  Client& client = gpu_.client();
  const ChannelBytes bytes(parameters, client.abi());
  const Client::Made made = client.make(group_, gpu_.facts().classes.channel, bytes.all.data(), client.abi().channel);
  if (made.status) return refused(made.status, "a channel on engine %#x", place.engine);
  handle_ = made.handle;
  return CUDA_SUCCESS;
}

// A graphics channel has no context to register before it has a compute object; its copy object needs no parameters,
// as one copy engine shares its runlist.
CUresult ChannelObjects::createEngineObjects(const ChannelPlace& place) {
  Client& client = gpu_.client();
  const GpuClasses& classes = gpu_.facts().classes;
  if (place.graphics()) {
    const Client::Made compute = client.make(handle_, classes.compute, nullptr, 0);
    if (compute.status) return refused(compute.status, "a compute object");
    computeObject_ = compute.handle;
  }
  const rm::CopyObjectParameters parameters{1, place.engine};
  const Client::Made copy =
      client.make(handle_, classes.copy, place.graphics() ? nullptr : &parameters, sizeof parameters);
  return copy.status ? refused(copy.status, "a copy object on engine %#x", place.engine) : CUDA_SUCCESS;
}

// A copy engine's channel has no buffers of its context to place. Unlike its rings they may lie at any address.
CUresult ChannelObjects::registerWithUvm(bool graphics) {
  windowBytes_ = graphics ? size_t{64} << 20 : kHugePage;
  VG_TRY(window_, reserveAnywhere(windowBytes_, kHugePage));
  VG_CHECK(gpu_.uvm().registerChannel(gpu_.facts().uuid, handle_, reinterpret_cast<uint64_t>(window_), windowBytes_));
  registered_ = true;
  return CUDA_SUCCESS;
}

void ChannelObjects::close() {
  if (registered_) gpu_.uvm().unregisterChannel(gpu_.facts().uuid, handle_);
  if (handle_) gpu_.client().free(group_, handle_);
  registered_ = false;
  handle_ = computeObject_ = 0;
}

ChannelObjects::~ChannelObjects() {
  close();
  if (window_) munmap(window_, windowBytes_);
}

CUresult ChannelObjects::state() const {
  const volatile rm::Notification& error = notification();
  if (error.status != 0xffff) return CUDA_SUCCESS;
  // Xid 31: an access to an address that is not mapped. 48, 94, 95: memory errors.
  switch (error.info32) {
    case 31:
      return CUDA_ERROR_ILLEGAL_ADDRESS;
    case 48:
    case 94:
    case 95:
      return CUDA_ERROR_ECC_UNCORRECTABLE;
    default:
      return CUDA_ERROR_LAUNCH_FAILED;
  }
}

bool ChannelObjects::keptOthersWaiting() const {
  const volatile rm::Notification& error = notification();
  return error.status == 0xffff && error.info32 == rm::kContextSwitchTimeout;
}

}  // namespace vg::backend::nvidia
