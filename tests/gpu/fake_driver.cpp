#include "gpu/fake_driver.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <optional>

namespace vg::testing {

using namespace backend::nvidia;

const CUuuid FakeDriver::kUuid = {{'f', 'a', 'k', 'e', '-', 'g', 'p', 'u', 1, 2, 3, 4, 5, 6, 7, 8}};
const CUuuid FakeDriver::kSecondUuid = {{'f', 'a', 'k', 'e', '-', 'g', 'p', 'u', 2, 2, 3, 4, 5, 6, 7, 8}};

namespace {

// A row a generation that launches were tried on; others have Hopper's.
constexpr FakeClasses kClasses[] = {
    {.smVersion = 0x900, .usermode = 0xc661, .channel = 0xc86f, .compute = 0xcbc0, .copy = 0xc8b5},
    {.smVersion = 0xa03, .usermode = 0xc661, .channel = 0xc96f, .compute = 0xcdc0, .copy = 0xc9b5},
};
const FakeClasses& classesOf(uint32_t smVersion) {
  const auto found = std::ranges::find(kClasses, smVersion, &FakeClasses::smVersion);
  return found == std::end(kClasses) ? kClasses[0] : *found;
}
constexpr uint32_t kGpuId = 0x600;

bool isMemory(const FakeClasses& classes, uint32_t objectClass) {
  return objectClass == rm::kMemoryLocalUser || objectClass == rm::kMemorySystem ||
         objectClass == rm::kMemoryOsDescriptor || objectClass == classes.usermode;
}

// Which class an object's parent must be.
uint32_t parentClassOf(const FakeClasses& classes, uint32_t objectClass) {
  if (objectClass == classes.usermode) return rm::kSubdevice;
  if (objectClass == classes.channel) return rm::kChannelGroup;
  if (objectClass == classes.compute || objectClass == classes.copy) return classes.channel;
  switch (objectClass) {
    case rm::kDevice:
    case rm::kConfidentialCompute:
      return rm::kRootClient;
    case rm::kSubdevice:
    case rm::kMemoryLocalUser:
    case rm::kMemorySystem:
    case rm::kMemoryOsDescriptor:
    case rm::kAddressSpace:
    case rm::kChannelGroup:
    case rm::kDebugger:
      return rm::kDevice;
    case rm::kContextShare:
      return rm::kChannelGroup;
    default:
      return 0;
  }
}

template <class T>
T parametersOf(const rm::AllocCall& call) {
  T parameters{};
  if (call.parameters) std::memcpy(&parameters, reinterpret_cast<const void*>(call.parameters), sizeof parameters);
  return parameters;
}

// From where the branch has them.
rm::ChannelParameters channelParametersOf(const rm::AllocCall& call, const Abi& abi) {
  rm::ChannelParameters parameters{};
  const auto* const bytes = reinterpret_cast<const std::byte*>(call.parameters);
  if (!bytes || call.parameterBytes != abi.channel) return parameters;  // without memory for its state: refused
  std::memcpy(&parameters, bytes, offsetof(rm::ChannelParameters, userdMemory));
  std::memcpy(parameters.userdMemory, bytes + abi.channelUserd, sizeof parameters.userdMemory);
  std::memcpy(parameters.userdOffset, bytes + abi.channelRest, sizeof parameters.userdOffset);
  std::memcpy(&parameters.engineType, bytes + abi.channelRest + sizeof parameters.userdOffset,
              sizeof parameters.engineType);
  return parameters;
}

}  // namespace

FakeDriver::FakeDriver(Description description)
    : description_(std::move(description)),
      classes_(classesOf(description_.smVersion)),
      uvm_(abi_, description_.gpus > 1 ? std::vector{kUuid, kSecondUuid} : std::vector{kUuid}, description_.linked,
           description_.bus,
           {[this](uint32_t client, uint32_t object) -> FakeUvm::Hooks::Found {
              const auto found = clients_.find(client);
              Object* const memory = found == clients_.end() ? nullptr : objectOf(found->second, object);
              if (!memory) return {};
              const bool video = memory->objectClass == rm::kMemoryLocalUser;
              return {memory->memory, video ? static_cast<int>(memory->gpu) : -1};
            },
            [this](uint32_t client, uint32_t object, uint32_t objectClass) {
              const auto found = clients_.find(client);
              Object* const other = found == clients_.end() ? nullptr : objectOf(found->second, object);
              return other && other->objectClass == objectClass;
            },
            [this](uint32_t channel) {
              for (auto& [handle, client] : clients_)
                if (Object* const object = objectOf(client, channel)) object->channel->registered = true;
            },
            classes_.channel}) {
  if (Result<const Abi*> abi = abiFor(description_.version); abi.ok()) abi_ = *abi;
  hardware_ = std::thread([this] { play(); });
}

FakeDriver::~FakeDriver() {
  {
    const std::lock_guard guard(mutex_);
    over_ = true;
  }
  hardware_.join();
}

void FakeDriver::play() {
  for (;;) {
    bool worked = false;
    {
      const std::lock_guard guard(mutex_);
      if (over_) return;
      if (hearsDoorbell())
        for (const auto& channel : channels_) worked |= channel->run();
    }
    std::this_thread::sleep_for(std::chrono::microseconds(worked ? 0 : 50));
  }
}

bool FakeDriver::hearsDoorbell() {
  constexpr uint32_t kSilent = UINT32_MAX;
  if (rings_ > description_.lostDoorbells || !description_.lostDoorbells) return true;
  if (!doorbell_) return false;
  auto* const word = reinterpret_cast<uint32_t*>(doorbell_->start() + rm::kDoorbell);
  if (std::exchange(*word, kSilent) != kSilent) ++rings_;
  return rings_ > description_.lostDoorbells;
}

size_t FakeDriver::openFiles() const {
  const std::lock_guard guard(mutex_);
  return files_.size();
}
size_t FakeDriver::objects() const {
  const std::lock_guard guard(mutex_);
  size_t count = 0;
  for (const auto& [handle, client] : clients_) count += client.objects.size() - 1;
  return count;
}
size_t FakeDriver::ranges() const {
  const std::lock_guard guard(mutex_);
  return uvm_.ranges();
}
bool FakeDriver::sees(uint32_t gpu, const void* address) {
  const std::lock_guard guard(mutex_);
  return uvm_.translate(gpu, reinterpret_cast<uint64_t>(address), 1, false) != nullptr;
}
bool FakeDriver::canWrite(uint32_t gpu, const void* address) {
  const std::lock_guard guard(mutex_);
  return uvm_.translate(gpu, reinterpret_cast<uint64_t>(address), 1, true) != nullptr;
}
void FakeDriver::failNext(uint32_t objectClass, Status status) {
  const std::lock_guard guard(mutex_);
  failNext_[objectClass] = status;
}

void FakeDriver::refuse(size_t n, Status status) {
  const std::lock_guard guard(mutex_);
  callsToRefusal_ = n;
  refusal_ = status;
}
bool FakeDriver::refused() const {
  const std::lock_guard guard(mutex_);
  return refusal_ && !callsToRefusal_;
}
bool FakeDriver::refusesNow() { return callsToRefusal_ && !--callsToRefusal_; }

namespace {

// The kernel driver has no reason to refuse these.
bool endsSomething(bool uvm, unsigned long request) {
  if (uvm)
    return request == uvm::kUnregisterGpu || request == uvm::kUnregisterSpace || request == uvm::kUnregisterChannel ||
           request == uvm::kFree;
  const auto escape = static_cast<rm::Escape>(request & 0xff);
  return escape == rm::Escape::Free || escape == rm::Escape::UnmapMemory;
}

// Where the structure of an ioctl has the driver's status; none: it has none.
std::optional<size_t> statusAt(unsigned long request) {
  switch (static_cast<rm::Escape>(request & 0xff)) {
    case rm::Escape::Alloc:
      return offsetof(rm::AllocCall, status);
    case rm::Escape::MapMemory:
      return offsetof(rm::MapMemoryCall, status);
    case rm::Escape::Control:
      return offsetof(rm::ControlCall, status);
    case rm::Escape::AllocMemory:
      return offsetof(rm::AllocMemoryCall, status);
    case rm::Escape::ExportDmaBuf:
      return offsetof(rm::DmaBufCall, status);
    default:
      return std::nullopt;
  }
}

}  // namespace

int FakeDriver::refuseControl(const File& file, unsigned long request, void* argument) {
  if (refusal_ & kSystemCall) return -static_cast<int>(refusal_ & ~kSystemCall);
  if (file.node == Node::Uvm) {
    uvm_.refuse(refusal_);
    return 0;
  }
  std::memcpy(static_cast<std::byte*>(argument) + statusAt(request).value(), &refusal_, sizeof refusal_);
  return 1;
}

int FakeDriver::open(const std::string& path) {
  const std::lock_guard guard(mutex_);
  if ((refusal_ & kSystemCall) && refusesNow()) return -ENODEV;  // no place for a status
  if (const auto refused = description_.refusedNodes.find(path); refused != description_.refusedNodes.end())
    return -refused->second;
  Node node;
  const bool second = description_.gpus > 1 && path == "/dev/nvidia1";
  if (path == "/dev/nvidiactl")
    node = Node::Control;
  else if (path == "/dev/nvidia0" || second)
    node = Node::Gpu;
  else if (path == "/dev/nvidia-uvm")
    node = Node::Uvm;
  else
    return -ENOENT;
  // Those that may be exported can travel to another process, so they are real.
  const int descriptor = node == Node::Control ? memfd_create("fake-file", MFD_CLOEXEC) : nextFile_++;
  files_[descriptor] = File{node};
  files_[descriptor].gpu = second;
  return descriptor;
}

ino_t FakeDriver::inodeOf(int descriptor) {
  struct stat status {};
  return fstat(descriptor, &status) ? 0 : status.st_ino;
}

const FakeDriver::File* FakeDriver::exportedBy(int descriptor) const {
  const auto found = exports_.find(inodeOf(descriptor));
  return found == exports_.end() ? nullptr : &found->second;
}

void FakeDriver::close(int descriptor) {
  const std::lock_guard guard(mutex_);
  uvm_.fileClosed(descriptor);
  for (auto client = clients_.begin(); client != clients_.end();) {
    if (client->second.file != descriptor) {
      ++client;
      continue;
    }
    while (!client->second.objects.empty()) freeTree(client->second, client->second.objects.begin()->first);
    client = clients_.erase(client);
  }
  const auto closed = files_.find(descriptor);
  if (closed == files_.end()) return;
  if (descriptor < kFirstFile) {  // a real one
    exports_.erase(inodeOf(descriptor));
    ::close(descriptor);
  }
  files_.erase(closed);
}

FakeUvm::Page FakeDriver::managedPage(const void* address) const {
  const std::lock_guard guard(mutex_);
  return uvm_.managedPage(reinterpret_cast<uint64_t>(address));
}

bool FakeDriver::present(void* address) { return managedPage(address).place == FakeUvm::kHost; }

int FakeDriver::map(int descriptor, void* address, size_t bytes, uint64_t offset) {
  const std::lock_guard guard(mutex_);
  const auto file = files_.find(descriptor);
  if (file == files_.end()) return -EBADF;
  if (refusesNow()) return -ENOMEM;
  if (file->second.node == Node::Uvm) return uvm_.mapManaged(descriptor, address, bytes, offset);
  if (offset) return -EINVAL;
  const FakeMemoryRef memory = std::move(file->second.mapping);  // a file carries one mapping
  if (!memory || bytes != file->second.mappingBytes) return -ENXIO;
  void* const mapped = mmap(address, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE,
                            memory->file(), static_cast<off_t>(file->second.mappingOffset));
  return mapped == MAP_FAILED ? -errno : 0;
}

int FakeDriver::control(int descriptor, unsigned long command, void* argument) {
  const std::lock_guard guard(mutex_);
  ++calls_;
  const auto file = files_.find(descriptor);
  if (file == files_.end()) return -EBADF;
  const bool ofUvm = file->second.node == Node::Uvm;
  const bool mayFail = (refusal_ & kSystemCall) || ofUvm || statusAt(command);  // a status needs a place
  if (mayFail && !endsSomething(ofUvm, command) && refusesNow()) {
    const int answer = refuseControl(file->second, command, argument);
    if (answer) return std::min(answer, 0);
  }
  if (ofUvm) return uvm_.control(descriptor, command, argument);
  if ((command >> 8 & 0xff) != 'F' || command >> 30 != 3) return -EINVAL;
  return request(file->second, descriptor, command & 0xff, command >> 16 & 0x3fff, argument);
}

int FakeDriver::request(File& file, int descriptor, uint32_t number, size_t bytes, void* argument) {
  const bool onControl = file.node == Node::Control;
  const auto answer = [&]<class T>(T& call, Status (FakeDriver::*run)(int, T&)) {
    if (!onControl || bytes != sizeof(T)) return -EINVAL;
    call.status = (this->*run)(descriptor, call);
    return 0;
  };
  switch (static_cast<rm::Escape>(number)) {
    case rm::Escape::CardInfo:
      return onControl ? cardInfo(argument, bytes) : -EINVAL;
    case rm::Escape::RegisterFd:
      return bytes == 4 && !onControl ? registerFile(file, *static_cast<int32_t*>(argument)) : -EINVAL;
    case rm::Escape::Alloc:
      return answer(*static_cast<rm::AllocCall*>(argument), &FakeDriver::allocate);
    case rm::Escape::MapMemory:
      return answer(*static_cast<rm::MapMemoryCall*>(argument), &FakeDriver::mapMemory);
    case rm::Escape::Control: {
      rm::ControlCall& call = *static_cast<rm::ControlCall*>(argument);
      if (!onControl || bytes != sizeof call) return -EINVAL;
      call.status = runControl(descriptor, call);
      return 0;
    }
    case rm::Escape::Free: {
      rm::FreeCall& call = *static_cast<rm::FreeCall*>(argument);
      if (!onControl || bytes != sizeof call) return -EINVAL;
      call.status = free(descriptor, call);
      return 0;
    }
    case rm::Escape::UnmapMemory: {
      rm::UnmapMemoryCall& call = *static_cast<rm::UnmapMemoryCall*>(argument);
      if (!onControl || bytes != sizeof call) return -EINVAL;
      call.status = unmapMemory(descriptor, call);
      return 0;
    }
    case rm::Escape::AllocMemory: {
      rm::AllocMemoryCall& call = *static_cast<rm::AllocMemoryCall*>(argument);
      if (onControl || bytes != sizeof call) return -EINVAL;
      call.status = allocateMemory(file, call);
      return 0;
    }
    case rm::Escape::ExportDmaBuf: {
      rm::DmaBufCall& call = *static_cast<rm::DmaBufCall*>(argument);
      if (onControl || bytes != sizeof call) return -EINVAL;
      call.status = exportDmaBuf(file, call);
      return 0;
    }
  }
  return -EINVAL;
}

int FakeDriver::cardInfo(void* argument, size_t bytes) {
  if (!bytes || bytes % sizeof(rm::CardInfo)) return -EINVAL;
  auto* const cards = static_cast<rm::CardInfo*>(argument);
  for (uint32_t gpu = 0; gpu < description_.gpus && (gpu + 1) * sizeof *cards <= bytes; ++gpu) {
    cards[gpu] = {};
    cards[gpu].valid = 1;
    cards[gpu].slot = static_cast<uint8_t>(6 + gpu);
    cards[gpu].vendor = 0x10de;
    cards[gpu].device = 0x2330;
    cards[gpu].gpuId = kGpuId + gpu;
    cards[gpu].minor = gpu;
    cards[gpu].barBytes = description_.memory;
  }
  return 0;
}

int FakeDriver::registerFile(File& file, int control) {
  const auto found = files_.find(control);
  if (found == files_.end() || found->second.node != Node::Control) return -EINVAL;
  file.client = control;
  return 0;
}

// A client answers on the file that made it, and on GPU files that belong to that file.
FakeDriver::Client* FakeDriver::clientOf(int descriptor, Handle handle) {
  const auto client = clients_.find(handle);
  if (client == clients_.end()) return nullptr;
  const int file = files_[descriptor].node == Node::Gpu ? files_[descriptor].client : descriptor;
  return client->second.file == file ? &client->second : nullptr;
}

FakeDriver::Object* FakeDriver::objectOf(Client& client, Handle handle) {
  const auto object = client.objects.find(handle);
  return object == client.objects.end() ? nullptr : &object->second;
}

Status FakeDriver::allocate(int descriptor, rm::AllocCall& call) {
  if (const auto fails = failNext_.find(call.objectClass); fails != failNext_.end()) {
    const Status status = fails->second;
    failNext_.erase(fails);
    return status;
  }
  if (call.objectClass == rm::kRootClient) {
    call.object = nextClient_++;
    Client& client = clients_[call.object];
    client.file = descriptor;
    client.objects[call.object].objectClass = rm::kRootClient;
    return kOk;
  }
  Client* const client = clientOf(descriptor, call.client);
  if (!client) return kInvalidClient;
  const Object* const parent = objectOf(*client, call.parent);
  const uint32_t wanted = parentClassOf(classes_, call.objectClass);
  if (!wanted) return kInvalidClass;
  if (!parent || parent->objectClass != wanted) return kInvalidParent;
  if (!call.object || objectOf(*client, call.object)) return kInsertDuplicate;
  Object object;
  object.objectClass = call.objectClass;
  object.parent = call.parent;
  object.gpu = parent->gpu;
  if (const Status status = makeObject(*client, object, call)) return status;
  client->objects[call.object] = std::move(object);
  return kOk;
}

Status FakeDriver::makeObject(Client& client, Object& object, const rm::AllocCall& call) {
  if (call.objectClass == classes_.channel) return makeChannel(client, object, call);
  if (call.objectClass == classes_.usermode) {
    if (!doorbell_) doorbell_ = std::make_shared<FakeMemory>(rm::kUsermodeBytes, nullptr);
    object.memory = doorbell_;
    return kOk;
  }
  switch (call.objectClass) {
    case rm::kDevice:
      object.gpu = parametersOf<rm::DeviceParameters>(call).deviceId;
      return object.gpu < description_.gpus ? kOk : 0x26;
    case rm::kAddressSpace: {
      const auto p = parametersOf<rm::AddressSpaceParameters>(call);
      return p.flags & rm::kExternallyOwned ? kOk : kInvalidFlags;
    }
    case rm::kMemoryLocalUser:
    case rm::kMemorySystem:
      return makeMemory(object, call);
    case rm::kContextShare:
      return objectOf(client, parametersOf<rm::ContextShareParameters>(call).addressSpace) ? kOk : kObjectNotFound;
    default:
      return kOk;
  }
}

Status FakeDriver::makeMemory(Object& object, const rm::AllocCall& call) {
  const auto p = parametersOf<rm::MemoryParameters>(call);
  const bool video = call.objectClass == rm::kMemoryLocalUser;
  if (p.owner != call.client || !p.bytes || p.bytes % 4096 || p.limit != p.bytes - 1) return kInvalidArgument;
  if (video == static_cast<bool>(p.attributes & rm::kLocationSystem)) return kInvalidArgument;
  if (video && used_ + p.bytes > description_.memory) return kNoMemory;
  object.memory = std::make_shared<FakeMemory>(p.bytes, video ? &used_ : nullptr);
  return kOk;
}

Status FakeDriver::makeChannel(Client& client, Object& object, const rm::AllocCall& call) {
  const auto p = channelParametersOf(call, *abi_);
  Object* const userd = objectOf(client, p.userdMemory[0]);
  Object* const notifier = objectOf(client, p.errorNotifier);
  if (p.contextShare && p.addressSpace) return kInvalidArgument;
  if (p.addressSpace) return kInvalidArgument;  // in a group the group has it
  if (!userd || !userd->memory || p.userdOffset[0] % rm::kUserdBytes ||
      p.userdOffset[0] + rm::kUserdBytes > userd->memory->bytes())
    return kInvalidArgument;
  if (!notifier || !notifier->memory) return kObjectNotFound;
  if (!p.ringEntries || p.ringEntries & (p.ringEntries - 1)) return kInvalidArgument;
  if (p.contextShare && !objectOf(client, p.contextShare)) return kObjectNotFound;
  FakeChannel::Setup setup;
  setup.ring = p.ringAddress;
  setup.entries = p.ringEntries;
  setup.userd = userd->memory->start() + p.userdOffset[0];
  setup.notifier = notifier->memory->start();
  setup.engine = static_cast<uint16_t>(p.engineType);
  setup.copyClass = classes_.copy;
  if (p.engineType == rm::kEngineGraphics) setup.computeClass = classes_.compute;
  setup.program = description_.program;
  object.channel =
      std::make_shared<FakeChannel>(setup, [this, gpu = object.gpu](uint64_t address, size_t bytes, bool write) {
        return uvm_.translate(gpu, address, bytes, write);
      });
  channels_.push_back(object.channel);
  return kOk;
}

Status FakeDriver::allocateMemory(const File& file, rm::AllocMemoryCall& call) {
  Client* const client = file.client < 0 ? nullptr : clientOf(file.client, call.client);
  if (!client) return kInvalidClient;
  if (call.objectClass != rm::kMemoryOsDescriptor) return kInvalidClass;
  const Object* const parent = objectOf(*client, call.parent);
  if (!parent || parent->objectClass != rm::kDevice) return kInvalidParent;
  if (!call.object || objectOf(*client, call.object)) return kInsertDuplicate;
  if (call.memory % 4096 || (call.limit + 1) % 4096) return kInvalidAddress;
  // Pages that are not there cannot be pinned.
  std::vector<unsigned char> resident((call.limit + 1) / 4096);
  if (mincore(reinterpret_cast<void*>(call.memory), call.limit + 1, resident.data())) return kInvalidAddress;
  Object& object = client->objects[call.object];
  object.objectClass = call.objectClass;
  object.parent = call.parent;
  object.gpu = parent->gpu;
  object.memory = std::make_shared<FakeMemory>(reinterpret_cast<std::byte*>(call.memory), call.limit + 1);
  return kOk;
}

Status FakeDriver::free(int descriptor, const rm::FreeCall& call) {
  Client* const client = clientOf(descriptor, call.client);
  if (!client) return kInvalidClient;
  const Object* const object = objectOf(*client, call.object);
  if (!object) return kObjectNotFound;
  if (object->parent != call.parent) return kInvalidParent;
  freeTree(*client, call.object);
  return kOk;
}

void FakeDriver::freeTree(Client& client, Handle handle) {
  std::vector<Handle> children;
  for (const auto& [child, object] : client.objects)
    if (object.parent == handle) children.push_back(child);
  for (Handle child : children) freeTree(client, child);
  const auto object = client.objects.find(handle);
  if (object == client.objects.end()) return;
  if (object->second.channel) std::erase(channels_, object->second.channel);
  client.objects.erase(object);
}

Status FakeDriver::mapMemory(int descriptor, rm::MapMemoryCall& call) {
  Client* const client = clientOf(descriptor, call.client);
  if (!client) return kInvalidClient;
  Object* const memory = objectOf(*client, call.memory);
  if (!memory || !isMemory(classes_, memory->objectClass) || !memory->memory) return kInvalidObject;
  const auto file = files_.find(call.descriptor);
  if (file == files_.end() || file->second.mapping) return kInvalidArgument;
  const bool system = memory->objectClass == rm::kMemorySystem;
  if ((file->second.node == Node::Control) != system) return kInvalidArgument;
  if (file->second.node == Node::Gpu && file->second.client != descriptor) return kInvalidArgument;
  if (file->second.node == Node::Gpu && file->second.gpu != memory->gpu) return kInvalidArgument;
  if (call.offset + call.length > memory->memory->bytes()) return kInvalidArgument;
  file->second.mapping = memory->memory;
  file->second.mappingOffset = call.offset;
  file->second.mappingBytes = call.length;
  call.linearAddress = nextMapping_ += 0x1000;
  return kOk;
}

Status FakeDriver::unmapMemory(int descriptor, const rm::UnmapMemoryCall& call) {
  Client* const client = clientOf(descriptor, call.client);
  if (!client) return kInvalidClient;
  return objectOf(*client, call.memory) ? kOk : kObjectNotFound;
}

}  // namespace vg::testing
