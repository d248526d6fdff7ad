#include "base/log.h"

#include <spdlog/logger.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <strings.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "base/result.h"
#include "base/settings.h"
#include "base/sync/mutex.h"
#include "base/system/file_size_guard.h"
#include "base/text/format.h"
#include "base/text/log_history.h"
#include "base/text/plain_names.h"

namespace vg::log {

constinit std::atomic<int> threshold{static_cast<int>(Level::Warn)};

namespace {

constinit Mutex openMutex;
constinit std::atomic<spdlog::logger*> logger{nullptr};  // leaked: other threads may be writing through an old one

constexpr int kLinesPerSecond = 200;
constexpr size_t kLongestName = 300;
constinit std::atomic<long> rateSecond{0};
constinit std::atomic<int> rateCount{0};

bool withinRate() {
  const long now = time(nullptr);
  if (rateSecond.exchange(now, std::memory_order_relaxed) != now) rateCount.store(0, std::memory_order_relaxed);
  return rateCount.fetch_add(1, std::memory_order_relaxed) < kLinesPerSecond;
}

// Null: the file cannot be written.
spdlog::sink_ptr makeSink(const std::string& where) {
  if (where.empty() || where == "stderr") return std::make_shared<spdlog::sinks::stderr_sink_mt>();
  if (where == "stdout") return std::make_shared<spdlog::sinks::stdout_sink_mt>();
  try {
    return std::make_shared<spdlog::sinks::basic_file_sink_mt>(where);
  } catch (const std::exception&) {
    return nullptr;
  }
}

spdlog::logger* makeLogger(spdlog::sink_ptr sink) {
  auto* made = new spdlog::logger("verdigris", std::move(sink));
  made->set_pattern("verdigris[%P:%t] %l: %v");
  made->set_level(spdlog::level::trace);
  made->flush_on(spdlog::level::trace);
  return made;
}

spdlog::logger& current() {
  if (spdlog::logger* existing = logger.load(std::memory_order_acquire)) return *existing;
  const MutexLock lock(openMutex);
  if (!logger.load(std::memory_order_relaxed)) logger.store(makeLogger(makeSink("")), std::memory_order_release);
  return *logger.load(std::memory_order_relaxed);
}

// Needs no memory where there is none: the line then goes to stderr as it is.
void writeList(Level level, const char* format, va_list args) {
  if (level < Level::Critical && !withinRate()) return;
  va_list again;
  va_copy(again, args);
  const FileSizeGuard guard;
  try {
    current().log(static_cast<spdlog::level::level_enum>(level),
                  spdlog::string_view_t(plainNames(formatList(format, args), kLongestName)));
  } catch (...) {
    char line[1024];
    std::vsnprintf(line, sizeof line, format, again);
    dprintf(STDERR_FILENO, "verdigris: %s\n", line);
  }
  va_end(again);
}

}  // namespace

void write(Level level, const char* format, ...) {
  va_list args;
  va_start(args, format);
  writeList(level, format, args);
  va_end(args);
}

std::optional<Level> levelNamed(const char* name) {
  static constexpr const char* kNames[] = {"trace", "debug", "info", "warn", "error", "critical", "off"};
  for (int i = 0; i < 7; ++i)
    if (!strcasecmp(name, kNames[i])) return static_cast<Level>(i);
  return {};
}

void open(const char* path) {
  spdlog::sink_ptr sink = makeSink(path ? path : "");
  const bool opened = sink != nullptr;
  {
    const MutexLock lock(openMutex);
    logger.store(makeLogger(opened ? std::move(sink) : makeSink("")), std::memory_order_release);
  }
  if (!opened) VG_LOG(Error, "VERDIGRIS_LOG_FILE: cannot write %s; the log goes to stderr", path);
}

void readSettings() {
  static const bool once = [] {
    const Settings& s = settings();
    const std::optional<Level> level = levelNamed(s.logLevel.c_str());
    if (level) threshold.store(static_cast<int>(*level));
    if (!s.logFile.empty()) open(s.logFile.c_str());
    if (!level && !s.logLevel.empty())
      VG_LOG(Warn, "VERDIGRIS_LOG=%s is no level of the log; using warn", s.logLevel.c_str());
    return true;
  }();
  (void)once;
}

}  // namespace vg::log

namespace vg {

namespace {

// A format around another one; too long ones lose their end.
struct Format {
  [[gnu::format(printf, 2, 3)]] explicit Format(const char* pattern, ...) noexcept {
    va_list args;
    va_start(args, pattern);
    std::vsnprintf(text, sizeof text, pattern, args);
    va_end(args);
  }
  char text[512];
};

}  // namespace

// `format` takes what stands behind `reason`.
#define VG_WRITE_LIST(level, format)     \
  if (log::enabled(level)) {             \
    va_list args;                        \
    va_start(args, reason);              \
    log::writeList(level, format, args); \
    va_end(args);                        \
  }

// What a program can read with cuLogsDumpToMemory.
#define VG_REMEMBER(format)                            \
  {                                                    \
    va_list args;                                      \
    va_start(args, reason);                            \
    log::remember(log::Severity::Error, format, args); \
    va_end(args);                                      \
  }

CUresult fail(CUresult code, const char* reason, ...) {
  if (log::enabled(log::Level::Info)) {
    const Format format("%s (error %d)", reason, static_cast<int>(code));
    VG_WRITE_LIST(log::Level::Info, format.text)
  }
  VG_REMEMBER(reason)
  return code;
}

CUresult unsupported(const char* reason, ...) {
  const Format format("not supported: %s", reason);
  VG_WRITE_LIST(log::Level::Warn, format.text)
  VG_REMEMBER(format.text)
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult unimplemented(const char* reason, ...) {
  const Format format("not implemented: %s", reason);
  VG_WRITE_LIST(log::Level::Error, format.text)
  VG_REMEMBER(format.text)
  return CUDA_ERROR_NOT_SUPPORTED;
}

void unreachable(const char* reason, ...) {
  const Format format("a mistake of Verdigris itself: %s", reason);
  VG_WRITE_LIST(log::Level::Critical, format.text)
  std::abort();
}

}  // namespace vg
