#include "cupti/records/collector.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "cupti/clock.h"
#include "cupti/process_number.h"
#include "cupti/records/records.h"

namespace vg::cupti {
namespace {

constinit thread_local bool insideFunction = false;
class InsideFunction {
 public:
  InsideFunction() : outer_(insideFunction) { insideFunction = true; }
  ~InsideFunction() { insideFunction = outer_; }

 private:
  const bool outer_;
};

unsigned rowOf(CUpti_ActivityKind kind) { return kind == CUPTI_ACTIVITY_KIND_RUNTIME; }
uint64_t bit(unsigned number) { return uint64_t{1} << (number % 64); }

void set(std::atomic<uint64_t>& word, uint64_t bits, bool on) {
  if (on)
    word.fetch_or(bits);
  else
    word.fetch_and(~bits);
}

CUpti_ActivityOverhead3 overhead(CUpti_ActivityOverheadKind kind, uint64_t start) {
  CUpti_ActivityOverhead3 record{};
  record.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  record.overheadKind = kind;
  record.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
  record.objectId.pt = {processNumber(), static_cast<uint32_t>(syscall(SYS_gettid))};
  record.start = start;
  record.end = clock::now();
  return record;
}

}  // namespace

bool insideBufferFunction() { return insideFunction; }

bool Collector::wants(CUpti_ActivityKind kind, uint64_t context) const {
  if (wants(kind)) return true;
  if (!(single_.load(std::memory_order_relaxed) >> kind & 1)) return false;
  const MutexLock lock(mutex_);
  const auto& wanted = contexts_[kind];
  return std::find(wanted.begin(), wanted.end(), context) != wanted.end();
}

void Collector::enable(CUpti_ActivityKind kind, bool on) {
  set(kinds_, bit(kind), on);
  set(single_, bit(kind), false);
  {
    const MutexLock lock(mutex_);
    contexts_[kind].clear();
  }
  if (kind != CUPTI_ACTIVITY_KIND_DRIVER && kind != CUPTI_ACTIVITY_KIND_RUNTIME) return;
  for (auto& word : calls_[rowOf(kind)]) word.store(on ? ~uint64_t{0} : 0);
}

void Collector::enable(CUpti_ActivityKind kind, uint64_t context, bool on) {
  const MutexLock lock(mutex_);
  auto& wanted = contexts_[kind];
  wanted.erase(std::remove(wanted.begin(), wanted.end(), context), wanted.end());
  if (on) wanted.push_back(context);
  set(single_, bit(kind), !wanted.empty());
}

void Collector::enableCall(CUpti_ActivityKind kind, CUpti_CallbackId id, bool on) {
  set(calls_[rowOf(kind)][id / 64], bit(id), on);
  const auto& words = calls_[rowOf(kind)];
  const bool any = std::any_of(std::begin(words), std::end(words), [](const auto& word) { return word.load() != 0; });
  set(kinds_, bit(kind), any);
}

bool Collector::wantsCall(CUpti_ActivityKind kind, CUpti_CallbackId id) const {
  return wants(kind) && calls_[rowOf(kind)][id / 64].load(std::memory_order_relaxed) & bit(id);
}

CUptiResult Collector::use(CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete) {
  if (!request || !complete) return CUPTI_ERROR_INVALID_PARAMETER;
  const MutexLock lock(mutex_);
  request_ = request;
  complete_ = complete;
  usable_.store(true, std::memory_order_release);
  return CUPTI_SUCCESS;
}

CUptiResult Collector::use(CUpti_BuffersCallbackRequestFunc_v2 request, CUpti_BuffersCallbackCompleteFunc_v2 complete) {
  if (!request || !complete) return CUPTI_ERROR_INVALID_PARAMETER;
  const MutexLock lock(mutex_);
  request2_ = request;
  complete2_ = complete;
  usable_.store(true, std::memory_order_release);
  return CUPTI_SUCCESS;
}

void Collector::retireCurrent() {
  if (!current_.bytes) return;
  full_.push_back(current_);  // where that throws, its records stay in it
  current_ = {};
}

bool Collector::addLocked(const void* record, size_t bytes) {
  if (!current_.has(bytes)) {
    retireCurrent();
    if (!spare_.empty()) {
      current_ = spare_.back();
      spare_.pop_back();
    }
  }
  if (!current_.has(bytes)) return false;
  std::memcpy(current_.bytes + current_.used, record, bytes);
  current_.used += bytes;
  ++current_.records;
  return true;
}

void Collector::add(const void* record, size_t bytes) {
  {
    const MutexLock lock(mutex_);
    if (!usable() || addLocked(record, bytes)) return;
  }
  const uint64_t start = clock::now();
  const Buffer fresh = request();
  if (!addTo(fresh, start, record, bytes) && fresh.bytes) complete(fresh);
}

bool Collector::addTo(const Buffer& fresh, uint64_t start, const void* record, size_t bytes) {
  const MutexLock lock(mutex_);
  if (!usable()) return false;
  if (fresh.bytes) spare_.push_back(fresh);
  if (!addLocked(record, bytes)) {
    countDropped(1);
  } else if (wants(CUPTI_ACTIVITY_KIND_OVERHEAD)) {
    const auto spent = overhead(CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST, start);
    if (!addLocked(&spent, sizeof spent)) countDropped(1);
  }
  return true;
}

Collector::Buffer Collector::request() {
  CUpti_BuffersCallbackRequestFunc request;
  CUpti_BuffersCallbackRequestFunc_v2 request2;
  {
    const MutexLock lock(mutex_);
    request = request_;
    request2 = request2_;
  }
  Buffer fresh;
  if (insideFunction) return fresh;
  const InsideFunction inside;
  CUpti_BufferCallbackRequestInfo info{sizeof info};
  if (request2)
    request2(&fresh.bytes, &fresh.size, &fresh.mostRecords, &info);
  else if (request)
    request(&fresh.bytes, &fresh.size, &fresh.mostRecords);
  return fresh;
}

void Collector::complete(const Buffer& buffer) {
  CUpti_BuffersCallbackCompleteFunc complete;
  CUpti_BuffersCallbackCompleteFunc_v2 complete2;
  {
    const MutexLock lock(mutex_);
    complete = complete_;
    complete2 = complete2_;
  }
  const InsideFunction inside;
  CUpti_BufferCallbackCompleteInfo info{sizeof info, 0, nullptr, 0};
  if (complete2)
    complete2(buffer.bytes, buffer.size, buffer.used, &info);
  else if (complete)
    complete(nullptr, 0, buffer.bytes, buffer.size, buffer.used);
}

void Collector::giveBack(std::vector<Buffer> buffers) {
  for (const Buffer& buffer : buffers) complete(buffer);
}

void Collector::giveBackFull() {
  std::vector<Buffer> full;
  {
    const MutexLock lock(mutex_);
    full.swap(full_);
  }
  giveBack(std::move(full));
}

void Collector::flush() {
  const uint64_t start = clock::now();
  std::vector<Buffer> back;
  {
    const MutexLock lock(mutex_);
    if (current_.used) retireCurrent();
    back.swap(full_);
  }
  const bool any = !back.empty();
  giveBack(std::move(back));
  if (any && wants(CUPTI_ACTIVITY_KIND_OVERHEAD)) add(overhead(CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH, start));
}

void Collector::reset() {
  kinds_.store(0);
  single_.store(0);
  for (auto& row : calls_)
    for (auto& word : row) word.store(0);
  std::vector<Buffer> back;
  {
    const MutexLock lock(mutex_);
    usable_.store(false);
    for (auto& contexts : contexts_) contexts.clear();
    retireCurrent();
    full_.insert(full_.end(), spare_.begin(), spare_.end());
    spare_.clear();
    back.swap(full_);
  }
  giveBack(std::move(back));
}

CUptiResult nextRecord(uint8_t* buffer, size_t validBytes, void** record) {
  if (!buffer || !record) return CUPTI_ERROR_INVALID_PARAMETER;
  const auto sizeAt = [](const uint8_t* at) { return recordSize(reinterpret_cast<const CUpti_Activity*>(at)->kind); };
  auto* at = static_cast<uint8_t*>(*record);
  if (!at)
    at = buffer;
  else if (const size_t size = sizeAt(at))
    at += size;
  else
    return CUPTI_ERROR_INVALID_KIND;
  const size_t offset = static_cast<size_t>(at - buffer);
  if (offset + sizeof(CUpti_Activity) > validBytes) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  if (!sizeAt(at) || offset + sizeAt(at) > validBytes) return CUPTI_ERROR_INVALID_KIND;
  *record = at;
  return CUPTI_SUCCESS;
}

}  // namespace vg::cupti
