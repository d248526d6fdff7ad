#include "core/streams/ipc_event.h"

#include <unistd.h>

#include <array>
#include <cstring>
#include <map>

#include "base/sync/mutex.h"
#include "base/undying.h"
#include "core/streams/event.h"
#include "core/streams/event_sharing.h"
#include "ipc/exporter.h"
#include "ipc/importer.h"
#include "ipc/shared_event.h"

namespace vg::core {
namespace ipc_event {
namespace {

class EventOffer final : public ipc::Offer {
 public:
  explicit EventOffer(const std::shared_ptr<ipc::SharedEvent>& shared) : shared_(shared), offset_(shared->offset()) {}

  Result<int> descriptor() const override {
    const auto shared = shared_.lock();
    if (!shared) return fail(CUDA_ERROR_INVALID_VALUE, "the event has been destroyed");
    return shared->duplicate();
  }
  bool lives() const override { return !shared_.expired(); }
  ipc::Note note() const override {
    ipc::Note note{};
    std::memcpy(note.data(), &offset_, sizeof offset_);
    return note;
  }

 private:
  const std::weak_ptr<ipc::SharedEvent> shared_;
  const uint64_t offset_;
};

// Shared events by the handle under which they were opened: a handle opens as long as one of its events is there,
// whatever has become of the exporter.
struct Opened {
  using Key = std::array<char, sizeof(CUipcEventHandle)>;

  Mutex mutex;
  std::map<Key, std::weak_ptr<ipc::SharedEvent>> byHandle VG_GUARDED_BY(mutex);
  size_t sweepAt VG_GUARDED_BY(mutex) = 64;

  std::shared_ptr<ipc::SharedEvent> find(const Key& key) {
    const MutexLock lock(mutex);
    const auto found = byHandle.find(key);
    return found == byHandle.end() ? nullptr : found->second.lock();
  }
  // The one that is there if another thread was faster.
  std::shared_ptr<ipc::SharedEvent> keep(const Key& key, std::shared_ptr<ipc::SharedEvent> shared) {
    const MutexLock lock(mutex);
    if (byHandle.size() >= sweepAt) {
      std::erase_if(byHandle, [](const auto& row) { return row.second.expired(); });
      sweepAt = byHandle.size() * 2 + 64;
    }
    std::weak_ptr<ipc::SharedEvent>& known = byHandle[key];
    if (auto first = known.lock()) return first;
    known = shared;
    return shared;
  }
};
Opened& opened() { return undying<Opened, Opened>(); }

Result<std::shared_ptr<ipc::SharedEvent>> fetch(const CUipcEventHandle& bytes) {
  VG_TRY(const ipc::Handle handle, ipc::Handle::decode(&bytes));
  if (handle.subject != ipc::Subject::Event) return fail(CUDA_ERROR_MAP_FAILED, "the handle is not one of an event");
  if (ipc::isOurs(handle.exporter)) return fail(CUDA_ERROR_INVALID_CONTEXT, "the handle is one of this process");
  Opened::Key key;
  std::memcpy(key.data(), &bytes, sizeof bytes);
  if (auto known = opened().find(key)) return known;
  VG_TRY(const ipc::Grant grant, ipc::request(handle));
  uint64_t offset;
  std::memcpy(&offset, grant.note.data(), sizeof offset);
  Result<std::shared_ptr<ipc::SharedEvent>> shared = ipc::SharedEvent::attach(grant.descriptor, offset);
  ::close(grant.descriptor);
  if (!shared) return shared.error();
  return opened().keep(key, *shared);
}

}  // namespace

Result<CUipcEventHandle> handleOf(Event& event) {
  if (!(event.flags() & CU_EVENT_INTERPROCESS))
    return fail(CUDA_ERROR_INVALID_HANDLE, "an event without CU_EVENT_INTERPROCESS");
  VG_TRY(const std::shared_ptr<EventSharing> sharing, event.share());
  if (sharing->imported()) return fail(CUDA_ERROR_INVALID_HANDLE, "the event is one of another process");
  const std::shared_ptr<ipc::SharedEvent>& shared = sharing->shared();
  VG_TRY(const ipc::Handle handle,
         ipc::publish(ipc::Subject::Event, shared->id(), std::make_shared<const EventOffer>(shared)));
  CUipcEventHandle bytes;
  handle.encode(&bytes);
  return bytes;
}

Result<CUevent> open(Context& context, const CUipcEventHandle& handle) {
  Result<std::shared_ptr<ipc::SharedEvent>> shared = fetch(handle);
  if (!shared) return shared.error() == CUDA_ERROR_INVALID_CONTEXT ? shared.error() : CUDA_ERROR_MAP_FAILED;
  VG_TRY(const CUevent made, events::create(context, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
  VG_TRY(Event & event, events::find(made));
  event.join(std::make_shared<EventSharing>(*shared, true));
  return made;
}

}  // namespace ipc_event
}  // namespace vg::core
