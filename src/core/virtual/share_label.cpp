#include "core/virtual/share_label.h"

#include <stdio.h>
#include <string.h>

#include "core/process/device.h"

namespace vg::core::memory {
namespace {

std::string hexOf(const CUuuid& uuid) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char byte : uuid.bytes) {
    text += kDigits[static_cast<unsigned char>(byte) >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

Result<int> ordinalOf(const char* hex) {
  for (int i = 0; i < deviceCount(); ++i)
    if (hexOf(deviceAt(i).traits().uuid) == hex) return i;
  return fail(CUDA_ERROR_INVALID_DEVICE, "memory of device %s, which is not visible here", hex);
}

}  // namespace

std::string labelFor(const CUmemAllocationProp& p) {
  const bool ofDevice = p.location.type == CU_MEM_LOCATION_TYPE_DEVICE;
  char text[128];
  // Short, for devices that have room for alloc::kMostLabel characters.
  snprintf(text, sizeof text, "vg %d %d %d %d %u %u %u %s", p.type,
           p.requestedHandleTypes & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, p.location.type,
           ofDevice ? 0 : p.location.id, p.allocFlags.compressionType, p.allocFlags.gpuDirectRDMACapable,
           p.allocFlags.usage, ofDevice ? hexOf(deviceAt(p.location.id).traits().uuid).c_str() : "-");
  return text;
}

Result<CUmemAllocationProp> propertiesOf(const std::string& label) {
  int type, handleTypes, locationType, id;
  unsigned compression, rdma, usage;
  char device[33];
  if (sscanf(label.c_str(), "vg %d %d %d %d %u %u %u %32s", &type, &handleTypes, &locationType, &id, &compression,
             &rdma, &usage, device) != 8)
    return fail(CUDA_ERROR_INVALID_VALUE, "'%s' is no exported allocation", label.c_str());
  CUmemAllocationProp properties{};
  properties.type = static_cast<CUmemAllocationType>(type);
  properties.requestedHandleTypes = static_cast<CUmemAllocationHandleType>(handleTypes);
  properties.location = {static_cast<CUmemLocationType>(locationType), id};
  properties.allocFlags.compressionType = static_cast<unsigned char>(compression);
  properties.allocFlags.gpuDirectRDMACapable = static_cast<unsigned char>(rdma);
  properties.allocFlags.usage = static_cast<unsigned short>(usage);
  if (locationType == CU_MEM_LOCATION_TYPE_DEVICE) {
    VG_TRY(properties.location.id, ordinalOf(device));
  }
  return properties;
}

}  // namespace vg::core::memory
