#include "tools/persist.h"

#include <signal.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <memory>
#include <vector>

#include "backend/nvidia/driver/gpu.h"
#include "base/log.h"
#include "tools/common/kernel_driver.h"

namespace vg::tools {
namespace {

using namespace backend::nvidia;

std::vector<std::unique_ptr<Gpu>> openAll(Client& client, Uvm& uvm) {
  std::vector<std::unique_ptr<Gpu>> gpus;
  rm::CardInfo cards[32];
  Result<int> count = client.cards(cards, 32);
  for (int i = 0; count.ok() && i < *count; ++i)
    if (Result<std::unique_ptr<Gpu>> gpu = Gpu::open(client, uvm, cards[i]); gpu.ok()) gpus.push_back(std::move(*gpu));
  return gpus;
}

sigset_t endings() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int one : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, one);
  return signals;
}

void stay(const sigset_t& until, double seconds) {
  const timespec limit{static_cast<time_t>(seconds), static_cast<long>(std::fmod(seconds, 1) * 1e9)};
  while (sigtimedwait(&until, nullptr, seconds > 0 ? &limit : nullptr) < 0 && errno == EINTR) {
  }
}

}  // namespace

int persist(const PersistOptions& options) {
  log::readSettings();
  const sigset_t until = endings();
  sigprocmask(SIG_BLOCK, &until, nullptr);
  const std::optional<KernelDriver> driver = openKernelDriver();
  if (!driver) return kNoGpu;
  const std::vector<std::unique_ptr<Gpu>> gpus = openAll(*driver->client, *driver->uvm);
  if (gpus.empty()) return kNoGpu;
  for (const std::unique_ptr<Gpu>& gpu : gpus) std::printf("%s is kept awake\n", gpu->facts().name.c_str());
  std::fflush(stdout);
  stay(until, options.seconds);
  return 0;
}

}  // namespace vg::tools
