// The line between what CUDA means (core, above) and how a device does it (a backend, below).
//
// If two backends would write the same line, it belongs above; if the line names an ioctl, a hardware method, a thread
// or a page table, it belongs below. A Device is created once by the registry and never destroyed. All functions are
// thread-safe unless said otherwise.
#pragma once

#include <cuda.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend/command.h"
#include "backend/launches/multiprocessor_set.h"
#include "backend/traits.h"
#include "base/result.h"

namespace vg::cubin {
struct Cubin;
}
namespace vg::alloc {
class MemorySource;
enum class Protection : uint8_t;
}  // namespace vg::alloc
namespace vg::arrays {
struct TextureView;
}
namespace vg::host_register {
class PageLocker;
}

namespace vg::backend {

class Image;
class MovableMemory;
class Queue;

// Where a module-scope variable lives in a loaded image.
struct Global {
  CUdeviceptr address = 0;
  size_t size = 0;  // bytes
};

// Limits of a context that kernels obey or are told, as cuCtxSetLimit sets them, and what else kernels are told of it.
// Owned by the context, outlives its images.
struct KernelLimits {
  std::atomic<size_t> stackBytes{1024};         // CU_LIMIT_STACK_SIZE, a thread
  std::atomic<size_t> printfBytes{1u << 20};    // CU_LIMIT_PRINTF_FIFO_SIZE
  std::atomic<size_t> heapBytes{8u << 20};      // CU_LIMIT_MALLOC_HEAP_SIZE
  std::atomic<size_t> pendingLaunches{2048};    // CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT
  std::atomic<size_t> fetchGranularity{64};     // CU_LIMIT_MAX_L2_FETCH_GRANULARITY
  std::atomic<size_t> persistingCacheBytes{0};  // CU_LIMIT_PERSISTING_L2_CACHE_SIZE
  int deviceNumber = 0, deviceCount = 1;        // cudaGetDevice, cudaGetDeviceCount
};
inline constinit const KernelLimits kDefaultLimits{};

// What core passes down to load code, PTX or native. The texts live as long as the ImageSource.
struct ImageSource {
  std::vector<std::string> ptx;  // one module, or several relocatable ones to link
  std::string name;              // for the log: file or "module 3"
  bool ownText = false;          // PTX text of the application: an unknown instruction refuses it; one in a fat binary
                                 // only fails the launch of its kernel
  // Managed variables have one address in every context: core says by name and size where one lives. Who is answered
  // `fresh` writes the initial value (the memory is zero); nobody else touches the bytes.
  struct Managed {
    CUdeviceptr address;
    bool fresh;
  };
  using ManagedResolver = Result<Managed> (*)(void* owner, const std::string& name, size_t size, size_t alignment);
  ManagedResolver resolveManaged = nullptr;
  void* resolveOwner = nullptr;
  // Devices of Traits::nativeCode get all code so, fit for them. Others get bare cubins, to describe what is in them:
  // launching answers NO_BINARY_FOR_GPU.
  std::shared_ptr<const cubin::Cubin> native;
  // Nothing of this image will be launched, no variable but managed ones be looked at, and `allocate` gives memory of
  // the host: it need not be on the device.
  bool describeOnly = false;
  // Device memory of module variables comes from core's tables, so that pointer queries and copies know it. The image
  // keeps the functions and `memoryOwner` (the context) and releases in its destructor. Required for modules that
  // have variables.
  using Allocate = Result<CUdeviceptr> (*)(void* owner, size_t bytes, size_t alignment);
  using Release = void (*)(void* owner, CUdeviceptr address);
  Allocate allocate = nullptr;
  Release release = nullptr;
  void* memoryOwner = nullptr;
  // The limits of the context (cuCtxSetLimit); null: the defaults.
  const KernelLimits* limits = nullptr;
  const KernelLimits& limitsOrDefaults() const { return limits ? *limits : kDefaultLimits; }
};

// One kernel of a loaded image.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual const std::string& name() const = 0;
  struct Parameter {
    uint32_t offset, size;  // bytes in the parameter buffer
  };
  virtual const std::vector<Parameter>& parameters() const = 0;
  virtual uint32_t parameterBytes() const = 0;
  // CU_FUNC_ATTRIBUTE_*; may compile the kernel.
  virtual Result<int> attribute(CUfunction_attribute attribute) = 0;
  virtual CUresult setAttribute(CUfunction_attribute attribute, int value) = 0;
  virtual void setCacheConfig(CUfunc_cache) {}
  // Threads of a block along each axis that the code demands; zeroes: any.
  virtual std::array<uint32_t, 3> requiredThreads() const { return {}; }
  // Percent of its memory that a multiprocessor had better use for shared memory; -1: no preference.
  virtual int preferredShared() const { return -1; }
  // Validates a launch (dimensions, shared memory, cooperative size) and prepares the code, compiling when needed.
  virtual CUresult prepare(const LaunchShape& shape) = 0;
  // The largest number of resident blocks a multiprocessor for the occupancy calls.
  virtual Result<int> occupancy(int blockSize, size_t dynamicShared) = 0;
  // True when a launch of this shape is sure to end soon and waits for nobody: core may run it on the calling thread.
  // Requires: prepare(shape) succeeded.
  virtual bool inlineSafe(const LaunchShape& shape) const = 0;
  // What whoever records launches knows of it, once it has asked; null before. Lives as long as the process.
  std::atomic<const void*> facts{nullptr};
  // What its code may ask of the device runtime.
  struct Calls {
    bool launchesKernels = false, launchesGraphs = false, updatesNodes = false;
  };
  virtual Calls calls() { return {}; }
};

// Code and variables of one module in one context.
class Image {
 public:
  virtual ~Image() = default;                                   // frees the variables
  virtual Result<Kernel*> kernel(const std::string& name) = 0;  // CUDA_ERROR_NOT_FOUND
  virtual Result<Global> global(const std::string& name) = 0;   // CUDA_ERROR_NOT_FOUND; INVALID_VALUE: a reference
  virtual std::vector<std::string> kernelNames() const = 0;
  // A variable of an opaque type, which no pointer of the application names: 8 bytes that hold the handle of a texture
  // or surface. CUDA_ERROR_NOT_FOUND.
  enum class Reference : unsigned char { Texture, Surface };
  virtual Result<Global> reference(Reference, const std::string&) { return CUDA_ERROR_NOT_FOUND; }
};

// Kernels at work on a device, for the monitoring library.
struct Activity {
  std::atomic<uint32_t> running{0};
  std::atomic<uint64_t> busyNanoseconds{0};  // that threads spent in kernels that have ended, all together
};

struct LoadOptions {
  std::string* infoLog = nullptr;   // CU_JIT_INFO_LOG_BUFFER
  std::string* errorLog = nullptr;  // CU_JIT_ERROR_LOG_BUFFER
};

class Device;

// What devices do beside memory and work are roles, each with functions that do nothing on devices without it.

class TextureHolder {
 public:
  // Textures and surfaces by the number that kernels are given, never 0 and never used twice in a row. `owner` is the
  // caller's own. The view is copied. Removing requires that nobody else removes the same.
  virtual Result<uint64_t> addTexture(const arrays::TextureView&, void* /*owner*/) {
    return unsupported("textures on this device");
  }
  virtual void* textureOwner(uint64_t /*handle*/) const { return nullptr; }  // null: no living texture
  virtual void removeTexture(uint64_t /*handle*/) noexcept {}

 protected:
  ~TextureHolder() = default;
};

class HostMemoryViewer {
 public:
  // Page-locked memory of ours and what virtual memory management maps, for devices that reach it by themselves: from
  // when it is there until just before it goes, which may be piecemeal.
  virtual void hostMemoryLocked(std::byte* /*start*/, size_t /*bytes*/, bool /*readOnly*/) {}
  virtual void hostMemoryUnlocked(std::byte* /*start*/, size_t /*bytes*/) {}

 protected:
  ~HostMemoryViewer() = default;
};

class PeerOfDevices {
 public:
  // Whether its kernels can reach the other's memory.
  virtual bool canReach(const Device& peer) const = 0;
  // From now on they may: what the other has and will have, but mappings by grant. Until it was left as often as
  // reached; then no work of theirs may need it. Requires: canReach(peer).
  virtual CUresult reach(Device& /*peer*/) { return CUDA_SUCCESS; }
  virtual void leave(Device& /*peer*/) noexcept {}
  // The same of a range of the other's heaps alone, once each: what is committed there, now and later. A range is
  // reached whole or not at all.
  virtual CUresult reachRange(Device& /*peer*/, std::byte* /*start*/, size_t /*bytes*/) { return CUDA_SUCCESS; }
  virtual void leaveRange(Device& /*peer*/, std::byte* /*start*/) noexcept {}
  // What its kernels may do with mappings of `owner`'s own memory that were made for grants (PhysicalMemory::map).
  // CUDA_ERROR_OUT_OF_MEMORY changes nothing; taking away never fails. Requires: owner is this or canReach(owner);
  // whole mappings; no work needs what is taken away.
  virtual CUresult grant(Device& /*owner*/, std::byte* /*start*/, size_t /*bytes*/, alloc::Protection) {
    return CUDA_SUCCESS;
  }
  // All managed memory of the process is this device's: its managedMemory(), or else its memory().
  virtual void reachManaged(Device& owner) {
    if (canReach(owner)) (void)reach(owner);
  }

 protected:
  ~PeerOfDevices() = default;
};

class Checkpointed {
 public:
  // Gives up what ties the process to the system it runs on, so that it may be frozen and written down from outside,
  // and takes it back. Requires: no work, and no other call meanwhile. Whoever cannot says so before anything is done.
  virtual CUresult canDetach() const = 0;
  virtual void detach() noexcept {}
  virtual void attach() noexcept {}

 protected:
  ~Checkpointed() = default;
};

class Device : public TextureHolder, public HostMemoryViewer, public PeerOfDevices, public Checkpointed {
 public:
  virtual ~Device() = default;
  // Name, UUID, attributes, limits: plain data, filled once.
  virtual const Traits& traits() const = 0;
  virtual alloc::MemorySource& memory() = 0;
  // Managed memory of its own, which all devices of its kind reach; null: managed memory is memory().
  virtual MovableMemory* managedMemory() { return nullptr; }
  virtual host_register::PageLocker& pageLocker() = 0;
  // `only`: which of the device's multiprocessors run the queue's kernels; null means all.
  virtual std::unique_ptr<Queue> createQueue(int priority, const MultiprocessorSet* only) = 0;
  virtual Result<std::unique_ptr<Image>> load(const ImageSource& source, const LoadOptions& options) = 0;
  // True when the host may access device memory directly, so that core may run small copies inline.
  virtual bool hostAddressable() const = 0;
  // Before the host itself touches memory of the device that may be mapped or imported.
  virtual void showToHost(const void* /*start*/, size_t /*bytes*/) {}
  // Whether a launch does it, as it does what kernels do: then it may be prepared with launches (prepared_launches.h).
  virtual bool isLaunch(const copy::Shape&) const { return false; }
  virtual bool isLaunch(const copy::Fill&) const { return false; }
  bool canReach(const Device& peer) const override { return traits().sharesMemory && peer.traits().sharesMemory; }
  CUresult canDetach() const override {
    return unsupported("checkpoints of processes that use %s", traits().name.c_str());
  }
  // Nanoseconds of the device's own clock, for event timing.
  virtual uint64_t timestamp() const = 0;
  // Whether that is the host's monotonic clock, which may be asked on any thread at any time.
  virtual bool hasClockOfHost() const { return false; }
  virtual Activity* activity() const { return nullptr; }
  // A context of the device begins: what takes long and kernels will need may be made meanwhile.
  virtual void contextBegins() noexcept {}
  // Writes what kernels have printed to the process's standard output. Core calls it where CUDA does: when a call that
  // waits for the device returns, before a launch, when a context ends. Cheap when nothing was printed.
  virtual void flushOutput() noexcept {}
  // The process ends, and calls are still answered: finishes what later processes are to find.
  virtual void beforeExit() noexcept {}
  // For the end of the process: drops queued work and waits a little for what runs, because the application's memory
  // goes away now.
  virtual void quiesce() noexcept {}
};

}  // namespace vg::backend
