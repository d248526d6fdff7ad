#include "core/memory_batch.h"

#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <vector>

#include "base/raw_enum.h"
#include "copy/copy.h"
#include "core/context.h"
#include "core/memory.h"

namespace vg::core::memory {
namespace {

using Known = const alloc::Record*;  // null: pageable

// Up to this many bytes an idle stream copies a batch on the calling thread: some microseconds.
constexpr size_t kInPlaceBytes = size_t{256} << 10;
// A busy stream gets a copy of pageable sources up to this size; larger ones are waited for.
constexpr size_t kStagedBytes = size_t{1} << 20;

CUresult checkAttributes(const CUmemcpyAttributes& attributes) {
  const int order = rawValue(attributes.srcAccessOrder);
  if (order < CU_MEMCPY_SRC_ACCESS_ORDER_STREAM || order > CU_MEMCPY_SRC_ACCESS_ORDER_ANY)
    return fail(CUDA_ERROR_INVALID_VALUE, "source access order %d", order);
  if (attributes.flags & ~unsigned{CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE})
    return fail(CUDA_ERROR_INVALID_VALUE, "copy flags %#x", attributes.flags);
  return CUDA_SUCCESS;
}

CUresult checkStarts(const LinearBatch& batch) {
  if (!batch.count || !batch.destinations || !batch.sources || !batch.sizes)
    return fail(CUDA_ERROR_INVALID_VALUE, "a batch of %zu copies, or an array of it is null", batch.count);
  if (!batch.attributeCount || batch.attributeCount > batch.count || !batch.attributes || !batch.starts)
    return fail(CUDA_ERROR_INVALID_VALUE, "%zu attributes for %zu copies", batch.attributeCount, batch.count);
  if (batch.starts[0]) return fail(CUDA_ERROR_INVALID_VALUE, "the first attribute begins at copy %zu", batch.starts[0]);
  for (size_t k = 1; k < batch.attributeCount; ++k)
    if (batch.starts[k] <= batch.starts[k - 1] || batch.starts[k] >= batch.count)
      return fail(CUDA_ERROR_INVALID_VALUE, "attribute %zu begins at copy %zu of %zu", k, batch.starts[k], batch.count);
  return CUDA_SUCCESS;
}

// What the copies of a batch have in common, found while they are checked.
struct Survey {
  size_t bytes = 0;
  bool mustWait = false;  // pageable destinations, memory that asks for synchrony
  bool mustRead = false;  // sources that have to be read before the call returns
};

bool wantsSynchrony(Known record) { return record && asksForSynchrony(*record); }

const void* pointer(CUdeviceptr address) { return reinterpret_cast<const void*>(address); }

// Pageable memory is touched on the calling thread or later on one of ours: an address where nothing is should be an
// error, not a crash. One system call asks for many places; pages that were there before are not asked for again, so
// what the application unmaps under a batch crashes as it would under memcpy.
class Reachable {
 public:
  CUresult add(CUdeviceptr address, size_t bytes) {
    for (const CUdeviceptr end : {address, address + bytes - 1}) {
      if (seen(end).load(std::memory_order_relaxed) == end / kPage) continue;
      places_[used_++] = {const_cast<void*>(pointer(end)), 1};
      if (used_ == kPlaces) VG_CHECK(check());
    }
    return CUDA_SUCCESS;
  }
  CUresult check() {
    char bytes[kPlaces];
    const iovec local{bytes, used_};
    const ssize_t read = used_ ? process_vm_readv(getpid(), &local, 1, places_, used_, 0) : 0;
    const bool refused = read < 0 && errno != EFAULT;  // the system does not let us ask
    if (!refused && read != static_cast<ssize_t>(used_))
      return fail(CUDA_ERROR_INVALID_VALUE, "a batch names host memory that is not there");
    for (; used_; --used_) {
      const auto place = reinterpret_cast<uintptr_t>(places_[used_ - 1].iov_base);
      seen(place).store(place / kPage, std::memory_order_relaxed);
    }
    return CUDA_SUCCESS;
  }

 private:
  static constexpr size_t kPlaces = 64, kPage = 4096, kSeen = 4096;
  static std::atomic<uintptr_t>& seen(uintptr_t address) { return pages[address / kPage % kSeen]; }

  static constinit std::atomic<uintptr_t> pages[kSeen];
  iovec places_[kPlaces];
  size_t used_ = 0;
};
constinit std::atomic<uintptr_t> Reachable::pages[kSeen]{};

CUresult surveyCopy(const LinearBatch& batch, size_t i, int order, Survey& survey, Reachable& reachable) {
  const size_t bytes = batch.sizes[i];
  if (!bytes) return fail(CUDA_ERROR_INVALID_VALUE, "copy %zu of a batch has no bytes", i);
  VG_TRY(const Known to, unifiedRecord(pointer(batch.destinations[i]), bytes, Access::Write));
  VG_TRY(const Known from, unifiedRecord(pointer(batch.sources[i]), bytes));
  if (!to) [[unlikely]]
    VG_CHECK(reachable.add(batch.destinations[i], bytes));
  if (!from) [[unlikely]]
    VG_CHECK(reachable.add(batch.sources[i], bytes));
  survey.bytes += bytes;
  survey.mustWait |= !to || wantsSynchrony(to) || wantsSynchrony(from);
  survey.mustRead |= !from || order == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
  return CUDA_SUCCESS;
}

Result<Survey> surveyBatch(const LinearBatch& batch, size_t& culprit) {
  Survey survey;
  Reachable reachable;
  for (size_t k = 0; k < batch.attributeCount; ++k) {
    culprit = batch.starts[k];
    VG_CHECK(checkAttributes(batch.attributes[k]));
    const int order = rawValue(batch.attributes[k].srcAccessOrder);
    const size_t end = k + 1 < batch.attributeCount ? batch.starts[k + 1] : batch.count;
    for (; culprit < end; ++culprit) VG_CHECK(surveyCopy(batch, culprit, order, survey, reachable));
  }
  culprit = kWholeBatch;
  VG_CHECK(reachable.check());
  return survey;
}

copy::Shape shapeOf(CUdeviceptr destination, const void* source, size_t bytes) {
  return {{reinterpret_cast<std::byte*>(destination), bytes, bytes},
          {static_cast<std::byte*>(const_cast<void*>(source)), bytes, bytes},
          bytes};
}

// The batch as commands. Sources that have to be read now are copied to `staged`, in their order.
std::vector<backend::Command> commandsOf(const LinearBatch& batch, std::byte* staged) {
  std::vector<backend::Command> commands;
  commands.reserve(batch.count + 1);
  for (size_t i = 0; i < batch.count; ++i) {
    const size_t bytes = batch.sizes[i];
    const void* source = pointer(batch.sources[i]);
    if (staged) {
      copy::copyBytes(staged, source, bytes);
      source = staged;
      staged += bytes;
    }
    commands.push_back(backend::CopyCommand{shapeOf(batch.destinations[i], source, bytes)});
  }
  return commands;
}

CUresult enqueue(Stream& stream, const LinearBatch& batch, const Survey& survey) {
  const bool wait = survey.mustWait || (survey.mustRead && survey.bytes > kStagedBytes);
  if (wait || !survey.mustRead) {
    const std::vector<backend::Command> commands = commandsOf(batch, nullptr);
    return stream.submit(commands.data(), commands.size(), wait ? Completion::Host : Completion::Async);
  }
  auto* const staged = static_cast<std::byte*>(std::malloc(survey.bytes));
  if (!staged) return fail(CUDA_ERROR_OUT_OF_MEMORY, "no memory to stage %zu bytes", survey.bytes);
  CUresult submitted;
  try {
    std::vector<backend::Command> commands = commandsOf(batch, staged);
    commands.push_back(backend::HostCall{[](void* data) { std::free(data); }, staged});
    submitted = stream.submit(commands.data(), commands.size());
  } catch (...) {
    std::free(staged);
    throw;
  }
  if (submitted != CUDA_SUCCESS) std::free(staged);
  return submitted;
}

// A batch may not be given to the legacy stream, as the manual says and the driver does.
CUresult checkStream(const Stream& stream) {
  if (stream.captured()) return fail(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "a batch of copies cannot be captured");
  if (stream.kind() == Stream::Kind::Legacy)
    return fail(CUDA_ERROR_INVALID_VALUE, "a batch of copies in the legacy stream");
  return CUDA_SUCCESS;
}

}  // namespace

CUresult copyBatch(Stream& stream, const LinearBatch& batch, size_t& culprit) {
  culprit = kWholeBatch;
  VG_CHECK(checkStream(stream));
  VG_CHECK(checkStarts(batch));
  VG_TRY(const Survey survey, surveyBatch(batch, culprit));
  VG_CHECK(stream.context().state());
  const auto copyAll = [&] {
    for (size_t i = 0; i < batch.count; ++i)
      copy::copyBytes(reinterpret_cast<void*>(batch.destinations[i]), pointer(batch.sources[i]), batch.sizes[i]);
  };
  if (survey.bytes <= kInPlaceBytes && stream.runInPlace(copyAll)) return CUDA_SUCCESS;
  return enqueue(stream, batch, survey);
}

}  // namespace vg::core::memory
