#include "core/dumps/core_dump_attributes.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <iterator>
#include <utility>

#include "backend/launches/fault_scene.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/sync/mutex.h"

namespace vg::core {
namespace {

constinit DumpAttributes process{DumpAttributes::Of::Process};

template <class T>
CUresult give(void* value, T number) {
  std::memcpy(value, &number, sizeof number);
  return CUDA_SUCCESS;
}

template <class T>
T taken(const void* value) {
  T number;
  std::memcpy(&number, value, sizeof number);
  return number;
}

CUresult giveName(void* value, const char* name, size_t room) {
  if (!room) return CUDA_SUCCESS;
  const size_t length = std::min(std::strlen(name), room - 1);
  std::memcpy(value, name, length);
  static_cast<char*>(value)[length] = 0;
  return CUDA_SUCCESS;
}

std::string hostName() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) ? "localhost" : name;
}

// The bits of CUDA_COREDUMP_GENERATION_FLAGS, a comma list of names.
unsigned flagsNamed(const std::string& list) {
  static constexpr struct {
    const char* name;
    unsigned bits;
  } kNames[] = {{"skip_nonrelocated_elf_images", CU_COREDUMP_SKIP_NONRELOCATED_ELF_IMAGES},
                {"skip_global_memory", CU_COREDUMP_SKIP_GLOBAL_MEMORY},
                {"skip_shared_memory", CU_COREDUMP_SKIP_SHARED_MEMORY},
                {"skip_local_memory", CU_COREDUMP_SKIP_LOCAL_MEMORY},
                {"skip_abort", CU_COREDUMP_SKIP_ABORT},
                {"skip_constbank_memory", CU_COREDUMP_SKIP_CONSTBANK_MEMORY}};
  unsigned flags = 0;
  for (const std::string& word : splitList(list)) {
    const auto* row = std::find_if(std::begin(kNames), std::end(kNames), [&](auto& r) { return word == r.name; });
    if (row == std::end(kNames)) {
      VG_LOG(Warn, "CUDA_COREDUMP_GENERATION_FLAGS: \"%s\" is no such flag", word.c_str());
    } else {
      flags |= row->bits;
    }
  }
  return flags;
}

}  // namespace

DumpAttributes& processDumpAttributes() { return process; }

std::string expandDumpName(const std::string& name) {
  std::string expanded;
  for (size_t at = 0; at < name.size(); ++at) {
    const char kind = name[at] == '%' && at + 1 < name.size() ? name[at + 1] : 0;
    switch (kind) {
      case 'h':
        expanded += hostName();
        break;
      case 'p':
        expanded += std::to_string(getpid());
        break;
      case 't':
        expanded += std::to_string(std::time(nullptr));
        break;
      default:
        expanded += name[at];
        continue;
    }
    ++at;
  }
  return expanded;
}

Result<size_t> DumpAttributes::sizeOf(CUcoredumpSettings which) const {
  const bool ofProcess = owner_ == Of::Process;
  switch (which) {
    case CU_COREDUMP_ENABLE_ON_EXCEPTION:
    case CU_COREDUMP_TRIGGER_HOST:
    case CU_COREDUMP_LIGHTWEIGHT:
      return sizeof(bool);
    case CU_COREDUMP_GENERATION_FLAGS:
      return sizeof(unsigned);
    case CU_COREDUMP_FILE:
      return kNameBytes;
    case CU_COREDUMP_ENABLE_USER_TRIGGER:
      if (ofProcess) return sizeof(bool);
      break;
    case CU_COREDUMP_PIPE:
      if (ofProcess) return kNameBytes;
      break;
    default:
      break;
  }
  return fail(CUDA_ERROR_INVALID_VALUE, "%s have no core dump attribute %d", ofProcess ? "processes" : "contexts",
              static_cast<int>(which));
}

CUresult DumpAttributes::get(CUcoredumpSettings which, void* value, size_t* size) const {
  if (!size) return fail(CUDA_ERROR_INVALID_VALUE, "size is null");
  VG_TRY(const size_t expected, sizeOf(which));
  if (!value) {
    *size = expected;
    return CUDA_SUCCESS;
  }
  if (expected != kNameBytes && *size != expected)
    return fail(CUDA_ERROR_INVALID_VALUE, "attribute %d has %zu bytes, not %zu", static_cast<int>(which), expected,
                *size);
  const MutexLock lock(mutex_);
  switch (which) {
    case CU_COREDUMP_ENABLE_ON_EXCEPTION:
      return give(value, values_.onException);
    case CU_COREDUMP_ENABLE_USER_TRIGGER:
      return give(value, values_.onRequest);
    case CU_COREDUMP_TRIGGER_HOST:
      return give(value, !(values_.flags & CU_COREDUMP_SKIP_ABORT));
    case CU_COREDUMP_LIGHTWEIGHT:
      return give(value, (values_.flags & CU_COREDUMP_LIGHTWEIGHT_FLAGS) == CU_COREDUMP_LIGHTWEIGHT_FLAGS);
    case CU_COREDUMP_GENERATION_FLAGS:
      return give(value, values_.flags);
    case CU_COREDUMP_FILE:
      return giveName(value, values_.file, *size);
    default:
      return giveName(value, values_.pipe, *size);
  }
}

CUresult DumpAttributes::set(CUcoredumpSettings which, const void* value, size_t* size) {
  if (!size) return fail(CUDA_ERROR_INVALID_VALUE, "size is null");
  VG_TRY(const size_t expected, sizeOf(which));
  if (!value) {
    *size = expected;
    return CUDA_SUCCESS;
  }
  if (expected == kNameBytes ? *size > expected : *size != expected)
    return fail(CUDA_ERROR_INVALID_VALUE, "attribute %d has %zu bytes, not %zu", static_cast<int>(which), expected,
                *size);
  const MutexLock lock(mutex_);
  switch (which) {
    case CU_COREDUMP_ENABLE_ON_EXCEPTION:
      if (!fixed_.onException) values_.onException = taken<unsigned char>(value);
      return CUDA_SUCCESS;
    case CU_COREDUMP_ENABLE_USER_TRIGGER:
      if (!fixed_.onRequest) values_.onRequest = taken<unsigned char>(value);
      if (values_.onRequest && !fixed_.onException) values_.onException = 1;
      return CUDA_SUCCESS;
    case CU_COREDUMP_TRIGGER_HOST:
      setFlags(taken<unsigned char>(value) ? 0 : CU_COREDUMP_SKIP_ABORT, CU_COREDUMP_SKIP_ABORT);
      return CUDA_SUCCESS;
    case CU_COREDUMP_LIGHTWEIGHT:
      setFlags(taken<unsigned char>(value) ? CU_COREDUMP_LIGHTWEIGHT_FLAGS : 0, CU_COREDUMP_LIGHTWEIGHT_FLAGS);
      return CUDA_SUCCESS;
    case CU_COREDUMP_GENERATION_FLAGS:
      setFlags(taken<unsigned>(value), ~0u);
      return CUDA_SUCCESS;
    case CU_COREDUMP_FILE:
      return fixed_.file ? CUDA_SUCCESS : setName(values_.file, static_cast<const char*>(value), *size);
    default:
      if (values_.onRequest) return unsupported("a pipe's name when dumps on request are enabled already");
      return fixed_.pipe ? CUDA_SUCCESS : setName(values_.pipe, static_cast<const char*>(value), *size);
  }
}

// A process's name ends with its terminator whatever size was told, a context's after `size`
// bytes at the latest.
CUresult DumpAttributes::setName(char* name, const char* text, size_t size) {
  const bool ofProcess = owner_ == Of::Process;
  std::string wanted(text, strnlen(text, ofProcess ? kNameBytes : size));
  if (ofProcess) wanted = expandDumpName(wanted);
  if (wanted.size() >= kNameBytes)
    return fail(CUDA_ERROR_INVALID_VALUE, "a name of %zu characters: at most %zu", wanted.size(), kNameBytes - 1);
  std::memcpy(name, wanted.c_str(), wanted.size() + 1);
  return CUDA_SUCCESS;
}

void DumpAttributes::setFlags(unsigned bits, unsigned among) {
  among &= ~fixed_.flags;
  values_.flags = (values_.flags & ~among) | (bits & among);
}

void DumpAttributes::copyFrom(const DumpAttributes& other, bool enabled) {
  const auto [values, fixed] = [&other] {
    const MutexLock lock(other.mutex_);
    return std::pair(other.values_, other.fixed_);
  }();
  const MutexLock lock(mutex_);
  values_ = values;
  fixed_ = fixed;
  if (enabled && !fixed_.onException) values_.onException = 1;
  values_.armed = values_.onException;
  if (values_.armed && truthy(settings().dumpRegisters))
    backend::registersWanted.store(true, std::memory_order_relaxed);
}

void DumpAttributes::readSettings() {
  const Settings& s = settings();
  const MutexLock lock(mutex_);
  const auto flag = [&](const std::string& text, unsigned bits, bool set) VG_REQUIRES(mutex_) {
    if (text.empty()) return;
    setFlags(set ? bits : 0, bits);
    fixed_.flags |= bits;
  };
  const auto name = [&](const std::string& text, char* to, bool& fixed) VG_REQUIRES(mutex_) {
    if (text.empty()) return;
    fixed = setName(to, text.c_str(), text.size() + 1) == CUDA_SUCCESS;
  };
  if (!s.dumpFlags.empty()) {
    setFlags(flagsNamed(s.dumpFlags), ~0u);
    fixed_.flags = ~0u;
  } else {
    flag(s.dumpLightly, CU_COREDUMP_LIGHTWEIGHT_FLAGS, truthy(s.dumpLightly));
    flag(s.dumpAborts, CU_COREDUMP_SKIP_ABORT, !truthy(s.dumpAborts));
  }
  name(s.dumpFile, values_.file, fixed_.file);
  name(s.dumpPipe, values_.pipe, fixed_.pipe);
  if ((fixed_.onException = !s.dumpOnException.empty())) values_.onException = truthy(s.dumpOnException);
  if ((fixed_.onRequest = !s.dumpOnRequest.empty())) values_.onRequest = truthy(s.dumpOnRequest);
  if (values_.onRequest && !fixed_.onException) values_.onException = 1;
}

void DumpAttributes::namePipe(const std::string& name) {
  const MutexLock lock(mutex_);
  if (!*values_.pipe) (void)setName(values_.pipe, name.c_str(), name.size() + 1);
}

DumpAttributes::Values DumpAttributes::values() const {
  const MutexLock lock(mutex_);
  return values_;
}

}  // namespace vg::core
