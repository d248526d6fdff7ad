#include "api/watch/trace.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "activity/recorder.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/system/file_size_guard.h"
#include "core/modules/kernel.h"

namespace vg::api {

constinit std::atomic<bool> traceOn{false};

namespace {
constinit std::atomic<int> traceFile{STDERR_FILENO};
}

void startTrace() {
  const std::string& wanted = settings().trace;
  if (wanted.empty() || wanted == "0" || traceOn.load(std::memory_order_relaxed)) return;
  if (wanted != "1") {
    const int file = ::open(wanted.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file < 0) {
      VG_LOG(Error, "VERDIGRIS_TRACE: cannot write %s: %s; tracing to stderr", wanted.c_str(), std::strerror(errno));
    } else {
      traceFile.store(file);
    }
  }
  traceOn.store(true);
  activity::callsObserved.fetch_or(activity::ByTrace);
}

uint64_t traceClock() { return activity::now(); }

TraceLine::TraceLine(const char* symbol, const char* names, CUresult result) : names_(names), result_(result) {
  append("[%d] %s(", static_cast<int>(syscall(SYS_gettid)), symbol);
  names_.remove_prefix(1);  // the parentheses of the table
  names_.remove_suffix(1);
}

void TraceLine::nextName() {
  const size_t comma = names_.find(',');
  const bool first = name_.empty();
  name_ = names_.substr(0, comma);
  append("%s%.*s=", first ? "" : ", ", static_cast<int>(name_.size()), name_.data());
  names_.remove_prefix(comma == std::string_view::npos ? names_.size() : comma + 1);
  while (!names_.empty() && names_.front() == ' ') names_.remove_prefix(1);
}

void TraceLine::finish(uint64_t nanoseconds) {
  const char* name = enumName(result_);
  constexpr size_t kRoomForEnd = 100;
  if (length_ > kLimit - kRoomForEnd) {
    length_ = kLimit - kRoomForEnd - 3;
    append("...");
  }
  append(") = ");
  if (name) {
    append("%s", name);
  } else {
    append("%d", static_cast<int>(result_));
  }
  append(" %llu.%llu us\n", static_cast<unsigned long long>(nanoseconds / 1000),
         static_cast<unsigned long long>(nanoseconds / 100 % 10));
  // A trace that cannot be written is lost; the call it describes must not fail for it.
  const FileSizeGuard guard;
  [[maybe_unused]] const ssize_t written = ::write(traceFile.load(std::memory_order_relaxed), text_, length_);
}

void TraceLine::append(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int added = std::vsnprintf(text_ + length_, kLimit - length_, format, arguments);
  va_end(arguments);
  if (added > 0)
    length_ += static_cast<size_t>(added) < kLimit - length_ ? static_cast<size_t>(added) : kLimit - length_ - 1;
}

void TraceLine::print(CUfunction function) {
  append("%p", static_cast<void*>(function));
  if (result_ != CUDA_SUCCESS) return;  // it need not be a function
  if (const auto found = core::findFunction(function); found.ok()) {
    append(" ");
    appendString(found.value().kernel().name().c_str());
  }
}

void TraceLine::appendString(const char* address) {
  constexpr size_t kLongest = 96;
  if (!address) return append("null");
  char text[kLongest];
  size_t size = 0;
  while (size < kLongest && safe_read::all(&text[size], address + size, 1) && text[size]) ++size;
  append("\"");
  for (size_t i = 0; i < size; ++i) {
    const unsigned char c = static_cast<unsigned char>(text[i]);
    if (c == '\n') {
      append("\\n");
    } else if (c < 0x20 || c == 0x7f) {
      append("\\x%02x", c);
    } else {
      append(c == '"' || c == '\\' ? "\\%c" : "%c", c);
    }
  }
  append(size == kLongest ? "\"..." : "\"");
}

void TraceLine::appendInteger(unsigned long long value, bool isSigned, size_t size) {
  // Eight unsigned bytes are mostly addresses and object handles, except where they count something.
  const bool isFlags = name_.find("lags") != std::string_view::npos;
  const bool isCount = name_.find("ize") != std::string_view::npos || name_.find("ount") != std::string_view::npos ||
                       name_.find("um") == 0 || name_.find("ytes") != std::string_view::npos || name_ == "N";
  if (isSigned) {
    append("%lld", static_cast<long long>(value));
  } else if (isFlags || (size == 8 && !isCount && value >= 0x10000)) {
    append("%#llx", value);
  } else {
    append("%llu", value);
  }
}

namespace {
const char* nameOr(const char* name) { return name ? name : "?"; }

struct End {
  CUmemorytype type;
  const void* host;
  CUdeviceptr device;
  CUarray array;
  // The address that the memory type makes valid.
  unsigned long long address() const {
    switch (type) {
      case CU_MEMORYTYPE_HOST:
        return reinterpret_cast<unsigned long long>(host);
      case CU_MEMORYTYPE_ARRAY:
        return reinterpret_cast<unsigned long long>(array);
      default:
        return device;
    }
  }
};
}  // namespace

void TraceLine::describe(const CUDA_MEMCPY2D& copy) {
  const End src{copy.srcMemoryType, copy.srcHost, copy.srcDevice, copy.srcArray};
  const End dst{copy.dstMemoryType, copy.dstHost, copy.dstDevice, copy.dstArray};
  append("{src %s %#llx +(%zu,%zu) pitch %zu, dst %s %#llx +(%zu,%zu) pitch %zu, %zu B x %zu}",
         nameOr(enumName(src.type)), src.address(), copy.srcXInBytes, copy.srcY, copy.srcPitch,
         nameOr(enumName(dst.type)), dst.address(), copy.dstXInBytes, copy.dstY, copy.dstPitch, copy.WidthInBytes,
         copy.Height);
}

void TraceLine::describe(const CUDA_MEMCPY3D& copy) {
  const End src{copy.srcMemoryType, copy.srcHost, copy.srcDevice, copy.srcArray};
  const End dst{copy.dstMemoryType, copy.dstHost, copy.dstDevice, copy.dstArray};
  append(
      "{src %s %#llx +(%zu,%zu,%zu) pitch %zu height %zu, dst %s %#llx +(%zu,%zu,%zu) pitch %zu height %zu, "
      "%zu B x %zu x %zu}",
      nameOr(enumName(src.type)), src.address(), copy.srcXInBytes, copy.srcY, copy.srcZ, copy.srcPitch, copy.srcHeight,
      nameOr(enumName(dst.type)), dst.address(), copy.dstXInBytes, copy.dstY, copy.dstZ, copy.dstPitch, copy.dstHeight,
      copy.WidthInBytes, copy.Height, copy.Depth);
}

void TraceLine::describe(const CUlaunchConfig& config) {
  append("{grid %ux%ux%u, block %ux%ux%u, shared %u, stream %p, %u attributes}", config.gridDimX, config.gridDimY,
         config.gridDimZ, config.blockDimX, config.blockDimY, config.blockDimZ, config.sharedMemBytes,
         static_cast<void*>(config.hStream), config.numAttrs);
}

void TraceLine::describe(const CUmemLocation& location) {
  append("{%s %d}", nameOr(enumName(location.type)), location.id);
}

void TraceLine::describe(const CUmemAccessDesc& access) {
  append("{%s %d, %s}", nameOr(enumName(access.location.type)), access.location.id, nameOr(enumName(access.flags)));
}

void TraceLine::describe(const CUmemAllocationProp& properties) {
  append("{%s, handles %#x, %s %d}", nameOr(enumName(properties.type)),
         static_cast<unsigned>(properties.requestedHandleTypes), nameOr(enumName(properties.location.type)),
         properties.location.id);
}

void TraceLine::describe(const CUmemPoolProps& properties) {
  append("{%s, handles %#x, %s %d, max %zu}", nameOr(enumName(properties.allocType)),
         static_cast<unsigned>(properties.handleTypes), nameOr(enumName(properties.location.type)),
         properties.location.id, properties.maxSize);
}

void TraceLine::describe(const CUDA_ARRAY_DESCRIPTOR& array) {
  append("{%zu x %zu, %s x %u}", array.Width, array.Height, nameOr(enumName(array.Format)), array.NumChannels);
}

void TraceLine::describe(const CUDA_ARRAY3D_DESCRIPTOR& array) {
  append("{%zu x %zu x %zu, %s x %u, flags %#x}", array.Width, array.Height, array.Depth,
         nameOr(enumName(array.Format)), array.NumChannels, array.Flags);
}

void TraceLine::describe(const CUuuid& uuid) {
  for (size_t i = 0; i < sizeof uuid.bytes; ++i)
    append("%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", static_cast<unsigned char>(uuid.bytes[i]));
}

}  // namespace vg::api
