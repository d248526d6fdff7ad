// libnvcuvid.so.1: the door to the video decoder, which no device of ours has. Whoever asks what it can decode is told:
// nothing. The locks, which need no decoder, work.
#include <cuda.h>

#include <cstdint>
#include <mutex>
#include <new>

namespace {

// The answer to cuvidGetDecoderCaps: what is asked comes first, what the decoder can do from `isSupported` on.
struct DecoderCapabilities {
  int codec, chromaFormat;
  unsigned bitDepthMinus8, reserved1[3];
  uint8_t isSupported, decoders;
  uint16_t outputFormats;
  unsigned mostWidth, mostHeight, mostMacroblocks;
  uint16_t leastWidth, leastHeight;
  uint8_t histogram, histogramBits;
  uint16_t histogramBins;
  unsigned reserved3[10];
};
static_assert(sizeof(DecoderCapabilities) == 88);

using Lock = std::recursive_mutex;

// What a decoder, a parser or a source of videos would be made by.
CUresult makeNothing(void** out) {
  if (!out) return CUDA_ERROR_INVALID_VALUE;
  *out = nullptr;
  return CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace

#define VG_EXPORT extern "C" [[gnu::visibility("default")]]

VG_EXPORT CUresult cuvidGetDecoderCaps(DecoderCapabilities* capabilities) {
  if (!capabilities) return CUDA_ERROR_INVALID_VALUE;
  DecoderCapabilities none{};
  none.codec = capabilities->codec;
  none.chromaFormat = capabilities->chromaFormat;
  none.bitDepthMinus8 = capabilities->bitDepthMinus8;
  *capabilities = none;
  return CUDA_SUCCESS;
}

VG_EXPORT CUresult cuvidCreateDecoder(void** decoder, void*) { return makeNothing(decoder); }
VG_EXPORT CUresult cuvidCreateVideoParser(void** parser, void*) { return makeNothing(parser); }
VG_EXPORT CUresult cuvidCreateVideoSource(void** source, const char*, void*) { return makeNothing(source); }
VG_EXPORT CUresult cuvidCreateVideoSourceW(void** source, const wchar_t*, void*) { return makeNothing(source); }

// No handle of such an object was ever given out.
#define VG_NO_SUCH_OBJECT(name, ...) \
  VG_EXPORT CUresult name(void* __VA_OPT__(, ) __VA_ARGS__) { return CUDA_ERROR_INVALID_HANDLE; }
VG_NO_SUCH_OBJECT(cuvidDestroyDecoder)
VG_NO_SUCH_OBJECT(cuvidDecodePicture, void*)
VG_NO_SUCH_OBJECT(cuvidGetDecodeStatus, int, void*)
VG_NO_SUCH_OBJECT(cuvidReconfigureDecoder, void*)
VG_NO_SUCH_OBJECT(cuvidMapVideoFrame, int, unsigned*, unsigned*, void*)
VG_NO_SUCH_OBJECT(cuvidMapVideoFrame64, int, unsigned long long*, unsigned*, void*)
VG_NO_SUCH_OBJECT(cuvidUnmapVideoFrame, unsigned)
VG_NO_SUCH_OBJECT(cuvidUnmapVideoFrame64, unsigned long long)
VG_NO_SUCH_OBJECT(cuvidParseVideoData, void*)
VG_NO_SUCH_OBJECT(cuvidDestroyVideoParser)
VG_NO_SUCH_OBJECT(cuvidDestroyVideoSource)
VG_NO_SUCH_OBJECT(cuvidSetVideoSourceState, int)
VG_NO_SUCH_OBJECT(cuvidGetSourceVideoFormat, void*, unsigned)
VG_NO_SUCH_OBJECT(cuvidGetSourceAudioFormat, void*, unsigned)
// cudaVideoState_Error.
VG_EXPORT int cuvidGetVideoSourceState(void*) { return -1; }

VG_EXPORT CUresult cuvidCtxLockCreate(Lock** lock, CUcontext context) {
  if (!lock || !context) return CUDA_ERROR_INVALID_VALUE;
  *lock = new (std::nothrow) Lock;
  return *lock ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
VG_EXPORT CUresult cuvidCtxLockDestroy(Lock* lock) {
  if (!lock) return CUDA_ERROR_INVALID_VALUE;
  delete lock;
  return CUDA_SUCCESS;
}
VG_EXPORT CUresult cuvidCtxLock(Lock* lock, unsigned) {
  if (!lock) return CUDA_ERROR_INVALID_VALUE;
  lock->lock();
  return CUDA_SUCCESS;
}
VG_EXPORT CUresult cuvidCtxUnlock(Lock* lock, unsigned) {
  if (!lock) return CUDA_ERROR_INVALID_VALUE;
  lock->unlock();
  return CUDA_SUCCESS;
}
