#include "core/modules/jit_options.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/log.h"
#include "base/raw_enum.h"
#include "ptx/facts/register_limit.h"

namespace vg::core {
namespace {

// Of a CUjit_target, without the bits that say for one architecture or family alone.
constexpr uintptr_t kTargetNumber = 0xffff;

uint64_t now() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
}

}  // namespace

CUresult JitOptions::read(unsigned count, const CUjit_option* options, void** values) {
  started_ = now();
  if (count && (!options || !values))
    return fail(CUDA_ERROR_INVALID_VALUE, "%u options, but no array of options or values", count);
  unsigned symbolOptions = 0;
  bool threads = false, target = false;
  for (unsigned i = 0; i < count; ++i) {
    const int option = rawValue(options[i]);
    switch (option) {
      case CU_JIT_INFO_LOG_BUFFER:
        info_.text = static_cast<char*>(values[i]);
        break;
      case CU_JIT_ERROR_LOG_BUFFER:
        error_.text = static_cast<char*>(values[i]);
        break;
      case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
      case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES: {
        Buffer& buffer = option == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES ? info_ : error_;
        buffer.size = static_cast<unsigned>(reinterpret_cast<uintptr_t>(values[i]));  // an unsigned int in a pointer
        buffer.written = &values[i];
        break;
      }
      case CU_JIT_WALL_TIME:
        wallTime_ = &values[i];
        break;
      case CU_JIT_GLOBAL_SYMBOL_NAMES:
      case CU_JIT_GLOBAL_SYMBOL_ADDRESSES:
      case CU_JIT_GLOBAL_SYMBOL_COUNT:
        VG_LOG(Warn, "JIT option %d: host addresses for external symbols are not supported", option);
        symbolOptions |= 1u << (option - CU_JIT_GLOBAL_SYMBOL_NAMES);
        break;
      case CU_JIT_MAX_REGISTERS:
        maxRegisters_ = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(values[i]));
        break;
      case CU_JIT_THREADS_PER_BLOCK:
        threads = true;
        break;
      case CU_JIT_TARGET:
        target = true;
        target_ = static_cast<int>(reinterpret_cast<uintptr_t>(values[i]) & kTargetNumber);
        if (target_ < CU_TARGET_COMPUTE_30) return fail(CUDA_ERROR_INVALID_VALUE, "there is no target %d", target_);
        break;
      case CU_JIT_CACHE_MODE:
        if (reinterpret_cast<uintptr_t>(values[i]) > CU_JIT_CACHE_OPTION_CA)
          return fail(CUDA_ERROR_INVALID_VALUE, "there is no cache mode %zu", reinterpret_cast<uintptr_t>(values[i]));
        break;
      default:
        if (option < 0 || option >= CU_JIT_NUM_OPTIONS)
          return fail(CUDA_ERROR_INVALID_VALUE, "there is no JIT option %d", option);
    }
  }
  if (threads && target) return fail(CUDA_ERROR_INVALID_VALUE, "threads of a block and a target in one call");
  if (symbolOptions && symbolOptions != 7)
    return fail(CUDA_ERROR_INVALID_VALUE, "names, addresses and count of symbols are only options together");
  for (const Buffer& log : {info_, error_})
    if (log.written && !log.text) return fail(CUDA_ERROR_INVALID_VALUE, "the size of a log buffer and no buffer");
  return CUDA_SUCCESS;
}

bool JitOptions::isFor(int capability) const {
  return !target_ || (target_ / 10 == capability / 10 && target_ <= capability);
}

void JitOptions::limitRegisters(std::string& text) const {
  if (maxRegisters_) text = ptx::withRegisterLimit(text, maxRegisters_);
}

void JitOptions::fill(const Buffer& buffer, const std::string& text) {
  size_t length = 0;
  if (buffer.text && buffer.size) {
    length = std::min(text.size(), buffer.size - 1);
    std::memcpy(buffer.text, text.data(), length);
    buffer.text[length] = 0;
  }
  if (buffer.written) *buffer.written = reinterpret_cast<void*>(length);
}

void JitOptions::writeBack() const {
  fill(info_, infoLog_);
  fill(error_, errorLog_);
  if (!wallTime_) return;
  const float milliseconds = static_cast<float>(now() - started_) / 1e6f;
  std::memcpy(wallTime_, &milliseconds, sizeof milliseconds);  // a float in the option's value
}

}  // namespace vg::core
