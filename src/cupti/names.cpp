#include "cupti/names.h"

#include <string>
#include <unordered_set>

#include "base/mutex.h"
#include "base/undying.h"

namespace vg::cupti {

const char* kept(std::string_view text) {
  static constinit Mutex mutex;
  auto& texts = undying<std::unordered_set<std::string>, struct KeptNames>();
  const MutexLock lock(mutex);
  return texts.emplace(text).first->c_str();
}

}  // namespace vg::cupti
