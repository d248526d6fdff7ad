// Streams, events and what streams are given to do other than copies and kernels.
#include <cstring>

#include "families.h"
#include "objects.h"

namespace calls {
namespace {

int calledBack;
void CUDA_CB countHost(void* count) { ++*static_cast<int*>(count); }
void CUDA_CB countCallback(CUstream, CUresult, void* count) { ++*static_cast<int*>(count); }

int anyAttribute() { return chance(96) ? belowInt(17) : oneOf({17, 18, 100, -1}); }

// Attributes of streams that all share would outlive the sequence.
Named<CUstream> createdStream() { return streams.any(); }

void destroyStream() {
  const Named<CUstream> stream = createdStream();
  if (!stream || capturing || chance(50)) return;
  if (RECORD(cuStreamDestroy, given("stream", stream)) == CUDA_SUCCESS) streams.remove(stream);
}

void askStream() {
  const Named<CUstream> stream = anyStream();
  describe("stream", stream.name);
  switch (below(6)) {
    case 0: {
      unsigned flags = 0;
      RECORD(cuStreamGetFlags, stream.object, &flags);
      return output("flags", flags);
    }
    case 1: {
      int priority = 0;
      RECORD(cuStreamGetPriority, stream.object, &priority);
      return output("priority", priority);
    }
    case 2: {
      CUcontext context = nullptr;
      RECORD(cuStreamGetCtx, stream.object, &context);
      return output("context", contextName(context));
    }
    case 3: {
      CUdevice device = -1;
      RECORD(cuStreamGetDevice, stream.object, &device);
      return output("device", device);
    }
    case 4: {
      unsigned long long id = 0;
      RECORD(cuStreamGetId, stream.object, &id);
      return output("id", id ? "some" : "0");
    }
    default:
      settle();
      if (!capturing && chance(50))
        RECORD(cuStreamQuery, stream.object);
      else
        RECORD(cuStreamSynchronize, stream.object);
  }
}

void askAttribute() {
  const int attribute = anyAttribute();
  CUstreamAttrValue value{};
  RECORD(cuStreamGetAttribute, given("stream", anyStream()), givenAs<CUstreamAttrID>("attribute", attribute), &value);
  output("value", text(attribute, value));
}

void setAttribute() {
  const Named<CUstream> stream = createdStream();
  if (!stream) return;
  const int attribute = anyAttribute();
  CUstreamAttrValue value;
  std::string drawn;
  drawAttribute(attribute, value, drawn);
  describe("value", drawn);
  RECORD(cuStreamSetAttribute, given("stream", stream), givenAs<CUstreamAttrID>("attribute", attribute), &value);
}

void copyAttributes() {
  const Named<CUstream> target = createdStream();
  if (target) RECORD(cuStreamCopyAttributes, given("target", target), given("source", anyStream()));
}

void recordEvent() {
  const Named<CUevent> event = events.any();
  if (!event) return;
  if (chance(80))
    RECORD(cuEventRecord, given("event", event), given("stream", anyStream()));
  else
    RECORD(cuEventRecordWithFlags, given("event", event), given("stream", anyStream()),
           given("flags", static_cast<unsigned>(below(3))));
}

void waitForEvent() {
  const Named<CUevent> event = events.any();
  if (event)
    RECORD(cuStreamWaitEvent, given("stream", anyStream()), given("event", event),
           given("flags", mostly(88, {0u}, {1u, 2u})));
}

void askEvent() {
  const Named<CUevent> event = events.any(), other = events.any();
  if (!event) return;
  settle();
  switch (below(4)) {
    case 0:
      if (!capturing) RECORD(cuEventQuery, given("event", event));
      return;
    case 1:
      RECORD(cuEventSynchronize, given("event", event));
      return;
    case 2: {
      float milliseconds = -1;
      RECORD(cuEventElapsedTime, &milliseconds, given("start", event), given("end", other));
      return output("zero", milliseconds == 0 && event.slot == other.slot);
    }
    default:
      if (capturing || chance(50)) return;
      if (RECORD(cuEventDestroy, given("event", event)) == CUDA_SUCCESS) events.remove(event);
  }
}

void callHost() {
  if (chance(50))
    RECORD(cuLaunchHostFunc, given("stream", anyStream()), wrong("no function", 5) ? nullptr : countHost,
           static_cast<void*>(&calledBack));
  else
    RECORD(cuStreamAddCallback, given("stream", anyStream()), wrong("no function", 5) ? nullptr : countCallback,
           static_cast<void*>(&calledBack), given("flags", mostly(90, {0u}, {1u})));
  settle();
}

// Waits are for what is there already: for at least 0.
void waitOrWrite() {
  const bool wait = chance(40), wide = chance(50);
  Pointer pointer = wait ? pointerOf(Kind::Device, 3) : devicePointer(3);
  if (chance(85)) pointer.alignTo(8);
  if (!pointer.null() && pointer.room < 16) return;
  const CUstream stream = given("stream", anyStream());
  const CUdeviceptr address = given("pointer", pointer);
  const unsigned flags = wait ? 0 : given("flags", mostly(85, {0u}, {1u, 2u}));
  if (wait && wide) RECORD(cuStreamWaitValue64, stream, address, 0, flags);
  if (wait && !wide) RECORD(cuStreamWaitValue32, stream, address, 0, flags);
  if (!wait && wide) RECORD(cuStreamWriteValue64, stream, address, 5, flags);
  if (!wait && !wide) RECORD(cuStreamWriteValue32, stream, address, 5, flags);
  settle();
}

void doBatch() {
  CUstreamBatchMemOpParams operations[3];
  std::memset(operations, 0, sizeof operations);
  const auto count = static_cast<unsigned>(below(4));
  std::string drawn;
  for (unsigned i = 0; i < count; ++i) {
    if (i == std::size(operations)) break;
    CUstreamBatchMemOpParams& operation = operations[i];
    Pointer pointer = pointerOf(Kind::Device, 3);
    pointer.alignTo(8);
    if (!pointer.null() && pointer.room < 16) return;
    operation.operation = static_cast<CUstreamBatchMemOpType>(mostly(93, {2, 5, 6, 2, 5}, {3, 0, 7}));
    drawn += text(operation.operation);
    if (operation.operation == CU_STREAM_MEM_OP_BARRIER) {
      operation.memoryBarrier.flags = static_cast<unsigned>(below(3));
      drawn += "," + text(operation.memoryBarrier.flags);
    } else {
      operation.writeValue.address = pointer.address;
      operation.writeValue.value64 = 7;
      operation.writeValue.flags = mostly(90, {0u}, {1u, 2u});
      drawn += "," + text(operation.writeValue.flags) + "," + pointer.name;
    }
    drawn += ";";
  }
  if (count > std::size(operations)) return;
  describe("operations", drawn);
  RECORD(cuStreamBatchMemOp, given("stream", anyStream()), given("count", count), operations,
         given("flags", mostly(93, {0u}, {1u})));
  settle();
}

void endCapture(CUstream stream) {
  CUstreamCaptureStatus status{};
  if (CALL(cuStreamIsCapturing, stream, &status) || status == CU_STREAM_CAPTURE_STATUS_NONE) return;
  CUgraph graph = nullptr;
  if (CALL(cuStreamEndCapture, stream, &graph) == CUDA_SUCCESS && graph) CALL(cuGraphDestroy, graph);
}

}  // namespace

void createStream() {
  const int slot = streams.unused();
  if (slot < 0) return;
  CUstream stream = nullptr;
  const auto flags = static_cast<unsigned>(below(chance(88) ? 2 : 10));
  CUresult result;
  if (chance(50))
    result = RECORD(cuStreamCreate, out("stream", &stream), given("flags", flags));
  else
    result = RECORD(cuStreamCreateWithPriority, out("stream", &stream), given("flags", flags),
                    given("priority", mostly(70, {0, -1, -2, -3, -4, -5}, {1, 5, -6, -100, 100})));
  if (result == CUDA_SUCCESS) streams.put(slot, stream);
}

void createEvent() {
  const int slot = events.unused();
  if (slot < 0) return;
  CUevent event = nullptr;
  if (RECORD(cuEventCreate, out("event", &event),
             given("flags", mostly(88, {0u, 1u, 2u, 3u, 6u, 7u}, {4u, 5u, 8u, 19u}))) == CUDA_SUCCESS)
    events.put(slot, event);
}

void drawAttribute(int id, CUlaunchAttributeValue& value, std::string& drawn) {
  std::memset(&value, 0, sizeof value);
  switch (id) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW: {
      CUaccessPolicyWindow& window = value.accessPolicyWindow;
      window.base_ptr = devicePointer(10).host();
      window.num_bytes = oneOf<size_t>({0, 1, 1000, 1 << 20, 200 << 20});
      window.hitRatio = oneOf({0.f, 0.5f, 1.f, 1.5f, -1.f});
      window.hitProp = static_cast<CUaccessProperty>(belowInt(4));
      window.missProp = static_cast<CUaccessProperty>(belowInt(4));
      break;
    }
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
      value.clusterDim = {mostly(90, {0u, 1u, 2u, 3u, 4u}, {8u, 16u, 17u}), oneOf({1u, 1u, 2u}), 1};
      break;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
    case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT: {
      const Named<CUevent> event = events.any();
      value.launchCompletionEvent = {event.object, belowInt(3)};
      drawn = event.name + "," + text(value.launchCompletionEvent.flags);
      return;
    }
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
      value.memSyncDomainMap = {static_cast<unsigned char>(below(6)), static_cast<unsigned char>(below(6))};
      break;
    case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
      break;
    default: {
      const int number = mostly(80, {0, 1, 2, 3}, {-1, -5, -6, 50, 100, 101, 5});
      std::memcpy(&value, &number, sizeof number);
    }
  }
  drawn = text(id, value);
}

std::string text(int id, const CUlaunchAttributeValue& value) {
  const CUaccessPolicyWindow& window = value.accessPolicyWindow;
  switch (id) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
      return where(reinterpret_cast<CUdeviceptr>(window.base_ptr)) + "," +
             list(window.num_bytes, double{window.hitRatio}, window.hitProp, window.missProp);
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
      return list(value.clusterDim.x, value.clusterDim.y, value.clusterDim.z);
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
      return list(int{value.memSyncDomainMap.default_}, int{value.memSyncDomainMap.remote});
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
    case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
    case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
      return "uncompared";
    default: {
      int number;
      std::memcpy(&number, &value, sizeof number);
      return text(number);
    }
  }
}

void callStreams() {
  pickOf({{2, createStream},
          {1, destroyStream},
          {6, askStream},
          {1, askAttribute},
          {1, setAttribute},
          {1, copyAttributes},
          {2, createEvent},
          {1, recordEvent},
          {1, waitForEvent},
          {1, askEvent},
          {2, callHost},
          {1, waitOrWrite},
          {1, doBatch}});
}

void releaseStreams() {
  streams.releaseAll([](CUstream stream) {
    endCapture(stream);
    CALL(cuStreamDestroy, stream);
  });
  endCapture(CU_STREAM_PER_THREAD);
  capturing = false;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  CALL(cuThreadExchangeStreamCaptureMode, &mode);
  events.releaseAll([](CUevent event) { CALL(cuEventDestroy, event); });
}

}  // namespace calls
