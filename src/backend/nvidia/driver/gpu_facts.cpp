#include "backend/nvidia/driver/gpu_facts.h"

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <map>
#include <set>

#include "backend/nvidia/driver/generation.h"

namespace vg::backend::nvidia {
namespace {

// A control's parameters by offset, for structures whose size differs between versions.
struct Parameters {
  alignas(8) std::byte bytes[kLargestParameters]{};

  template <class T>
  void put(size_t offset, T value) {
    std::memcpy(bytes + offset, &value, sizeof value);
  }
  template <class T>
  T get(size_t offset) const {
    T value;
    std::memcpy(&value, bytes + offset, sizeof value);
    return value;
  }
};

CUresult ask(Client& client, rm::Handle object, uint32_t command, Parameters& parameters, size_t bytes,
             const char* what) {
  const Status status = client.control(object, command, parameters.bytes, bytes);
  return status ? refused(status, "the GPU's %s", what) : CUDA_SUCCESS;
}

// The newest class of a kind that the GPU has; 0: none.
uint32_t newestOf(const std::vector<uint32_t>& classes, uint32_t Generation::*kind) {
  for (const Generation& generation : kGenerations)
    if (std::find(classes.begin(), classes.end(), generation.*kind) != classes.end()) return generation.*kind;
  return 0;
}

CUresult askClasses(Client& client, rm::Handle device, GpuFacts& facts) {
  Parameters parameters;
  VG_CHECK(ask(client, device, rm::kGetClassList, parameters, client.abi().classList, "list of classes"));
  std::vector<uint32_t>& classes = facts.allClasses;
  classes.resize(std::min<uint32_t>(parameters.get<uint32_t>(0), client.abi().classList / 4 - 1));
  std::memcpy(classes.data(), parameters.bytes + 4, classes.size() * 4);
  facts.classes = {newestOf(classes, &Generation::usermode), newestOf(classes, &Generation::channel),
                   newestOf(classes, &Generation::compute), newestOf(classes, &Generation::copy)};
  return CUDA_SUCCESS;
}

CUresult askName(Client& client, rm::Handle subdevice, GpuFacts& facts) {
  Parameters parameters;
  VG_CHECK(ask(client, subdevice, rm::kGetNameString, parameters, client.abi().nameString, "name"));
  const char* const text = reinterpret_cast<const char*>(parameters.bytes + 4);
  facts.name.assign(text, strnlen(text, 64));
  return CUDA_SUCCESS;
}

// 0x900 is 9.0, but for generations of which the toolkit speaks otherwise: their rows say so.
int capabilityOf(uint32_t smVersion) {
  for (const Generation& generation : kGenerations)
    if (generation.smVersion == smVersion) return generation.computeCapability;
  return static_cast<int>((smVersion >> 8 & 0xf) * 10 + (smVersion & 0xf));
}

// The TPCs of each GPC, by the numbers that grids know both by.
using Gpcs = std::map<uint16_t, std::set<uint16_t>>;

Gpcs gpcsOf(const Parameters& order, size_t bytes, const GpuFacts& facts) {
  constexpr size_t kEntries = 512, kTail = 24, kGpc = 8, kTpc = 10;
  const size_t stride = (bytes - kTail) / kEntries;
  Gpcs gpcs;
  for (size_t i = 0; i < facts.multiprocessors && i < kEntries; ++i)
    gpcs[order.get<uint16_t>(i * stride + kGpc)].insert(order.get<uint16_t>(i * stride + kTpc));
  return gpcs;
}

// Of a TPC in the mask of a grid. Those that run no clusters with others have virtual GPCs of their own, behind the
// rest.
uint16_t maskBit(const GpuFacts& facts, uint32_t gpc, uint32_t tpc) {
  if (gpc < facts.gpcs) return static_cast<uint16_t>(gpc * facts.tpcsPerGpc + tpc);
  return static_cast<uint16_t>(facts.gpcs * facts.tpcsPerGpc + gpc - facts.gpcs);
}

// The smallest parts of a GPU come from one GPC each, as long as that has enough; what is left over comes last.
void divide(const Gpcs& gpcs, GpuFacts& facts) {
  constexpr size_t kTpcsOfPart = 4, kMostBits = 128;
  std::vector<uint16_t> left;
  for (const auto& [gpc, tpcs] : gpcs) {
    facts.together.push_back(static_cast<uint32_t>(tpcs.size()) * facts.multiprocessorsPerTpc);
    const size_t whole = tpcs.size() / kTpcsOfPart * kTpcsOfPart;
    size_t seen = 0;
    for (const uint16_t tpc : tpcs) (seen++ < whole ? facts.tpcs : left).push_back(maskBit(facts, gpc, tpc));
  }
  facts.tpcs.insert(facts.tpcs.end(), left.begin(), left.end());
  const bool all = facts.tpcs.size() * facts.multiprocessorsPerTpc == facts.multiprocessors;
  if (all && std::all_of(facts.tpcs.begin(), facts.tpcs.end(), [](uint16_t bit) { return bit < kMostBits; })) return;
  facts.tpcs.clear();
  facts.together.clear();
}

CUresult askMultiprocessors(Client& client, rm::Handle subdevice, GpuFacts& facts) {
  rm::InfoEntry entries[] = {
      {rm::kGrSmVersion, 0}, {rm::kGrWarpsPerSm, 0}, {rm::kGrGpcs, 0}, {rm::kGrTpcsPerGpc, 0}, {rm::kGrSmsPerTpc, 0}};
  rm::GrInfo info{};
  info.count = std::size(entries);
  info.list = reinterpret_cast<uint64_t>(entries);
  if (const Status status = client.control(subdevice, rm::kGrGetInfo, &info, sizeof info))
    return refused(status, "the GPU's multiprocessors");
  facts.computeCapability = capabilityOf(entries[0].data);
  facts.warpsPerMultiprocessor = entries[1].data;
  facts.gpcs = entries[2].data;
  facts.tpcsPerGpc = entries[3].data;
  facts.multiprocessorsPerTpc = entries[4].data;

  Parameters order;
  const size_t bytes = client.abi().smOrder;
  VG_CHECK(ask(client, subdevice, rm::kGetSmOrder, order, bytes, "order of multiprocessors"));
  facts.multiprocessors = order.get<uint16_t>(bytes - 24);
  divide(gpcsOf(order, bytes, facts), facts);
  return CUDA_SUCCESS;
}

Result<std::vector<uint32_t>> askMemory(Client& client, rm::Handle subdevice, std::initializer_list<uint32_t> which) {
  Parameters parameters;
  parameters.put(0, static_cast<uint32_t>(which.size()));
  size_t at = 4;
  for (uint32_t index : which) {
    parameters.put(at, rm::InfoEntry{index, 0});
    at += sizeof(rm::InfoEntry);
  }
  VG_CHECK(ask(client, subdevice, rm::kFbGetInfo, parameters, client.abi().fbInfo, "memory"));
  std::vector<uint32_t> answers;
  for (size_t i = 0; i < which.size(); ++i) answers.push_back(parameters.get<rm::InfoEntry>(4 + 8 * i).data);
  return answers;
}

CUresult askSizes(Client& client, rm::Handle subdevice, GpuFacts& facts) {
  VG_TRY(const std::vector<uint32_t> answers,
         askMemory(client, subdevice,
                   {rm::kFbUsableRam, rm::kFbBar1Size, rm::kFbBusWidth, rm::kFbL2Size, rm::kFbHeapSize}));
  facts.totalMemory = uint64_t{answers[0]} << 10;
  facts.barBytes = uint64_t{answers[1]} << 10;
  facts.busWidth = answers[2];
  facts.l2Bytes = answers[3];
  facts.heapMemory = uint64_t{answers[4]} << 10;
  rm::Architecture architecture{};
  if (const Status status = client.control(subdevice, rm::kGetArchitecture, &architecture, sizeof architecture))
    return refused(status, "the GPU's architecture");
  facts.architecture = architecture.architecture;
  rm::PciInfo pci{};
  if (const Status status = client.control(subdevice, rm::kGetPciInfo, &pci, sizeof pci))
    return refused(status, "the GPU's numbers on the bus");
  facts.pciDevice = pci.device;
  facts.pciSubsystem = pci.subsystem;
  return CUDA_SUCCESS;
}

bool isCopyEngine(uint32_t type) {
  return (type >= rm::kEngineCopy0 && type <= rm::kEngineCopy9) ||
         (type >= rm::kEngineCopy10 && type <= rm::kEngineCopy19);
}
uint32_t copyIndex(uint32_t type) {
  return type >= rm::kEngineCopy10 ? type - rm::kEngineCopy10 + 10 : type - rm::kEngineCopy0;
}

CUresult askCopyEngines(Client& client, rm::Handle subdevice, GpuFacts& facts) {
  Parameters engines, caps;
  VG_CHECK(ask(client, subdevice, rm::kGetEngines, engines, client.abi().engines, "engines"));
  VG_CHECK(ask(client, subdevice, rm::kGetAllCopyCaps, caps, client.abi().copyCaps, "copy engines"));
  const uint32_t count = std::min<uint32_t>(engines.get<uint32_t>(0), client.abi().engines / 4 - 1);
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t type = engines.get<uint32_t>(4 + 4 * i);
    facts.allEngines.push_back(type);
    if (!isCopyEngine(type)) continue;
    const size_t at = 2 * copyIndex(type);
    rm::PceMask mask{type, 0};
    if (client.control(subdevice, rm::kGetPceMask, &mask, sizeof mask)) mask.mask = 0;
    facts.copyEngines.push_back({type,
                                 {caps.get<uint8_t>(at), caps.get<uint8_t>(at + 1)},
                                 static_cast<uint32_t>(__builtin_popcount(mask.mask))});
  }
  return CUDA_SUCCESS;
}

}  // namespace

Result<CUuuid> askUuid(Client& client, rm::Handle subdevice) {
  CUuuid uuid;
  rm::GidInfo gid{};
  gid.flags = rm::kGidBinary;
  gid.length = sizeof uuid;
  if (const Status status = client.control(subdevice, rm::kGetGidInfo, &gid, sizeof gid))
    return refused(status, "the GPU's UUID");
  std::memcpy(&uuid, gid.data, sizeof uuid);
  return uuid;
}

Result<GpuFacts> askFacts(Client& client, rm::Handle device, rm::Handle subdevice, const CUuuid& uuid) {
  GpuFacts facts;
  facts.uuid = uuid;
  VG_CHECK(askClasses(client, device, facts));
  VG_CHECK(askName(client, subdevice, facts));
  VG_CHECK(askMultiprocessors(client, subdevice, facts));
  VG_CHECK(askSizes(client, subdevice, facts));
  VG_CHECK(askCopyEngines(client, subdevice, facts));
  return facts;
}

Result<uint64_t> askFreeMemory(Client& client, rm::Handle subdevice) {
  VG_TRY(const std::vector<uint32_t> answers, askMemory(client, subdevice, {rm::kFbHeapFree}));
  return uint64_t{answers[0]} << 10;
}

Result<uint64_t> askTime(Client& client, rm::Handle subdevice) {
  rm::Time time{};
  if (const Status status = client.control(subdevice, rm::kGetTime, &time, sizeof time))
    return refused(status, "the GPU's time");
  return time.nanoseconds;
}

}  // namespace vg::backend::nvidia
