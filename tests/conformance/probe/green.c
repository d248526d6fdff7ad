// Green contexts: how a device's multiprocessors are divided, and what contexts over a part of them are.
#include "probe.h"

static CUdevResource whole(void) {
  CUdevResource resource;
  memset(&resource, 0, sizeof resource);
  D(cuDeviceGetDevResource)(device, &resource, CU_DEV_RESOURCE_TYPE_SM);
  return resource;
}

static void say(const char* name, const CUdevResource* resource) {
  fact(name, "type %d, %u multiprocessors, at least %u, aligned to %u", resource->type, resource->sm.smCount,
       resource->sm.minSmPartitionSize, resource->sm.smCoscheduledAlignment);
}

static void resources(void) {
  D(cuInit)(0);
  D(cuDeviceGet)(&device, 0);
  CUdevResource resource;
  memset(&resource, 0x55, sizeof resource);
  RESULT("cuDeviceGetDevResource", D(cuDeviceGetDevResource)(device, &resource, CU_DEV_RESOURCE_TYPE_SM));
  say("of the device", &resource);
  RESULT("NULL", D(cuDeviceGetDevResource)(device, NULL, CU_DEV_RESOURCE_TYPE_SM));
  RESULT("type 0", D(cuDeviceGetDevResource)(device, &resource, CU_DEV_RESOURCE_TYPE_INVALID));
  RESULT("type 2", D(cuDeviceGetDevResource)(device, &resource, (CUdevResourceType)2));
  RESULT("type 99", D(cuDeviceGetDevResource)(device, &resource, (CUdevResourceType)99));
  RESULT("device 99", D(cuDeviceGetDevResource)(99, &resource, CU_DEV_RESOURCE_TYPE_SM));
  RESULT("no context", D(cuCtxGetDevResource)(NULL, &resource, CU_DEV_RESOURCE_TYPE_SM));
  start();
  memset(&resource, 0, sizeof resource);
  RESULT("cuCtxGetDevResource", D(cuCtxGetDevResource)(context, &resource, CU_DEV_RESOURCE_TYPE_SM));
  say("of a context", &resource);
  RESULT("current context", D(cuCtxGetDevResource)(NULL, &resource, CU_DEV_RESOURCE_TYPE_SM));
  RESULT("context, NULL", D(cuCtxGetDevResource)(context, NULL, CU_DEV_RESOURCE_TYPE_SM));
  RESULT("context, type 0", D(cuCtxGetDevResource)(context, &resource, CU_DEV_RESOURCE_TYPE_INVALID));
  RESULT("context, type 2", D(cuCtxGetDevResource)(context, &resource, (CUdevResourceType)2));
}

static void splitInto(const char* name, const CUdevResource* input, unsigned groups, unsigned least, unsigned flags) {
  CUdevResource parts[64], rest;
  memset(parts, 0, sizeof parts);
  memset(&rest, 0, sizeof rest);
  unsigned count = groups;
  const CUresult result = D(cuDevSmResourceSplitByCount)(parts, &count, input, &rest, flags, least);
  fact(name, "%s: %u groups of %u (type %d, at least %u, aligned to %u), last %u, rest %u (type %d)",
       resultName(result), count, parts[0].sm.smCount, parts[0].type, parts[0].sm.minSmPartitionSize,
       parts[0].sm.smCoscheduledAlignment, count && count <= 64 ? parts[count - 1].sm.smCount : 0, rest.sm.smCount,
       rest.type);
}

static void splits(void) {
  D(cuInit)(0);
  D(cuDeviceGet)(&device, 0);
  const CUdevResource all = whole();
  char name[64];
  static const unsigned least[] = {0,  1,  2,  4,  7,  8,  9,   12,  15,  16,  17,  20,  24,
                                   32, 48, 60, 64, 65, 66, 100, 128, 130, 132, 133, 1000};
  for (size_t i = 0; i < sizeof least / sizeof *least; ++i) {
    snprintf(name, sizeof name, "64 groups of %u", least[i]);
    splitInto(name, &all, 64, least[i], 0);
    snprintf(name, sizeof name, "one group of %u", least[i]);
    splitInto(name, &all, 1, least[i], 0);
    snprintf(name, sizeof name, "3 groups of %u, coscheduling ignored", least[i]);
    splitInto(name, &all, 3, least[i], CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING);
    snprintf(name, sizeof name, "64 groups of %u, coscheduling ignored", least[i]);
    splitInto(name, &all, 64, least[i], CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING);
    snprintf(name, sizeof name, "64 groups of %u, large clusters", least[i]);
    splitInto(name, &all, 64, least[i], CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE);
  }
  splitInto("both flags", &all, 4, 8, 3);
  splitInto("flag 4", &all, 4, 8, 4);
  unsigned count = 0;
  CUdevResource parts[64], rest;
  RESULT("counting only", D(cuDevSmResourceSplitByCount)(NULL, &count, &all, NULL, 0, 8));
  fact("groups that there would be", "%u", count);
  count = 2;
  RESULT("no place for results", D(cuDevSmResourceSplitByCount)(NULL, &count, &all, &rest, 0, 8));
  fact("groups then", "%u", count);
  RESULT("no count", D(cuDevSmResourceSplitByCount)(parts, NULL, &all, &rest, 0, 8));
  RESULT("no input", D(cuDevSmResourceSplitByCount)(parts, &count, NULL, &rest, 0, 8));
  count = 2;
  RESULT("no remainder", D(cuDevSmResourceSplitByCount)(parts, &count, &all, NULL, 0, 8));
  count = 0;
  RESULT("no groups", D(cuDevSmResourceSplitByCount)(parts, &count, &all, &rest, 0, 8));
  CUdevResource wrong = all;
  wrong.type = CU_DEV_RESOURCE_TYPE_INVALID;
  count = 2;
  RESULT("input of no type", D(cuDevSmResourceSplitByCount)(parts, &count, &wrong, &rest, 0, 8));
  memset(&wrong, 0, sizeof wrong);
  wrong.type = CU_DEV_RESOURCE_TYPE_SM;
  wrong.sm.smCount = 32;
  count = 2;
  RESULT("input made by hand", D(cuDevSmResourceSplitByCount)(parts, &count, &wrong, &rest, 0, 8));
  wrong = all;
  wrong.sm.smCount = 40;
  count = 64;
  RESULT("count changed by hand", D(cuDevSmResourceSplitByCount)(parts, &count, &wrong, &rest, 0, 8));
  fact("groups of that", "%u", count);
  count = 2;
  D(cuDevSmResourceSplitByCount)(parts, &count, &all, &rest, 0, 16);
  const CUdevResource part = parts[0], left = rest;
  splitInto("a part of 16 into 8", &part, 64, 8, 0);
  splitInto("the rest into 8", &left, 64, 8, 0);
}

static CUdevResourceDesc describe(unsigned least) {
  CUdevResource all = whole(), parts[1], rest;
  unsigned count = 1;
  CUdevResourceDesc desc = NULL;
  D(cuDevSmResourceSplitByCount)(parts, &count, &all, &rest, 0, least);
  D(cuDevResourceGenerateDesc)(&desc, parts, 1);
  return desc;
}

static void descriptions(void) {
  D(cuInit)(0);
  D(cuDeviceGet)(&device, 0);
  CUdevResource all = whole(), parts[4], rest;
  CUdevResourceDesc desc = NULL;
  unsigned count = 4;
  D(cuDevSmResourceSplitByCount)(parts, &count, &all, &rest, 0, 16);
  RESULT("of everything", D(cuDevResourceGenerateDesc)(&desc, &all, 1));
  RESULT("of one part", D(cuDevResourceGenerateDesc)(&desc, parts, 1));
  RESULT("of two parts", D(cuDevResourceGenerateDesc)(&desc, parts, 2));
  RESULT("of the rest", D(cuDevResourceGenerateDesc)(&desc, &rest, 1));
  RESULT("NULL", D(cuDevResourceGenerateDesc)(NULL, parts, 1));
  RESULT("no resources", D(cuDevResourceGenerateDesc)(&desc, NULL, 1));
  CUdevResource twice[2] = {parts[0], parts[0]};
  RESULT("of one part twice", D(cuDevResourceGenerateDesc)(&desc, twice, 2));
  CUdevResource wrong = parts[0];
  wrong.type = CU_DEV_RESOURCE_TYPE_INVALID;
  RESULT("of no type", D(cuDevResourceGenerateDesc)(&desc, &wrong, 1));
}

static void contexts(void) {
  D(cuInit)(0);
  D(cuDeviceGet)(&device, 0);
  CUgreenCtx green = NULL, other = NULL;
  CUcontext converted = NULL, again = NULL, primary = NULL, current = NULL;
  RESULT("cuGreenCtxCreate", D(cuGreenCtxCreate)(&green, describe(16), device, CU_GREEN_CTX_DEFAULT_STREAM));
  unsigned flags = 9;
  int active = 9;
  D(cuDevicePrimaryCtxGetState)(device, &flags, &active);
  fact("the primary context is active", "%s", YES(active));
  RESULT("another", D(cuGreenCtxCreate)(&other, describe(8), device, CU_GREEN_CTX_DEFAULT_STREAM));
  RESULT("cuCtxFromGreenCtx", D(cuCtxFromGreenCtx)(&converted, green));
  D(cuCtxFromGreenCtx)(&again, green);
  fact("the same each time", "%s", YES(converted == again));
  fact("handles are equal", "%s", YES((void*)converted == (void*)green));
  D(cuDevicePrimaryCtxRetain)(&primary, device);
  fact("it is the primary one", "%s", YES(converted == primary));
  unsigned long long id = 0, otherId = 0, primaryId = 0;
  RESULT("cuCtxGetId", D(cuCtxGetId)(converted, &id));
  RESULT("cuGreenCtxGetId", D(cuGreenCtxGetId)(green, &otherId));
  fact("both ids are equal", "%s", YES(id == otherId));
  D(cuCtxGetId)(primary, &primaryId);
  fact("it is the primary one's", "%s", YES(id == primaryId));
  RESULT("id, NULL", D(cuGreenCtxGetId)(green, NULL));
  RESULT("id of NULL, no context", D(cuGreenCtxGetId)(NULL, &otherId));
  CUdevResource resource;
  memset(&resource, 0, sizeof resource);
  RESULT("cuGreenCtxGetDevResource", D(cuGreenCtxGetDevResource)(green, &resource, CU_DEV_RESOURCE_TYPE_SM));
  say("its resource", &resource);
  RESULT("cuCtxGetDevResource", D(cuCtxGetDevResource)(converted, &resource, CU_DEV_RESOURCE_TYPE_SM));
  say("the same through the context", &resource);
  RESULT("resource of type 0", D(cuGreenCtxGetDevResource)(green, &resource, CU_DEV_RESOURCE_TYPE_INVALID));
  RESULT("resource, NULL", D(cuGreenCtxGetDevResource)(green, NULL, CU_DEV_RESOURCE_TYPE_SM));
  RESULT("cuCtxSetCurrent", D(cuCtxSetCurrent)(converted));
  D(cuCtxGetCurrent)(&current);
  fact("it is current", "%s", YES(current == converted));
  CUdevice of = 9;
  RESULT("cuCtxGetDevice", D(cuCtxGetDevice)(&of));
  RESULT("cuCtxGetFlags", D(cuCtxGetFlags)(&flags));
  fact("flags", "%#x", flags);
  unsigned version = 0;
  RESULT("cuCtxGetApiVersion", D(cuCtxGetApiVersion)(converted, &version));
  fact("version", "%u", version);
  RESULT("cuCtxDestroy", D(cuCtxDestroy_v2)(converted));

  CUdeviceptr memory = 0;
  RESULT("cuMemAlloc", D(cuMemAlloc_v2)(&memory, 4096));
  CUcontext owner = NULL;
  D(cuPointerGetAttribute)(&owner, CU_POINTER_ATTRIBUTE_CONTEXT, memory);
  fact("memory belongs to it", "%s",
       owner == converted ? "yes"
       : owner == primary ? "to the primary one"
                          : "to another");
  CUstream stream = NULL, plain = NULL, nowhere = NULL;
  RESULT("cuGreenCtxStreamCreate", D(cuGreenCtxStreamCreate)(&stream, green, CU_STREAM_NON_BLOCKING, 0));
  RESULT("with flags 0", D(cuGreenCtxStreamCreate)(&nowhere, green, CU_STREAM_DEFAULT, 0));
  RESULT("with flags 2", D(cuGreenCtxStreamCreate)(&nowhere, green, 2, 0));
  RESULT("stream, NULL", D(cuGreenCtxStreamCreate)(NULL, green, CU_STREAM_NON_BLOCKING, 0));
  RESULT("of NULL", D(cuGreenCtxStreamCreate)(&nowhere, NULL, CU_STREAM_NON_BLOCKING, 0));
  RESULT("cuStreamCreate", D(cuStreamCreate)(&plain, CU_STREAM_NON_BLOCKING));
  RESULT("cuStreamCreate of flags 0", D(cuStreamCreate)(&nowhere, CU_STREAM_DEFAULT));
  CUgreenCtx owns = NULL;
  RESULT("cuStreamGetGreenCtx", D(cuStreamGetGreenCtx)(stream, &owns));
  fact("its own", "%s", YES(owns == green));
  owns = NULL;
  RESULT("of a plain stream", D(cuStreamGetGreenCtx)(plain, &owns));
  fact("that of the current context", "%s", YES(owns == green));
  owns = (CUgreenCtx)8;
  RESULT("of the default stream", D(cuStreamGetGreenCtx)(NULL, &owns));
  fact("that of the default stream", "%s", owns == green ? "green" : owns ? "kept" : "NULL");
  RESULT("cuStreamGetCtx", D(cuStreamGetCtx)(stream, &owner));
  fact("context of its stream", "%s",
       owner == converted ? "its own"
       : owner == primary ? "the primary one"
                          : "another");
  CUcontext both = NULL;
  owns = NULL;
  RESULT("cuStreamGetCtx_v2", D(cuStreamGetCtx_v2)(stream, &both, &owns));
  fact("context, green context", "%s, %s",
       both == primary     ? "primary"
       : both == converted ? "its own"
       : both              ? "another"
                           : "NULL",
       owns == green ? "green"
       : owns        ? "another"
                     : "NULL");
  CUevent event = NULL, beside = NULL;
  D(cuEventCreate)(&event, 0);
  D(cuEventCreate)(&beside, CU_EVENT_DISABLE_TIMING);
  RESULT("cuGreenCtxRecordEvent", D(cuGreenCtxRecordEvent)(green, event));
  RESULT("cuGreenCtxWaitEvent", D(cuGreenCtxWaitEvent)(green, event));
  RESULT("record NULL", D(cuGreenCtxRecordEvent)(green, NULL));
  RESULT("wait for NULL", D(cuGreenCtxWaitEvent)(green, NULL));
  busy(stream, 60);
  RESULT("record behind work", D(cuGreenCtxRecordEvent)(green, beside));
  RESULT("query", D(cuEventQuery)(beside));
  RESULT("synchronise", D(cuEventSynchronize)(beside));
  RESULT("stream then", D(cuStreamQuery)(stream));
  busy(plain, 60);
  D(cuGreenCtxRecordEvent)(green, beside);
  RESULT("behind a plain stream's work", D(cuEventQuery)(beside));
  D(cuCtxSynchronize)();
  CUstream otherStream = NULL;
  D(cuGreenCtxStreamCreate)(&otherStream, other, CU_STREAM_NON_BLOCKING, 0);
  busy(stream, 60);
  D(cuEventRecord)(beside, stream);
  D(cuGreenCtxWaitEvent)(other, beside);
  void* arguments[] = {NULL};
  (void)arguments;
  D(cuMemsetD8Async)(memory, 1, 4096, otherStream);
  RESULT("another's stream waits", D(cuStreamQuery)(otherStream));
  D(cuCtxSynchronize)();
  RESULT("a kernel", D(cuStreamSynchronize)(stream));
  int priority = 9;
  D(cuStreamGetPriority)(stream, &priority);
  fact("priority", "%d", priority);
  RESULT("destroy while current", D(cuGreenCtxDestroy)(green));
  RESULT("twice", D(cuGreenCtxDestroy)(NULL));
  current = NULL;
  RESULT("cuCtxGetCurrent then", D(cuCtxGetCurrent)(&current));
  fact("still current", "%s", YES(current == converted));
  RESULT("cuMemAlloc then", D(cuMemAlloc_v2)(&memory, 64));
  RESULT("its stream then", D(cuStreamQuery)(stream));
  RESULT("the other's", D(cuGreenCtxDestroy)(other));
}

static void creation(void) {
  D(cuInit)(0);
  D(cuDeviceGet)(&device, 0);
  CUgreenCtx green = NULL;
  RESULT("flags 0", D(cuGreenCtxCreate)(&green, describe(8), device, 0));
  RESULT("flags 2", D(cuGreenCtxCreate)(&green, describe(8), device, 2));
  RESULT("flags 3", D(cuGreenCtxCreate)(&green, describe(8), device, 3));
  RESULT("NULL", D(cuGreenCtxCreate)(NULL, describe(8), device, CU_GREEN_CTX_DEFAULT_STREAM));
  RESULT("no description", D(cuGreenCtxCreate)(&green, NULL, device, CU_GREEN_CTX_DEFAULT_STREAM));
  RESULT("device 99", D(cuGreenCtxCreate)(&green, describe(8), 99, CU_GREEN_CTX_DEFAULT_STREAM));
  CUdevResourceDesc desc = describe(8);
  RESULT("one", D(cuGreenCtxCreate)(&green, desc, device, CU_GREEN_CTX_DEFAULT_STREAM));
  CUgreenCtx second = NULL;
  RESULT("another of the same description", D(cuGreenCtxCreate)(&second, desc, device, CU_GREEN_CTX_DEFAULT_STREAM));
  fact("it is another", "%s", YES(second != green));
  RESULT("cuGreenCtxDestroy", D(cuGreenCtxDestroy)(second));
  RESULT("convert NULL", D(cuCtxFromGreenCtx)(NULL, green));
  CUcontext converted = NULL;
  RESULT("convert none", D(cuCtxFromGreenCtx)(&converted, NULL));
  CUevent event = NULL;
  RESULT("record in none", D(cuGreenCtxRecordEvent)(NULL, event));
  unsigned long long id = 0;
  RESULT("id of none", D(cuGreenCtxGetId)(NULL, &id));
  CUdevResource resource;
  RESULT("resource of none", D(cuGreenCtxGetDevResource)(NULL, &resource, CU_DEV_RESOURCE_TYPE_SM));
}

static void occupancy(void) {
  D(cuInit)(0);
  D(cuDeviceGet)(&device, 0);
  CUgreenCtx green = NULL;
  CUcontext converted = NULL;
  D(cuGreenCtxCreate)(&green, describe(16), device, CU_GREEN_CTX_DEFAULT_STREAM);
  D(cuCtxFromGreenCtx)(&converted, green);
  D(cuCtxSetCurrent)(converted);
  int count = 0, grid = 0, block = 0;
  D(cuDeviceGetAttribute)(&count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
  fact("multiprocessors of the device", "%d", count);
  CUfunction function = kernel("spin");
  RESULT("cuOccupancyMaxActiveBlocksPerMultiprocessor",
         D(cuOccupancyMaxActiveBlocksPerMultiprocessor)(&count, function, 256, 0));
  fact("blocks of 256", "%d", count);
  RESULT("cuOccupancyMaxPotentialBlockSize", D(cuOccupancyMaxPotentialBlockSize)(&grid, &block, function, NULL, 0, 0));
  fact("grid, block", "%d, %d", grid, block);
  RESULT("cuCtxSynchronize", D(cuCtxSynchronize)());
  size_t bytes = 0;
  RESULT("cuCtxGetLimit", D(cuCtxGetLimit)(&bytes, CU_LIMIT_STACK_SIZE));
  RESULT("cuCtxSetLimit", D(cuCtxSetLimit)(CU_LIMIT_STACK_SIZE, 2048));
  RESULT("cuCtxGetCacheConfig", D(cuCtxGetCacheConfig)((CUfunc_cache*)&count));
  CUexecAffinityParam affinity;
  memset(&affinity, 0, sizeof affinity);
  RESULT("cuCtxGetExecAffinity", D(cuCtxGetExecAffinity)(&affinity, CU_EXEC_AFFINITY_TYPE_SM_COUNT));
  fact("affinity", "type %d, %u", affinity.type, affinity.param.smCount.val);
}

const Group kGreenGroups[] = {{"green.resources", resources},
                              {"green.splits", splits},
                              {"green.descriptions", descriptions},
                              {"green.contexts", contexts},
                              {"green.creation", creation},
                              {"green.occupancy", occupancy},
                              {NULL, NULL}};
