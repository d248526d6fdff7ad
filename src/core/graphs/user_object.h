// User objects: something of the application's with a counted number of references, some of them held by graphs. When
// the last reference goes away, the destructor that the application gave is called, never under a lock of ours.
//
// All functions require graphs::Lock.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "base/result.h"

namespace vg::core {

class UserObject {
 public:
  UserObject(void* data, CUhostFn destroy, uint64_t references)
      : data_(data), destroy_(destroy), references_(references), owned_(references) {}

  CUuserObject handle() { return reinterpret_cast<CUuserObject>(this); }
  // References that the application holds itself, not through a graph.
  uint64_t owned() const { return owned_; }

  // By the application. Releasing or moving more references than it holds is no error to the vendor's driver; here it
  // ends those that there are.
  void retain(uint64_t count) { references_ += count, owned_ += count; }
  void release(uint64_t count);
  // By a graph or an executable one. `moved`: out of those that the application holds.
  void hold(uint64_t count, bool moved);
  void letGo(uint64_t count);

 private:
  friend struct UserObjectLife;
  void drop(uint64_t count);

  void* const data_;
  const CUhostFn destroy_;
  uint64_t references_, owned_;
  UserObject* nextEnded_ = nullptr;
};

namespace user_objects {

CUuserObject create(void* data, CUhostFn destroy, uint64_t references);
// CUDA_ERROR_INVALID_VALUE for unknown and stale handles.
Result<UserObject&> find(CUuserObject handle);
// Those that have lost their last reference, unlinked from all else.
UserObject* takeEnded();
// Calls the destructors. Requires: no lock is held.
void finish(UserObject* ended);

}  // namespace user_objects
}  // namespace vg::core
