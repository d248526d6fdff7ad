#include "api/watch/call_activity.h"

namespace vg::api {

const char* nameOfResult(int result) { return enumName(static_cast<CUresult>(result)); }

void tellCall(activity::Call& call, const activity::InsideCall& inside, CUresult result) {
  call.correlation = inside.correlation();
  call.begin = inside.began();
  call.end = activity::nowHere();
  call.result = static_cast<int>(result);
  call.thread = activity::threadNumber();
  call.submitted = activity::threadPart.submitted;
  activity::tell(call);
}

}  // namespace vg::api
