// The exported functions: PTX text in, a kernel blob out.
//
// A compile runs on a thread of its own, with a stack deep enough for LLVM. A fatal error inside LLVM parks that thread
// for ever and fails the request; the process lives on.
#include "ptx/abi/engine.h"

#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/raw_ostream.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/sync/mutex.h"
#include "base/sync/once.h"
#include "ptx/abi/kernel_blob.h"
#include "ptx/facts/coverage.h"
#include "ptx/facts/kept_registers.h"
#include "ptx/llvm/analysis/abreast.h"
#include "ptx/llvm/analysis/lane_turns.h"
#include "ptx/llvm/analysis/late_writers.h"
#include "ptx/llvm/analysis/nan_bits.h"
#include "ptx/llvm/backend.h"
#include "ptx/llvm/emit/emitter.h"
#include "ptx/llvm/emit/processor.h"
#include "ptx/llvm/ir/call_graph.h"
#include "ptx/llvm/object/compile_heap.h"
#include "ptx/llvm/object/object_linker.h"
#include "ptx/llvm/object/target_machines.h"
#include "ptx/text/opcodes.h"
#include "ptx/text/parser.h"

namespace vg::ptx::gen {
namespace {

// Bytes, besides the frame of the function and what it takes at run time.
constexpr uint64_t kRoomOfAllocating = 128 * 1024;
// Good code of more work than this (Emitter::plannedWork) takes longer than a launch should wait.
constexpr uint64_t kWorthWaitingFor = 3000;

struct Request {
  std::vector<std::string> texts;
  std::string entry, cpu, features, dumpDirectory;
  uint32_t function = 0;  // as in CompileRequest
  BlockShape shape = BlockShape::Other;
  bool fullWarps = false;
  bool trustsParameters = true, testsReach = false, testsOwn = false, exactApproximations = false,
       checksAccesses = false, tellsAccesses = false, tellsMeetings = false;
  bool mayBeQuick = false, inBackground = false, onlyTried = false, quickAnyway = false;
  bool counts = false, describes = false, keeps = false;
  uint32_t lanes = 0;
  TextureHints textures{};
};

// One compile, shared by the caller and the compiling thread: the latter may never finish.
struct Job {
  Request request;
  std::vector<uint8_t> blob;
  std::string log;
  PhaseClock clock;
  bool quick = false;
  bool broke = false;  // a fault of LLVM's ended it
  CUresult status = CUDA_ERROR_UNKNOWN;
  Mutex mutex;
  std::condition_variable changed;
  bool done VG_GUARDED_BY(mutex) = false;

  void finish() {
    const MutexLock lock(mutex);
    done = true;
    changed.notify_all();
  }
};

// In the static part of a thread's variables: the C library makes the others by malloc, and ends the process without.
constinit thread_local std::shared_ptr<Job>* presentJob [[gnu::tls_model("initial-exec")]] = nullptr;

// What LLVM has begun cannot be undone: the thread stays where it is.
[[noreturn]] void park(Job& job) {
  presentJob = nullptr;
  job.finish();
  for (;;) pause();
}

Job& jobOrAbort(const char* reason) {
  if (!presentJob) {
    std::fprintf(stderr, "verdigris: code generator: %s\n", reason);
    std::abort();
  }
  return **presentJob;
}

[[noreturn]] void abandon(const char* reason) {
  Job& job = jobOrAbort(reason);
  job.status = CUDA_ERROR_INVALID_PTX;
  job.log += std::string("code generator failed: ") + reason + "\n";
  park(job);
}

// Without a word, which would take memory.
[[noreturn]] void abandonForMemory() {
  Job& job = jobOrAbort("no memory");
  job.status = CUDA_ERROR_OUT_OF_MEMORY;
  park(job);
}

// Of a thread that has met a signal in what it was doing, whose locks and memory nobody knows.
[[noreturn]] void abandonBroken(Job& job) {
  job.status = CUDA_ERROR_NOT_SUPPORTED;
  job.broke = true;
  park(job);
}

void onFatalError(void*, const char* reason, bool) { abandon(reason); }
void onNoMemory(void*, const char*, bool) { abandonForMemory(); }

void installErrorHandlers() {
  static constinit Once once;
  once.call([] {
    llvm::install_fatal_error_handler(onFatalError);
    llvm::install_bad_alloc_error_handler(onNoMemory);
    noMemoryForCompile = abandonForMemory;
  });
}

bool hasFeature(const std::string& features, const char* name) {
  const std::string wanted = std::string("+") + name;
  for (size_t at = 0; at < features.size();) {
    size_t end = features.find(',', at);
    if (end == std::string::npos) end = features.size();
    if (features.compare(at, end - at, wanted) == 0) return true;
    at = end + 1;
  }
  return false;
}

uint32_t rowLanesOf(BlockShape shape) {
  switch (shape) {
    case BlockShape::RowsOf16:
    case BlockShape::PartsOf16:
      return 16;
    case BlockShape::RowsOf8:
    case BlockShape::PartsOf8:
      return 8;
    case BlockShape::PartsOf4:
      return 4;
    default:
      return 0;
  }
}

EmitOptions optionsOf(const Request& request) {
  EmitOptions options;
  options.cpu = request.cpu;
  options.features = request.features;
  const auto has = [&](const char* name) { return hasFeature(request.features, name); };
  options.avx512 = has("avx512f") && has("avx512bw") && has("avx512dq") && has("avx512vl");
  options.avx2 = options.avx512 || has("avx2");
  options.fma = options.avx512 || isArm(options) || has("fma");
  options.f16c = options.avx512 || isArm(options) || has("f16c");
  options.lanes = options.avx512 ? 16 : options.avx2 ? 8 : 4;
  if (request.lanes == 4 || request.lanes == 8 || request.lanes == 16) options.lanes = request.lanes;
  if (options.lanes < 8) options.avx512 = false;  // its masks and gathers start at eight lanes
  const bool isHalf = request.shape == BlockShape::HalfWarp;
  options.loneWarp = isHalf || request.shape == BlockShape::LoneWarp;
  options.mostLanes = isHalf ? kWarpSize / 2 : kWarpSize;
  options.allLanes = request.fullWarps;
  options.fullWarps = request.fullWarps && !isHalf;
  options.rowsOf32 = request.shape == BlockShape::RowsOf32 || (options.loneWarp && options.fullWarps);
  options.line = request.shape == BlockShape::Line || (options.loneWarp && !options.fullWarps);
  options.wholeRows = request.shape == BlockShape::RowsOf16 || request.shape == BlockShape::RowsOf8;
  options.rowLanes = rowLanesOf(request.shape);
  options.trustsParameters = request.trustsParameters && !request.checksAccesses;
  options.checksAccesses = request.checksAccesses;
  options.tellsAccesses = request.checksAccesses && request.tellsAccesses;
  options.tellsMeetings = request.tellsMeetings;
  options.testsReach = request.testsReach && !request.checksAccesses;
  options.testsOwn = request.testsOwn && !request.testsReach && !request.checksAccesses;
  if (request.mayBeQuick) options.leanBeyond = kWorthWaitingFor;
  if (request.quickAnyway) options.leanBeyond = 0;
  options.exactApproximations = request.exactApproximations;
  options.textures = request.textures;
  options.permutesBytes = options.avx512 && has("avx512vbmi");
  return options;
}

// Estimate for CU_FUNC_ATTRIBUTE_NUM_REGS: registers of the entry, as a compiler might pack them.
uint32_t registersOf(const Function& f) {
  uint32_t words = 0;
  for (const Register& r : f.registers) words += r.type == Type::Pred ? 0 : (ptx::bitsOf(r.type) + 31) / 32;
  uint32_t estimate = std::min(255u, std::max(16u, words / 2 + 8));
  if (f.maxRegisters) estimate = std::min(estimate, f.maxRegisters);
  return estimate;
}

Result<Module> parseAll(const Request& request, std::string& log) {
  std::vector<Module> modules;
  for (const std::string& text : request.texts) {
    ParseOptions options;
    options.joinsQuotients = request.exactApproximations;
    Result<Module> module = parse(text, &log, options);
    if (!module.ok()) return module.error();
    modules.push_back(std::move(module).value());
  }
  if (modules.size() == 1) return std::move(modules[0]);
  return link(std::move(modules), &log);
}

Result<Module> read(const Request& request, std::string& log) {
  Result<Module> module = parseAll(request, log);
  if (module.ok() && request.counts) coverage::instrument(*module, coverage::planOf(*module));
  return module;
}

constexpr size_t kLongestDumpName = 100;

std::string dumpPrefixOf(const Request& request, const EmitOptions& options) {
  if (request.dumpDirectory.empty()) return {};
  mkdir(request.dumpDirectory.c_str(), 0777);
  // Mangled names are long, and many begin alike.
  std::string name = request.entry;
  if (name.size() > kLongestDumpName) {
    char end[20];
    std::snprintf(end, sizeof(end), "~%016zx", std::hash<std::string>()(name));
    name = name.substr(0, kLongestDumpName) + end;
  }
  return request.dumpDirectory + "/" + name + (request.function ? ".f" + std::to_string(request.function - 1) : "") +
         (options.rowsOf32   ? ".rows"
          : options.line     ? ".line"
          : options.rowLanes ? (options.wholeRows ? ".rows" : ".parts") + std::to_string(options.rowLanes)
                             : ".other") +
         (!options.loneWarp               ? ""
          : options.mostLanes < kWarpSize ? ".half"
                                          : ".lone") +
         (options.allLanes ? ".full" : ".partial") + (options.trustsParameters ? "" : ".tested") +
         (options.tellsAccesses    ? ".told"
          : options.checksAccesses ? ".checked"
                                   : "") +
         (options.testsReach ? ".reach" : "") + (request.counts ? ".counts" : "") +
         (request.textures[0].kind ? ".textures" : "") + (request.describes ? ".described" : "") +
         (request.keeps ? ".kept" : "") + ".w" + std::to_string(options.lanes);
}

// With few copies of functions where a launch waits, and if that can be.
Program buildSoon(const Module& module, uint32_t entry, uint32_t root, const MeetingRules& rules, bool waits) {
  if (waits) try {
      return buildProgram(module, entry, root, rules, Copies::FewForNow);
    } catch (const Unsupported&) {
    }
  return buildProgram(module, entry, root, rules, Copies::Many);
}

// What LLVM says while it makes code.
struct Told {
  uint64_t frames = 0;  // bytes of all functions, without what they take at run time
  std::string error;

  static void listen(const llvm::DiagnosticInfo* info, void* told) {
    Told& self = *static_cast<Told*>(told);
    if (const auto* const size = llvm::dyn_cast<llvm::DiagnosticInfoStackSize>(info)) {
      self.frames += size->getStackSize();
    } else if (info->getSeverity() == llvm::DS_Error) {
      llvm::raw_string_ostream text(self.error);
      llvm::DiagnosticPrinterRawOStream printer(text);
      info->print(printer);
    }
  }
};

uint32_t entryNamed(const Module& module, const std::string& name) {
  for (uint32_t n = 0; n < module.functions.size(); ++n)
    if (module.functions[n].isEntry && module.functions[n].name == name) return n;
  return kNone;
}

// The function of the request; kNone: there is none with a body.
uint32_t rootOf(const Module& module, const Request& request, uint32_t entry) {
  if (!request.function) return entry;
  const uint32_t root = request.function - 1;
  return root < module.functions.size() && !module.functions[root].isDeclaration ? root : kNone;
}

// Of a warp that is a block by itself: it waits for nobody at barriers to which all its lanes come that are left. They
// stay where lanes come to any one in groups, since those meet at others.
void dropBarriers(Program& program) {
  const auto isBarrier = [&](uint32_t number) { return isBlockBarrier(*program.instructions[number].ast); };
  const auto isPlain = [&](uint32_t number) {
    const Instruction& i = program.instructions[number];
    return i.guard == kNone && i.sources.size() <= 1 && !i.ast->has(Mod::Arrive) && !i.ast->has(Mod::Red) &&
           !i.ast->has(Mod::Cluster);
  };
  for (const Block& block : program.blocks)
    for (const uint32_t number : block.instructions)
      if (isBarrier(number) && (block.component != kNone || block.takesTurns || !isPlain(number))) return;
  for (Block& block : program.blocks)
    std::erase_if(block.instructions, [&](uint32_t number) {
      if (isBarrier(number)) program.instructions[number].block = kNone;  // it stands nowhere
      return isBarrier(number);
    });
}

// The kernel, or the function `root` of it, in the code generator's own form, with all that is found out before code is
// made of it.
Program analyse(const Module& module, uint32_t entry, uint32_t root, const EmitOptions& options, bool waits) {
  const auto analysed = [&](const MeetingRules& rules) {
    Program built = buildSoon(module, entry, root, rules, waits);
    settleNaNs(built);
    analyseShapes(built, options);
    return built;
  };
  Program program = analysed({});
  const Meetings joint = partedMeetings(program), parted = partedBarriers(program);
  Meetings held = joint;
  if (lanesTakeTurns(program) || !held.empty() || !parted.empty()) {
    held.merge(groupMeetings(program));
    // They take turns up to where all meet, which then begins a block.
    program = analysed({true, &held, &joint, &parted});
  }
  const bool isAlone = options.loneWarp && root == entry && !program.callsApart;
  if (isAlone && !options.checksAccesses && !options.tellsMeetings) {
    dropBarriers(program);
  } else {
    keepWarpsAbreast(program);
    waitForLateWriters(program);
  }
  return program;
}

// For kernels that take stack at run time: the sections with sizes of stacks leave out functions that do.
uint32_t stackWithRoom(const Program& program, uint64_t frames) {
  return kWarpSize * program.localStride() + program.localAlignment +
         static_cast<uint32_t>(std::min<uint64_t>(frames + kRoomOfAllocating, UINT32_MAX / 4));
}

// Native code of the kernel, and what is known of it.
KernelBlob makeCode(Job& job, Program& program, const EmitOptions& options, const std::string& prefix) {
  const Request& request = job.request;
  llvm::LLVMContext context;
  Told told;
  context.setDiagnosticHandlerCallBack(&Told::listen, &told);
  llvm::Module code("kernel", context);
  if (request.describes) code.setFramePointer(llvm::FramePointerKind::All);
  Emitter emitter(program, code, options);
  emitter.run();
  job.clock.end(CompilePhase::Emit);
  KernelBlob blob;
  if (request.onlyTried) return blob;
  blob.traits = emitter.traits();
  blob.alignments = emitter.alignmentRules();
  BackendOptions backend{options.cpu, options.features, !options.avx512, request.mayBeQuick, emitter.lean(), false,
                         prefix};
  backend.asWritten = request.describes;
  const auto [object, quick] = compileModule(code, backend, job.clock);
  job.quick = quick || program.sharesForNow;
  if (!told.error.empty()) throw Unsupported{told.error, 0};
  std::string error;
  if (!linkObject(object.data(), object.size(), "vg_kernel", blob, error)) throw Unsupported{error, 0};
  if (blob.traits.allocates) blob.traits.stackPerWarp = stackWithRoom(program, told.frames);
  return blob;
}

void compile(Job& job) {
  const Request& request = job.request;
  Result<Module> parsed = read(request, job.log);
  if (!parsed.ok()) {
    job.status = parsed.error();
    return;
  }
  job.clock.end(CompilePhase::Parse);
  Module& module = *parsed;
  const uint32_t entry = entryNamed(module, request.entry);
  const uint32_t root = entry == kNone ? kNone : rootOf(module, request, entry);
  if (root == kNone) {
    job.log += "no entry named " + request.entry + "\n";
    job.status = CUDA_ERROR_NOT_FOUND;
    return;
  }
  EmitOptions options = optionsOf(request);
  kept::Layout kept;
  if (request.keeps) kept = kept::layoutOf(module, entry);
  if (kept.bytes) {
    kept::instrument(module, kept);
    options.kept = &kept;
  }
  const std::string prefix = dumpPrefixOf(request, options);
  if (!prefix.empty()) std::ofstream(prefix + ".ptx") << request.texts[0];
  Program program = analyse(module, entry, root, options, request.mayBeQuick);
  job.clock.end(CompilePhase::Analyse);
  if (!prefix.empty()) std::ofstream(prefix + ".ir") << describe(program);
  KernelBlob blob = makeCode(job, program, options, prefix);
  job.status = CUDA_SUCCESS;
  if (request.onlyTried) return;
  blob.traits.registers = registersOf(module.functions[root]);
  job.blob = encode(blob);
  job.clock.end(CompilePhase::Link);
}

// Of this thread alone, as Linux has it.
void letOthersGoFirst() { static_cast<void>(setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 19)); }

// Signals are handled on a stack of their own: the thread's may have run out. It is part of the thread's stack all the
// same, so it is given up before what ends the thread runs there.
class SignalStack {
 public:
  SignalStack() {
    stack_t stack{};
    stack.ss_sp = memory_;
    stack.ss_size = sizeof memory_;
    taken_ = !sigaltstack(&stack, &before_);
  }
  ~SignalStack() {
    if (taken_) sigaltstack(&before_, nullptr);
  }
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  alignas(64) std::byte memory_[64 * 1024];
  stack_t before_{};
  bool taken_;
};

void* compileThread(void* argument) {
  const SignalStack signals;
  std::shared_ptr<Job> job = std::move(*static_cast<std::shared_ptr<Job>*>(argument));
  delete static_cast<std::shared_ptr<Job>*>(argument);
  presentJob = &job;
  if (job->request.inBackground) letOthersGoFirst();
  try {
    const LentHeap heap;  // given back before the caller hears of the end: the next compile may have it
    if (!heap) throw std::bad_alloc();
    compile(*job);
  } catch (const Unsupported& gap) {
    job->status = CUDA_ERROR_NOT_SUPPORTED;
    job->log += std::string(job->request.function ? "a function of it: " : "") + "not compiled: " + gap.what;
    if (gap.line) job->log += " (PTX line " + std::to_string(gap.line) + ")";
    job->log += "\n";
  } catch (const std::bad_alloc&) {
    job->status = CUDA_ERROR_OUT_OF_MEMORY;
  } catch (const std::exception& e) {
    job->status = CUDA_ERROR_NOT_SUPPORTED;
    job->log += std::string("code generator: ") + e.what() + "\n";
  }
  job->finish();
  presentJob = nullptr;
  return nullptr;
}

bool startThread(const std::shared_ptr<Job>& job) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, size_t{64} << 20);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  auto argument = std::make_unique<std::shared_ptr<Job>>(job);
  pthread_t thread;
  const int failed = pthread_create(&thread, &attributes, compileThread, argument.get());
  pthread_attr_destroy(&attributes);
  if (!failed) static_cast<void>(argument.release());  // the thread's own now
  return !failed;
}

Request requestOf(const CompileRequest& in) {
  Request request;
  for (size_t n = 0; n < in.textCount; ++n) request.texts.emplace_back(in.texts[n].text, in.texts[n].size);
  request.entry = in.entry ? in.entry : "";
  request.function = in.function;
  request.cpu = in.cpu && *in.cpu ? in.cpu : "x86-64";
  request.features = in.features ? in.features : "";
  request.dumpDirectory = in.dumpDirectory ? in.dumpDirectory : "";
  request.shape = in.shape;
  request.fullWarps = in.fullWarps;
  request.trustsParameters = !(in.flags & kTestsParameters);
  request.testsReach = in.flags & kTestsReach;
  request.testsOwn = in.flags & kTestsOwn;
  request.checksAccesses = in.flags & kChecksAccesses;
  request.tellsAccesses = in.flags & kTellsAccesses;
  request.tellsMeetings = in.flags & kTellsMeetings;
  request.exactApproximations = in.flags & kApproximatesExactly;
  request.mayBeQuick = in.flags & kMayBeQuick;
  request.inBackground = in.flags & kInBackground;
  request.onlyTried = in.flags & kOnlyTried;
  request.quickAnyway = in.flags & kQuickAnyway;
  request.counts = in.flags & kCounts;
  request.describes = in.flags & kDescribes;
  request.keeps = in.flags & kKeepsRegisters && !in.function;
  request.lanes = in.lanesPerVector;
  request.textures = in.textures;
  return request;
}

// The end of a compile on a thread of its own; null: there is none.
std::shared_ptr<Job> run(Request request) {
  auto job = std::make_shared<Job>();
  job->request = std::move(request);
  if (!startThread(job)) return nullptr;
  ReleasableLock lock(job->mutex);
  while (!job->done) lock.wait(job->changed);
  return job;
}

int compileRequest(const CompileRequest& in, CompileResult& out, CompileFacts& facts) {
  installErrorHandlers();
  initialiseBackend();
  std::shared_ptr<Job> job = run(requestOf(in));
  facts.broke = job && job->broke;
  if (facts.broke && !job->request.quickAnyway) {  // other parts of LLVM make quick code
    Request quick = job->request;
    quick.mayBeQuick = quick.quickAnyway = true;
    job = run(std::move(quick));
  }
  if (!job) return CUDA_ERROR_OUT_OF_MEMORY;
  if (job->broke) job->log = "the code generator met a fault of its own\n";
  if (!job->log.empty()) {
    out.log = static_cast<char*>(std::malloc(job->log.size() + 1));
    if (out.log) std::memcpy(out.log, job->log.c_str(), job->log.size() + 1);
  }
  if (job->status != CUDA_SUCCESS || job->request.onlyTried) return job->status;
  out.blob = static_cast<uint8_t*>(std::malloc(job->blob.size()));
  if (!out.blob) return CUDA_ERROR_OUT_OF_MEMORY;
  std::memcpy(out.blob, job->blob.data(), job->blob.size());
  out.blobSize = job->blob.size();
  std::copy(std::begin(job->clock.microseconds), std::end(job->clock.microseconds), out.microseconds);
  std::copy(std::begin(job->clock.work), std::end(job->clock.work), facts.work);
  facts.quick = job->quick && !facts.broke;  // there is no better code to wait for
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace vg::ptx::gen

extern "C" {

__attribute__((visibility("default"))) uint32_t vgPtxEngineVersion() { return vg::ptx::kEngineVersion; }

__attribute__((visibility("default"))) int vgPtxCompileTold(const vg::ptx::CompileRequest* request,
                                                            vg::ptx::CompileResult* result,
                                                            vg::ptx::CompileFacts* facts) {
  if (!result || !facts) return CUDA_ERROR_INVALID_VALUE;
  *result = {};
  *facts = {};
  result->status = CUDA_ERROR_INVALID_VALUE;
  if (!request || !request->texts || !request->textCount) return result->status;
  try {
    result->status = vg::ptx::gen::compileRequest(*request, *result, *facts);
  } catch (const std::bad_alloc&) {
    result->status = CUDA_ERROR_OUT_OF_MEMORY;
  }
  return result->status;
}

__attribute__((visibility("default"))) void vgPtxLend(std::byte* memory, size_t bytes) {
  vg::ptx::gen::lendMemory(memory, bytes);
}

__attribute__((visibility("default"))) int vgPtxCompile(const vg::ptx::CompileRequest* request,
                                                        vg::ptx::CompileResult* result) {
  vg::ptx::CompileFacts facts;
  return vgPtxCompileTold(request, result, &facts);
}

__attribute__((visibility("default"))) void vgPtxAbandon() {
  if (vg::ptx::gen::presentJob) vg::ptx::gen::abandonBroken(**vg::ptx::gen::presentJob);
}

__attribute__((visibility("default"))) void vgPtxRelease(vg::ptx::CompileResult* result) {
  if (!result) return;
  std::free(result->blob);
  std::free(result->log);
  *result = {};
}
}
