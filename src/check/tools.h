// Which tools of checked mode are on: VERDIGRIS_CHECK. Constant once start() has read the setting.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace vg::check {

// Exits: threads that end while others of their block still meet at barriers. Devices of compute capability 7.0 and
// later allow it, so `all` leaves it out. Leaks: many programs leave the end of things to that of the process.
enum class Tool : uint8_t { Memory, Race, Sync, Init, Exits, Api, Leaks };
inline constexpr unsigned kToolCount = 7;
const char* nameOf(Tool tool);

using ToolSet = uint32_t;  // bit n: Tool n
constexpr ToolSet only(Tool tool) { return 1u << static_cast<unsigned>(tool); }
inline constexpr ToolSet kOfKernels =
    only(Tool::Memory) | only(Tool::Race) | only(Tool::Sync) | only(Tool::Init) | only(Tool::Exits);
inline constexpr ToolSet kAllTools = (kOfKernels & ~only(Tool::Exits)) | only(Tool::Api);
inline constexpr ToolSet kGoOn =
    1u << 31;  // "continue": faults of memory do not end the launch; counts with tools only

extern constinit std::atomic<ToolSet> toolsOn;
// Whether a tool looks at kernels.
inline bool any() { return toolsOn.load(std::memory_order_relaxed) & kOfKernels; }
inline bool wants(Tool tool) { return toolsOn.load(std::memory_order_relaxed) & only(tool); }

// "memory,race", "all,exits,leaks" or "all,continue". A word that is none of these goes to `unknown`.
ToolSet parseTools(const std::string& text, std::string* unknown);

}  // namespace vg::check
