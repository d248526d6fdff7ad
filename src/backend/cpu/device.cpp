#include "backend/cpu/device.h"

#include <algorithm>

#include "backend/cpu/code/kernel_image.h"
#include "backend/cpu/code/upgrades.h"
#include "backend/cpu/faults/faults.h"
#include "backend/cpu/profile.h"
#include "backend/cpu/queue.h"
#include "backend/cpu/textures/texture_table.h"
#include "backend/device_use.h"
#include "backend/queues/executor.h"
#include "base/sync/tick_clock.h"
#include "check/memory/host_pages.h"

namespace vg::backend::cpu {

CpuDevice::CpuDevice(int ordinal, Workers& workers)
    : ordinal_(ordinal),
      workers_(workers),
      traits_(makeTraits(ordinal, workers.count())),
      activity_(useOf(*this).activity) {}

// A part of the multiprocessors is the same part of the workers, one at least.
uint32_t CpuDevice::workersFor(const MultiprocessorSet* only) const {
  const auto all = static_cast<uint32_t>(traits_.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
  const auto multiprocessors = static_cast<uint32_t>(only ? only->count() : all);
  if (!multiprocessors || multiprocessors >= all) return workers_.count();
  return std::max(1u, workers_.count() * multiprocessors / all);
}

// CUDA counts priorities downwards: 0 is the least urgent, -5 the most.
std::unique_ptr<Queue> CpuDevice::createQueue(int priority, const MultiprocessorSet* only) {
  faults::arm();  // copies touch memory of the application
  if (check::host_pages::wanted()) check::host_pages::closeWhere(faults::armForSteps);
  return std::make_unique<CpuQueue>(*this, Executor::shared(),
                                    LaunchPlace{workersFor(only), Executor::urgencyOf(priority)});
}

Result<std::unique_ptr<Image>> CpuDevice::load(const ImageSource& source, const LoadOptions& options) {
  return loadImage(*this, source, options);
}

Result<uint64_t> CpuDevice::addTexture(const arrays::TextureView& view, void* owner) {
  return textures::add(view, owner);
}

void* CpuDevice::textureOwner(uint64_t handle) const {
  const textures::Texture* texture = textures::find(handle, textures::removals());
  return texture ? texture->owner : nullptr;
}

void CpuDevice::removeTexture(uint64_t handle) noexcept { textures::remove(handle); }

uint64_t CpuDevice::timestamp() const { return tick_clock::now(); }

void CpuDevice::flushOutput() noexcept { flushKernelOutput(); }

void CpuDevice::detach() noexcept { host_register::RingPins::shared().release(); }
void CpuDevice::attach() noexcept { host_register::RingPins::shared().retake(); }

void CpuDevice::beforeExit() noexcept { upgrades::finish(); }

void CpuDevice::quiesce() noexcept {
  constexpr uint64_t kPatience = 250'000'000;  // ns: longer kernels end with the process
  Executor::shared().close(kPatience);
}

}  // namespace vg::backend::cpu
