#include "record/recorded_call.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "record/arguments.h"
#include "record/driver.h"

namespace vg::record {

namespace {

std::string_view symbolOf(const Entry& entry) { return entry.symbol; }

// The name without the suffix of a twin and a version.
std::string_view baseOf(const Entry& entry) {
  std::string_view name = entry.symbol;
  for (const char* suffix : {"_ptsz", "_ptds"})
    if (name.ends_with(suffix)) name.remove_suffix(5);
  if (name.size() > 3 && name[name.size() - 3] == '_' && name[name.size() - 2] == 'v') name.remove_suffix(3);
  return name;
}

bool perThread(const Entry& entry) { return symbolOf(entry).ends_with("_ptsz") || symbolOf(entry).ends_with("_ptds"); }

// Default streams of threads are told apart by the thread.
uint64_t streamKey(uint64_t stream, bool ofThread) {
  constexpr uint64_t kLegacy = 1, kPerThread = 2;
  if (!stream) stream = ofThread ? kPerThread : kLegacy;
  return stream == kPerThread ? kPerThread | (uint64_t{threadNumber()} << 32) : stream;
}

int currentDevice() {
  CUdevice device = 0;
  const auto ask = VG_DRIVER(cuCtxGetDevice);
  return ask && ask(&device) == CUDA_SUCCESS ? device : 0;
}

}  // namespace

namespace {

// What a file holds is recorded, and the call that loads it from memory.
unsigned recordedAs(unsigned entry) {
  const std::string_view name = baseOf(entries()[entry]);
  if (name == "cuModuleLoad") return entryNamed("cuModuleLoadData");
  return name == "cuLibraryLoadFromFile" ? entryNamed("cuLibraryLoadData") : entry;
}

}  // namespace

RecordedCall::RecordedCall(Recorder& recorder, unsigned number, uint64_t* words)
    : recorder_(recorder), entry_(number), what_(entries()[number]), words_(words) {
  const MutexLock lock(recorder_.lock);
  std::memcpy(original_, words, what_.parameters.size() * sizeof *words);
  decide();
  recorder_.introduce(recordedAs(entry_));
  if (what_.launch) recorder_.memory.tellRest();
  for (size_t i = 0; i < what_.parameters.size(); ++i)
    if (what_.parameters[i].role == Role::Handle && what_.parameters[i].kind == Kind::CUcontext)
      recorder_.meetContext(words[i]);
  begin();
}

void RecordedCall::begin() {
  Encoder arguments;
  Arguments written(recorder_, what_, words_, capturing_ ? kAnyStream : stream(), owned_);
  const bool bare = action_ == Action::List || action_ == Action::Missing;
  for (size_t i = 0; bare && i < what_.parameters.size(); ++i) arguments.put(Form::Word).put(words_[i]);
  if (!bare && !written.write(arguments)) {
    if (!recorder_.writer.stopped()) recorder_.tellMissing(what_.symbol, "the driver does not tell its parameters");
    action_ = Action::Missing;
  }
  toHost_ = written.toHost();
  number_ = recorder_.nextNumber();
  Encoder record;
  record.put(Tag::Begin).put(number_).put(threadNumber()).put(static_cast<uint16_t>(recordedAs(entry_))).put(action_);
  record.put(static_cast<uint8_t>(what_.parameters.size()));
  recorder_.writer.append(record.bytes() + arguments.bytes());
}

// What the same entry point means depends on what it is given.
void RecordedCall::decide() {
  action_ = what_.action;
  if (recorder_.captures > 0 && what_.find("hStream") >= 0) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    const auto handle = reinterpret_cast<CUstream>(valueOf("hStream"));
    const auto ask = perThread(what_) ? VG_DRIVER(cuStreamIsCapturing_ptsz) : VG_DRIVER(cuStreamIsCapturing);
    capturing_ = ask && ask(handle, &status) == CUDA_SUCCESS && status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
  }
  if (baseOf(what_).starts_with("cuGraph") && what_.find("copyParams") >= 0) capturing_ = true;
  if (baseOf(what_).starts_with("cuGraph") && what_.find("nodeParams") >= 0) capturing_ = true;
  if (action_ == Action::AllocateDevice && capturing_) action_ = Action::Call;
  if (action_ == Action::FreeDevice) {
    const MemoryRange* const range = recorder_.memory.find(valueOf("dptr"));
    if (capturing_ || !range || range->kind == RangeKind::Bound) action_ = Action::Call;
    if (range && range->kind == RangeKind::Managed) action_ = Action::FreeHost;
  }
  if (action_ == Action::Missing)
    recorder_.tellMissing(what_.symbol,
                          "is passed on, and the recording holds that it was called, but no replay can do it");
}

uint64_t RecordedCall::valueOf(const char* parameter) const {
  const int at = what_.find(parameter);
  return at < 0 ? 0 : original_[at];
}

uint64_t RecordedCall::outOf(const char* parameter) const {
  const int at = what_.find(parameter);
  if (at < 0 || !original_[at]) return 0;
  uint64_t value = 0;
  std::memcpy(&value, reinterpret_cast<const void*>(original_[at]),
              std::min<size_t>(sizeof value, what_.parameters[static_cast<size_t>(at)].pointee));
  return value;
}

uint64_t RecordedCall::stream() const {
  for (const char* name : {"hStream", "stream"})
    if (what_.find(name) >= 0) return streamKey(valueOf(name), perThread(what_));
  if (what_.find("config") < 0) return streamKey(0, perThread(what_));
  const auto* const config = reinterpret_cast<const CUlaunchConfig*>(valueOf("config"));
  return streamKey(config ? reinterpret_cast<uint64_t>(config->hStream) : 0, perThread(what_));
}

void RecordedCall::ended(CUresult result) {
  const MutexLock lock(recorder_.lock);
  if (result == CUDA_SUCCESS) learnMemory();
  writeResults(result);
  if (result == CUDA_SUCCESS) learn();
}

namespace {

// Writes what a call gave out: memory of the program's that a later call may take handles or addresses from.
class Results final {
 public:
  Results(const Entry& entry, const uint64_t* words) : entry_(entry), words_(words) {}

  void write(Encoder& to) {
    const size_t countAt = to.reserve<uint16_t>();
    uint16_t count = 0;
    for (size_t i = 0; i < entry_.parameters.size(); ++i) count += argument(to, i);
    to.fill(countAt, count);
  }

 private:
  bool argument(Encoder& to, size_t at) const {
    const Parameter& parameter = entry_.parameters[at];
    if (!parameter.stars || !words_[at] || (parameter.constant && parameter.stars < 2)) return false;
    if (parameter.type == "CUgraphNodeParams") return node(to, at);
    if (parameter.type == "CUDA_MEM_ALLOC_NODE_PARAMS")
      return bound(to, at, sizeof(CUDA_MEM_ALLOC_NODE_PARAMS), offsetof(CUDA_MEM_ALLOC_NODE_PARAMS, dptr));
    if (parameter.type == "CUkernelNodeAttrValue") return attribute(to, at);
    if (parameter.role != Role::Memory) return false;
    const size_t many = parameter.stars > 1 && parameter.type != "void" ? 1 : count(parameter);
    start(to, at, many * parameter.pointee);
    to.put(static_cast<uint16_t>(parameter.holds ? many : 0));
    for (size_t i = 0; parameter.holds && i < many; ++i)
      if (parameter.stars > 1 && parameter.type != "void")
        behind(to, 0, parameter.kind, read(words_[at]), count(parameter));
      else
        to.put(static_cast<uint32_t>(i * parameter.pointee)).put(parameter.kind).put<uint16_t>(0);
    return true;
  }

  void start(Encoder& to, size_t at, size_t size) const {
    to.put(static_cast<uint16_t>(at)).text(reinterpret_cast<const void*>(words_[at]), size);
  }
  bool bound(Encoder& to, size_t at, size_t size, size_t offset) const {
    start(to, at, size);
    to.put<uint16_t>(1).put(static_cast<uint32_t>(offset)).put(Kind::Address).put<uint16_t>(0);
    return true;
  }
  // What kernels know a node by.
  bool attribute(Encoder& to, size_t at) const {
    const int id = entry_.find("attr");
    if (id < 0 || words_[id] != CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE) return false;
    start(to, at, sizeof(CUlaunchAttributeValue));
    constexpr size_t kAt = offsetof(CUlaunchAttributeValue, deviceUpdatableKernelNode.devNode);
    to.put<uint16_t>(1).put(static_cast<uint32_t>(kAt)).put(Kind::CUgraphDeviceNode).put<uint16_t>(0);
    return true;
  }
  // Graphs of conditional nodes, and the memory of those that allocate.
  bool node(Encoder& to, size_t at) const {
    const auto& node = *reinterpret_cast<const CUgraphNodeParams*>(words_[at]);
    if (node.type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
      return bound(to, at, sizeof node, offsetof(CUgraphNodeParams, alloc.dptr));
    if (node.type != CU_GRAPH_NODE_TYPE_CONDITIONAL || !entry_.parameters[0].stars) return false;
    start(to, at, sizeof node);
    to.put<uint16_t>(1);
    behind(to, offsetof(CUgraphNodeParams, conditional.phGraph_out), Kind::CUgraph,
           reinterpret_cast<uint64_t>(node.conditional.phGraph_out), node.conditional.size);
    return true;
  }
  static void behind(Encoder& to, size_t offset, Kind kind, uint64_t pointer, size_t count) {
    if (!pointer) count = 0;
    to.put(static_cast<uint32_t>(offset)).put(kind).put(static_cast<uint16_t>(count));
    for (size_t i = 0; i < count; ++i) to.put(read(pointer + i * sizeof(uint64_t)));
  }
  static uint64_t read(uint64_t address) {
    uint64_t value;
    std::memcpy(&value, reinterpret_cast<const void*>(address), sizeof value);
    return value;
  }
  size_t count(const Parameter& parameter) const {
    if (parameter.companion < 0) return 1;
    const auto at = static_cast<size_t>(parameter.companion);
    const Parameter& number = entry_.parameters[at];
    uint64_t value = number.stars ? 0 : words_[at];
    if (number.stars && words_[at]) std::memcpy(&value, reinterpret_cast<const void*>(words_[at]), number.pointee);
    const auto sum = static_cast<int64_t>(value) + parameter.surplus;
    return sum < 0 ? 0 : static_cast<size_t>(sum);
  }

  const Entry& entry_;
  const uint64_t* const words_;
};

}  // namespace

void RecordedCall::writeResults(CUresult result) {
  Encoder record;
  record.put(Tag::End).put(threadNumber()).put(static_cast<int32_t>(result));
  if (result == CUDA_SUCCESS && action_ != Action::List && action_ != Action::Missing)
    Results(what_, original_).write(record);
  else
    record.put<uint16_t>(0);
  recorder_.writer.append(record.bytes());
}

// Before the end of the call is written: a replay places memory where the recorded call got it.
void RecordedCall::learnMemory() {
  const auto add = [this](uint64_t address, uint64_t size, RangeKind kind) VG_REQUIRES(recorder_.lock) {
    if (address && size) recorder_.memory.add(threadNumber(), address, size, kind, currentDevice());
  };
  const std::string_view name = baseOf(what_);
  const uint64_t given = outOf("dptr") ? outOf("dptr") : outOf("devPtr");
  if (name == "cuMemAllocPitch") return add(given, outOf("pPitch") * valueOf("Height"), RangeKind::Device);
  if (name == "cuMemAllocManaged") return add(given, valueOf("bytesize"), RangeKind::Managed);
  if (name == "cuMemAllocHost" || name == "cuMemHostAlloc")
    return add(outOf("pp"), valueOf("bytesize"), RangeKind::Pinned);
  if (name == "cuMemHostRegister") return add(valueOf("p"), valueOf("bytesize"), RangeKind::Pinned);
  if (name == "cuMemAddressReserve") return add(outOf("ptr"), valueOf("size"), RangeKind::Reserved);
  if (name.starts_with("cuMemAlloc"))
    return add(given, valueOf("bytesize"), capturing_ ? RangeKind::Bound : RangeKind::Device);
  if (name.starts_with("cuMemFree") && !capturing_)
    return recorder_.memory.remove(valueOf(name == "cuMemFreeHost" ? "p" : "dptr"));
  if (name == "cuMemHostUnregister") return recorder_.memory.remove(valueOf("p"));
  if (name == "cuModuleGetGlobal" || name == "cuLibraryGetGlobal" || name == "cuLibraryGetManaged") {
    unsigned managed = 0;
    size_t size = outOf("bytes");
    CUdeviceptr base = 0;
    if (const auto ask = VG_DRIVER(cuMemGetAddressRange_v2); ask && !size) ask(&base, &size, given);
    if (const auto ask = VG_DRIVER(cuPointerGetAttribute)) ask(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, given);
    return add(given, size, managed ? RangeKind::BoundManaged : RangeKind::Bound);
  }
  if (name == "cuGraphAddMemAllocNode")
    if (const auto* node = reinterpret_cast<const CUDA_MEM_ALLOC_NODE_PARAMS*>(valueOf("nodeParams")))
      add(node->dptr, node->bytesize, RangeKind::Bound);
}

void RecordedCall::learn() {
  const std::string_view name = baseOf(what_);
  if (name.starts_with("cuStreamBeginCapture")) ++recorder_.captures;
  if (name == "cuStreamEndCapture" && recorder_.captures > 0) --recorder_.captures;
  if (name == "cuModuleUnload" || name == "cuLibraryUnload") recorder_.forgetLayouts();
  if (name == "cuLinkComplete") recorder_.keepImage(outOf("cubinOut"));
  for (const char* out : {"pctx", "pCtx", "pContext"})
    if (what_.find(out) >= 0) recorder_.knowContext(outOf(out));
  if (name == "cuEventRecord" || name == "cuEventRecordWithFlags")
    recorder_.copies.record(valueOf("hEvent"), stream(), number_);
  const bool works = what_.launch || name.starts_with("cuMemset") || name.starts_with("cuMemcpy");
  if (works && !capturing_) recorder_.copies.busy(stream(), number_);
  if (!toHost_.empty() && what_.async) recorder_.copies.pending(number_, toHost_, stream());
  if (!toHost_.empty() && !what_.async) {
    recorder_.copies.done(number_, toHost_);
    recorder_.copies.streamDone(stream());
  }
  if (name == "cuStreamDestroy") recorder_.copies.streamDone(stream());
  learnSynchronised();
}

void RecordedCall::learnSynchronised() {
  const std::string_view name = baseOf(what_);
  if (name == "cuStreamSynchronize" || name == "cuStreamQuery") recorder_.copies.streamDone(stream());
  if (name == "cuEventSynchronize" || name == "cuEventQuery") recorder_.copies.eventDone(valueOf("hEvent"));
  if (name == "cuCtxSynchronize" && !recorder_.severalContexts()) recorder_.copies.allDone();
}

}  // namespace vg::record
