// Contexts: created ones, the stack of the thread, limits and settings.
#include <algorithm>

#include "families.h"
#include "objects.h"

namespace calls {
namespace {

constexpr int kLimits = 10, kDeepestStack = 20;
constexpr unsigned kCoredumpFlags = CU_CTX_COREDUMP_ENABLE | CU_CTX_USER_COREDUMP_ENABLE;

int pushed;

CUcontext current() {
  CUcontext context = nullptr;
  CALL(cuCtxGetCurrent, &context);
  return context;
}

Named<CUcontext> anyContext() {
  const Named<CUcontext> created = contexts.any();
  return created && chance(70) ? created : Named<CUcontext>{primary, "primary"};
}
Named<CUcontext> anyContextOrNone() {
  const Named<CUcontext> context = anyContext();
  return chance(30) ? Named<CUcontext>{} : context;
}

unsigned anyFlags() {
  const unsigned flags = chance(80) ? oneOf({0u, 1u, 2u, 4u, 8u, 16u, 0x80u}) : static_cast<unsigned>(below(0x200));
  return flags & ~kCoredumpFlags;
}

void createContext() {
  const int slot = contexts.unused();
  if (slot < 0 || pushed > kDeepestStack) return;
  CUexecAffinityParam affinity{};
  affinity.type = static_cast<CUexecAffinityType>(belowInt(3));
  affinity.param.smCount.val = oneOf({1u, 10u, 1000u});
  CUctxCreateParams parameters{};
  const uint64_t how = below(4);
  if (how == 1) {
    parameters.execAffinityParams = &affinity;
    parameters.numExecAffinityParams = mostly(80, {1}, {0});
    describe("affinity", list(affinity.type, parameters.numExecAffinityParams));
  }
  CUcontext context = nullptr;
  if (RECORD(cuCtxCreate, out("context", &context), how == 0 ? nullptr : &parameters, given("flags", anyFlags()),
             given("device", mostly(94, {0}, {1, -1}))))
    return;
  contexts.put(slot, context);
  ++pushed;
}

void destroyContext() {
  const Named<CUcontext> context = contexts.any();
  if (!context || chance(40)) return;
  describe("current", contextName(current()));
  if (RECORD(cuCtxDestroy, given("context", context)) == CUDA_SUCCESS) contexts.remove(context);
  const CUcontext left = current();
  output("current", contextName(left));
  if (contextName(left) == "another") CALL(cuCtxSetCurrent, primary);  // the dead one
}

void push() {
  if (pushed++ > kDeepestStack) return;
  RECORD(cuCtxPushCurrent, given("context", anyContext()));
}
void pop() {
  CUcontext context = nullptr;
  RECORD(cuCtxPopCurrent, out("context", &context, 20));
  output("context", contextName(context));
  output("current", contextName(current()));
}
void setCurrent() { RECORD(cuCtxSetCurrent, given("context", anyContextOrNone())); }
void askCurrent() {
  CUcontext context = nullptr;
  RECORD(cuCtxGetCurrent, &context);
  output("context", contextName(context));
}

int anyLimit() { return chance(94) ? belowInt(kLimits) : oneOf({10, 11, -1}); }

void askLimit() {
  size_t value = 0;
  RECORD(cuCtxGetLimit, &value, givenAs<CUlimit>("limit", anyLimit()));
  output("value", value);
}
void setLimit() {
  const int limit = anyLimit();
  size_t value = mostly<size_t>(70, {0, 1, 16, 32, 64, 100, 1000, 1024, 1025, 4096, 65536, 1 << 20, 3, 128},
                                {8 << 20, (8 << 20) + 1, 24, 25, 69632, ~size_t{0}, 33 << 20});
  if (limit == CU_LIMIT_STACK_SIZE) value = std::min<size_t>(value, 70000);  // each takes memory, at once
  if (limit == CU_LIMIT_PRINTF_FIFO_SIZE) value = std::min<size_t>(value, 16 << 20);
  if (limit == CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT) value = std::min<size_t>(value, 5000);
  describe("current", contextName(current()));
  if (RECORD(cuCtxSetLimit, givenAs<CUlimit>("limit", limit), given("value", value))) return;
  size_t now = 0;
  CALL(cuCtxGetLimit, &now, static_cast<CUlimit>(limit));
  output("now", now);
}

void askCacheConfig() {
  CUfunc_cache config{};
  RECORD(cuCtxGetCacheConfig, &config);
  output("config", config);
}
void setCacheConfig() {
  RECORD(cuCtxSetCacheConfig, givenAs<CUfunc_cache>("config", mostly(90, {0, 1, 2, 3}, {4, -1})));
}
void askBanks() {
  CUsharedconfig config{};
  RECORD(cuCtxGetSharedMemConfig, &config);
  output("config", config);
}
void setBanks() { RECORD(cuCtxSetSharedMemConfig, givenAs<CUsharedconfig>("config", mostly(90, {0, 1, 2}, {3}))); }

void askFlags() {
  unsigned flags = 0;
  describe("current", contextName(current()));
  RECORD(cuCtxGetFlags, &flags);
  output("flags", flags);
}
void setFlags() {
  const CUcontext context = current();
  if (contexts.nameOf(context) == "another" || !context) return;  // the primary's flags outlive the sequence
  describe("current", contextName(context));
  if (RECORD(cuCtxSetFlags, given("flags", anyFlags()))) return;
  unsigned now = 0;
  CALL(cuCtxGetFlags, &now);
  output("now", now);
}

void askVersion() {
  unsigned version = 0;
  RECORD(cuCtxGetApiVersion, given("context", anyContextOrNone()), &version);
  output("version", version);
}
void askDevice() {
  CUdevice device = -1;
  if (chance(50))
    RECORD(cuCtxGetDevice, &device);
  else
    RECORD(cuCtxGetDevice_v2, &device, given("context", anyContext()));
  output("device", device);
}
void askId() {
  unsigned long long id = 0;
  RECORD(cuCtxGetId, given("context", anyContextOrNone()), &id);
  output("some", id != 0);
}
void askPriorities() {
  int least = 0, greatest = 0;
  RECORD(cuCtxGetStreamPriorityRange, out("least", &least, 10), out("greatest", &greatest, 10));
  output("range", list(least, greatest));
}
void askAffinity() {
  CUexecAffinityParam affinity{};
  RECORD(cuCtxGetExecAffinity, &affinity, givenAs<CUexecAffinityType>("type", belowInt(3)));
  output("affinity", list(affinity.type, affinity.param.smCount.val));
}
void synchronize() { RECORD(cuCtxSynchronize_v2, given("context", anyContextOrNone())); }
void resetCache() { RECORD(cuCtxResetPersistingL2Cache); }

void useEvent() {  // of a context that is there: others end the vendor's library
  const Named<CUevent> event = events.any();
  if (!event) return createEvent();
  if (chance(50))
    RECORD(cuCtxRecordEvent, given("context", anyContext()), given("event", event));
  else
    RECORD(cuCtxWaitEvent, given("context", anyContext()), given("event", event));
}

void peerAccess() {
  describe("current", contextName(current()));
  if (chance(50))
    RECORD(cuCtxEnablePeerAccess, given("context", anyContext()), given("flags", mostly(90, {0u}, {1u})));
  else
    RECORD(cuCtxDisablePeerAccess, given("context", anyContext()));
}

void askPrimary() {
  unsigned flags = 0;
  int active = -1;
  RECORD(cuDevicePrimaryCtxGetState, given("device", mostly(90, {0}, {1, -1})), &flags, &active);
  output("state", list(flags, active));
}
void setPrimary() {
  RECORD(cuDevicePrimaryCtxSetFlags, given("device", mostly(90, {0}, {1, -1})), given("flags", anyFlags()));
  CALL(cuDevicePrimaryCtxSetFlags, 0, 0);
}

}  // namespace

void callContexts() {
  pickOf({{4, createContext},  {2, destroyContext}, {2, push},       {2, pop},
          {2, setCurrent},     {2, askCurrent},     {2, askLimit},   {2, setLimit},
          {2, askCacheConfig}, {2, setCacheConfig}, {1, askBanks},   {1, setBanks},
          {2, askFlags},       {2, setFlags},       {2, askVersion}, {2, askDevice},
          {2, askId},          {2, askPriorities},  {1, askPrimary}, {1, setPrimary},
          {2, askAffinity},    {1, synchronize},    {1, resetCache}, {1, useEvent},
          {2, peerAccess}});
}

// The limits that the primary context had at first are what later sequences find.
void releaseContexts() {
  static size_t first[kLimits];
  static bool known;
  pushed = 0;
  contexts.releaseAll([](CUcontext context) { CALL(cuCtxDestroy, context); });
  CUcontext popped;
  while (CALL(cuCtxPopCurrent, &popped) == CUDA_SUCCESS) {
  }
  CALL(cuCtxSetCurrent, primary);
  for (int limit = 0; limit < kLimits; ++limit) {
    size_t value = 0;
    if (CALL(cuCtxGetLimit, &value, static_cast<CUlimit>(limit))) continue;
    if (!known)
      first[limit] = value;
    else if (value != first[limit])
      CALL(cuCtxSetLimit, static_cast<CUlimit>(limit), first[limit]);
  }
  known = true;
  CALL(cuCtxSetCacheConfig, CU_FUNC_CACHE_PREFER_NONE);
}

}  // namespace calls
