// The self-test that the CUDA runtime makes with the driver before it works: both compute the same keyed digest over
// facts of the process and the devices.
#pragma once

#include <cuda.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace vg::api {

using Digest = std::array<uint8_t, 16>;

// MD2 (RFC 1319), and HMAC (RFC 2104) over it.
Digest md2(const uint8_t* bytes, size_t size);
Digest hmacMd2(const uint8_t* key, size_t keySize, const uint8_t* bytes, size_t size);

// The answer to (version, seconds) of the calling thread. The three addresses are those that the runtime was given.
// CUDA_ERROR_INVALID_VALUE for a version whose last digit is none of 0, 1, 2. Requires: the process gate is open.
CUresult validity(uint32_t version, uint64_t seconds, const void* runtimeTable, const void* checkTable,
                  const void* checkFunction, uint64_t answer[2]);

}  // namespace vg::api
