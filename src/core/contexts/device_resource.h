// Resources of a device that can be divided: its multiprocessors, as CUdevResource describes them to the application;
// and its work queues, which are described and checked but limit nothing here: every stream has a queue of its own.
//
// What the application reads of a CUdevResource are counts. Which multiprocessors are meant stands in the structure's
// private bytes, with a seal: a description that was made or changed by hand is refused, as the vendor's driver does.
// Descriptions (CUdevResourceDesc) live as long as the process, because nothing in the API ends them; equal ones are
// one.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "backend/launches/multiprocessor_set.h"
#include "base/result.h"

namespace vg::core {

class Device;

namespace resources {

// The whole device as a resource of a type. CUDA_ERROR_INVALID_RESOURCE_TYPE for one that there is not.
Result<CUdevResource> ofDevice(const Device& device, CUdevResourceType type);

// `count` multiprocessors of the device from the first on, with the device's own granularity: what a context has.
CUdevResource part(const Device& device, uint32_t count);

// How a split comes out: `groups` of `size` multiprocessors each, and `left` over.
struct Split {
  uint32_t groups = 0, size = 0, left = 0;
};

// cuDevSmResourceSplitByCount for at most `wanted` groups of at least `least` multiprocessors; only a resource of
// ofDevice() can be split. CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION where that is impossible.
Result<Split> split(const CUdevResource& input, uint32_t wanted, unsigned flags, uint32_t least);
// Group number `index` of a split, and what is left over (of no type when that is nothing).
CUdevResource group(const CUdevResource& input, const Split& split, uint32_t index);
CUdevResource rest(const CUdevResource& input, const Split& split);

// cuDevSmResourceSplit: groups of a stated structure, one after the other, from a whole device or a part that a split
// made. `groups` are as many as `count`; their smCount is filled in where it was 0. `results` (as many) and `rest` may
// be null. Nothing is written on failure.
CUresult splitInGroups(const CUdevResource& input, CU_DEV_SM_RESOURCE_GROUP_PARAMS* groups, unsigned count,
                       CUdevResource* results, CUdevResource* rest);

// cuDevResourceGenerateDesc: a handle for all the multiprocessors that `count` resources name.
Result<CUdevResourceDesc> describe(const CUdevResource* parts, unsigned count);
// Which multiprocessors of the device a description means; null means all of them. Lives for ever.
Result<const backend::MultiprocessorSet&> multiprocessors(const Device& device, CUdevResourceDesc description);

}  // namespace resources
}  // namespace vg::core
