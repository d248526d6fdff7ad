#include "host_register/ring_pins.h"

#include <errno.h>
#include <string.h>

#include <algorithm>

#include "base/log.h"

namespace vg::host_register {
namespace {

constexpr size_t kLargest = size_t{1} << 30;  // bytes of one buffer, by the system

}  // namespace

RingPins& RingPins::shared() {
  static RingPins* const pins = new RingPins;  // never destroyed: ranges outlive everything
  return *pins;
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
  return updated < 0 ? -updated : 0;
}

void RingPins::forget(const Places& places) {
  for (const unsigned place : places) {
    (void)update(place, nullptr, 0);
    free_.push_back(place);
  }
}

int RingPins::pin(std::byte* start, size_t bytes, Places& places) {
  std::lock_guard lock(mutex_);
  if (const int error = open()) return error;
  for (size_t done = 0; done < bytes; done += kLargest) {
    if (free_.empty() && used_ == kPlaces) {
      forget(places);
      return ENOSPC;
    }
    unsigned place = used_;
    if (free_.empty()) {
      ++used_;
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
  std::lock_guard lock(mutex_);
  forget(places);
}

int RingPins::error() {
  std::lock_guard lock(mutex_);
  return open();
}

}  // namespace vg::host_register
