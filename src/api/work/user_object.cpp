// User objects and the references that graphs hold to them.
#include "core/graphs/user_object.h"

#include <climits>

#include "api/entry/call.h"
#include "core/graphs/graph.h"

namespace vg::handlers {
namespace {

using core::UserObject;
namespace graphs = core::graphs;

CUresult checkCount(unsigned count) {
  if (!count || count > INT_MAX) return fail(CUDA_ERROR_INVALID_VALUE, "%u references", count);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuUserObjectCreate(const Call&, CUuserObject* object_out, void* ptr, CUhostFn destroy,
                            unsigned int initialRefcount, unsigned int flags) {
  if (!object_out) return missing("object_out");
  if (!destroy) return missing("destroy");
  if (!initialRefcount) return fail(CUDA_ERROR_INVALID_VALUE, "no reference");
  if (flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) return fail(CUDA_ERROR_INVALID_VALUE, "flags %#x", flags);
  const graphs::Lock lock;
  *object_out = core::user_objects::create(ptr, destroy, initialRefcount);
  return CUDA_SUCCESS;
}

CUresult cuUserObjectRetain(const Call&, CUuserObject object, unsigned int count) {
  VG_CHECK(checkCount(count));
  const graphs::Lock lock;
  VG_TRY(UserObject & found, core::user_objects::find(object));
  found.retain(count);
  return CUDA_SUCCESS;
}

CUresult cuUserObjectRelease(const Call&, CUuserObject object, unsigned int count) {
  VG_CHECK(checkCount(count));
  const graphs::Lock lock;
  VG_TRY(UserObject & found, core::user_objects::find(object));
  found.release(count);
  return CUDA_SUCCESS;
}

CUresult cuGraphRetainUserObject(const Call&, CUgraph graph, CUuserObject object, unsigned int count,
                                 unsigned int flags) {
  VG_CHECK(checkCount(count));
  if (flags & ~unsigned{CU_GRAPH_USER_OBJECT_MOVE}) return fail(CUDA_ERROR_INVALID_VALUE, "flags %#x", flags);
  const graphs::Lock lock;
  VG_TRY(core::Graph & holder, graphs::find(graph));
  VG_TRY(UserObject & found, core::user_objects::find(object));
  found.hold(count, flags & CU_GRAPH_USER_OBJECT_MOVE);
  holder.userObjects[&found] += count;
  return CUDA_SUCCESS;
}

CUresult cuGraphReleaseUserObject(const Call&, CUgraph graph, CUuserObject object, unsigned int count) {
  VG_CHECK(checkCount(count));
  const graphs::Lock lock;
  VG_TRY(core::Graph & holder, graphs::find(graph));
  VG_TRY(UserObject & found, core::user_objects::find(object));
  const auto held = holder.userObjects.find(&found);
  // The vendor's driver says so too when the graph holds fewer, and does nothing.
  if (held == holder.userObjects.end() || held->second < count) return CUDA_SUCCESS;
  if (!(held->second -= count)) holder.userObjects.erase(held);
  found.letGo(count);
  return CUDA_SUCCESS;
}

}  // namespace vg::handlers
