#include "backend/nvidia/driver/uvm.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "backend/nvidia/driver/share_abi.h"
#include "base/sync/patience.h"

namespace vg::backend::nvidia {
namespace {

constexpr char kPath[] = "/dev/nvidia-uvm";
// Larger than any structure of any version: the kernel copies its own size in and out.
constexpr size_t kRoom = 10240;

Status statusOfCall(SystemCalls& calls, int descriptor, unsigned long request, void* arguments) {
  const int result = calls.control(descriptor, request, arguments);
  return result ? kSystemCall | static_cast<Status>(-result) : kOk;
}

// Of a call that ends something: what it could not do for want of memory is tried again for a moment, as nobody would
// ever do it.
Status statusOfLastCall(SystemCalls& calls, int descriptor, unsigned long request, void* arguments) {
  Status status = kOk;
  (void)inAMoment([&] {
    status = statusOfCall(calls, descriptor, request, arguments);
    return status != (kSystemCall | ENOMEM);
  });
  return status;
}

// What the driver said of a range of managed memory.
CUresult answered(Status status, const char* what, uint64_t base, uint64_t length) {
  if (!status) return CUDA_SUCCESS;
  return refused(status, "%s %llu bytes of managed memory at %#llx", what, static_cast<unsigned long long>(length),
                 static_cast<unsigned long long>(base));
}

}  // namespace

template <class T>
Status Uvm::call(unsigned long request, T& arguments) {
  struct Padded {
    T arguments;
    std::byte room[128];
  } padded{arguments, {}};
  const Status status = statusOfCall(client_.calls(), file_.descriptor(), request, &padded);
  arguments = padded.arguments;
  return status ? status : arguments.status;
}

Result<std::unique_ptr<Uvm>> Uvm::open(Client& client) {
  SystemCalls& calls = client.calls();
  VG_TRY(DeviceFile file, openDeviceFile(calls, kPath));
  VG_TRY(DeviceFile keeper, openDeviceFile(calls, kPath));
  const int main = file.descriptor(), second = keeper.descriptor();
  std::unique_ptr<Uvm> uvm(new Uvm(client, std::move(file), std::move(keeper)));
  uvm::Initialize initialize{};
  if (const Status status = uvm->call(uvm::kInitialize, initialize)) return refused(status, "unified addresses");
  uvm::MmInitialize keep{main, 0};
  Status status = statusOfCall(calls, second, uvm::kMmInitialize, &keep);
  if (!status) status = keep.status;
  if (status && status != kNothingToDo) return refused(status, "to keep unified addresses");
  return uvm;
}

Status Uvm::registerGpu(const CUuuid& gpu) {
  uvm::RegisterGpu arguments{};
  arguments.uuid = gpu;
  arguments.controlDescriptor = -1;
  return call(uvm::kRegisterGpu, arguments);
}

CUresult Uvm::registerSpace(const CUuuid& gpu, rm::Handle addressSpace) {
  uvm::RegisterSpace arguments{gpu, client_.descriptor(), client_.handle(), addressSpace, 0};
  const Status status = call(uvm::kRegisterSpace, arguments);
  return status ? refused(status, "the GPU's address space") : CUDA_SUCCESS;
}

CUresult Uvm::registerChannel(const CUuuid& gpu, rm::Handle channel, uint64_t base, uint64_t length) {
  uvm::RegisterChannel arguments{};
  arguments.uuid = gpu;
  arguments.controlDescriptor = client_.descriptor();
  arguments.client = client_.handle();
  arguments.channel = channel;
  arguments.base = base;
  arguments.length = length;
  const Status status = call(uvm::kRegisterChannel, arguments);
  return status ? refused(status, "a channel in the address space") : CUDA_SUCCESS;
}

void Uvm::unregisterChannel(const CUuuid& gpu, rm::Handle channel) {
  alignas(8) std::byte arguments[128]{};
  const size_t uuidBytes = client_.abi().unregisterUuid;
  std::memcpy(arguments, &gpu, uuidBytes);
  const uint32_t rest[2] = {client_.handle(), channel};
  std::memcpy(arguments + uuidBytes, rest, sizeof rest);
  (void)statusOfCall(client_.calls(), file_.descriptor(), uvm::kUnregisterChannel, arguments);
}

void Uvm::unregisterSpace(const CUuuid& gpu) {
  uvm::Unregister arguments{gpu, 0};
  (void)call(uvm::kUnregisterSpace, arguments);
}

void Uvm::unregisterGpu(const CUuuid& gpu) {
  uvm::Unregister arguments{gpu, 0};
  (void)call(uvm::kUnregisterGpu, arguments);
}

CUresult Uvm::enablePeers(const CUuuid& one, const CUuuid& other) {
  constexpr Status kNoBusPeers = 0x26;  // an invalid device: not for want of NVLink
  uvm::Peers arguments{one, other, 0};
  const Status status = call(uvm::kEnablePeers, arguments);
  return !status || status == kNoBusPeers ? CUDA_SUCCESS : refused(status, "to make two GPUs peers");
}

CUresult Uvm::createRange(uint64_t base, uint64_t length) {
  uvm::Range arguments{base, length, 0, 0};
  const Status status = call(uvm::kCreateRange, arguments);
  if (!status) return CUDA_SUCCESS;
  return refused(status, "the range of %llu bytes at %#llx", static_cast<unsigned long long>(length),
                 static_cast<unsigned long long>(base));
}

CUresult Uvm::mapMemory(const CUuuid& gpu, uint64_t base, uint64_t length, rm::Handle memory, uint64_t offset,
                        bool readOnly) {
  alignas(8) std::byte arguments[kRoom]{};
  uvm::MapExternalHead head{base, length, offset, {}};
  head.first.uuid = gpu;
  head.first.mappingType = readOnly ? uvm::kReadOnly : uvm::kReadWriteAtomic;
  std::memcpy(arguments, &head, offsetof(uvm::MapExternalHead, first) + sizeof head.first);
  uvm::MapExternalTail tail{1, client_.descriptor(), client_.handle(), memory, 0};
  std::byte* const end = arguments + client_.abi().mapExternalTail;
  std::memcpy(end, &tail, sizeof tail);
  Status status = statusOfCall(client_.calls(), file_.descriptor(), uvm::kMapExternal, arguments);
  std::memcpy(&tail, end, sizeof tail);
  if (!status) status = tail.status;
  if (!status) return CUDA_SUCCESS;
  return refused(status, "to map %llu bytes of memory at %#llx", static_cast<unsigned long long>(length),
                 static_cast<unsigned long long>(base));
}

CUresult Uvm::unmapMemory(const CUuuid& gpu, uint64_t base, uint64_t length) {
  uvm::RangeOf arguments{base, length, gpu, 0, 0};
  const Status status = call(uvm::kUnmapExternal, arguments);
  return status ? refused(status, "to unmap memory") : CUDA_SUCCESS;
}

CUresult Uvm::mapSparse(const CUuuid& gpu, uint64_t base, uint64_t length) {
  uvm::RangeOf arguments{base, length, gpu, 0, 0};
  const Status status = call(uvm::kMapSparse, arguments);
  if (!status) return CUDA_SUCCESS;
  return refused(status, "%llu bytes of sparse memory at %#llx", static_cast<unsigned long long>(length),
                 static_cast<unsigned long long>(base));
}

CUresult Uvm::freeRange(uint64_t base, uint64_t length) {
  alignas(8) std::byte arguments[128]{};
  std::memcpy(arguments, &base, sizeof base);
  const size_t lengthAt = client_.abi().freeLength;
  if (lengthAt) std::memcpy(arguments + lengthAt, &length, sizeof length);
  Status answer = 0;
  const Status status = statusOfLastCall(client_.calls(), file_.descriptor(), uvm::kFree, arguments);
  std::memcpy(&answer, arguments + (lengthAt ? 16 : 8), sizeof answer);
  if (!status && !answer) return CUDA_SUCCESS;
  return refused(status ? status : answer, "to free the range at %#llx", static_cast<unsigned long long>(base));
}

// The driver wants the address as the offset.
CUresult Uvm::mapManaged(std::byte* start, size_t bytes) {
  const int error = client_.calls().map(file_.descriptor(), start, bytes, reinterpret_cast<uint64_t>(start));
  if (!error) return CUDA_SUCCESS;
  return fail(CUDA_ERROR_OUT_OF_MEMORY, "%zu bytes of managed memory at %p: %s", bytes, static_cast<void*>(start),
              std::strerror(-error));
}

// A look takes some 0.2 us.
bool Uvm::anyOnHost(uint64_t base, uint64_t length) {
  constexpr uint64_t kPage = 4096, kLooks = 64;
  const uint64_t step = std::max(kPage, length / kLooks / kPage * kPage);
  for (uint64_t page = base; page < base + length; page += step)
    if (client_.calls().present(reinterpret_cast<void*>(page))) return true;
  return false;
}

CUresult Uvm::migrate(uint64_t base, uint64_t length, const CUuuid& place) {
  uvm::Migrate arguments{};
  arguments.base = base;
  arguments.length = length;
  arguments.place = place;
  arguments.hostNode = uvm::kAnyNode;
  return answered(call(uvm::kMigrate, arguments), "to move", base, length);
}

CUresult Uvm::setPreferred(uint64_t base, uint64_t length, const CUuuid& place) {
  struct {
    uvm::SetPreferred arguments;
    std::byte room[128];
  } padded{{base, length, place, uvm::kAnyNode, 0}, {}};
  Status status = statusOfCall(client_.calls(), file_.descriptor(), uvm::kSetPreferred, &padded);
  if (!status)
    std::memcpy(&status, reinterpret_cast<const std::byte*>(&padded) + client_.abi().preferredStatus, sizeof status);
  return answered(status, "to prefer a place for", base, length);
}

CUresult Uvm::unsetPreferred(uint64_t base, uint64_t length) {
  uvm::Range arguments{base, length, 0, 0};
  return answered(call(uvm::kUnsetPreferred, arguments), "to prefer no place for", base, length);
}

CUresult Uvm::setAccessedBy(uint64_t base, uint64_t length, const CUuuid& place, bool on) {
  uvm::RangeOf arguments{base, length, place, 0, 0};
  return answered(call(on ? uvm::kSetAccessedBy : uvm::kUnsetAccessedBy, arguments), "accesses of", base, length);
}

CUresult Uvm::setReadDuplication(uint64_t base, uint64_t length, bool on) {
  uvm::Range arguments{base, length, 0, 0};
  return answered(call(on ? uvm::kEnableReadDuplication : uvm::kDisableReadDuplication, arguments), "copies of", base,
                  length);
}

}  // namespace vg::backend::nvidia
