// The log: one line a message on stderr or in VERDIGRIS_LOG_FILE, at or above VERDIGRIS_LOG's level (default warn).
//
// Nothing is opened or allocated before the first message. The logger is never destroyed, so logging works while the
// process exits. Messages are limited in rate: the library must not flood its host process. Any thread may log; not
// safe in signal handlers.
#pragma once

#include <atomic>
#include <optional>

namespace vg::log {

enum class Level : int { Trace, Debug, Info, Warn, Error, Critical, Off };

// Messages below this are dropped before their arguments are formatted. Set from the settings at initialisation.
extern std::atomic<int> threshold;
inline bool enabled(Level level) { return static_cast<int>(level) >= threshold.load(std::memory_order_relaxed); }

[[gnu::cold, gnu::format(printf, 2, 3)]] void write(Level level, const char* format, ...);

// Level from its name: "trace" ... "critical", "off".
std::optional<Level> levelNamed(const char* name);
// Where lines go from now on; an empty path or "stderr" means stderr, "stdout" stdout. A file that cannot be written
// means stderr, which then says so.
void open(const char* path);
// The level and the place that the settings name. Before anything that may have something to say; the first call
// counts.
void readSettings();

}  // namespace vg::log

#define VG_LOG(level, ...)                                                                                   \
  do {                                                                                                       \
    if (::vg::log::enabled(::vg::log::Level::level)) ::vg::log::write(::vg::log::Level::level, __VA_ARGS__); \
  } while (0)
