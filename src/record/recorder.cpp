#include "record/recorder.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/settings.h"
#include "record/driver.h"

namespace vg::record {

namespace {

constinit std::atomic<bool> stillOurs{true};  // false in a child of fork()

struct HostFunction {
  uint32_t id;
  CUhostFn function;
  CUstreamCallback callback;
  void* userData;
};

void tellFunction(Tag tag, uint32_t id) {
  Recorder* const recorder = Recorder::get();
  if (!recorder) return;
  const MutexLock lock(recorder->lock);
  if (tag == Tag::FunctionEnded) {
    recorder->memory.restChanged();
    recorder->memory.tellRest();
  }
  recorder->writer.append(Encoder().put(tag).put(id).bytes());
}

void CUDA_CB runFunction(void* told) {
  const auto& it = *static_cast<HostFunction*>(told);
  tellFunction(Tag::FunctionBegan, it.id);
  it.function(it.userData);
  tellFunction(Tag::FunctionEnded, it.id);
}

void CUDA_CB runCallback(CUstream stream, CUresult status, void* told) {
  const auto& it = *static_cast<HostFunction*>(told);
  tellFunction(Tag::FunctionBegan, it.id);
  it.callback(stream, status, it.userData);
  tellFunction(Tag::FunctionEnded, it.id);
}

}  // namespace

uint32_t threadNumber() {
  static constinit std::atomic<uint32_t> next{0};
  thread_local const uint32_t number = next.fetch_add(1);
  return number;
}

Recorder* Recorder::make() {
  const char* const path = std::getenv("VERDIGRIS_RECORD");
  if (!path || !*path) return nullptr;
  const char* const limit = std::getenv("VERDIGRIS_RECORD_LIMIT");
  const char* const contents = std::getenv("VERDIGRIS_RECORD_CONTENTS");
  constexpr uint64_t kUsual = uint64_t{1} << 30;
  const uint64_t most = limit ? parseBytes(limit) : 0;
  auto* const made = new Recorder(contents && *contents == '1');
  std::string reason;
  if (!made->writer.open(path, most ? most : kUsual, reason)) {
    std::fprintf(stderr, "verdigris: nothing is recorded: cannot write %s\n", reason.c_str());
    return nullptr;
  }
  pthread_atfork(nullptr, nullptr, [] { stillOurs.store(false); });
  return made;
}

Recorder* Recorder::get() {
  static Recorder* const only = make();
  return only && !only->writer.stopped() && stillOurs.load(std::memory_order_relaxed) ? only : nullptr;
}

void Recorder::introduce(unsigned entry) {
  if (!introduced_.insert(entry).second) return;
  const Entry& what = entries()[entry];
  writer.append(Encoder().put(Tag::Entry).put(static_cast<uint16_t>(entry)).text(what.symbol).text(what.names).bytes());
}

const std::vector<ParameterPlace>* Recorder::layout(uint64_t function) {
  const auto [found, fresh] = layouts_.try_emplace(function);
  if (!fresh) return &found->second;
  const auto ask = VG_DRIVER(cuFuncGetParamInfo);
  const auto askKernel = VG_DRIVER(cuKernelGetParamInfo);
  size_t offset = 0, size = 0;
  const auto place = [&](size_t i) {
    if (ask && ask(reinterpret_cast<CUfunction>(function), i, &offset, &size) == CUDA_SUCCESS) return true;
    return askKernel && askKernel(reinterpret_cast<CUkernel>(function), i, &offset, &size) == CUDA_SUCCESS;
  };
  for (size_t i = 0; place(i); ++i)
    found->second.push_back({static_cast<uint32_t>(offset), static_cast<uint32_t>(size)});
  Encoder record;
  record.put(Tag::Layout).put(function).put(static_cast<uint16_t>(found->second.size()));
  for (const ParameterPlace& parameter : found->second) record.put(parameter.offset).put(parameter.size);
  writer.append(record.bytes());
  const char* name = nullptr;
  const auto askName = VG_DRIVER(cuFuncGetName);
  if (askName && askName(&name, reinterpret_cast<CUfunction>(function)) == CUDA_SUCCESS && name)
    writer.append(Encoder().put(Tag::Kernel).put(function).text(name).bytes());
  return &found->second;
}

// Lives as long as the process: a graph may keep it, and nobody tells when it is gone.
uint32_t Recorder::wrapFunction(uint64_t& function, uint64_t& userData, bool ofStream) {
  auto* const told = new HostFunction{functions_++, nullptr, nullptr, reinterpret_cast<void*>(userData)};
  if (ofStream)
    told->callback = reinterpret_cast<CUstreamCallback>(function);
  else
    told->function = reinterpret_cast<CUhostFn>(function);
  function = ofStream ? reinterpret_cast<uint64_t>(&runCallback) : reinterpret_cast<uint64_t>(&runFunction);
  userData = reinterpret_cast<uint64_t>(told);
  return told->id;
}

void Recorder::tellMissing(const char* symbol, const char* why) {
  if (!missing_.insert(symbol).second) return;
  std::fprintf(stderr, "verdigris record: %s: %s\n", symbol, why);
  writer.append(Encoder().put(Tag::Note).text(std::string(symbol) + ": " + why).bytes());
}

void Recorder::meetContext(uint64_t context) {
  if (!context || !contexts_.insert(context).second) return;
  const auto ask = VG_DRIVER(cuCtxGetDevice_v2);
  CUdevice device = 0;
  if (!ask || ask(&device, reinterpret_cast<CUcontext>(context)) != CUDA_SUCCESS) return;
  const auto entry = static_cast<uint16_t>(entryNamed("cuDevicePrimaryCtxRetain"));
  introduce(entry);
  const std::string out(reinterpret_cast<const char*>(&context), sizeof context);
  Encoder begin, end;
  begin.put(Tag::Begin).put(nextNumber()).put(threadNumber()).put(entry).put(Action::Call).put<uint8_t>(2);
  begin.put(Form::Bytes).text(out).put<uint16_t>(0).put(Form::Word).put<uint64_t>(static_cast<uint64_t>(device));
  end.put(Tag::End).put(threadNumber()).put<int32_t>(0).put<uint16_t>(1).put<uint16_t>(0).text(out);
  end.put<uint16_t>(1).put<uint32_t>(0).put(Kind::CUcontext).put<uint16_t>(0);
  writer.append(begin.bytes());
  writer.append(end.bytes());
}

}  // namespace vg::record
