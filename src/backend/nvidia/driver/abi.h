// What differs between versions of the kernel driver, as one row a release branch.
//
// A control's parameters must have exactly the kernel's size, so sizes are looked up here; allocations and UVM calls
// copy the kernel's own size from our zeroed, larger buffers and need a row only where fields moved.
// tests/gpu/layout_test compares each row, and each structure of rm_abi.h, uvm_abi.h and share_abi.h, with a table that
// comes from the public headers of the branch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace vg::backend::nvidia {

struct Abi {
  int branch;  // the first number of the version
  // bytes of a control's parameters
  uint32_t buildVersion, classList, nameString, engines, smOrder, fbInfo, scheduleGroup, copyCaps, peerCapabilities,
      exportInfo;
  uint32_t exportNote;  // offset of the note in them
  uint32_t dmaBuf;      // bytes of NV_ESC_EXPORT_TO_DMABUF_FD
  // a channel's parameters: bytes; offsets of the memory of its state, and of the places in that with all behind them
  uint32_t channel, channelUserd, channelRest;
  // offsets in UVM structures
  uint32_t mapExternalTail;  // of MapExternalTail
  uint32_t freeLength;       // of the length in UVM_FREE; 0: there is none
  uint32_t unregisterUuid;   // bytes of the UUID in front of UVM_UNREGISTER_CHANNEL
  uint32_t preferredStatus;  // of the status in UVM_SET_PREFERRED_LOCATION
};

// The buffer that fits any control's parameters.
inline constexpr size_t kLargestParameters = 12288;

// The row of a version such as "580.159.04". Versions between two rows get the older one, with a line in the log, as no
// branch between them has public headers; what is older or newer than all rows is refused:
// CUDA_ERROR_SYSTEM_DRIVER_MISMATCH.
Result<const Abi*> abiFor(const std::string& version);

}  // namespace vg::backend::nvidia
