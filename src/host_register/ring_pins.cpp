#include "host_register/ring_pins.h"

#include <errno.h>
#include <string.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/undying.h"

namespace vg::host_register {
namespace {

constexpr size_t kLargest = size_t{1} << 30;  // bytes of one buffer, by the system

}  // namespace

RingPins& RingPins::shared() {
  return undying<RingPins, RingPins>();  // ranges outlive everything
}

int RingPins::open() {
  if (opened_ || refused_) return refused_;
  int error = -io_uring_queue_init(1, &ring_, 0);
  if (!error) {
    error = -io_uring_register_buffers_sparse(&ring_, kPlaces);
    if (error) io_uring_queue_exit(&ring_);
  }
  opened_ = !error;
  if (opened_)
    VG_LOG(Info, "page-locked host memory is pinned by registered buffers of an io_uring");
  else
    VG_LOG(Info, "page-locked host memory is locked by mlock: io_uring answers %s", strerror(error));
  if (error != EMFILE && error != ENFILE && error != ENOMEM) refused_ = error;  // those may pass
  return error;
}

int RingPins::update(unsigned place, std::byte* start, size_t bytes) {
  const iovec range{start, bytes};
  const __u64 tag = 0;
  const int updated = io_uring_register_buffers_update_tag(&ring_, place, &range, &tag, 1);
  if (updated < 0) return -updated;
  held_[place] = range;
  return 0;
}

void RingPins::forget(const Places& places) {
  for (const unsigned place : places) {
    (void)update(place, nullptr, 0);
    free_.push_back(place);
  }
}

int RingPins::pin(std::byte* start, size_t bytes, Places& places) {
  const MutexLock lock(mutex_);
  if (const int error = open()) return error;
  for (size_t done = 0; done < bytes; done += kLargest) {
    if (free_.empty() && held_.size() == kPlaces) {
      forget(places);
      return ENOSPC;
    }
    auto place = static_cast<unsigned>(held_.size());
    if (free_.empty()) {
      held_.push_back({});
    } else {
      place = free_.back();
      free_.pop_back();
    }
    places.push_back(place);
    if (const int error = update(place, start + done, std::min(bytes - done, kLargest))) {
      forget(places);
      return error;
    }
  }
  return 0;
}

void RingPins::unpin(const Places& places) {
  const MutexLock lock(mutex_);
  forget(places);
}

void RingPins::release() {
  const MutexLock lock(mutex_);
  if (opened_) io_uring_queue_exit(&ring_);
  released_ |= opened_;
  opened_ = false;
}

void RingPins::retake() {
  const MutexLock lock(mutex_);
  if (!std::exchange(released_, false)) return;
  size_t lost = 0;
  const bool open = this->open() == 0;
  for (unsigned place = 0; place < held_.size(); ++place) {
    const iovec range = held_[place];
    if (range.iov_len && (!open || update(place, static_cast<std::byte*>(range.iov_base), range.iov_len)))
      lost += range.iov_len;
  }
  if (lost) VG_LOG(Warn, "%zu bytes of page-locked memory could not be pinned again and stay pageable", lost);
}

int RingPins::error() {
  const MutexLock lock(mutex_);
  return open();
}

}  // namespace vg::host_register
