#include "core/work/host_function.h"

#include <memory>
#include <optional>

#include "core/contexts/context.h"
#include "core/work/work_activity.h"

namespace vg::core {

namespace {

// Calls `function()`, and tells of it when it was submitted while somebody recorded.
template <class Function>
void callInStream(const std::optional<activity::Origin>& origin, Function function) {
  const InsideHostFunction inside;
  if (!origin) return function();
  const work_activity::Here here(*origin, activity::WorkKind::HostFunction);
  function();
}

std::optional<activity::Origin> originWhereRecorded(const Stream& stream) {
  if (!activity::recording()) return {};
  return originOf(stream);
}

struct HostFunction {
  Context* context;
  CUhostFn function;
  void* data;
  std::optional<activity::Origin> origin;
  uint64_t checked = 0;

  static void call(void* raw) {
    const std::unique_ptr<HostFunction> self(static_cast<HostFunction*>(raw));
    if (self->context->state() != CUDA_SUCCESS) return;
    if (self->checked) check::order::hostKnows(self->checked);
    callInStream(self->origin, [&] { self->function(self->data); });
  }
};

struct Callback {
  Context* context;
  CUstream stream;
  CUstreamCallback function;
  void* data;
  std::optional<activity::Origin> origin;
  uint64_t checked = 0;

  static void call(void* raw) {
    const std::unique_ptr<Callback> self(static_cast<Callback*>(raw));
    if (self->checked) check::order::hostKnows(self->checked);
    callInStream(self->origin, [&] { self->function(self->stream, self->context->state(), self->data); });
  }
};

template <class Call>
CUresult enqueue(Stream& stream, std::unique_ptr<Call> call) {
  if (check::order::on())
    call->checked = check::order::submitted(checked::lineOf(stream), check::order::Form::Other, 1);
  VG_CHECK(stream.hostCall(Call::call, call.get()));
  (void)call.release();  // the call frees it
  return CUDA_SUCCESS;
}

}  // namespace

CUresult work::perform(Stream& stream, const HostCall& call, Form) {
  return enqueue(stream, std::make_unique<HostFunction>(HostFunction{&stream.context(), call.call.fn,
                                                                     call.call.userData, originWhereRecorded(stream)}));
}

CUresult addCallback(Stream& stream, CUstream handle, CUstreamCallback callback, void* data) {
  VG_CHECK(stream.mustRun("cuStreamAddCallback"));
  return enqueue(stream, std::make_unique<Callback>(
                             Callback{&stream.context(), handle, callback, data, originWhereRecorded(stream)}));
}

}  // namespace vg::core
