// Devices: counting, naming, describing. Everything is read from the traits that the backend filled in cuInit.
#include <algorithm>
#include <cstring>
#include <limits>

#include "api/entry/call.h"
#include "arrays/format.h"
#include "base/raw_enum.h"
#include "core/contexts/current_context.h"
#include "core/contexts/primary_context.h"
#include "core/process/device.h"
#include "core/process/newer_attributes.h"

namespace vg::handlers {
namespace {

// A string in the caller's buffer: what does not fit is cut off, the end is always there.
CUresult copyText(char* to, int size, const std::string& text) {
  if (!to || size <= 0) return fail(CUDA_ERROR_INVALID_VALUE, "buffer %p of %d bytes", static_cast<void*>(to), size);
  const size_t length = std::min(text.size(), static_cast<size_t>(size) - 1);
  std::memcpy(to, text.data(), length);
  to[length] = 0;
  return CUDA_SUCCESS;
}

struct PciBusId {
  unsigned domain = 0, bus = 0, device = 0, function = 0;
};

// "[domain]:[bus]:[device].[function]", domain or function optional, all hexadecimal.
bool parsePciBusId(const char* text, PciBusId* id) {
  int used = 0;
  const auto whole = [&] { return text[used] == 0; };
  *id = {};
  if (std::sscanf(text, "%x:%x:%x.%x%n", &id->domain, &id->bus, &id->device, &id->function, &used) == 4 && whole())
    return true;
  *id = {};
  if (std::sscanf(text, "%x:%x:%x%n", &id->domain, &id->bus, &id->device, &used) == 3 && whole()) return true;
  *id = {};
  return std::sscanf(text, "%x:%x.%x%n", &id->bus, &id->device, &id->function, &used) == 3 && whole();
}

}  // namespace

CUresult cuDeviceGetCount(const Call&, int* count) {
  if (!count) return missing("count");
  *count = core::deviceCount();
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(const Call&, CUdevice* device, int ordinal) {
  if (!device) return missing("device");
  VG_TRY(core::Device & found, core::findDevice(ordinal));
  *device = found.handle();
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(const Call&, char* name, int len, CUdevice dev) {
  VG_TRY(core::Device & device, core::findDevice(dev));
  return copyText(name, len < 0 ? std::numeric_limits<int>::max() : len, device.traits().name);
}

CUresult cuDeviceGetUuid(const Call&, CUuuid* uuid, CUdevice dev) {
  if (!uuid) return missing("uuid");
  VG_TRY(core::Device & device, core::findDevice(dev));
  *uuid = device.traits().uuid;
  return CUDA_SUCCESS;
}

// The second version differs for parts of a device only, and there are none.
CUresult cuDeviceGetUuid_v2(const Call& call, CUuuid* uuid, CUdevice dev) { return cuDeviceGetUuid(call, uuid, dev); }

CUresult cuDeviceGetLuid(const Call&, char* luid, unsigned int* deviceNodeMask, CUdevice dev) {
  if (!luid || !deviceNodeMask) return missing("luid or deviceNodeMask");
  VG_CHECK(core::findDevice(dev));
  return unsupported("locally unique identifiers belong to another operating system");
}

CUresult cuDeviceTotalMem_v2(const Call&, size_t* bytes, CUdevice dev) {
  if (!bytes) return missing("bytes");
  VG_TRY(core::Device & device, core::findDevice(dev));
  *bytes = device.traits().totalMemory;
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem(const Call&, unsigned int* bytes, CUdevice dev) {
  if (!bytes) return missing("bytes");
  VG_TRY(core::Device & device, core::findDevice(dev));
  *bytes = static_cast<unsigned>(std::min<uint64_t>(device.traits().totalMemory, ~0u));
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(const Call&, int* pi, CUdevice_attribute attrib, CUdevice dev) {
  if (!pi) return missing("pi");
  VG_TRY(core::Device & device, core::findDevice(dev));
  const backend::Traits& traits = device.traits();
  if (const std::optional<int> later = core::laterAttribute(device, rawValue(attrib))) {
    *pi = *later;
    return CUDA_SUCCESS;
  }
  if (attrib <= 0 || attrib >= static_cast<int>(traits.known.size()) || !traits.known[attrib])
    return fail(CUDA_ERROR_INVALID_VALUE, "there is no device attribute %d", static_cast<int>(attrib));
  *pi = traits.attributes[attrib];
  return CUDA_SUCCESS;
}

CUresult cuDeviceComputeCapability(const Call&, int* major, int* minor, CUdevice dev) {
  if (!major || !minor) return missing("major or minor");
  VG_TRY(core::Device & device, core::findDevice(dev));
  *major = device.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  *minor = device.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetProperties(const Call&, CUdevprop* prop, CUdevice dev) {
  if (!prop) return missing("prop");
  VG_TRY(core::Device & device, core::findDevice(dev));
  prop->maxThreadsPerBlock = device.attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  prop->maxThreadsDim[0] = device.attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X);
  prop->maxThreadsDim[1] = device.attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y);
  prop->maxThreadsDim[2] = device.attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
  prop->maxGridSize[0] = device.attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
  prop->maxGridSize[1] = device.attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y);
  prop->maxGridSize[2] = device.attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
  prop->sharedMemPerBlock = device.attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
  prop->totalConstantMemory = device.attribute(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY);
  prop->SIMDWidth = device.attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE);
  prop->memPitch = device.attribute(CU_DEVICE_ATTRIBUTE_MAX_PITCH);
  prop->regsPerBlock = device.attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
  prop->clockRate = device.attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  prop->textureAlign = device.attribute(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(const Call&, char* pciBusId, int len, CUdevice dev) {
  VG_TRY(core::Device & device, core::findDevice(dev));
  const std::string text = device.pciBusId();
  if (len <= static_cast<int>(text.size()))
    return fail(CUDA_ERROR_INVALID_VALUE, "a PCI bus id has %zu characters and an end, not %d", text.size(), len);
  return copyText(pciBusId, len, text);
}

CUresult cuDeviceGetByPCIBusId(const Call&, CUdevice* dev, const char* pciBusId) {
  if (!dev || !pciBusId) return missing("dev or pciBusId");
  PciBusId id;
  if (!parsePciBusId(pciBusId, &id))
    return fail(CUDA_ERROR_INVALID_VALUE, "\"%s\" is no PCI bus id such as 0000:01:00.0", pciBusId);
  for (int ordinal = 0; ordinal < core::deviceCount(); ++ordinal) {
    core::Device& device = core::deviceAt(ordinal);
    const auto is = [&](CUdevice_attribute which, unsigned value) {
      return static_cast<unsigned>(device.attribute(which)) == value;
    };
    if (is(CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, id.domain) && is(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, id.bus) &&
        is(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, id.device) && id.function == 0) {
      *dev = device.handle();
      return CUDA_SUCCESS;
    }
  }
  return fail(CUDA_ERROR_INVALID_DEVICE, "no device is at %s", pciBusId);
}

CUresult cuDeviceGetExecAffinitySupport(const Call&, int* pi, CUexecAffinityType, CUdevice dev) {
  if (!pi) return missing("pi");
  VG_CHECK(core::findDevice(dev));
  *pi = 0;  // whatever the type is
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetTexture1DLinearMaxWidth(const Call&, size_t* maxWidthInElements, CUarray_format format,
                                            unsigned numChannels, CUdevice dev) {
  if (!maxWidthInElements) return missing("maxWidthInElements");
  const int asked = rawValue(format);
  const arrays::Unit unit = arrays::unitOf(asked, numChannels);
  if (!unit.bytes || (arrays::isVideo(asked) && !arrays::isPackedVideo(asked)))
    return fail(CUDA_ERROR_INVALID_VALUE, "format %#x with %u channels has no linear textures", asked, numChannels);
  VG_TRY(core::Device & device, core::findDevice(dev));
  // The attribute counts the largest elements. An H200 has as many bytes of smaller ones, but never more than this.
  constexpr size_t kLargestElement = 16, kMostElements = size_t{1} << 30;
  const auto ofLargest = static_cast<size_t>(device.attribute(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH));
  *maxWidthInElements = std::min(ofLargest * kLargestElement / unit.bytes, kMostElements);
  return CUDA_SUCCESS;
}

CUresult cuDeviceCanAccessPeer(const Call&, int* canAccessPeer, CUdevice dev, CUdevice peerDev) {
  if (!canAccessPeer) return missing("canAccessPeer");
  VG_TRY(core::Device & device, core::findDevice(dev));
  VG_TRY(core::Device & peer, core::findDevice(peerDev));
  *canAccessPeer = device.reaches(peer);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetP2PAttribute(const Call&, int* value, CUdevice_P2PAttribute attrib, CUdevice srcDevice,
                                 CUdevice dstDevice) {
  if (!value) return missing("value");
  VG_TRY(core::Device & source, core::findDevice(srcDevice));
  VG_TRY(core::Device & destination, core::findDevice(dstDevice));
  if (srcDevice == dstDevice) return fail(CUDA_ERROR_INVALID_DEVICE, "device %d cannot be its own peer", srcDevice);
  switch (attrib) {
    case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
      *value = 0;
      return CUDA_SUCCESS;
    case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
    case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
    case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
      *value = source.reaches(destination);
      return CUDA_SUCCESS;
    case CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED:
      *value = 0;
      return CUDA_SUCCESS;
    default:
      return fail(CUDA_ERROR_INVALID_VALUE, "there is no peer attribute %d", static_cast<int>(attrib));
  }
}

CUresult cuDevicePrimaryCtxRetain(const Call&, CUcontext* pctx, CUdevice dev) {
  if (!pctx) return missing("pctx");
  VG_TRY(core::Device & device, core::findDevice(dev));
  VG_TRY(core::Context & context, core::primaryOf(device).retain());
  *pctx = context.handle();
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(const Call&, CUdevice dev) {
  VG_TRY(core::Device & device, core::findDevice(dev));
  return core::primaryOf(device).release();
}

CUresult cuDevicePrimaryCtxRelease(const Call& call, CUdevice dev) { return cuDevicePrimaryCtxRelease_v2(call, dev); }

CUresult cuDevicePrimaryCtxReset_v2(const Call&, CUdevice dev) {
  VG_TRY(core::Device & device, core::findDevice(dev));
  return core::primaryOf(device).reset();
}

CUresult cuDevicePrimaryCtxReset(const Call& call, CUdevice dev) { return cuDevicePrimaryCtxReset_v2(call, dev); }

CUresult cuDevicePrimaryCtxSetFlags_v2(const Call&, CUdevice dev, unsigned int flags) {
  VG_TRY(core::Device & device, core::findDevice(dev));
  return core::primaryOf(device).setFlags(flags);
}

// The first version refuses while the context is active.
CUresult cuDevicePrimaryCtxSetFlags(const Call& call, CUdevice dev, unsigned int flags) {
  VG_TRY(core::Device & device, core::findDevice(dev));
  unsigned present = 0;
  bool active = false;
  core::primaryOf(device).state(&present, &active);
  if (active) return fail(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, "the primary context of device %d is active", dev);
  return cuDevicePrimaryCtxSetFlags_v2(call, dev, flags);
}

CUresult cuDevicePrimaryCtxGetState(const Call&, CUdevice dev, unsigned int* flags, int* active) {
  if (!flags || !active) return missing("flags or active");
  VG_TRY(core::Device & device, core::findDevice(dev));
  bool isActive = false;
  core::primaryOf(device).state(flags, &isActive);
  *active = isActive;
  return CUDA_SUCCESS;
}

// Memory of an emulated device is the host's, and coherent with every device of the bus: nothing is left to flush.
CUresult cuFlushGPUDirectRDMAWrites(const Call&, CUflushGPUDirectRDMAWritesTarget target,
                                    CUflushGPUDirectRDMAWritesScope scope) {
  const int to = rawValue(target), how = rawValue(scope);
  if (to != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX ||
      (how != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER && how != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES))
    return fail(CUDA_ERROR_INVALID_VALUE, "flush target %d, scope %d", to, how);
  VG_TRY(core::Context & context, core::currentContext());
  if (context.device().attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS)) return CUDA_SUCCESS;
  return unsupported("cuFlushGPUDirectRDMAWrites, by this device profile");
}

}  // namespace vg::handlers
