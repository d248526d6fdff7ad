// The log: one line a message on stderr or in VERDIGRIS_LOG_FILE, at or above VERDIGRIS_LOG's level (default warn).
//
// Nothing is opened or allocated before the first message. The logger is never destroyed, so logging works while the
// process exits. Messages are limited in rate: the library must not flood its host process. Any thread may log; not
// safe in signal handlers.
#pragma once

#include <atomic>

namespace vg::log {

enum class Level : int { Trace, Debug, Info, Warn, Error, Critical, Off };

// Messages below this are dropped before their arguments are formatted. Set from the settings at initialisation.
extern std::atomic<int> threshold;
inline bool enabled(Level level) { return static_cast<int>(level) >= threshold.load(std::memory_order_relaxed); }

[[gnu::cold, gnu::format(printf, 2, 3)]] void write(Level level, const char* format, ...);

// Level from its name ("trace" ... "critical", "off"); `fallback` for anything else.
Level levelNamed(const char* name, Level fallback);
// Where lines go from now on; an empty path or "stderr" means stderr, "stdout" stdout.
void open(const char* path);

}  // namespace vg::log

#define VG_LOG(level, ...)                                                                                   \
  do {                                                                                                       \
    if (::vg::log::enabled(::vg::log::Level::level)) ::vg::log::write(::vg::log::Level::level, __VA_ARGS__); \
  } while (0)
