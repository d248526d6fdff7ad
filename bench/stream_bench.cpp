// Streams and events: what a call costs, through core as the handlers reach it. An idle stream does small work in
// place; a busy one queues it.
#include <benchmark/benchmark.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "core/contexts/context.h"
#include "core/contexts/primary_context.h"
#include "core/memory/memory.h"
#include "core/process/device.h"
#include "core/process/process.h"
#include "core/streams/event.h"
#include "core/streams/stream.h"
#include "core/work/host_function.h"

namespace vg::core {
namespace {

Context& context() {
  static Context* const current = [] {
    if (initialise(0) != CUDA_SUCCESS) std::abort();
    return &primaryOf(deviceAt(0)).retain().value();
  }();
  return *current;
}

Stream& made(CUstream handle) { return resolveStream(handle, &context().streams()).value(); }
Stream& newStream(unsigned flags = CU_STREAM_DEFAULT) {
  return made(streams::create(context().streams(), flags, 0).value());
}

std::byte* deviceMemory(size_t bytes) {
  return reinterpret_cast<std::byte*>(memory::allocate(context(), bytes).value());
}

copy::Shape linear(std::byte* to, std::byte* from, size_t bytes) {
  return {{to, bytes, bytes}, {from, bytes, bytes}, bytes};
}

// Keeps a stream busy while it lives.
class Busy {
 public:
  explicit Busy(Stream& stream) : stream_(stream) {
    (void)stream.hostCall(
        [](void* raw) {
          while (!static_cast<std::atomic<bool>*>(raw)->load()) std::this_thread::yield();
        },
        &open_);
  }
  ~Busy() {
    open_ = true;
    (void)stream_.synchronize();
  }

 private:
  Stream& stream_;
  std::atomic<bool> open_{false};
};

// What the next two are compared with.
void memcpyAlone(benchmark::State& state) {
  const size_t bytes = state.range(0);
  std::byte *to = deviceMemory(bytes), *from = deviceMemory(bytes);
  for (auto _ : state) {
    std::memcpy(to, from, bytes);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(memcpyAlone)->Arg(64)->Arg(4096);

void copyOnIdleStream(benchmark::State& state, Stream& stream, Completion completion) {
  const size_t bytes = state.range(0);
  const copy::Shape shape = linear(deviceMemory(bytes), deviceMemory(bytes), bytes);
  for (auto _ : state) benchmark::DoNotOptimize(stream.copy(shape, completion));
}
void copyOnLegacyStream(benchmark::State& state) {
  copyOnIdleStream(state, streams::legacy(context().streams()), Completion::Host);
}
void copyAsyncOnStream(benchmark::State& state) { copyOnIdleStream(state, newStream(), Completion::Async); }
BENCHMARK(copyOnLegacyStream)->Arg(64)->Arg(4096);
BENCHMARK(copyAsyncOnStream)->Arg(64)->Arg(4096);

// Submits to a stream that is busy; what is queued runs between the batches, untimed.
void copyAsyncOnBusyStream(benchmark::State& state) {
  constexpr int kBatch = 256;
  Stream& stream = newStream();
  const copy::Shape shape = linear(deviceMemory(64), deviceMemory(64), 64);
  while (state.KeepRunningBatch(kBatch)) {
    state.PauseTiming();
    {
      Busy busy(stream);
      state.ResumeTiming();
      for (int i = 0; i < kBatch; ++i) benchmark::DoNotOptimize(stream.copy(shape, Completion::Async));
      state.PauseTiming();
    }
    state.ResumeTiming();
  }
}
BENCHMARK(copyAsyncOnBusyStream);

void recordEvent(benchmark::State& state) {
  Stream& stream = newStream();
  Event& event = events::find(events::create(context(), static_cast<unsigned>(state.range(0))).value()).value();
  for (auto _ : state) benchmark::DoNotOptimize(event.record(stream));
}
BENCHMARK(recordEvent)->ArgName("flags")->Arg(CU_EVENT_DEFAULT)->Arg(CU_EVENT_DISABLE_TIMING);

void queryEvent(benchmark::State& state) {
  Event& event = events::find(events::create(context(), 0).value()).value();
  (void)event.record(newStream());
  for (auto _ : state) benchmark::DoNotOptimize(event.query());
}
BENCHMARK(queryEvent);

void createAndDestroyEvent(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(events::destroy(events::create(context(), 0).value()));
}
BENCHMARK(createAndDestroyEvent);

void createAndDestroyStream(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(streams::destroy(streams::create(context().streams(), 0, 0).value()));
}
BENCHMARK(createAndDestroyStream);

void queryStream(benchmark::State& state) {
  Stream& stream = newStream();
  for (auto _ : state) benchmark::DoNotOptimize(stream.query());
}
BENCHMARK(queryStream);

void synchronizeIdleContext(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(streams::synchronizeAll(context()));
}
BENCHMARK(synchronizeIdleContext);

// There and back: a service thread takes the function, the caller waits for it.
void hostFunctionAndSynchronize(benchmark::State& state) {
  Stream& stream = newStream();
  for (auto _ : state) {
    (void)stream.give(work::HostCall{{[](void*) {}, nullptr}});
    benchmark::DoNotOptimize(stream.synchronize());
  }
}
BENCHMARK(hostFunctionAndSynchronize)->UseRealTime();

// Two streams hand over through events.
void waitAcrossStreams(benchmark::State& state) {
  Stream &one = newStream(), &two = newStream();
  Event& event = events::find(events::create(context(), CU_EVENT_DISABLE_TIMING).value()).value();
  for (auto _ : state) {
    (void)one.give(work::HostCall{{[](void*) {}, nullptr}});
    (void)event.record(one);
    (void)two.waitFor(event.point());
    (void)two.give(work::HostCall{{[](void*) {}, nullptr}});
    benchmark::DoNotOptimize(two.synchronize());
  }
}
BENCHMARK(waitAcrossStreams)->UseRealTime();

}  // namespace
}  // namespace vg::core

BENCHMARK_MAIN();
