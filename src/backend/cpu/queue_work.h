// What the commands of a queue of the emulated device do: copies and fills by the compute threads, kernels by
// runLaunch().
#pragma once

#include "backend/cpu/run/launch_place.h"
#include "backend/device.h"
#include "backend/queues/serial_work.h"

namespace vg::backend::cpu {

class QueueWork final : public SerialWork {
 public:
  QueueWork(const Device& device, Executor& executor, const LaunchPlace& place);

  // From here on textures that are removed live on for the launch.
  uint64_t now() const override;

 private:
  void perform(const CopyCommand& command) override;
  void perform(const FillCommand& command) override;
  Point perform(const LaunchCommand& command) override;
  void perform(const Timestamp& command) override;
  void runUpdatable(const LaunchCommand& command, const LaunchPlace& place, Point* descendants);

  const Device& device_;
  const LaunchPlace place_;
};

}  // namespace vg::backend::cpu
