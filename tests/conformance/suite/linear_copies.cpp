#include "linear_copies.h"

#include <cstring>

#include "results.h"

namespace suite {
namespace {

const std::vector<Kind> kHost = {Kind::Pageable, Kind::Pinned};
const std::vector<Kind> kDevice = {Kind::Device, Kind::Managed};
const std::vector<Kind> kAll = {Kind::Pageable, Kind::Pinned, Kind::Device, Kind::Managed};

void* host(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

CUcontext current() {
  CUcontext context = nullptr;
  EXPECT_OK(cuCtxGetCurrent(&context));
  return context;
}

}  // namespace

const char* nameOf(Kind kind) {
  const char* const names[] = {"pageable", "pinned", "device", "managed"};
  return names[static_cast<int>(kind)];
}

Place::Place(Kind kind, const Bytes& content) : kind_(kind) {
  switch (kind) {
    case Kind::Pageable:
      pageable_ = content;
      break;
    case Kind::Pinned:
      pinned_ = std::make_unique<PinnedBuffer>(content);
      break;
    case Kind::Device:
      device_ = std::make_unique<DeviceBuffer>(content);
      break;
    case Kind::Managed:
      managed_ = std::make_unique<ManagedBuffer>(content.size());
      memcpy(managed_->data(), content.data(), content.size());
      break;
  }
}

CUdeviceptr Place::address() const {
  switch (kind_) {
    case Kind::Pageable:
      return reinterpret_cast<CUdeviceptr>(pageable_.data());
    case Kind::Pinned:
      return *pinned_;
    case Kind::Device:
      return *device_;
    default:
      return *managed_;
  }
}

Bytes Place::read() const {
  switch (kind_) {
    case Kind::Pageable:
      return pageable_;
    case Kind::Pinned:
      return pinned_->bytes();
    case Kind::Device:
      return device_->read();
    default:
      return Bytes(managed_->data(), managed_->data() + managed_->size());
  }
}

const std::vector<LinearCopy> kLinearCopies = {
    {"cuMemcpy", "MEMCPY", kAll, kAll, false, "001", "004", "", "", "005",
     [](CUdeviceptr to, CUdeviceptr from, size_t n, CUstream) { return cuMemcpy(to, from, n); }},
    {"cuMemcpyAsync", "MEMCPYASYNC", kAll, kAll, true, "001", "005", "004", "006", "007", cuMemcpyAsync},
    {"cuMemcpyHtoD", "MEMCPYHTOD", kDevice, kHost, false, "001", "002", "", "", "003",
     [](CUdeviceptr to, CUdeviceptr from, size_t n, CUstream) { return cuMemcpyHtoD(to, host(from), n); }},
    {"cuMemcpyHtoDAsync", "MEMCPYHTODASYNC", kDevice, kHost, true, "001", "003", "002", "004", "005",
     [](CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s) { return cuMemcpyHtoDAsync(to, host(from), n, s); }},
    {"cuMemcpyDtoH", "MEMCPYDTOH", kHost, kDevice, false, "001", "002", "", "", "003",
     [](CUdeviceptr to, CUdeviceptr from, size_t n, CUstream) { return cuMemcpyDtoH(host(to), from, n); }},
    {"cuMemcpyDtoHAsync", "MEMCPYDTOHASYNC", kHost, kDevice, true, "001", "003", "002", "004", "005",
     [](CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s) { return cuMemcpyDtoHAsync(host(to), from, n, s); }},
    {"cuMemcpyDtoD", "MEMCPYDTOD", kDevice, kDevice, false, "001", "002", "", "", "",
     [](CUdeviceptr to, CUdeviceptr from, size_t n, CUstream) { return cuMemcpyDtoD(to, from, n); }},
    {"cuMemcpyDtoDAsync", "MEMCPYDTODASYNC", kDevice, kDevice, true, "001", "003", "002", "004", "", cuMemcpyDtoDAsync},
    {"cuMemcpyPeer", "MEMCPYPEER", kDevice, kDevice, false, "001", "003", "", "", "",
     [](CUdeviceptr to, CUdeviceptr from, size_t n, CUstream) {
       return cuMemcpyPeer(to, current(), from, current(), n);
     }},
    {"cuMemcpyPeerAsync", "MEMCPYPEERASYNC", kDevice, kDevice, true, "001", "004", "003", "005", "",
     [](CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s) {
       return cuMemcpyPeerAsync(to, current(), from, current(), n, s);
     }},
};

void PrintTo(const LinearCopy& copy, std::ostream* out) { *out << copy.name; }

}  // namespace suite
