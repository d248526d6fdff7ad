#include "record/structures.h"

#include <cuda.h>

#include <cstddef>
#include <iterator>

namespace vg::record {

namespace {

template <class T>
const T& as(const std::byte* bytes) {
  return *reinterpret_cast<const T*>(bytes);
}

// The same visitor for a structure that lies inside another one.
class Inside final : public StructureVisitor {
 public:
  Inside(StructureVisitor& outer, size_t at) : outer_(outer), at_(at) {}
  void handle(size_t offset, Kind kind) override { outer_.handle(at_ + offset, kind); }
  void address(size_t offset) override { outer_.address(at_ + offset); }
  void memory(size_t offset, std::string_view type, size_t size, size_t count) override {
    outer_.memory(at_ + offset, type, size, count);
  }
  void hostRegion(size_t host, uint64_t start, const Region& region, bool reads) override {
    outer_.hostRegion(at_ + host, start, region, reads);
  }
  void kernel(uint64_t function, size_t parameters, size_t packed) override {
    outer_.kernel(function, at_ + parameters, at_ + packed);
  }
  void function(size_t function, size_t userData) override { outer_.function(at_ + function, at_ + userData); }
  void opaque(size_t offset, size_t size) override { outer_.opaque(at_ + offset, size); }
  void drop(size_t offset) override { outer_.drop(at_ + offset); }

 private:
  StructureVisitor& outer_;
  const size_t at_;
};

// One side of a copy. The structures of both dimensions name their members alike.
template <class Copy>
void visitSource(const Copy& copy, uint64_t start, Region region, StructureVisitor& visitor) {
  if (copy.srcMemoryType == CU_MEMORYTYPE_ARRAY) return visitor.handle(offsetof(Copy, srcArray), Kind::CUarray);
  if (copy.srcMemoryType == CU_MEMORYTYPE_DEVICE) return visitor.address(offsetof(Copy, srcDevice));
  const size_t at = copy.srcMemoryType == CU_MEMORYTYPE_HOST ? offsetof(Copy, srcHost) : offsetof(Copy, srcDevice);
  visitor.hostRegion(at, start, region, true);
}
template <class Copy>
void visitTarget(const Copy& copy, uint64_t start, Region region, StructureVisitor& visitor) {
  if (copy.dstMemoryType == CU_MEMORYTYPE_ARRAY) return visitor.handle(offsetof(Copy, dstArray), Kind::CUarray);
  if (copy.dstMemoryType == CU_MEMORYTYPE_DEVICE) return visitor.address(offsetof(Copy, dstDevice));
  const size_t at = copy.dstMemoryType == CU_MEMORYTYPE_HOST ? offsetof(Copy, dstHost) : offsetof(Copy, dstDevice);
  visitor.hostRegion(at, start, region, false);
}

void visit(const CUDA_MEMCPY2D& copy, StructureVisitor& visitor) {
  Region region{0, copy.WidthInBytes, 0, copy.Height, 0, 1};
  region.pitch = copy.srcPitch ? copy.srcPitch : copy.WidthInBytes;
  visitSource(copy, copy.srcY * region.pitch + copy.srcXInBytes, region, visitor);
  region.pitch = copy.dstPitch ? copy.dstPitch : copy.WidthInBytes;
  visitTarget(copy, copy.dstY * region.pitch + copy.dstXInBytes, region, visitor);
}

template <class Copy>
void visitBox(const Copy& copy, StructureVisitor& visitor) {
  Region region{0, copy.WidthInBytes, 0, copy.Height, 0, copy.Depth};
  region.pitch = copy.srcPitch ? copy.srcPitch : copy.WidthInBytes;
  region.slice = region.pitch * (copy.srcHeight ? copy.srcHeight : copy.Height);
  visitSource(copy, copy.srcZ * region.slice + copy.srcY * region.pitch + copy.srcXInBytes, region, visitor);
  region.pitch = copy.dstPitch ? copy.dstPitch : copy.WidthInBytes;
  region.slice = region.pitch * (copy.dstHeight ? copy.dstHeight : copy.Height);
  visitTarget(copy, copy.dstZ * region.slice + copy.dstY * region.pitch + copy.dstXInBytes, region, visitor);
}
void visit(const CUDA_MEMCPY3D& copy, StructureVisitor& visitor) { visitBox(copy, visitor); }
void visit(const CUDA_MEMCPY3D_PEER& copy, StructureVisitor& visitor) {
  visitBox(copy, visitor);
  visitor.handle(offsetof(CUDA_MEMCPY3D_PEER, srcContext), Kind::CUcontext);
  visitor.handle(offsetof(CUDA_MEMCPY3D_PEER, dstContext), Kind::CUcontext);
}

void visitAttribute(unsigned id, StructureVisitor& visitor) {
  switch (id) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
      return visitor.address(offsetof(CUlaunchAttributeValue, accessPolicyWindow.base_ptr));
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
      return visitor.handle(offsetof(CUlaunchAttributeValue, programmaticEvent.event), Kind::CUevent);
    case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
      return visitor.handle(offsetof(CUlaunchAttributeValue, launchCompletionEvent.event), Kind::CUevent);
    default:
      return;
  }
}
void visit(const CUlaunchAttribute& attribute, StructureVisitor& visitor) {
  Inside value(visitor, offsetof(CUlaunchAttribute, value));
  visitAttribute(static_cast<unsigned>(attribute.id), value);
}
void visit(const CUlaunchConfig& config, StructureVisitor& visitor) {
  visitor.handle(offsetof(CUlaunchConfig, hStream), Kind::CUstream);
  visitor.memory(offsetof(CUlaunchConfig, attrs), "CUlaunchAttribute", sizeof(CUlaunchAttribute), config.numAttrs);
}

template <class Node>
void visitKernel(const Node& node, StructureVisitor& visitor) {
  visitor.handle(offsetof(Node, func), Kind::CUfunction);
  visitor.kernel(reinterpret_cast<uint64_t>(node.func), offsetof(Node, kernelParams), offsetof(Node, extra));
}
void visit(const CUDA_KERNEL_NODE_PARAMS_v1& node, StructureVisitor& visitor) { visitKernel(node, visitor); }
void visit(const CUDA_KERNEL_NODE_PARAMS& node, StructureVisitor& visitor) {
  const CUfunction function = node.func ? node.func : reinterpret_cast<CUfunction>(node.kern);
  visitor.handle(offsetof(CUDA_KERNEL_NODE_PARAMS, func), Kind::CUfunction);
  visitor.handle(offsetof(CUDA_KERNEL_NODE_PARAMS, kern), Kind::CUfunction);
  visitor.handle(offsetof(CUDA_KERNEL_NODE_PARAMS, ctx), Kind::CUcontext);
  visitor.kernel(reinterpret_cast<uint64_t>(function), offsetof(CUDA_KERNEL_NODE_PARAMS, kernelParams),
                 offsetof(CUDA_KERNEL_NODE_PARAMS, extra));
}

void visit(const CUDA_MEMSET_NODE_PARAMS&, StructureVisitor& visitor) {
  visitor.address(offsetof(CUDA_MEMSET_NODE_PARAMS, dst));
}
void visit(const CUDA_HOST_NODE_PARAMS&, StructureVisitor& visitor) {
  visitor.function(offsetof(CUDA_HOST_NODE_PARAMS, fn), offsetof(CUDA_HOST_NODE_PARAMS, userData));
}
// Barriers have no address; what lies in its place is one of nothing.
void visit(const CUstreamBatchMemOpParams&, StructureVisitor& visitor) {
  visitor.address(offsetof(CUstreamBatchMemOpParams, waitValue.address));
}
void visit(const CUDA_BATCH_MEM_OP_NODE_PARAMS& node, StructureVisitor& visitor) {
  visitor.handle(offsetof(CUDA_BATCH_MEM_OP_NODE_PARAMS, ctx), Kind::CUcontext);
  visitor.memory(offsetof(CUDA_BATCH_MEM_OP_NODE_PARAMS, paramArray), "CUstreamBatchMemOpParams",
                 sizeof(CUstreamBatchMemOpParams), node.count);
}
void visit(const CUDA_MEM_ALLOC_NODE_PARAMS& node, StructureVisitor& visitor) {
  visitor.memory(offsetof(CUDA_MEM_ALLOC_NODE_PARAMS, accessDescs), "", sizeof(CUmemAccessDesc), node.accessDescCount);
}
void visit(const CUDA_CONDITIONAL_NODE_PARAMS&, StructureVisitor& visitor) {
  visitor.handle(offsetof(CUDA_CONDITIONAL_NODE_PARAMS, handle), Kind::CUgraphConditionalHandle);
  visitor.handle(offsetof(CUDA_CONDITIONAL_NODE_PARAMS, ctx), Kind::CUcontext);
  visitor.drop(offsetof(CUDA_CONDITIONAL_NODE_PARAMS, phGraph_out));
}

void visit(const CUgraphNodeParams& node, StructureVisitor& visitor) {
  Inside inner(visitor, offsetof(CUgraphNodeParams, kernel));
  switch (node.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return visit(as<CUDA_KERNEL_NODE_PARAMS>(reinterpret_cast<const std::byte*>(&node.kernel)), inner);
    case CU_GRAPH_NODE_TYPE_MEMCPY: {
      inner.handle(offsetof(CUDA_MEMCPY_NODE_PARAMS, copyCtx), Kind::CUcontext);
      Inside copy(inner, offsetof(CUDA_MEMCPY_NODE_PARAMS, copyParams));
      return visit(node.memcpy.copyParams, copy);
    }
    case CU_GRAPH_NODE_TYPE_MEMSET:
      inner.address(offsetof(CUDA_MEMSET_NODE_PARAMS_v2, dst));
      return inner.handle(offsetof(CUDA_MEMSET_NODE_PARAMS_v2, ctx), Kind::CUcontext);
    case CU_GRAPH_NODE_TYPE_HOST:
      return inner.function(offsetof(CUDA_HOST_NODE_PARAMS_v2, fn), offsetof(CUDA_HOST_NODE_PARAMS_v2, userData));
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return inner.handle(offsetof(CUDA_CHILD_GRAPH_NODE_PARAMS, graph), Kind::CUgraph);
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return inner.handle(offsetof(CUDA_EVENT_RECORD_NODE_PARAMS, event), Kind::CUevent);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      return visit(as<CUDA_MEM_ALLOC_NODE_PARAMS>(reinterpret_cast<const std::byte*>(&node.alloc)), inner);
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      return inner.address(offsetof(CUDA_MEM_FREE_NODE_PARAMS, dptr));
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
      return visit(as<CUDA_BATCH_MEM_OP_NODE_PARAMS>(reinterpret_cast<const std::byte*>(&node.memOp)), inner);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
      return visit(node.conditional, inner);
    default:
      return;
  }
}

void visit(const CUDA_RESOURCE_DESC& resource, StructureVisitor& visitor) {
  constexpr size_t kAt = offsetof(CUDA_RESOURCE_DESC, res);
  switch (resource.resType) {
    case CU_RESOURCE_TYPE_ARRAY:
      return visitor.handle(kAt, Kind::CUarray);
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
      return visitor.handle(kAt, Kind::CUmipmappedArray);
    default:
      return visitor.address(kAt);
  }
}
void visit(const CUDA_GRAPH_INSTANTIATE_PARAMS&, StructureVisitor& visitor) {
  visitor.handle(offsetof(CUDA_GRAPH_INSTANTIATE_PARAMS, hUploadStream), Kind::CUstream);
}
void visit(const CUctxCreateParams& context, StructureVisitor& visitor) {
  const auto count = static_cast<size_t>(context.numExecAffinityParams > 0 ? context.numExecAffinityParams : 0);
  visitor.memory(offsetof(CUctxCreateParams, execAffinityParams), "", sizeof(CUexecAffinityParam), count);
  visitor.drop(offsetof(CUctxCreateParams, cigParams));
}

using Visit = void (*)(const std::byte*, uint64_t, StructureVisitor&);
template <class T>
void visitAs(const std::byte* bytes, uint64_t, StructureVisitor& visitor) {
  visit(as<T>(bytes), visitor);
}
void visitValue(const std::byte*, uint64_t attribute, StructureVisitor& visitor) {
  visitAttribute(static_cast<unsigned>(attribute), visitor);
}

struct Structure {
  std::string_view type;
  Visit visit;
};
#define VG_STRUCTURE(type) {#type, visitAs<type>},
constexpr Structure kStructures[] = {
    VG_STRUCTURE(CUDA_MEMCPY2D) VG_STRUCTURE(CUDA_MEMCPY3D) VG_STRUCTURE(CUDA_MEMCPY3D_PEER)  //
    VG_STRUCTURE(CUlaunchConfig) VG_STRUCTURE(CUlaunchAttribute)                              //
    VG_STRUCTURE(CUDA_KERNEL_NODE_PARAMS_v1) VG_STRUCTURE(CUDA_KERNEL_NODE_PARAMS)            //
    VG_STRUCTURE(CUDA_MEMSET_NODE_PARAMS) VG_STRUCTURE(CUDA_HOST_NODE_PARAMS)                 //
    VG_STRUCTURE(CUstreamBatchMemOpParams) VG_STRUCTURE(CUDA_BATCH_MEM_OP_NODE_PARAMS)        //
    VG_STRUCTURE(CUDA_MEM_ALLOC_NODE_PARAMS) VG_STRUCTURE(CUgraphNodeParams)                  //
    VG_STRUCTURE(CUDA_RESOURCE_DESC) VG_STRUCTURE(CUDA_GRAPH_INSTANTIATE_PARAMS)              //
    VG_STRUCTURE(CUctxCreateParams)                                                           //
    {"CUstreamAttrValue", visitValue},
    {"CUkernelNodeAttrValue", visitValue}};
#undef VG_STRUCTURE

const Structure* find(std::string_view type) {
  for (const Structure& structure : kStructures)
    if (structure.type == type) return &structure;
  return nullptr;
}

}  // namespace

bool isStructure(std::string_view type) { return find(type) != nullptr; }

void visitStructure(std::string_view type, const std::byte* bytes, uint64_t attribute, StructureVisitor& visitor) {
  if (const Structure* const structure = find(type)) structure->visit(bytes, attribute, visitor);
}

}  // namespace vg::record
