// Values that libraries keep in a context under a key of theirs (the context-local storage of the export tables). The
// CUDA runtime asks once in nearly every call, so get takes no lock.
//
// Invariants: an entry's key is stored last and cleared first; chunks are never freed while the object lives.
#pragma once

#include <cuda.h>

#include <array>
#include <atomic>

#include "base/result.h"
#include "base/sync/mutex.h"

namespace vg::core {

class LocalStorage {
 public:
  using Destructor = void (*)(CUcontext context, void* key, void* value);

  LocalStorage() = default;
  LocalStorage(const LocalStorage&) = delete;
  ~LocalStorage();  // calls no destructor of a value

  // Adds or replaces.
  void put(void* key, void* value, Destructor destructor);
  // False when there is no such key. Does not call the destructor.
  bool remove(void* key);
  bool get(void* key, void** value) const {
    for (const Chunk* chunk = &first_; chunk; chunk = chunk->next.load(std::memory_order_acquire))
      for (const Entry& entry : chunk->entries)
        if (entry.key.load(std::memory_order_acquire) == key) {
          *value = entry.value.load(std::memory_order_relaxed);
          return true;
        }
    return false;
  }
  // Removes everything, calling each destructor with no lock held.
  void clear(CUcontext context);

 private:
  struct Entry {
    std::atomic<void*> key{nullptr};
    std::atomic<void*> value{nullptr};
    Destructor destructor = nullptr;
  };
  struct Chunk {
    std::array<Entry, 16> entries;
    std::atomic<Chunk*> next{nullptr};
  };
  Entry* find(void* key);
  Entry& freeEntry();

  Mutex mutex_;  // one writer
  Chunk first_;
};

}  // namespace vg::core
