#include "backend/nvidia/compute/compute_engine.h"

#include <sys/mman.h>

#include <algorithm>
#include <vector>

#include "base/log.h"
#include "base/round.h"

namespace vg::backend::nvidia {
namespace {

constexpr uint64_t kWarp = 32;
constexpr uint64_t kSetUp = 10'000'000'000;  // ns that setting up may take

// Of local memory, as the hardware divides it: by warp, then by TPC.
uint64_t bytesPerTpc(const GpuFacts& facts, uint64_t threadBytes) {
  const uint64_t warp = roundUp(roundUp(threadBytes, 32) * kWarp, 0x200);
  return roundUp(warp * facts.warpsPerMultiprocessor * facts.multiprocessorsPerTpc, 0x8000);
}

// One thread at a time writes to a lane's channel.
template <class Lane, class Sending>
auto inLane(Lane& lane, Room room, Sending send) -> decltype(send(*lane.channel)) {
  if (room == Room::Waited)
    lane.mutex.lock();
  else if (!lane.mutex.try_lock())
    return CUDA_ERROR_NOT_READY;
  const MutexLock right(lane.mutex, std::adopt_lock);
  return send(*lane.channel);
}

}  // namespace

Result<std::unique_ptr<ComputeEngine>> ComputeEngine::create(Gpu& gpu, Addresses& addresses) {
  std::unique_ptr<ComputeEngine> engine(new ComputeEngine(gpu, addresses));
  VG_CHECK(engine->takeWindows());
  VG_TRY(engine->group_, ChannelGroup::create(gpu, addresses, rm::kEngineGraphics, kChannels));
  for (unsigned i = 0; i < kChannels; ++i) {
    VG_TRY(engine->lanes_[i].channel,
           ComputeChannel::create(gpu, addresses, engine->group_->channel(static_cast<int>(i)), engine->facts_, i));
  }
  engine->made_.store(kChannels, std::memory_order_release);
  return engine;
}

// Nothing may ever be mapped in them.
CUresult ComputeEngine::takeWindows() {
  VG_TRY(sharedWindow_, reserveAnywhere(kSharedWindowBytes, kSharedWindowBytes));
  VG_TRY(localWindow_, reserveAnywhere(kLocalWindowBytes, kLocalWindowBytes));
  facts_.sharedWindow = reinterpret_cast<uint64_t>(sharedWindow_);
  facts_.localWindow = reinterpret_cast<uint64_t>(localWindow_);
  facts_.multiprocessors = gpu_.facts().multiprocessors;
  if (const Generation* const row = generationOf(gpu_.facts().computeCapability)) facts_.generation = row;
  return CUDA_SUCCESS;
}

ComputeEngine::~ComputeEngine() {
  for (Lane& lane : lanes_) lane.channel.reset();
  group_.reset();
  pool_.reset();
  if (localWindow_) munmap(localWindow_, kLocalWindowBytes);
  if (sharedWindow_) munmap(sharedWindow_, kSharedWindowBytes);
}

Result<Submission> ComputeEngine::send(Lane& lane, const Launch& launch) {
  VG_TRY(const Sent sent, send(lane, std::span(&launch, 1)));
  return sent.submission;
}

Result<ComputeEngine::Sent> ComputeEngine::send(Lane& lane, std::span<const Launch> launches) {
  return inLane(lane, launches.front().room, [&](ComputeChannel& channel) { return channel.launch(launches); });
}

ComputeEngine::Lane& ComputeEngine::laneAt(Place place) {
  return lanes_[place.urgent && makeUrgentLanes() ? kChannels + place.lane % kUrgentLanes : place.lane % kLanes];
}

Result<std::unique_ptr<PreparedGrids>> ComputeEngine::prepare(std::span<const PreparedGrids::Item> items) {
  ComputeFacts facts = facts_;
  facts.descriptions = descriptions_.load(std::memory_order_acquire);
  return PreparedGrids::create(gpu_, addresses_, facts, items);
}

Result<Submission> ComputeEngine::launch(Place place, PreparedGrids& grids, std::span<const Submission> after,
                                         Room room) {
  return inLane(laneAt(place), room, [&](ComputeChannel& channel) { return channel.launch(grids, after, room); });
}

// Tried once: what cannot be made now would hold up every launch.
bool ComputeEngine::makeUrgentLanes() {
  if (made_.load(std::memory_order_acquire) == lanes_.size()) return true;
  const MutexLock guard(poolMutex_);
  for (unsigned i = kChannels; !urgentLanesTried_ && i < lanes_.size(); ++i)
    if (makeUrgentLane(lanes_[i], i) != CUDA_SUCCESS) break;
  urgentLanesTried_ = true;
  const bool all = std::all_of(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return lane.channel != nullptr; });
  if (all) made_.store(static_cast<unsigned>(lanes_.size()), std::memory_order_release);
  return all;
}

CUresult ComputeEngine::makeUrgentLane(Lane& lane, unsigned number) {
  VG_CHECK(group_->add(addresses_, 1));
  Channel& channel = group_->channel(group_->count() - 1);
  VG_TRY(std::unique_ptr<ComputeChannel> made, ComputeChannel::create(gpu_, addresses_, channel, facts_, number));
  if (pool_) VG_CHECK(made->setLocalPool({pool_->address(), poolBytesPerTpc_}));
  if (texturePools_.headers) VG_CHECK(made->setTexturePools(texturePools_));
  lane.channel = std::move(made);
  return CUDA_SUCCESS;
}

unsigned ComputeEngine::quietLane(unsigned lane) {
  for (unsigned i = 0; i < kLanes; ++i) {
    Lane& one = lanes_[(lane + i) % kLanes];
    if (!one.mutex.try_lock()) continue;
    const MutexLock right(one.mutex, std::adopt_lock);
    if (one.channel->channel().done(one.channel->submitted())) return lane + i;
  }
  return lane;
}

CUresult ComputeEngine::reserveLocal(uint32_t bytes) {
  if (hasLocal(bytes)) return CUDA_SUCCESS;
  const MutexLock guard(poolMutex_);
  if (bytes <= localBytes_.load(std::memory_order_relaxed)) return CUDA_SUCCESS;
  VG_CHECK(replacePool(bytesPerTpc(gpu_.facts(), uint64_t{bytes} + kLocalReserve)));
  localBytes_.store(bytes, std::memory_order_release);
  return CUDA_SUCCESS;
}

// The pool is laid out for every TPC that this kind of chip could have.
CUresult ComputeEngine::replacePool(uint64_t bytesPerTpc) {
  const GpuFacts& facts = gpu_.facts();
  const uint64_t bytes = bytesPerTpc * facts.tpcsPerGpc * facts.gpcs;
  VG_LOG(Debug, "local memory: %llu MiB", static_cast<unsigned long long>(bytes >> 20));
  VG_TRY(std::unique_ptr<Block> pool, Block::create(gpu_, addresses_, {Where::Video, bytes, kHugePage}, SeenBy::Gpu));
  std::vector<std::unique_lock<Mutex>> rights;
  for (Lane& lane : lanes()) rights.emplace_back(lane.mutex);
  for (Lane& lane : lanes()) VG_CHECK(lane.channel->wait(lane.channel->submitted()));
  for (Lane& lane : lanes()) VG_CHECK(lane.channel->setLocalPool({pool->address(), bytesPerTpc}));
  for (Lane& lane : lanes()) VG_CHECK(lane.channel->wait(lane.channel->submitted(), kSetUp));
  pool_ = std::move(pool);
  poolBytesPerTpc_ = bytesPerTpc;
  return CUDA_SUCCESS;
}

CUresult ComputeEngine::setTexturePools(const TexturePools& pools) {
  const MutexLock pool(poolMutex_);
  texturePools_ = pools;
  descriptions_.store(pools.descriptions, std::memory_order_release);
  for (Lane& lane : lanes()) {
    const MutexLock guard(lane.mutex);
    VG_CHECK(lane.channel->setTexturePools(pools));
  }
  return CUDA_SUCCESS;
}

void ComputeEngine::abandon(CUresult error) {
  for (Lane& lane : lanes()) lane.channel->channel().abandon(error);
}

// Who waits for room holds a lane, and gives up when its channel is abandoned.
void ComputeEngine::stop(CUresult error) {
  abandon(error);
  const MutexLock pool(poolMutex_);
  std::vector<std::unique_lock<Mutex>> rights;
  for (Lane& lane : lanes()) rights.emplace_back(lane.mutex);
  group_->close();
}

void ComputeEngine::forgetCode() {
  for (Lane& lane : lanes()) {
    const MutexLock guard(lane.mutex);
    lane.channel->forgetCode();
  }
}

}  // namespace vg::backend::nvidia
