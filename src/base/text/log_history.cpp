#include "base/text/log_history.h"

#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/memory/slab.h"
#include "base/sync/spin_lock.h"
#include "base/text/format.h"
#include "base/text/plain_names.h"
#include "base/undying.h"

namespace vg::log {

struct Subscriber {
  CUlogsCallback callback;
  void* data;
};

namespace {

constexpr uint32_t kKept = 128;
constexpr size_t kText = 240;
constexpr size_t kLongestName = 80;

struct Entry {
  timespec time;
  pthread_t thread;
  Severity severity;
  char text[kText];
};

constinit SpinLock lock;
constinit Entry entries[kKept] VG_GUARDED_BY(lock){};
constinit uint32_t next VG_GUARDED_BY(lock) = 0;       // number of the next entry
constinit uint32_t delivered VG_GUARDED_BY(lock) = 0;  // entries before this were passed on to the subscribers
constinit Slab<Subscriber, 4096> slab;
constinit std::atomic<uint32_t> subscribers{0};
constinit SpinLock listLock;
std::vector<Subscriber*>& list() VG_REQUIRES(listLock) { return undying<std::vector<Subscriber*>, Subscriber>(); }

void append(Severity severity, const char* text) {
  Entry entry{{}, pthread_self(), severity, {}};
  clock_gettime(CLOCK_REALTIME_COARSE, &entry.time);
  std::snprintf(entry.text, sizeof entry.text, "%s", text);
  SpinGuard guard(lock);
  entries[next++ % kKept] = entry;
}

// "[15:09:55.393][140551877904192][CUDA][E] text", as the vendor's driver writes its lines.
int format(const Entry& entry, char* buffer, size_t size) {
  tm parts{};
  localtime_r(&entry.time.tv_sec, &parts);
  return std::snprintf(buffer, size, "[%02d:%02d:%02d.%03ld][%lu][CUDA][%c] %s\n", parts.tm_hour, parts.tm_min,
                       parts.tm_sec, entry.time.tv_nsec / 1'000'000, static_cast<unsigned long>(entry.thread),
                       entry.severity == Severity::Error ? 'E' : 'W', entry.text);
}

// The entry with this number, or the first later one that is still kept; false when there is none.
bool entryFrom(uint32_t& number, Entry& entry) {
  SpinGuard guard(lock);
  const uint32_t first = next > kKept ? next - kKept : 0;
  number = std::clamp(number, first, next);
  if (number == next) return false;
  entry = entries[number % kKept];
  return true;
}

bool takeUndelivered(Entry& entry) {
  SpinGuard guard(lock);
  delivered = std::max(delivered, next > kKept ? next - kKept : 0);
  if (delivered == next) return false;
  entry = entries[delivered++ % kKept];
  return true;
}

// What is said of a name stays, where there is memory to shorten the name.
void shorten(char (&text)[kText], const char* pattern, va_list arguments) try {
  std::snprintf(text, sizeof text, "%s", plainNames(formatList(pattern, arguments), kLongestName).c_str());
} catch (const std::bad_alloc&) {
}

// Without memory nothing is delivered before the next failure.
void deliver() try {
  std::vector<Subscriber> callees;
  {
    SpinGuard guard(listLock);
    for (const Subscriber* subscriber : list()) callees.push_back(*subscriber);
  }
  for (Entry entry; takeUndelivered(entry);)
    for (const Subscriber& callee : callees)
      callee.callback(callee.data, static_cast<CUlogLevel>(entry.severity), entry.text, std::strlen(entry.text));
} catch (const std::bad_alloc&) {
}

}  // namespace

constinit thread_local bool expectsFailures [[gnu::tls_model("initial-exec")]] = false;

void remember(Severity severity, const char* format, va_list arguments) {
  if (expectsFailures) return;
  char text[kText];
  va_list again;
  va_copy(again, arguments);
  if (std::vsnprintf(text, sizeof text, format, arguments) >= static_cast<int>(kText)) shorten(text, format, again);
  va_end(again);
  append(severity, text);
}

void callFailed(const char* call, CUresult result, const char* resultName) {
  if (expectsFailures) return;
  char text[kText];
  std::snprintf(text, sizeof text, "Returning %d (%s) from %s", static_cast<int>(result), resultName, call);
  append(Severity::Error, text);
  if (subscribers.load(std::memory_order_relaxed)) deliver();
}

std::string lastReason() {
  SpinGuard guard(lock);
  for (uint32_t back = 1; back <= std::min(next, kKept); ++back) {
    const Entry& entry = entries[(next - back) % kKept];
    if (pthread_equal(entry.thread, pthread_self())) return entry.text;
  }
  return "";
}

uint32_t position() {
  SpinGuard guard(lock);
  return next;
}

size_t dump(uint32_t& from, char* buffer, size_t size) {
  size_t used = 0;
  Entry entry;
  while (entryFrom(from, entry)) {
    const int length = format(entry, buffer + used, size - used);
    if (length < 0 || static_cast<size_t>(length) >= size - used) break;
    used += static_cast<size_t>(length);
    ++from;
  }
  if (size) buffer[used] = '\0';
  return used;
}

Subscriber* subscribe(CUlogsCallback callback, void* data) {
  Subscriber* const made = slab.create(Subscriber{callback, data});
  {
    SpinGuard guard(lock);
    if (!subscribers.load(std::memory_order_relaxed)) delivered = next;  // what was before is not for it
  }
  SpinGuard guard(listLock);
  list().push_back(made);
  subscribers.fetch_add(1, std::memory_order_relaxed);
  return made;
}

bool unsubscribe(Subscriber* subscriber) {
  if (!slab.find(subscriber) || !slab.retire(subscriber)) return false;
  {
    SpinGuard guard(listLock);
    std::erase(list(), subscriber);
    subscribers.fetch_sub(1, std::memory_order_relaxed);
  }
  slab.recycle(subscriber);
  return true;
}

}  // namespace vg::log
