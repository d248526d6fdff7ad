#include "gpu_api/fake_devices.h"

#include <cstdlib>

#include "backend/cpu/device.h"
#include "backend/cpu/faults/faults.h"
#include "backend/registry.h"
#include "gpu/fake_gpu.h"

namespace vg::testing {
namespace {

uint32_t foreignOrBoxes(const FakeGrid& grid, const FakeTranslate& translate) {
  if (grid.descriptor.get(backend::nvidia::qmd::kBlockDepth) != kForeignDepth) return moveBoxes(grid, translate);
  foreignGrids().push_back(grid.descriptor);
  return 0;
}

FakeDriver::Description twoGpus() {
  FakeDriver::Description description;
  description.gpus = 2;
  description.memory = uint64_t{1} << 30;
  description.program = foreignOrBoxes;
  return description;
}

FakeGpu& fake() {
  static auto* const made = new FakeGpu(twoGpus());  // never destroyed, as the devices are not
  return *made;
}

backend::Device* createGpu(int ordinal) {
  using namespace backend::nvidia;
  rm::CardInfo cards[4];
  if (ordinal >= must(fake().client->cards(cards, 4))) return nullptr;
  std::unique_ptr<Gpu> gpu =
      ordinal ? must(Gpu::open(*fake().client, *fake().uvm, cards[ordinal])) : std::move(fake().gpu);
  const backend::Traits traits = must(traitsOf(*gpu));
  backend::cpu::faults::arm();
  auto* const device = new GpuDevice(std::move(gpu), *fake().hostPages, fake().addresses(), traits);
  device->transfer().meetOthers();
  return device;
}

backend::Device* createCpu(int ordinal) {
  return new backend::cpu::CpuDevice(ordinal, backend::cpu::Workers::shared());
}

}  // namespace

FakeDriver& fakeDriver() { return fake().driver; }

std::vector<backend::nvidia::Qmd>& foreignGrids() {
  static std::vector<backend::nvidia::Qmd> grids;
  return grids;
}

void ApiTest::SetUp() {
  setenv("VERDIGRIS_DEVICES", "gpu:all,cpu:1", 1);
  OK(cuInit(0));
  OK(cuDevicePrimaryCtxRetain(&otherContext, 1));
  OK(cuDevicePrimaryCtxRetain(&context, 0));
  OK(cuCtxSetCurrent(context));
}

}  // namespace vg::testing

namespace vg::backend {

const Kind kKinds[] = {{"gpu", testing::createGpu}, {"cpu", testing::createCpu}, {nullptr, nullptr}};

}  // namespace vg::backend
