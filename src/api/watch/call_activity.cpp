#include "api/watch/call_activity.h"

#include "api/watch/trace.h"

namespace vg::api {

void tellCall(activity::Record& record, CUresult result) {
  record.call.end = traceClock();
  record.call.result = static_cast<int>(result);
  record.call.resultName = enumName(result);
  record.call.thread = activity::threadNumber();
  activity::tell(record);
}

}  // namespace vg::api
