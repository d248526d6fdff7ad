#include "backend/nvidia/promised_points.h"

#include "base/sync/spin_lock.h"

namespace vg::backend::nvidia {

// The points of a timeline, which grow one by one, lie beside each other.
PromisedPoints::Place& PromisedPoints::placeOf(Point point) {
  constexpr uint64_t kSpread = 0x9e3779b97f4a7c15;
  const uint64_t start = reinterpret_cast<uintptr_t>(point.timeline) * kSpread >> 40;
  return places_[(start + point.value) % kPlaces];
}

void PromisedPoints::promise(Point point, const Submission& end) {
  Place& place = placeOf(point);
  const SpinGuard guard(place.lock);
  place.point = point;
  place.end = end;
}

Submission PromisedPoints::find(Point point) {
  Place& place = placeOf(point);
  const SpinGuard guard(place.lock);
  const bool found = place.point.timeline == point.timeline && place.point.value == point.value;
  return found ? place.end : Submission{};
}

}  // namespace vg::backend::nvidia
