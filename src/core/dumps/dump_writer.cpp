#include "core/dumps/dump_writer.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <ctime>
#include <vector>

#include "alloc/heap.h"
#include "base/log.h"
#include "core/contexts/context.h"
#include "core/dumps/dump_file.h"
#include "core/dumps/dump_image.h"
#include "core/dumps/dump_rows.h"
#include "core/memory/memory_heaps.h"
#include "core/process/device.h"
#include "core/process/driver_version.h"

namespace vg::core::dump {
namespace {

using Type = DumpFile::Type;

constexpr uint64_t kNowhere = ~uint64_t{0} << 32;  // a window that no address lies in
constexpr uint64_t kModule = 1, kFunction = 1;     // the only ones of a dump
constexpr uint32_t kLanes = 32;
constexpr uint32_t kMostRegisters = 255, kFewestRegisters = 16, kPredicates = 8;  // of a lane
constexpr uint32_t kUniformRegisters = 63, kConvergenceBarriers = 16;             // of a warp
constexpr size_t kGap = size_t{64} << 10;  // allocations that are closer together share a section

uint32_t exceptionOf(const backend::FaultScene& scene) {
  if (scene.stackOverflow) return kLaneStackOverflow;
  switch (scene.error) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
      return kIllegalAddress;
    case CUDA_ERROR_MISALIGNED_ADDRESS:
      return kMisaligned;
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
      return kIllegalInstruction;
    case CUDA_ERROR_ASSERT:
      return kAssert;
    default:
      return kNoException;
  }
}

struct Range {
  const std::byte* start;
  size_t bytes;
  bool managed;
};

std::vector<Range> memoryOf(const Device& device) {
  std::vector<Range> ranges;
  for (const unsigned window : {static_cast<unsigned>(device.ordinal()), memory::managedWindow()}) {
    alloc::Heap* const heap = memory::heapMadeOf(window);
    if (!heap) continue;
    heap->forEach([&](const alloc::Record& record) {
      ranges.push_back({record.data(), record.bytes(), window == memory::managedWindow()});
    });
  }
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.start < b.start; });
  std::vector<Range> joined;
  for (const Range& range : ranges) {
    Range* const last = joined.empty() ? nullptr : &joined.back();
    if (last && last->managed == range.managed && range.start <= last->start + last->bytes + kGap) {
      last->bytes = static_cast<size_t>(range.start - last->start) + range.bytes;
    } else {
      joined.push_back(range);
    }
  }
  return joined;
}

// What every dump tells.
class Writer {
 public:
  Writer(Context& context, unsigned flags) : context_(context), device_(context.device()), flags_(flags) {}

  CUresult begin(const std::string& path) {
    VG_CHECK(file_.create(path));
    if (!(flags_ & CU_COREDUMP_SKIP_GLOBAL_MEMORY)) writeMemory();
    devices_ = writeDevice();
    return CUDA_SUCCESS;
  }
  CUresult end() {
    writeAbout();
    return file_.finish();
  }
  // Of a dump without a fault.
  void writeNoGrid() {
    writeContext(kNowhere);
    file_.addTable<GridRow>({".cudbg.gridtbl.dev0", Type::Grids, devices_}, {});
    file_.addTable<MultiprocessorRow>({".cudbg.smtbl.dev0", Type::Multiprocessors, devices_}, processors());
  }

 protected:
  int attribute(CUdevice_attribute which) const { return device_.attribute(which); }
  unsigned capability() const {
    return static_cast<unsigned>(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
                                 attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
  }

  std::vector<MultiprocessorRow> processors() const {
    std::vector<MultiprocessorRow> rows(static_cast<size_t>(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)));
    for (size_t i = 0; i < rows.size(); ++i) rows[i].number = static_cast<uint32_t>(i);
    return rows;
  }

  // The number of the table of contexts.
  uint32_t writeContext(uint64_t sharedWindow) {
    ContextRow row{};
    row.context = context_.id();
    row.sharedWindow = sharedWindow;
    row.localWindow = kNowhere;
    row.thread = static_cast<uint32_t>(getpid());
    return file_.addTable<ContextRow>({".cudbg.ctxtbl.dev0", Type::Contexts, devices_}, {row});
  }

  void writeMemory() {
    size_t number = 0;
    for (const Range& range : memoryOf(device_)) {
      if (file_.sections() >= DumpFile::kMostSections) {
        VG_LOG(Warn, "core dump: more pieces of memory than the format can hold: the rest is left out");
        break;
      }
      file_.addMemory(
          {".cudbg.global." + std::to_string(number++), range.managed ? Type::ManagedMemory : Type::GlobalMemory, 0, 0,
           reinterpret_cast<uintptr_t>(range.start)},
          range.start, range.bytes);
    }
  }

  uint32_t writeDevice() {
    DeviceRow row{};
    row.name = file_.text(device_.traits().name);
    row.chip = file_.text("emulated");
    row.instructionSet = file_.text("sm_" + std::to_string(capability()));
    row.pciBus = static_cast<uint32_t>(attribute(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID));
    row.pciDevice = static_cast<uint32_t>(attribute(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID));
    row.multiprocessors = static_cast<uint32_t>(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
    row.warpsPerMultiprocessor =
        static_cast<uint32_t>(attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)) / kLanes;
    row.lanesPerWarp = kLanes;
    row.major = static_cast<uint32_t>(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
    row.minor = static_cast<uint32_t>(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
    row.registersPerLane = kMostRegisters;
    row.predicatesPerLane = row.uniformPredicates = kPredicates;
    row.uniformRegisters = kUniformRegisters;
    row.convergenceBarriers = kConvergenceBarriers;
    row.instructionBytes = kInstructionBytes;
    return file_.addTable<DeviceRow>({".cudbg.devtbl", Type::Devices}, {row});
  }

  void writeAbout() {
    AboutRow row{};
    row.maker = file_.text("Verdigris");
    row.cuda[0] = static_cast<uint32_t>(driverVersion() / 1000);
    row.cuda[1] = static_cast<uint32_t>(driverVersion() % 1000 / 10);
    row.flags = flags_;
    row.seconds = static_cast<uint32_t>(std::time(nullptr));
    file_.add({".cudbg.meta", Type::About}, &row, sizeof row);
  }

  Context& context_;
  const Device& device_;
  const unsigned flags_;
  DumpFile file_;
  uint32_t devices_ = 0;  // the table of devices
};

// What is known of a fault.
class FaultWriter final : public Writer {
 public:
  FaultWriter(Context& context, const backend::FaultScene& scene, unsigned flags)
      : Writer(context, flags), scene_(scene), exception_(exceptionOf(scene)) {
    for (const backend::WarpScene& warp : scene.warps) lastLine_ = std::max(lastLine_, warp.line);
    for (const backend::FunctionScene& function : scene.functions) {
      lastLine_ = std::max(lastLine_, function.lastLine);
      uint32_t words = 0;
      for (const backend::FunctionScene::Register& r : function.registers) words += wordsOf(r);
      registers_ = std::max(registers_, std::min(words, kMostRegisters - 1));
      if (words >= kMostRegisters)
        VG_LOG(Warn, "core dump: %s has %u words of registers, and the format has room for %u of a lane",
               function.name.c_str(), words, kMostRegisters - 1);
    }
  }

  void writeFault() {
    writeModule();
    writeGrid();
    writeBlock();
  }

 private:
  static uint64_t placeOf(uint32_t line) { return kCodeStart + line * kInstructionBytes; }
  bool clustered() const { return scene_.clusterSize[0] * scene_.clusterSize[1] * scene_.clusterSize[2] > 1; }
  // Whether an instruction is to blame; asserts and traps stand where their threads do.
  bool isToBlame(size_t warp) const {
    return warp == 0 && scene_.warps[0].line && exception_ != kNoException && exception_ != kAssert;
  }

  void writeModule() {
    const uint32_t contexts = writeContext(scene_.sharedBytes ? reinterpret_cast<uintptr_t>(scene_.shared) : kNowhere);
    const uint32_t modules =
        file_.addTable<ModuleRow>({".cudbg.modtbl.dev0.ctx0", Type::Modules, contexts}, {{kModule}});
    const std::vector<unsigned char> image =
        imageOf(scene_.kernel, lastLine_ + 1, capability(), scene_.functions, registers_);
    if (!(flags_ & CU_COREDUMP_SKIP_NONRELOCATED_ELF_IMAGES))
      file_.add({".cudbg.elfimg.dev0.ctx0", Type::Image, modules}, image.data(), image.size());
    file_.add({".cudbg.relfimg.dev0.ctx0", Type::RelocatedImage, modules}, image.data(), image.size());
  }

  void writeGrid() {
    GridRow row{};
    row.grid = scene_.grid;
    row.context = context_.id();
    row.function = kFunction;
    row.entry = kCodeStart;
    row.module = kModule;
    row.kind = kApplicationKernel;
    row.origin = kFromHost;
    row.status = kActiveGrid;
    row.registers = registers_;
    std::copy_n(scene_.gridSize, 3, row.gridSize);
    std::copy_n(scene_.blockSize, 3, row.blockSize);
    if (clustered()) std::copy_n(scene_.clusterSize, 3, row.clusterSize);
    row.thread = static_cast<uint32_t>(getpid());
    const uint32_t grids = file_.addTable<GridRow>({".cudbg.gridtbl.dev0", Type::Grids, devices_}, {row});
    file_.add({".cudbg.param.dev0.grid0", Type::Parameters, grids}, scene_.parameters, scene_.parameterBytes);
  }

  void writeBlock() {
    std::vector<MultiprocessorRow> rows = processors();
    const auto here = static_cast<uint32_t>(scene_.multiprocessor % rows.size());
    rows[here].exception = exception_;
    rows[here].placeKnown = !scene_.warps.empty() && isToBlame(0);
    rows[here].place = rows[here].placeKnown ? placeOf(scene_.warps[0].line) : 0;
    const uint32_t table =
        file_.addTable<MultiprocessorRow>({".cudbg.smtbl.dev0", Type::Multiprocessors, devices_}, rows);

    BlockRow block{};
    block.grid = scene_.grid;
    std::copy_n(scene_.blockIndex, 3, block.index);
    for (int i = 0; i < 3 && clustered(); ++i) {
      block.clusterIndex[i] = scene_.blockIndex[i] / scene_.clusterSize[i];
      block.clusterSize[i] = scene_.clusterSize[i];
    }
    const std::string suffix = ".dev0.sm" + std::to_string(here);
    const uint32_t blocks = file_.addTable<BlockRow>({".cudbg.ctatbl" + suffix, Type::Blocks, table, here}, {block});
    if (scene_.sharedBytes && !(flags_ & CU_COREDUMP_SKIP_SHARED_MEMORY))
      file_.addMemory({".cudbg.shared" + suffix + ".cta0", Type::SharedMemory, blocks}, scene_.shared,
                      scene_.sharedBytes);
    writeWarps(suffix + ".cta0", blocks);
  }

  void writeWarps(const std::string& suffix, uint32_t blocks) {
    std::vector<WarpRow> rows;
    for (size_t i = 0; i < scene_.warps.size(); ++i) {
      const backend::WarpScene& warp = scene_.warps[i];
      WarpRow& row = rows.emplace_back();
      row.place = isToBlame(i) ? placeOf(warp.line) : 0;
      row.placeKnown = isToBlame(i);
      row.stopped = i > 0 || exception_ == kNoException;
      row.number = warp.number;
      row.validLanes = warp.validLanes;
      row.activeLanes = row.convergedLanes = warp.lanes;
      row.registers = registers_;
      row.sharedBytes = static_cast<uint32_t>(scene_.sharedBytes);
    }
    const uint32_t warps = file_.addTable<WarpRow>({".cudbg.wptbl" + suffix, Type::Warps, blocks}, rows);
    for (uint32_t i = 0; i < rows.size(); ++i) writeThreads(suffix + ".wp" + std::to_string(i), warps, i);
  }

  void writeThreads(const std::string& suffix, uint32_t warps, uint32_t number) {
    const backend::WarpScene& warp = scene_.warps[number];
    std::vector<ThreadRow> threads;
    for (uint32_t lane = 0; lane < static_cast<uint32_t>(std::bit_width(warp.validLanes)); ++lane) {
      ThreadRow row{};
      const uint32_t linear = warp.number * kLanes + lane, across = linear / scene_.blockSize[0];
      row.place = placeOf(warp.each.empty() ? warp.line : warp.each[lane].line);
      row.offset = row.place - kCodeStart;
      row.lane = lane;
      row.index[0] = linear % scene_.blockSize[0];
      row.index[1] = across % scene_.blockSize[1];
      row.index[2] = across / scene_.blockSize[1];
      row.exception = number == 0 && (warp.lanes >> lane & 1) ? exception_ : 0;
      threads.push_back(row);
    }
    const uint32_t lanes = file_.addTable<ThreadRow>({".cudbg.lntbl" + suffix, Type::Threads, warps, number}, threads);
    writeRegisters(suffix, warps, number, lanes, static_cast<uint32_t>(threads.size()));
  }

  // Where nobody knows them, and what only devices have, is zero: a debugger reads no dump without it.
  void writeRegisters(const std::string& suffix, uint32_t warps, uint32_t warp, uint32_t lanes, uint32_t count) {
    const auto zeros = [&](const std::string& name, Type type, uint32_t table, uint32_t row, size_t words) {
      file_.addTable<uint32_t>({name, type, table, row}, std::vector<uint32_t>(words));
    };
    zeros(".cudbg.uregs" + suffix, Type::UniformRegisters, warps, warp, kUniformRegisters);
    zeros(".cudbg.upred" + suffix, Type::UniformPredicates, warps, warp, kPredicates);
    zeros(".cudbg.cbu_bar" + suffix, Type::ConvergenceBarriers, warps, warp, kConvergenceBarriers);
    for (uint32_t lane = 0; lane < count; ++lane) {
      const std::string own = suffix + ".ln" + std::to_string(lane);
      file_.addTable<uint32_t>({".cudbg.regs" + own, Type::Registers, lanes, lane}, registersOf(warp, lane));
      zeros(".cudbg.pred" + own, Type::Predicates, lanes, lane, kPredicates);
    }
  }

  // As wordsOf() says where they lie.
  std::vector<uint32_t> registersOf(uint32_t warp, uint32_t lane) const {
    std::vector<uint32_t> words;
    const std::vector<backend::LaneScene>& lanes = scene_.warps[warp].each;
    if (!lanes.empty() && lanes[lane].function != backend::LaneScene::kEnded) {
      const std::vector<uint64_t>& values = lanes[lane].values;
      size_t at = 0;
      for (const backend::FunctionScene::Register& r : scene_.functions[lanes[lane].function].registers)
        for (uint32_t word = 0; word < wordsOf(r); ++word) {
          words.push_back(static_cast<uint32_t>(values[at] >> (word % 2 * 32)));
          if (word % 2 || wordsOf(r) == 1) ++at;
        }
    }
    words.resize(registers_);
    return words;
  }

  const backend::FaultScene& scene_;
  const uint32_t exception_;
  uint32_t lastLine_ = 0, registers_ = kFewestRegisters;
};

}  // namespace

CUresult writeFile(Context& context, const backend::FaultScene* scene, const std::string& path, unsigned flags) {
  if (!scene) {
    Writer writer(context, flags);
    VG_CHECK(writer.begin(path));
    writer.writeNoGrid();
    return writer.end();
  }
  FaultWriter writer(context, *scene, flags);
  VG_CHECK(writer.begin(path));
  writer.writeFault();
  return writer.end();
}

}  // namespace vg::core::dump
