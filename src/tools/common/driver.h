// A driver library opened by path: the entry points that `info` and `doctor` ask, by their ABI names.
#pragma once

#include <cuda.h>

#include <memory>
#include <string>
#include <vector>

#include "api/tables/private_table.h"

namespace vg::tools {

class Driver {
 public:
  // Null when the library cannot be opened or is no driver; `reason` then says why. The library stays open for ever.
  static std::unique_ptr<Driver> open(const std::string& path, std::string& reason);

  // "CUDA_ERROR_NO_DEVICE (no CUDA-capable device is detected)"
  std::string describe(CUresult result) const;
  // Of Verdigris alone; null for other drivers.
  const api::PrivateTable* privateTable() const;
  // Compute capabilities, 90 for 9.0, of those devices that VERDIGRIS_DEVICES offers, visible or not, that run native
  // code.
  std::vector<int> realGpus() const;

  CUresult (*init)(unsigned) = nullptr;
  CUresult (*version)(int*) = nullptr;
  CUresult (*deviceCount)(int*) = nullptr;
  CUresult (*device)(CUdevice*, int) = nullptr;
  CUresult (*deviceName)(char*, int, CUdevice) = nullptr;
  CUresult (*deviceMemory)(size_t*, CUdevice) = nullptr;
  CUresult (*deviceUuid)(CUuuid*, CUdevice) = nullptr;
  CUresult (*devicePciId)(char*, int, CUdevice) = nullptr;
  CUresult (*attribute)(int*, CUdevice_attribute, CUdevice) = nullptr;
  CUresult (*exportTable)(const void**, const CUuuid*) = nullptr;
  CUresult (*errorName)(CUresult, const char**) = nullptr;
  CUresult (*errorText)(CUresult, const char**) = nullptr;

 private:
  Driver() = default;
};

}  // namespace vg::tools
