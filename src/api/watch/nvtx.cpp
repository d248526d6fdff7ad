// Ranges and marks that a program sets through NVTX become records: libcuda.so.1 is the tool that NVTX loads.
#include "api/watch/nvtx.h"

#include <list>
#include <string>
#include <vector>

#include "activity/recorder.h"
#include "api/watch/trace.h"
#include "base/sync/mutex.h"
#include "base/undying.h"
#include "core/contexts/context.h"
#include "core/process/device.h"
#include "core/streams/stream.h"

namespace vg::api::nvtx {
namespace {

// Domains and registered strings are texts that live as long as the process. Handles are their addresses: NVTX never
// looks behind them.
const std::string* keep(std::string text) {
  static constinit Mutex mutex;
  auto& kept = undying<std::list<std::string>, struct KeptTexts>();
  const MutexLock lock(mutex);
  return &kept.emplace_back(std::move(text));
}

void appendUtf8(std::string& out, uint32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xc0 | c >> 6);
    out += static_cast<char>(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xe0 | c >> 12);
    out += static_cast<char>(0x80 | (c >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (c & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | (c >> 18 & 7));
    out += static_cast<char>(0x80 | (c >> 12 & 0x3f));
    out += static_cast<char>(0x80 | (c >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (c & 0x3f));
  }
}

std::string utf8(const wchar_t* text) {
  std::string out;
  for (; text && *text; ++text) appendUtf8(out, static_cast<uint32_t>(*text));
  return out;
}

std::string_view textOf(const char* text) { return text ? text : ""; }

// How many ranges the thread has pushed and not popped, of all domains together: they are one track.
constinit thread_local int depth [[gnu::tls_model("initial-exec")]] = 0;

struct Message {
  explicit Message(std::string_view text) : view(text) {}
  explicit Message(const wchar_t* text) : own(utf8(text)), view(own) {}
  explicit Message(const Attributes* attributes);
  Message(const Message&) = delete;
  std::string own;
  std::string_view view;
};

Message::Message(const Attributes* attributes) {
  if (!attributes || attributes->size < sizeof(Attributes) || !attributes->message) return;
  if (attributes->messageType == Ascii) view = static_cast<const char*>(attributes->message);
  if (attributes->messageType == Wide) view = own = utf8(static_cast<const wchar_t*>(attributes->message));
  if (attributes->messageType == Registered) view = *static_cast<const std::string*>(attributes->message);
}

activity::Record noteOf(activity::NoteKind kind, const void* domain) {
  activity::Record record;
  record.kind = activity::RecordKind::Note;
  activity::Note& note = record.note;
  note = {};
  note.kind = kind;
  note.thread = activity::threadNumber();
  note.time = traceClock();
  note.domain.set(domain ? std::string_view(*static_cast<const std::string*>(domain)) : std::string_view());
  note.name.set("");
  return record;
}

// `attributes` may be null. Answers the note's number.
uint64_t tell(activity::NoteKind kind, const void* domain, std::string_view name, const Attributes* attributes) {
  if (!activity::recording()) return 0;
  activity::Record record = noteOf(kind, domain);
  record.note.name.set(name);
  record.note.id = kind == activity::NoteKind::Start ? activity::nextNumber() : 0;
  if (attributes && attributes->size >= sizeof(Attributes)) {
    record.note.category = attributes->category;
    record.note.colored = attributes->colorType == 1;
    record.note.color = attributes->color;
    record.note.payloadType = static_cast<uint8_t>(attributes->payloadType);
    record.note.payload = attributes->payload;
  }
  const uint64_t id = record.note.id;
  activity::tell(record);
  return id;
}

using activity::NoteKind;

int tellPush(const void* domain, std::string_view name, const Attributes* attributes) {
  tell(NoteKind::Push, domain, name, attributes);
  return depth++;
}
int pop(const void* domain) {
  if (depth <= 0) return -1;  // there is none: an end without a beginning would end another range
  if (activity::recording()) activity::tell(noteOf(NoteKind::Pop, domain));
  return --depth;
}
void endRange(uint64_t id) {
  if (!activity::recording() || !id) return;
  activity::Record record = noteOf(NoteKind::End, nullptr);
  record.note.id = id;
  activity::tell(record);
}

void markEx(const Attributes* a) { tell(NoteKind::Mark, nullptr, Message(a).view, a); }
void markA(const char* text) { tell(NoteKind::Mark, nullptr, textOf(text), nullptr); }
void markW(const wchar_t* text) { tell(NoteKind::Mark, nullptr, Message(text).view, nullptr); }
uint64_t startEx(const Attributes* a) { return tell(NoteKind::Start, nullptr, Message(a).view, a); }
uint64_t startA(const char* text) { return tell(NoteKind::Start, nullptr, textOf(text), nullptr); }
uint64_t startW(const wchar_t* text) { return tell(NoteKind::Start, nullptr, Message(text).view, nullptr); }
int pushEx(const Attributes* a) { return tellPush(nullptr, Message(a).view, a); }
int pushA(const char* text) { return tellPush(nullptr, textOf(text), nullptr); }
int pushW(const wchar_t* text) { return tellPush(nullptr, Message(text).view, nullptr); }
int popDefault() { return pop(nullptr); }

void domainMark(const void* domain, const Attributes* a) { tell(NoteKind::Mark, domain, Message(a).view, a); }
uint64_t domainStart(const void* domain, const Attributes* a) {
  return tell(NoteKind::Start, domain, Message(a).view, a);
}
void domainEnd(const void*, uint64_t id) { endRange(id); }
int domainPush(const void* domain, const Attributes* a) { return tellPush(domain, Message(a).view, a); }
int domainPop(const void* domain) { return pop(domain); }
const void* keepA(const void*, const char* text) { return keep(std::string(textOf(text))); }
const void* keepW(const void*, const wchar_t* text) { return keep(utf8(text)); }
const void* domainA(const char* name) { return keep(std::string(textOf(name))); }
const void* domainW(const wchar_t* name) { return keep(utf8(name)); }

void tellName(activity::Named what, unsigned device, uint64_t number, std::string_view text) {
  if (!activity::recording()) return;
  activity::Record record;
  record.kind = activity::RecordKind::Name;
  record.name = {what, static_cast<uint16_t>(device), number, {}};
  record.name.name.set(text);
  activity::tell(record);
}
void nameThreadA(uint32_t thread, const char* name) { tellName(activity::Named::Thread, 0, thread, textOf(name)); }
void nameThreadW(uint32_t thread, const wchar_t* name) {
  tellName(activity::Named::Thread, 0, thread, Message(name).view);
}
void nameStreamA(CUstream handle, const char* name) {
  if (!handle || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD) return;
  const Result<core::Stream&> stream = core::resolveStream(handle, nullptr);
  if (!stream.ok()) return;
  const auto device = static_cast<unsigned>(stream->context().device().ordinal());
  tellName(activity::Named::Stream, device, stream->id(), textOf(name));
}

template <class Called>
void put(Function** places, unsigned count, unsigned at, Called called) {
  if (at < count && places[at]) *places[at] = reinterpret_cast<Function>(called);
}

void fillCore(Function** places, unsigned count) {
  put(places, count, MarkEx, markEx);
  put(places, count, MarkA, markA);
  put(places, count, MarkW, markW);
  put(places, count, RangeStartEx, startEx);
  put(places, count, RangeStartA, startA);
  put(places, count, RangeStartW, startW);
  put(places, count, RangeEnd, endRange);
  put(places, count, RangePushEx, pushEx);
  put(places, count, RangePushA, pushA);
  put(places, count, RangePushW, pushW);
  put(places, count, RangePop, popDefault);
  put(places, count, NameOsThreadA, nameThreadA);
  put(places, count, NameOsThreadW, nameThreadW);
}

void fillCore2(Function** places, unsigned count) {
  put(places, count, DomainMarkEx, domainMark);
  put(places, count, DomainRangeStartEx, domainStart);
  put(places, count, DomainRangeEnd, domainEnd);
  put(places, count, DomainRangePushEx, domainPush);
  put(places, count, DomainRangePop, domainPop);
  put(places, count, DomainRegisterStringA, keepA);
  put(places, count, DomainRegisterStringW, keepW);
  put(places, count, DomainCreateA, domainA);
  put(places, count, DomainCreateW, domainW);
}

template <class Fill>
void fillModule(const CallbackTable& table, Module module, Fill fill) {
  Function** places = nullptr;
  unsigned count = 0;
  if (table.functions(module, &places, &count) && places) fill(places, count);
}

}  // namespace
}  // namespace vg::api::nvtx

// Of NVTX, on the thread that uses it first, perhaps before cuInit. 0 leaves the program's NVTX without a tool.
extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    vg::api::nvtx::GetExportTable getExportTable) try {
  using namespace vg::api::nvtx;
  const auto* const table =
      getExportTable ? static_cast<const CallbackTable*>(getExportTable(kTableOfCallbacks)) : nullptr;
  if (!table || table->bytes < sizeof(CallbackTable) || !table->functions) return 0;
  vg::activity::start();
  if (!vg::activity::recording()) return 0;
  fillModule(*table, Core, fillCore);
  fillModule(*table, Core2, fillCore2);
  fillModule(*table, Cuda, [](Function** places, unsigned count) { put(places, count, NameCuStreamA, nameStreamA); });
  fillModule(*table, CudaRuntime,
             [](Function** places, unsigned count) { put(places, count, NameCudaStreamA, nameStreamA); });
  return 1;
} catch (const std::bad_alloc&) {
  return 0;
}
