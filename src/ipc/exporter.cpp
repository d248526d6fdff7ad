#include "ipc/exporter.h"

#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>

#include "base/log.h"
#include "base/sync/mutex.h"
#include "base/system/os.h"
#include "ipc/service.h"

namespace vg::ipc {
namespace {

struct Entry {
  Random secret;
  std::shared_ptr<const Offer> offer;
};
using Table = std::map<std::pair<Subject, uint64_t>, Entry>;

constinit Mutex mutex;
constinit Address ourAddress VG_GUARDED_BY(mutex);
constinit int listener VG_GUARDED_BY(mutex) = -1;
constinit Table* table VG_GUARDED_BY(mutex) = nullptr;  // never destroyed
constinit size_t sweepAt VG_GUARDED_BY(mutex) = 64;     // entries

// Takes as long for any two secrets.
bool equal(const Random& a, const Random& b) {
  unsigned difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned>(a[i] ^ b[i]);
  return difference == 0;
}

// What the bytes of a request name, or null.
std::shared_ptr<const Offer> find(const void* request) {
  Result<Handle> decoded = Handle::decode(request);
  if (!decoded) return nullptr;
  const Handle& handle = *decoded;
  const MutexLock lock(mutex);
  if (handle.exporter != ourAddress) return nullptr;
  const auto entry = table->find({handle.subject, handle.id});
  if (entry == table->end() || !equal(entry->second.secret, handle.secret)) return nullptr;
  return entry->second.offer;
}

void answer(int client) {
  unsigned char request[kHandleBytes + 1];
  if (recv(client, request, sizeof request, MSG_DONTWAIT) != static_cast<ssize_t>(kHandleBytes)) return;
  const std::shared_ptr<const Offer> offer = find(request);
  if (!offer) return (void)sendAnswer(client, {Verdict::Unknown, 0, {}}, -1);
  Result<int> descriptor = offer->descriptor();
  if (!descriptor) {
    const bool gone = descriptor.error() == CUDA_ERROR_INVALID_VALUE;
    return (void)sendAnswer(client, {gone ? Verdict::Unknown : Verdict::Exhausted, 0, {}}, -1);
  }
  sendAnswer(client, {Verdict::Granted, 0, offer->note()}, *descriptor);
  close(*descriptor);
}

class Exports final : public Service {
 public:
  using Service::Service;

 private:
  bool asked(int client) override {
    answer(client);
    return false;
  }
};

void threadMain(void* listening) {
  Exports exports(static_cast<int>(reinterpret_cast<intptr_t>(listening)));
  exports.run();
}

// A child that keeps the socket open would keep the name alive after we are gone.
void lockForFork() VG_ACQUIRES(mutex) { mutex.lock(); }
void unlockInParent() VG_RELEASES(mutex) { mutex.unlock(); }
void closeInChild() VG_RELEASES(mutex) {
  if (listener >= 0) close(listener);
  listener = -1;
  ourAddress = {};
  mutex.unlock();
}

CUresult startLocked() VG_REQUIRES(mutex) {
  if (listener >= 0) return CUDA_SUCCESS;
  if (!table) {
    table = new Table;
    pthread_atfork(lockForFork, unlockInParent, closeInChild);
  }
  Address address;
  VG_CHECK(fillRandom(address.bytes));
  const int made = listenAt(address);
  if (made < 0) return fail(CUDA_ERROR_OUT_OF_MEMORY, "no socket to share with other processes: %s", strerror(errno));
  if (!os::startThread("vg-ipc", threadMain, reinterpret_cast<void*>(static_cast<intptr_t>(made)))) {
    close(made);
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  listener = made;
  ourAddress = address;
  return CUDA_SUCCESS;
}

// Forgets offers whose objects have ended, now and then.
void sweepLocked() VG_REQUIRES(mutex) {
  if (table->size() < sweepAt) return;
  std::erase_if(*table, [](const auto& row) { return !row.second.offer->lives(); });
  sweepAt = table->size() * 2 + 64;
}

}  // namespace

Result<Address> listen() {
  const MutexLock lock(mutex);
  VG_CHECK(startLocked());
  return ourAddress;
}

bool isOurs(const Address& address) {
  const MutexLock lock(mutex);
  return address && address == ourAddress;
}

Result<Handle> publish(Subject subject, uint64_t id, std::shared_ptr<const Offer> offer) {
  const MutexLock lock(mutex);
  VG_CHECK(startLocked());
  sweepLocked();
  Entry& entry = (*table)[{subject, id}];
  if (!entry.offer || !entry.offer->lives()) {
    Random secret;
    if (const CUresult none = fillRandom(secret)) {
      table->erase({subject, id});
      return none;
    }
    entry = {secret, std::move(offer)};
  }
  return Handle{subject, ourAddress, entry.secret, id};
}

}  // namespace vg::ipc
