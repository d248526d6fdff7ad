#include "backend/nvidia/driver/client.h"

#include <errno.h>

#include <cstring>

namespace vg::backend::nvidia {

Result<DeviceFile> openDeviceFile(SystemCalls& calls, const std::string& path) {
  const int descriptor = calls.open(path);
  if (descriptor >= 0) return DeviceFile(calls, descriptor);
  switch (-descriptor) {
    case ENOENT:
      return fail(CUDA_ERROR_NO_DEVICE, "there is no %s: the kernel driver is not loaded, or its node is missing",
                  path.c_str());
    case EACCES:
    case EPERM:
      return fail(CUDA_ERROR_NOT_PERMITTED, "%s may not be opened by this user: %s", path.c_str(),
                  std::strerror(-descriptor));
    case ENXIO:
    case ENODEV:
      return fail(CUDA_ERROR_NO_DEVICE, "%s exists, but no device answers", path.c_str());
    case EMFILE:
    case ENFILE:
    case ENOMEM:
      return fail(CUDA_ERROR_OUT_OF_MEMORY, "%s cannot be opened: %s", path.c_str(), std::strerror(-descriptor));
    default:
      return fail(CUDA_ERROR_OPERATING_SYSTEM, "%s cannot be opened: %s", path.c_str(), std::strerror(-descriptor));
  }
}

Result<std::unique_ptr<Client>> Client::open(SystemCalls& calls) {
  VG_TRY(DeviceFile file, openDeviceFile(calls, kControlNode));
  const std::string version = calls.moduleVersion();
  if (version.empty())
    return fail(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH,
                "/dev/nvidiactl exists, but the version of the kernel module cannot be read");
  VG_TRY(const Abi* abi, abiFor(version));
  std::unique_ptr<Client> client(new Client(calls, std::move(file), abi, version));
  VG_CHECK(client->makeRoot());
  return client;
}

Status Client::call(int descriptor, rm::Escape escape, void* arguments, size_t bytes) {
  const int result = calls_.control(descriptor, rm::request(escape, bytes), arguments);
  return result ? kSystemCall | static_cast<Status>(-result) : kOk;
}

CUresult Client::makeRoot() {
  rm::AllocCall arguments{};
  arguments.objectClass = rm::kRootClient;
  Status status = call(file_.descriptor(), rm::Escape::Alloc, &arguments, sizeof arguments);
  if (!status) status = arguments.status;
  if (status) return refused(status, "a client");
  handle_ = arguments.object;
  return CUDA_SUCCESS;
}

Client::Made Client::make(rm::Handle parent, uint32_t objectClass, const void* parameters, size_t bytes) {
  // The kernel copies its own size, whatever ours is.
  alignas(8) std::byte buffer[4096]{};
  if (bytes > sizeof buffer) unreachable("%zu bytes of parameters", bytes);
  if (parameters) std::memcpy(buffer, parameters, bytes);
  rm::AllocCall arguments{};
  arguments.client = handle_;
  arguments.parent = parent;
  arguments.object = newHandle();
  arguments.objectClass = objectClass;
  if (parameters) {
    arguments.parameters = reinterpret_cast<uint64_t>(buffer);
    arguments.parameterBytes = static_cast<uint32_t>(bytes);
  }
  Status status = call(file_.descriptor(), rm::Escape::Alloc, &arguments, sizeof arguments);
  if (!status) status = arguments.status;
  return {status ? 0 : arguments.object, status};
}

Client::Made Client::makeFromUser(int gpuFile, rm::Handle device, void* address, size_t bytes, uint32_t flags) {
  rm::AllocMemoryCall arguments{};
  arguments.client = handle_;
  arguments.parent = device;
  arguments.object = newHandle();
  arguments.objectClass = rm::kMemoryOsDescriptor;
  arguments.flags = flags;
  arguments.memory = reinterpret_cast<uint64_t>(address);
  arguments.limit = bytes - 1;
  arguments.descriptor = -1;
  Status status = call(gpuFile, rm::Escape::AllocMemory, &arguments, sizeof arguments);
  if (!status) status = arguments.status;
  return {status ? 0 : arguments.object, status};
}

Status Client::free(rm::Handle parent, rm::Handle object) {
  rm::FreeCall arguments{handle_, parent, object, 0};
  const Status status = call(file_.descriptor(), rm::Escape::Free, &arguments, sizeof arguments);
  return status ? status : arguments.status;
}

Status Client::control(rm::Handle object, uint32_t command, void* parameters, size_t bytes) {
  rm::ControlCall arguments{};
  arguments.client = handle_;
  arguments.object = object;
  arguments.command = command;
  arguments.parameters = reinterpret_cast<uint64_t>(parameters);
  arguments.parameterBytes = static_cast<uint32_t>(bytes);
  const Status status = call(file_.descriptor(), rm::Escape::Control, &arguments, sizeof arguments);
  return status ? status : arguments.status;
}

Result<int> Client::cards(rm::CardInfo* entries, int count) {
  std::memset(entries, 0, sizeof *entries * static_cast<size_t>(count));
  const Status status =
      call(file_.descriptor(), rm::Escape::CardInfo, entries, sizeof *entries * static_cast<size_t>(count));
  if (status) return refused(status, "the list of GPUs");
  int valid = 0;
  for (int i = 0; i < count; ++i)
    if (entries[i].valid) entries[valid++] = entries[i];
  return valid;
}

Result<DeviceFile> Client::openGpu(uint32_t minor) {
  VG_TRY(DeviceFile file, openDeviceFile(calls_, "/dev/nvidia" + std::to_string(minor)));
  int32_t client = file_.descriptor();
  if (const Status status = call(file.descriptor(), rm::Escape::RegisterFd, &client, sizeof client))
    return refused(status, "/dev/nvidia%u to belong to this client", minor);
  return file;
}

Status Client::exportDmaBuf(int gpuFile, rm::DmaBufCall& arguments) {
  const Status status = call(gpuFile, rm::Escape::ExportDmaBuf, &arguments, sizeof arguments);
  return status ? status : arguments.status;
}

CUresult Client::map(int minor, rm::Handle device, rm::Handle memory, size_t offset, void* address, size_t bytes,
                     uint32_t flags, uint64_t* kernelAddress) {
  // A file carries one mapping, which stays when the file is closed.
  DeviceFile file;
  if (minor >= 0) {
    VG_TRY(file, openGpu(static_cast<uint32_t>(minor)));
  } else {
    VG_TRY(file, openDeviceFile(calls_, kControlNode));
  }
  rm::MapMemoryCall arguments{};
  arguments.client = handle_;
  arguments.device = device;
  arguments.memory = memory;
  arguments.offset = offset;
  arguments.length = bytes;
  arguments.flags = flags;
  arguments.descriptor = file.descriptor();
  Status status = call(file_.descriptor(), rm::Escape::MapMemory, &arguments, sizeof arguments);
  if (!status) status = arguments.status;
  if (status) return refused(status, "a mapping of %zu bytes to the CPU", bytes);
  if (const int error = calls_.map(file.descriptor(), address, bytes, 0)) {
    unmap(device, memory, arguments.linearAddress);
    return fail(error == -ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_OPERATING_SYSTEM,
                "%zu bytes of a GPU cannot be mapped at %p: %s", bytes, address, std::strerror(-error));
  }
  *kernelAddress = arguments.linearAddress;
  return CUDA_SUCCESS;
}

void Client::unmap(rm::Handle device, rm::Handle memory, uint64_t kernelAddress) {
  rm::UnmapMemoryCall arguments{};
  arguments.client = handle_;
  arguments.device = device;
  arguments.memory = memory;
  arguments.linearAddress = kernelAddress;
  (void)call(file_.descriptor(), rm::Escape::UnmapMemory, &arguments, sizeof arguments);
}

}  // namespace vg::backend::nvidia
