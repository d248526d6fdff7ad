#include "copy/tiling.h"

#include <set>

#include "base/sync/mutex.h"
#include "base/undying.h"

namespace vg::copy {

size_t Tiling::bytes() const {
  const size_t high = tilesAcross(rows, kGobRows << blockRows),
               deep = layerPitch ? 1 : tilesAcross(slices, size_t{1} << blockSlices);
  return tilesAcross(rowBytes, kGobBytes) * high * deep * blockBytes();
}

size_t Tiling::totalBytes() const { return layerPitch ? layerPitch * (slices - 1) + bytes() : bytes(); }

const Tiling& kept(const Tiling& tiling) {
  static constinit Mutex mutex;
  const MutexLock guard(mutex);
  return *undying<std::set<Tiling>, Tiling>().insert(tiling).first;
}

}  // namespace vg::copy
