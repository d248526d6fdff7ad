#include "core/graphs/capture_nodes.h"

#include "backend/updatable_node.h"
#include "core/contexts/context.h"
#include "core/graphs/capture.h"
#include "core/graphs/graph_describe.h"
#include "core/graphs/graph_memory.h"
#include "core/modules/function.h"
#include "core/pools/memory_pool.h"
#include "core/process/device.h"
#include "core/streams/event.h"
#include "core/work/memory_operations.h"

namespace vg::core::capture {
namespace {

using memory::Form;
using memory::Place;
using memory::Space;

ContextReference referenceTo(const Stream& stream) { return referenceTo(stream.context()); }

// A call that returns when its work is done cannot be captured.
CUresult admit(Stream& stream, Form form) {
  return form == Form::Synchronous ? refuse(stream, "a call that waits") : ready(stream);
}

CUmemorytype typeOf(Space space) {
  switch (space) {
    case Space::Host:
      return CU_MEMORYTYPE_HOST;
    case Space::Device:
      return CU_MEMORYTYPE_DEVICE;
    case Space::Unified:
      break;
  }
  return CU_MEMORYTYPE_UNIFIED;
}

CUresult addCopy(Stream& stream, const CUDA_MEMCPY3D& box) {
  VG_CHECK(memory::describe(box));
  if (!box.WidthInBytes || !box.Height || !box.Depth) return CUDA_SUCCESS;
  return add(stream, MemcpyNode{box, referenceTo(stream)});
}

}  // namespace

CUresult copyLinear(Stream& stream, Place destination, Place source, size_t bytes, Form form) {
  VG_CHECK(admit(stream, form));
  CUDA_MEMCPY3D box{};
  box.srcMemoryType = typeOf(source.space);
  box.dstMemoryType = typeOf(destination.space);
  if (source.space == Space::Host) box.srcHost = reinterpret_cast<const void*>(source.address);
  if (source.space != Space::Host) box.srcDevice = source.address;
  if (destination.space == Space::Host) box.dstHost = reinterpret_cast<void*>(destination.address);
  if (destination.space != Space::Host) box.dstDevice = destination.address;
  box.WidthInBytes = bytes;
  box.Height = box.Depth = 1;
  return addCopy(stream, box);
}

CUresult copyBox(Stream& stream, const CUDA_MEMCPY3D& box, Form form) {
  VG_CHECK(admit(stream, form));
  return addCopy(stream, box);
}

CUresult copyBox(Stream& stream, const CUDA_MEMCPY2D& flat, Form form) {
  VG_CHECK(admit(stream, form));
  CUDA_MEMCPY3D box{};
  box.srcXInBytes = flat.srcXInBytes;
  box.srcY = flat.srcY;
  box.srcMemoryType = flat.srcMemoryType;
  box.srcHost = flat.srcHost;
  box.srcDevice = flat.srcDevice;
  box.srcArray = flat.srcArray;
  box.srcPitch = flat.srcPitch;
  box.dstXInBytes = flat.dstXInBytes;
  box.dstY = flat.dstY;
  box.dstMemoryType = flat.dstMemoryType;
  box.dstHost = flat.dstHost;
  box.dstDevice = flat.dstDevice;
  box.dstArray = flat.dstArray;
  box.dstPitch = flat.dstPitch;
  box.WidthInBytes = flat.WidthInBytes;
  box.Height = flat.Height;
  box.Depth = 1;
  return addCopy(stream, box);
}

CUresult fillRows(Stream& stream, CUdeviceptr destination, size_t pitch, uint32_t value, uint32_t elementSize,
                  size_t width, size_t height, Form form) {
  VG_CHECK(admit(stream, form));
  if (!width || !height) return CUDA_SUCCESS;
  Context& context = stream.context();
  VG_CHECK(memory::describeFill(context.device(), destination, pitch, value, elementSize, width, height,
                                memory::Addresses::Any));
  MemsetNode node{{destination, pitch, value, elementSize, width, height, context.handle()}, referenceTo(stream)};
  return add(stream, node);
}

namespace {

Result<NodeParams> describeLaunch(Stream& stream, CUfunction function, const LaunchRequest& request,
                                  const LaunchArguments& arguments) {
  Context& context = stream.context();
  VG_TRY(backend::Kernel* const kernel, resolveKernel(function, context));
  VG_CHECK(kernel->prepare(shapeFor(*kernel, request.shape)));
  if (request.attributes) VG_CHECK(request.attributes->checkClusters(context.device()));
  KernelNode node;
  const backend::LaunchShape& shape = request.shape;
  node.params = {.func = function,
                 .gridDimX = shape.grid[0],
                 .gridDimY = shape.grid[1],
                 .gridDimZ = shape.grid[2],
                 .blockDimX = shape.block[0],
                 .blockDimY = shape.block[1],
                 .blockDimZ = shape.block[2],
                 .sharedMemBytes = shape.dynamicShared,
                 .kernelParams = nullptr,
                 .extra = nullptr,
                 .kern = nullptr,
                 .ctx = context.handle()};
  node.context = referenceTo(stream);
  node.arguments.resize(kernel->parameterBytes());
  VG_CHECK(copyArguments(*kernel, arguments, node.arguments.data()));
  if (request.attributes) node.attributes = *request.attributes;
  if (shape.cooperative && !node.attributes.cooperative()) {  // cuLaunchCooperativeKernel
    CUlaunchAttribute attribute{};
    attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attribute.value.cooperative = 1;
    VG_CHECK(node.attributes.set(attribute, context.device(), LaunchAttributes::Way::Launch));
  }
  VG_CHECK(node.attributes.inherit(stream, context.device()));
  if (request.updatable)
    VG_CHECK(graphs::setKernelAttribute(node, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, *request.updatable));
  return NodeParams(std::move(node));
}

}  // namespace

CUresult launchKernel(Stream& stream, CUfunction function, const LaunchRequest& request,
                      const LaunchArguments& arguments) {
  VG_CHECK(ready(stream));
  VG_CHECK(resolveKernel(function, stream.context()));  // what is no kernel leaves the capture alone
  if (request.attributes) VG_CHECK(request.attributes->checkEvent(true));
  if (request.updatable) VG_CHECK(graphs::checkUpdatable(*request.updatable));
  auto node = describeLaunch(stream, function, request, arguments);
  if (!node.ok()) {
    spoil(stream);
    return node.error();
  }
  const bool programmatic = request.attributes && request.attributes->programmatic();
  VG_CHECK(add(stream, std::move(node.value()), programmatic ? Order::Programmatic : Order::Full));
  return recordEvent(stream, request);
}

CUresult launchHostFunction(Stream& stream, CUhostFn function, void* data, unsigned mode) {
  return add(stream, HostNode{{function, data}, mode});
}

Result<CUdeviceptr> allocate(Stream& stream, size_t bytes, CUmemoryPool pool) {
  VG_CHECK(ready(stream));
  if (!bytes) return CUdeviceptr{0};
  if (pool) VG_CHECK(memory::findPool(pool));
  CUDA_MEM_ALLOC_NODE_PARAMS params{};
  params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  params.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, stream.context().device().handle()};
  params.bytesize = bytes;
  VG_CHECK(add(stream, [&](Graph& graph, const std::vector<Dependency>& before) {
    return graphs::describeAlloc(graph, &params, before);
  }));
  return params.dptr;
}

CUresult release(Stream& stream, CUdeviceptr address) {
  if (!address) return ready(stream);
  return add(stream, [&](Graph& graph, const std::vector<Dependency>& before) {
    return graphs::describeFree(graph, address, before);
  });
}

CUresult memoryOperations(Stream& stream, const CUstreamBatchMemOpParams* operations, unsigned count) {
  VG_CHECK(ready(stream));
  VG_CHECK(describeMemoryOperations(stream.context(), operations, count, memory::Addresses::Any));
  if (!count) return CUDA_SUCCESS;
  return add(stream, BatchNode{stream.context().handle(), referenceTo(stream), 0, {operations, operations + count}});
}

}  // namespace vg::core::capture
