// Runs one kernel on the calling thread, block after block, each warp on a fibre of its own: the smallest runner that
// obeys kernel_abi.h. For tests of the interpreter and of compiled code alike: what runs is a Machine. Not thread-safe.
#pragma once

#include <ucontext.h>

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "ptx/abi/kernel_abi.h"
#include "ptx/facts/coverage.h"
#include "ptx/facts/layout.h"
#include "ptx/interpreter/interpreter.h"
#include "ptx/operations/async_operation.h"
#include "ptx/text/parser.h"

namespace vg::ptx::harness {

struct Machine {
  KernelEntry entry = nullptr;
  KernelTraits traits;
  const void* code = nullptr;  // of the interpreter
};

struct Launch {
  uint32_t grid[3] = {1, 1, 1}, block[3] = {32, 1, 1};
  std::vector<std::byte> parameters;
  std::vector<uint64_t> globals;  // addresses, in the order of KernelReferences::globals
  uint32_t dynamicShared = 0;
  bool cluster = false;        // a grid of clusters of one block
  uint64_t* counts = nullptr;  // of a kernel that counts what it runs

  template <class T>
  void add(T value) {  // the next parameter, at its alignment
    parameters.resize((parameters.size() + sizeof(T) - 1) / sizeof(T) * sizeof(T));
    const size_t at = parameters.size();
    parameters.resize(at + sizeof(T));
    std::memcpy(&parameters[at], &value, sizeof(T));
  }
};

struct Outcome {
  bool trapped = false, asserted = false;
  TrapReason reason = TrapReason::Trap;
  uint32_t line = 0;
  std::string printed;
};

class Runner {
 public:
  Runner(const Machine& machine, const Launch& launch) : machine_(machine), launch_(launch), counts_(launch.counts) {}

  Outcome run() {
    const uint32_t threads = launch_.block[0] * launch_.block[1] * launch_.block[2];
    KernelLaunch& l = state_;
    std::vector<std::byte> parameters(launch_.parameters.size() + 256);
    std::byte* aligned =
        reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(parameters.data()) + 255) & ~uintptr_t{255});
    if (!launch_.parameters.empty()) std::memcpy(aligned, launch_.parameters.data(), launch_.parameters.size());
    l.parameters = aligned;
    l.globals = launch_.globals.data();
    for (int k = 0; k < 3; ++k) {
      l.gridSize[k] = launch_.grid[k];
      l.blockSize[k] = launch_.block[k];
      l.clusterSize[k] = 1;
    }
    l.flags = launch_.cluster ? kExplicitCluster : 0;
    l.threadsPerBlock = threads;
    l.warpsPerBlock = (threads + kWarpSize - 1) / kWarpSize;
    l.staticShared = machine_.traits.staticShared;
    l.dynamicShared = launch_.dynamicShared;
    l.dynamicSharedOffset = machine_.traits.dynamicSharedOffset;
    l.workers = 1;
    l.gridId = 1;
    l.calls = &kCalls;
    l.code = machine_.code;
    l.counters = &counts_;
    const uint64_t blocks = uint64_t{launch_.grid[0]} * launch_.grid[1] * launch_.grid[2];
    for (uint64_t b = 0; b < blocks && !outcome_.trapped && !outcome_.asserted; ++b) runBlock(b);
    return outcome_;
  }

 private:
  static constexpr size_t kStack = 512 * 1024;
  struct Fibre {
    ucontext_t context;
    bool done = false;
    int waiting = -1;  // barrier
    uint32_t first = 0, end = 0;
  };
  struct Barrier {
    uint32_t arrived = 0, expected = 0;
    uint64_t generation = 0;
    uint32_t popc = 0, result = 0;
    bool all = true, any = false, lastAll = true, lastAny = false;
    uint32_t lastPopc = 0;
  };

  void runBlock(uint64_t number) {
    std::vector<std::byte> shared(state_.dynamicSharedOffset + state_.dynamicShared + state_.staticShared + 2048);
    BlockState block{};
    block.launch = &state_;
    block.blockIndex[0] = static_cast<uint32_t>(number % launch_.grid[0]);
    block.blockIndex[1] = static_cast<uint32_t>(number / launch_.grid[0] % launch_.grid[1]);
    block.blockIndex[2] = static_cast<uint32_t>(number / launch_.grid[0] / launch_.grid[1]);
    block.shared = reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(shared.data()) + 1023) & ~uintptr_t{1023});
    block.blockNumber = number;
    block.sharedLimit =
        std::max(state_.staticShared, state_.dynamicShared ? state_.dynamicSharedOffset + state_.dynamicShared : 0);
    block.clusterShared = block.shared;
    block.owner = this;
    block_ = &block;
    for (Barrier& b : barriers_) b = {};
    live_ = state_.threadsPerBlock;
    block.blocks = 1;
    const uint32_t step = machine_.traits.waits ? 1 : state_.warpsPerBlock;
    fibres_.clear();
    for (uint32_t w = 0; w < state_.warpsPerBlock; w += step) start(w, std::min(w + step, state_.warpsPerBlock));
    for (bool any = true; any && !outcome_.trapped && !outcome_.asserted;) {
      any = false;
      for (current_ = 0; current_ < fibres_.size(); ++current_) {
        Fibre& f = *fibres_[current_];
        if (f.done) continue;
        any = true;
        swapcontext(&home_, &f.context);
        if (outcome_.trapped || outcome_.asserted) break;
      }
    }
  }

  // Stacks outlive kernels: thousands of small ones run one after another, and fresh memory costs more than they do.
  std::pair<char*, size_t> stackOf(size_t fibre) const {
    thread_local std::vector<std::vector<char>> stacks;
    if (fibre >= stacks.size()) stacks.resize(fibre + 1);
    std::vector<char>& stack = stacks[fibre];
    if (const size_t size = kStack + machine_.traits.stackPerWarp; stack.size() < size) stack.resize(size);
    return {stack.data(), stack.size()};
  }

  void start(uint32_t first, uint32_t end) {
    auto f = std::make_unique<Fibre>();
    f->first = first;
    f->end = end;
    getcontext(&f->context);
    const auto [stack, size] = stackOf(fibres_.size());
    f->context.uc_stack.ss_sp = stack;
    f->context.uc_stack.ss_size = size;
    f->context.uc_link = &home_;
    const uint64_t self = reinterpret_cast<uint64_t>(this);
    makecontext(&f->context, reinterpret_cast<void (*)()>(&Runner::fibreMain), 2, static_cast<uint32_t>(self >> 32),
                static_cast<uint32_t>(self));
    fibres_.push_back(std::move(f));
  }

  static void fibreMain(uint32_t high, uint32_t low) {
    Runner& r = *reinterpret_cast<Runner*>(uint64_t{high} << 32 | low);
    Fibre& f = *r.fibres_[r.current_];
    r.machine_.entry(r.block_, f.first, f.end);
    f.done = true;
    r.live_ -= std::min(f.end * kWarpSize, r.state_.threadsPerBlock) - f.first * kWarpSize;
    for (Barrier& b : r.barriers_) r.complete(b);
  }

  void pause() {
    Fibre& f = *fibres_[current_];
    swapcontext(&f.context, &home_);
  }

  void complete(Barrier& b) {
    if (b.arrived == 0 || b.arrived < (b.expected ? b.expected : live_)) return;
    b.arrived = 0;
    b.lastAll = b.all;
    b.lastAny = b.any;
    b.lastPopc = b.popc;
    b.all = true;
    b.any = false;
    b.popc = 0;
    ++b.generation;
  }

  // A barrier counts whole warps, whatever lanes are named, except for odd counts of threads.
  static uint32_t arriving(BlockState* block, uint32_t warp, uint32_t threads, uint32_t mask) {
    if (threads == 0) return std::min(block->launch->threadsPerBlock - warp * kWarpSize, kWarpSize);
    return threads % kWarpSize ? static_cast<uint32_t>(std::popcount(mask)) : kWarpSize;
  }

  void arrive(uint32_t id, uint32_t threads, uint32_t count) {
    Barrier& b = barriers_[id];
    b.arrived += count;
    b.expected = threads;
    complete(b);
  }

  static Runner& of(BlockState* block) { return *static_cast<Runner*>(block->owner); }
  static void barrier(BlockState* block, uint32_t warp, uint32_t id, uint32_t threads, uint32_t mask) {
    Runner& r = of(block);
    const uint64_t generation = r.barriers_[id].generation;
    r.arrive(id, threads, arriving(block, warp, threads, mask));
    while (r.barriers_[id].generation == generation) r.pause();
  }
  static void barrierArrive(BlockState* block, uint32_t warp, uint32_t id, uint32_t threads, uint32_t mask) {
    of(block).arrive(id, threads, arriving(block, warp, threads, mask));
  }
  static uint32_t barrierReduce(BlockState* block, uint32_t warp, uint32_t id, uint32_t threads, uint32_t mask,
                                BarrierReduction operation, uint32_t predicates) {
    Barrier& b = of(block).barriers_[id];
    b.popc += static_cast<uint32_t>(std::popcount(predicates & mask));
    b.all &= (predicates & mask) == mask;
    b.any |= (predicates & mask) != 0;
    barrier(block, warp, id, threads, mask);
    return operation == BarrierReduction::Popc  ? b.lastPopc
           : operation == BarrierReduction::And ? b.lastAll
                                                : b.lastAny;
  }
  static void yield(BlockState* block, uint32_t) { of(block).pause(); }
  static void nanosleep(BlockState* block, uint32_t, uint32_t) { of(block).pause(); }
  static void print(BlockState* block, uint32_t, uint32_t mask, const uint64_t* formats, const uint64_t* arguments,
                    int32_t* results) {
    for (uint32_t lane = 0; lane < kWarpSize; ++lane)
      if (mask >> lane & 1)
        results[lane] = of(block).format(reinterpret_cast<const char*>(formats[lane]),
                                         reinterpret_cast<const char*>(arguments[lane]));
  }
  static void assertFail(BlockState* block, uint32_t, uint32_t mask, const uint64_t* messages, const uint64_t*,
                         const uint32_t* lines, const uint64_t*) {
    Runner& r = of(block);
    const uint32_t lane = static_cast<uint32_t>(std::countr_zero(mask));
    r.outcome_.asserted = true;
    r.outcome_.line = lines[lane];
    r.outcome_.printed += reinterpret_cast<const char*>(messages[lane]);
    r.pause();
    std::abort();
  }
  static void trap(BlockState* block, uint32_t, uint32_t, TrapReason reason, uint32_t line) {
    Runner& r = of(block);
    r.outcome_.trapped = true;
    r.outcome_.reason = reason;
    r.outcome_.line = line;
    r.pause();
    std::abort();
  }
  static void allocate(BlockState*, uint32_t, uint32_t mask, const uint64_t* sizes, uint64_t* results) {
    for (uint32_t lane = 0; lane < kWarpSize; ++lane)
      if (mask >> lane & 1) results[lane] = reinterpret_cast<uint64_t>(std::malloc(sizes[lane]));
  }
  static void release(BlockState*, uint32_t, uint32_t mask, const uint64_t* addresses) {
    for (uint32_t lane = 0; lane < kWarpSize; ++lane)
      if (mask >> lane & 1) std::free(reinterpret_cast<void*>(addresses[lane]));
  }
  // Clusters of one block: the last barrier of all warps.
  static void clusterArrive(BlockState*, uint32_t) {}
  static void clusterWait(BlockState* block, uint32_t warp) { barrier(block, warp, 15, 0, ~0u); }
  static void asynchronous(BlockState* block, uint32_t warp, uint32_t mask, uint64_t form, uint32_t line,
                           uint64_t* lanes) {
    performAsync(block, warp, mask, asyncFormOf(form), line, lanes);
  }
  static uint64_t clock(BlockState* block) { return of(block).clock_ += 10; }
  static uint64_t globalTimer(BlockState* block) { return of(block).clock_ += 10; }

  int32_t format(const char* text, const char* arguments) {
    int32_t count = 0;
    size_t at = 0;
    const auto next = [&](size_t size, void* value) {
      at = (at + size - 1) / size * size;
      std::memcpy(value, arguments + at, size);
      at += size;
      ++count;
    };
    for (; *text; ++text) {
      if (*text != '%' || text[1] == '%') {
        outcome_.printed += *text;
        text += *text == '%';
        continue;
      }
      std::string spec = "%";
      bool wide = false;
      for (++text; *text && std::strchr("0123456789.-+ #hlz", *text); ++text) {
        wide |= *text == 'l';
        spec += *text;
      }
      spec += *text;
      char out[256];
      if (std::strchr("feEgG", *text)) {
        double v;
        next(8, &v);
        std::snprintf(out, sizeof out, spec.c_str(), v);
      } else if (wide || *text == 's' || *text == 'p') {
        uint64_t v;
        next(8, &v);
        std::snprintf(out, sizeof out, spec.c_str(), v);
      } else {
        uint32_t v;
        next(4, &v);
        std::snprintf(out, sizeof out, spec.c_str(), v);
      }
      outcome_.printed += out;
    }
    return count;
  }

  static void pauseWarp(BlockState* block, uint32_t) { of(block).pause(); }

  static constexpr RuntimeCalls kCalls = {barrier, barrierArrive, barrierReduce, yield,         nanosleep,
                                          print,   assertFail,    trap,          allocate,      release,
                                          clock,   globalTimer,   nullptr,       clusterArrive, clusterWait,
                                          nullptr, asynchronous,  nullptr,       nullptr,       pauseWarp};

  const Machine& machine_;
  const Launch& launch_;
  uint64_t* counts_;
  KernelLaunch state_{};
  Outcome outcome_;
  BlockState* block_ = nullptr;
  ucontext_t home_;
  std::vector<std::unique_ptr<Fibre>> fibres_;
  size_t current_ = 0;
  Barrier barriers_[16];
  uint32_t live_ = 0;
  uint64_t clock_ = 0;
};

inline Outcome runKernel(const Machine& machine, const Launch& launch) { return Runner(machine, launch).run(); }

// A module with storage for its variables, and its entries as machines of the interpreter.
class Interpreted {
 public:
  explicit Interpreted(const std::string& text) {
    auto parsed = parse(text, &log);
    if (!parsed.ok()) return;
    module = std::make_unique<Module>(std::move(parsed).value());
    for (const Variable& v : module->variables) {
      std::vector<uint64_t>& bytes = storage_.emplace_back(v.size / 8 + 2);
      if (!v.initial.empty()) std::memcpy(bytes.data(), v.initial.data(), v.initial.size());
    }
    for (size_t k = 0; k < module->variables.size(); ++k)
      for (const Variable::Reference& r : module->variables[k].references) {
        const uint64_t target = r.kind == SymbolKind::Function ? functionAddress(r.symbol) : addressOf(r.symbol);
        const uint64_t value = (target + static_cast<uint64_t>(r.addend)) >> r.shift;
        std::memcpy(reinterpret_cast<char*>(storage_[k].data()) + r.offset, &value, r.width);
      }
  }
  bool ok() const { return module != nullptr; }
  uint64_t addressOf(uint32_t variable) { return reinterpret_cast<uint64_t>(storage_[variable].data()); }

  // The addresses of the variables that the entry names, as a launch wants them.
  std::vector<uint64_t> globalsOf(const std::string& entry) {
    std::vector<uint64_t> addresses;
    for (uint32_t k = 0; k < module->functions.size(); ++k)
      if (module->functions[k].name == entry)
        for (uint32_t g : references(*module, k).globals) addresses.push_back(addressOf(g));
    return addresses;
  }

  Outcome run(const std::string& entry, Launch launch) {
    for (uint32_t k = 0; k < module->functions.size(); ++k) {
      if (module->functions[k].name != entry) continue;
      auto program = prepare(*module, k);
      if (!program.ok()) break;
      gaps = program.value()->gaps();
      launch.globals = globalsOf(entry);
      return runKernel({interpretWarps, program.value()->traits(), program.value()->code()}, launch);
    }
    Outcome missing;
    missing.trapped = true;
    return missing;
  }

  std::unique_ptr<Module> module;
  std::string log, gaps;

 private:
  std::vector<std::vector<uint64_t>> storage_;
};

}  // namespace vg::ptx::harness
