#include "cupti/records/names.h"

#include <functional>
#include <string>
#include <unordered_set>

#include "base/sync/mutex.h"
#include "base/undying.h"

namespace vg::cupti {
namespace {

// Lets a text be looked for without a copy of it.
struct Hash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};
using Texts = std::unordered_set<std::string, Hash, std::equal_to<>>;

}  // namespace

const char* kept(std::string_view text) {
  static constinit Mutex mutex;
  auto& texts = undying<Texts, struct KeptNames>();
  const MutexLock lock(mutex);
  if (const auto found = texts.find(text); found != texts.end()) return found->c_str();
  return texts.emplace(text).first->c_str();
}

}  // namespace vg::cupti
