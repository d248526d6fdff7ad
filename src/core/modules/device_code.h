// Code that was selected of an image for one kind of device, in the form that its backend takes: PTX, or native code
// that has been read. Native code is read when it is first asked for, once for all contexts. Thread-safe.
#pragma once

#include <memory>

#include "backend/device.h"
#include "base/result.h"
#include "base/sync/mutex.h"
#include "cubin/cubin.h"
#include "images/image_source.h"

namespace vg::core {

// Takes a linked image that came back as one text (core/modules/link.h) apart again.
void separateLinked(images::Selected& selected);

class DeviceCode {
 public:
  explicit DeviceCode(images::Selected selected);

  // Fills the source's ptx, native and ownText for a device. CUDA_ERROR_INVALID_IMAGE if nothing was selected,
  // CUDA_ERROR_NO_BINARY_FOR_GPU for native code of another architecture, CUDA_ERROR_JIT_COMPILER_NOT_FOUND for PTX
  // where the device needs native code and nothing makes it.
  CUresult provide(const backend::Traits& device, backend::ImageSource& source, const backend::LoadOptions& options);

 private:
  Result<std::string> nativeBytes(const backend::Traits& device, const std::string& name,
                                  const backend::LoadOptions& options);
  Result<std::shared_ptr<const cubin::Cubin>> native(const backend::Traits& device, const std::string& name,
                                                     const backend::LoadOptions& options);

  const bool none_;            // nothing was selected
  images::Selected selected_;  // constant but for `native`, which moves into native_
  Mutex mutex_;                // guards the native code
  std::shared_ptr<const cubin::Cubin> native_ VG_GUARDED_BY(mutex_);  // null until it is asked for
};

}  // namespace vg::core
