// What the fake GPU says of itself, and the controls that change something.
#include <cstring>

#include "gpu/fake_driver.h"

namespace vg::testing {

using namespace backend::nvidia;

namespace {

template <class T>
void put(std::byte* parameters, size_t at, T value) {
  std::memcpy(parameters + at, &value, sizeof value);
}
template <class T>
T get(const std::byte* parameters, size_t at) {
  T value;
  std::memcpy(&value, parameters + at, sizeof value);
  return value;
}

struct Answer {
  uint32_t index, data;
};

uint32_t grAnswer(uint32_t index, uint32_t smVersion) {
  for (const Answer& answer : {Answer{rm::kGrSmVersion, smVersion}, Answer{rm::kGrWarpsPerSm, 64},
                               Answer{rm::kGrGpcs, 8}, Answer{rm::kGrTpcsPerGpc, 9}, Answer{rm::kGrSmsPerTpc, 2}})
    if (answer.index == index) return answer.data;
  return 0;
}

// 132 multiprocessors in 8 GPCs, as of an H100 that was asked; four pairs are alone.
void putSmOrder(std::byte* p, size_t bytes) {
  const size_t stride = (bytes - 24) / 512;
  constexpr int kTpcs[] = {4, 8, 8, 8, 8, 8, 9, 9};
  uint16_t count = 0;
  const auto add = [&](uint16_t gpc, uint16_t tpc) {
    for (int i = 0; i < 2; ++i, ++count) {
      put(p, count * stride + 8, gpc);
      put(p, count * stride + 10, tpc);
    }
  };
  for (uint16_t tpc = 0; tpc < 9; ++tpc)
    for (uint16_t gpc = 0; gpc < 8; ++gpc)
      if (tpc < kTpcs[gpc]) add(gpc, tpc);
  for (const uint16_t alone : {11, 14, 17, 19}) add(alone, 0);
  put(p, bytes - 24, count);
}

// The size that a command's parameters must have; 0: unknown command.
size_t sizeOf(uint32_t command, const Abi& abi) {
  switch (command) {
    case rm::kGetIdInfo:
      return sizeof(rm::IdInfo);
    case rm::kGetClassList:
      return abi.classList;
    case rm::kGetNameString:
      return abi.nameString;
    case rm::kGetGidInfo:
      return sizeof(rm::GidInfo);
    case rm::kGetEngines:
      return abi.engines;
    case rm::kGetTime:
      return sizeof(rm::Time);
    case rm::kGrGetInfo:
      return sizeof(rm::GrInfo);
    case rm::kGetSmOrder:
      return abi.smOrder;
    case rm::kFbGetInfo:
      return abi.fbInfo;
    case rm::kGetArchitecture:
      return sizeof(rm::Architecture);
    case rm::kGetPciInfo:
      return sizeof(rm::PciInfo);
    case rm::kPerfBoost:
      return sizeof(rm::PerfBoost);
    case rm::kGetAllCopyCaps:
      return abi.copyCaps;
    case rm::kScheduleGroup:
      return abi.scheduleGroup;
    case rm::kSetTimeslice:
      return sizeof(rm::Timeslice);
    case rm::kSetPreemption:
      return sizeof(rm::Preemption);
    case rm::kGetSubmitToken:
      return sizeof(rm::SubmitToken);
    case rm::kConfidentialCapabilities:
      return 6;
    case rm::kGetPceMask:
      return sizeof(rm::PceMask);
    case rm::kReadMmuFaults:
      return sizeof(rm::MmuFaults);
    case rm::kReadSmErrorStates:
      return sizeof(rm::SmErrorStates);
    case rm::kGetPeerCapabilities:
      return abi.peerCapabilities;
    case rm::kGetExportInfo:
      return abi.exportInfo;
    case rm::kExportObjects:
      return sizeof(rm::ExportObjects);
    case rm::kImportObject:
      return sizeof(rm::ImportObject);
    default:
      return 0;
  }
}

// The class of object that answers a command, from its upper half.
uint32_t classFor(const FakeClasses& classes, uint32_t command) {
  switch (command >> 16) {
    case 0x0000:
      return rm::kRootClient;
    case 0x0080:
      return rm::kDevice;
    case 0x2080:
      return rm::kSubdevice;
    case 0xa06c:
      return rm::kChannelGroup;
    case 0xc36f:
      return classes.channel;
    default:
      return command >> 16;
  }
}

}  // namespace

Status FakeDriver::runControl(int descriptor, const rm::ControlCall& call) {
  Client* const client = clientOf(descriptor, call.client);
  if (!client) return kInvalidClient;
  Object* const object = objectOf(*client, call.object);
  if (!object) return kObjectNotFound;
  const size_t size = sizeOf(call.command, *abi_);
  if (!size || object->objectClass != classFor(classes_, call.command)) return kInvalidCommand;
  if (call.parameterBytes != size) return kInvalidArgument;
  if (call.command == rm::kScheduleGroup) {
    for (auto& [handle, other] : client->objects)
      if (other.parent == call.object && other.channel) {
        if (!other.channel->registered) return kInvalidState;
        other.channel->scheduled = true;
      }
    return kOk;
  }
  std::byte* const parameters = reinterpret_cast<std::byte*>(call.parameters);
  if (call.command == rm::kSetPreemption)
    return setPreemption(*client, *reinterpret_cast<const rm::Preemption*>(parameters));
  if (call.command == rm::kExportObjects) return exportObjects(*client, parameters);
  if (call.command == rm::kImportObject) return importObject(*client, parameters);
  if (call.command == rm::kGetExportInfo) return exportInfo(parameters);
  return answerControl(*object, call.command, reinterpret_cast<std::byte*>(call.parameters), size);
}

Status FakeDriver::setPreemption(Client& client, const rm::Preemption& asked) {
  Object* const object = objectOf(client, asked.channel);
  if (!object) return kObjectNotFound;
  if (!object->channel || !object->channel->runsGrids() || asked.flags != rm::kSetCompute) return kInvalidArgument;
  object->channel->preemption = asked.compute;
  return kOk;
}

std::vector<uint32_t> FakeDriver::preemptions() const {
  const std::lock_guard<std::mutex> guard(mutex_);
  std::vector<uint32_t> all;
  for (const auto& [number, client] : clients_)
    for (const auto& [handle, object] : client.objects)
      if (object.channel && object.channel->runsGrids()) all.push_back(object.channel->preemption);
  return all;
}

Status FakeDriver::answerControl(Object& object, uint32_t command, std::byte* p, size_t bytes) {
  switch (command) {
    case rm::kGetIdInfo:
      if (get<uint32_t>(p, 0) - 0x600 >= description_.gpus) return kInvalidArgument;
      put(p, 8, get<uint32_t>(p, 0) - 0x600);
      put(p, 12, uint32_t{0});
      return kOk;
    case rm::kGetPeerCapabilities:
      put(p, offsetof(rm::PeerCapabilities, capabilities), description_.linked ? 0x1bu : description_.bus ? 3u : 0u);
      return get<uint32_t>(p, offsetof(rm::PeerCapabilities, count)) == 2 ? kOk : kInvalidArgument;
    case rm::kGetGidInfo:
      if (get<uint32_t>(p, 4) != rm::kGidBinary) return kInvalidFlags;
      put(p, 12, object.gpu ? kSecondUuid : kUuid);
      return kOk;
    case rm::kGetSubmitToken:
      put(p, 0, uint32_t{7});
      return kOk;
    case rm::kConfidentialCapabilities:
      put(p, 3, static_cast<uint8_t>(description_.confidential));
      return kOk;
    case rm::kPerfBoost:
    case rm::kSetTimeslice:
    case rm::kReadMmuFaults:
      return kOk;
    case rm::kReadSmErrorStates: {
      auto& states = *reinterpret_cast<rm::SmErrorStates*>(p);
      if (states.count > rm::SmErrorStates::kMost) return kInvalidArgument;
      const uint32_t at = exception_.multiprocessor - states.first;
      if (exception_.multiprocessor < states.first || at >= states.count) return kOk;
      states.states[at].warp = exception_.warp;
      states.states[at].address = exception_.address;
      states.states[at].counter = exception_.counter;
      return kOk;
    }
    default:
      return answerInfo(command, p, bytes);
  }
}

Status FakeDriver::answerInfo(uint32_t command, std::byte* p, size_t bytes) {
  switch (command) {
    case rm::kGetClassList: {
      const uint32_t classes[] = {0xc561, classes_.usermode, classes_.channel, classes_.compute, classes_.copy};
      put(p, 0, uint32_t{std::size(classes)});
      std::memcpy(p + 4, classes, sizeof classes);
      return kOk;
    }
    case rm::kGetNameString:
      std::memcpy(p + 4, description_.name.c_str(), description_.name.size() + 1);
      return kOk;
    case rm::kGetEngines: {
      const uint32_t engines[] = {rm::kEngineGraphics, 9, 0xa, 0xb, 0xc, 0xd};
      put(p, 0, uint32_t{std::size(engines)});
      std::memcpy(p + 4, engines, sizeof engines);
      return kOk;
    }
    case rm::kGetAllCopyCaps: {
      const uint8_t caps[] = {0xe3, 3, 0xe3, 3, 0xe2, 3, 0xe2, 3, 0xe0, 3};
      std::memcpy(p, caps, sizeof caps);
      return kOk;
    }
    case rm::kGetPceMask:
      put(p, 4, get<uint32_t>(p, 0) == 0xd ? uint32_t{0xff00} : uint32_t{1});
      return kOk;
    case rm::kGetTime:
      put(p, 0, fakeTime());
      return kOk;
    case rm::kGrGetInfo: {
      auto* const entries = reinterpret_cast<rm::InfoEntry*>(get<uint64_t>(p, 8));
      for (uint32_t i = 0; i < get<uint32_t>(p, 0); ++i)
        entries[i].data = grAnswer(entries[i].index, description_.smVersion);
      return kOk;
    }
    case rm::kGetSmOrder:
      putSmOrder(p, bytes);
      return kOk;
    case rm::kFbGetInfo:
      for (uint32_t i = 0; i < get<uint32_t>(p, 0); ++i) {
        const uint32_t index = get<uint32_t>(p, 4 + 8 * i);
        const uint64_t freeBytes = description_.memory - used_;
        const uint64_t answer = index == rm::kFbHeapFree ? freeBytes >> 10 : description_.memory >> 10;
        put(p, 8 + 8 * i, index == rm::kFbBusWidth ? 5120u : static_cast<uint32_t>(answer));
      }
      return kOk;
    case rm::kGetArchitecture:
      put(p, 0, uint32_t{0x180});
      return kOk;
    case rm::kGetPciInfo:
      put(p, 0, description_.pciDevice);
      put(p, 4, uint32_t{0x18be10de});
      return kOk;
    default:
      return kInvalidCommand;
  }
}

}  // namespace vg::testing
