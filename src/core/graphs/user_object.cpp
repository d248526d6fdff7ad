#include "core/graphs/user_object.h"

#include <algorithm>

#include "base/memory/slab.h"
#include "core/process/inside_host_function.h"

namespace vg::core {
namespace {

constinit Slab<UserObject> slab;
constinit UserObject* ended = nullptr;

}  // namespace

struct UserObjectLife {
  static void end(UserObject& object) {
    slab.retire(&object);
    object.nextEnded_ = std::exchange(ended, &object);
  }
  static UserObject* next(const UserObject& object) { return object.nextEnded_; }
  static void call(const UserObject& object) { object.destroy_(object.data_); }
};

void UserObject::drop(uint64_t count) {
  references_ -= count;
  if (count && !references_) UserObjectLife::end(*this);
}

void UserObject::release(uint64_t count) {
  count = std::min(count, owned_);
  owned_ -= count;
  drop(count);
}

void UserObject::hold(uint64_t count, bool moved) {
  const uint64_t from = moved ? std::min(count, owned_) : 0;
  owned_ -= from;
  references_ += count - from;
}

void UserObject::letGo(uint64_t count) { drop(count); }

namespace user_objects {

CUuserObject create(void* data, CUhostFn destroy, uint64_t references) {
  return slab.create(data, destroy, references)->handle();
}

Result<UserObject&> find(CUuserObject handle) {
  if (UserObject* object = slab.find(handle)) return *object;
  return fail(CUDA_ERROR_INVALID_VALUE, "%p is no user object", static_cast<void*>(handle));
}

UserObject* takeEnded() { return std::exchange(ended, nullptr); }

void finish(UserObject* object) {
  while (object) {
    UserObject* const next = UserObjectLife::next(*object);
    {
      const InsideHostFunction inside;
      UserObjectLife::call(*object);
    }
    slab.recycle(object);
    object = next;
  }
}

}  // namespace user_objects
}  // namespace vg::core
