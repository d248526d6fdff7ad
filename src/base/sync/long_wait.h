// What is said when somebody waits for long. Those who wait for a timeline call it every tenth of a second, with how
// long they have waited; whoever knows what keeps timelines back puts it here.
#pragma once

#include <atomic>
#include <cstdint>

namespace vg::long_wait {

using Tell = void (*)(uint64_t waitedNanoseconds) noexcept;
inline constinit std::atomic<Tell> tell{nullptr};

}  // namespace vg::long_wait
