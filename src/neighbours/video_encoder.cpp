// libnvidia-encode.so.1: the door to the video encoder, which no device of ours has. Both documented functions are
// there; programs ask for the version first and learn then that no device encodes.
#include <cstdint>

namespace {

// NVENCSTATUS, as the documentation of the video codec interface numbers it.
enum Status : int { kSuccess = 0, kNoEncodeDevice = 1, kInvalidPointer = 6 };

constexpr uint32_t kMajor = 13, kMinor = 0;  // that of the driver whose behaviour the library follows

}  // namespace

extern "C" [[gnu::visibility("default")]] int NvEncodeAPIGetMaxSupportedVersion(uint32_t* version) {
  if (!version) return kInvalidPointer;
  *version = kMajor << 4 | kMinor;
  return kSuccess;
}

extern "C" [[gnu::visibility("default")]] int NvEncodeAPICreateInstance(void* functions) {
  return functions ? kNoEncodeDevice : kInvalidPointer;
}
