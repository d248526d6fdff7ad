#include "core/contexts/context_storage.h"

#include "base/sync/mutex.h"

namespace vg::core {

LocalStorage::~LocalStorage() {
  for (Chunk* chunk = first_.next.load(std::memory_order_relaxed); chunk;) {
    Chunk* const next = chunk->next.load(std::memory_order_relaxed);
    delete chunk;
    chunk = next;
  }
}

LocalStorage::Entry* LocalStorage::find(void* key) {
  for (Chunk* chunk = &first_; chunk; chunk = chunk->next.load(std::memory_order_relaxed))
    for (Entry& entry : chunk->entries)
      if (entry.key.load(std::memory_order_relaxed) == key) return &entry;
  return nullptr;
}

LocalStorage::Entry& LocalStorage::freeEntry() {
  if (Entry* entry = find(nullptr)) return *entry;
  Chunk* last = &first_;
  while (Chunk* next = last->next.load(std::memory_order_relaxed)) last = next;
  Chunk* added = new Chunk;
  last->next.store(added, std::memory_order_release);
  return added->entries[0];
}

void LocalStorage::put(void* key, void* value, Destructor destructor) {
  const MutexLock lock(mutex_);
  Entry* existing = find(key);
  Entry& entry = existing ? *existing : freeEntry();
  entry.destructor = destructor;
  entry.value.store(value, std::memory_order_relaxed);
  entry.key.store(key, std::memory_order_release);
}

bool LocalStorage::remove(void* key) {
  const MutexLock lock(mutex_);
  Entry* entry = find(key);
  if (!entry) return false;
  entry->key.store(nullptr, std::memory_order_release);
  return true;
}

void LocalStorage::clear(CUcontext context) {
  for (Chunk* chunk = &first_; chunk; chunk = chunk->next.load(std::memory_order_acquire))
    for (Entry& entry : chunk->entries) {
      ReleasableLock lock(mutex_);
      void* const key = entry.key.exchange(nullptr);
      void* const value = entry.value.load(std::memory_order_relaxed);
      const Destructor destructor = entry.destructor;
      lock.unlock();
      if (key && destructor) destructor(context, key, value);
    }
}

}  // namespace vg::core
