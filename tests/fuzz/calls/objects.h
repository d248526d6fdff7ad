// The objects that the operations of a sequence share. Each lies in a slot, whose number is its name in the transcript.
#pragma once

#include <cstddef>
#include <string>

#include "transcript.h"

namespace calls {

// An object drawn from slots: "event2", or none.
template <class T>
struct Named {
  T object{};
  std::string name = "none";
  int slot = -1;

  explicit operator bool() const { return slot >= 0; }
};

template <class T>
T given(const char* name, const Named<T>& drawn) {
  describe(name, drawn.name);
  return drawn.object;
}

template <class T, int kCount>
class Slots {
 public:
  explicit Slots(const char* name) : name_(name) {}

  Named<T> any() const {  // one that lives, or none
    const int first = belowInt(kCount);
    for (int i = 0; i < kCount; ++i)
      if (live_[(first + i) % kCount]) return at((first + i) % kCount);
    return {};
  }
  int unused() const {  // a slot, -1 when the one drawn is taken
    const int slot = belowInt(kCount);
    return live_[slot] ? -1 : slot;
  }
  void put(int slot, T object) {
    if (!object) return;
    objects_[slot] = object;
    live_[slot] = true;
    output("as", name_ + std::to_string(slot));
  }
  void remove(const Named<T>& object) { live_[object.slot] = false; }
  bool lives(int slot) const { return live_[slot]; }
  bool none() const {
    for (bool is : live_)
      if (is) return false;
    return true;
  }
  std::string nameOf(T object) const {
    if (!object) return "none";
    for (int i = 0; i < kCount; ++i)
      if (live_[i] && objects_[i] == object) return name_ + std::to_string(i);
    return "another";
  }
  template <class Visit>
  void forEach(const Visit& visit) const {
    for (int i = 0; i < kCount; ++i)
      if (live_[i]) visit(objects_[i]);
  }
  template <class Release>
  void releaseAll(const Release& release) {
    forEach(release);
    forgetAll();
  }
  template <class Matches>
  void removeIf(const Matches& matches) {  // by slot
    for (int i = 0; i < kCount; ++i)
      if (matches(i)) live_[i] = false;
  }
  void forgetAll() {
    for (bool& is : live_) is = false;
  }

 private:
  Named<T> at(int slot) const { return {objects_[slot], name_ + std::to_string(slot), slot}; }

  std::string name_;
  T objects_[kCount]{};
  bool live_[kCount]{};
};

extern Slots<CUstream, 4> streams;
extern Slots<CUevent, 4> events;
extern Slots<CUarray, 4> arrays;
extern Slots<CUmipmappedArray, 2> mipmappedArrays;
extern Slots<CUtexObject, 3> textures;
extern Slots<CUsurfObject, 3> surfaces;
extern Slots<CUcontext, 3> contexts;
extern Slots<CUmemoryPool, 3> pools;
extern CUcontext primary;
extern bool capturing;  // some stream does

Named<CUstream> anyStream();  // created, legacy or per-thread
std::string contextName(CUcontext context);

// --- memory

enum class Kind { Device, Pitched, Managed, Host, Registered, Ordered, Pageable };

struct Memory {
  Kind kind;
  bool live;
  CUdeviceptr address;
  size_t bytes;
  unsigned flags;
};
constexpr int kMemorySlots = 9, kPageableSlot = 8;
extern Memory memories[kMemorySlots];
std::string memoryName(int slot);

constexpr size_t kPageableBytes = 1 << 20;
void usePageable(void* memory);  // which may be overrun a little in both directions

struct Pointer {
  CUdeviceptr address;
  size_t room;  // to the end of its memory
  int slot;     // -1: null
  std::string name;

  bool null() const { return slot < 0; }
  bool pageable() const { return slot == kPageableSlot; }
  bool is(Kind kind) const { return !null() && memories[slot].kind == kind; }
  bool onHost() const { return pageable() || is(Kind::Host) || is(Kind::Registered); }
  bool readableByHost() const { return null() || onHost() || is(Kind::Managed); }
  void alignTo(size_t bytes);  // moves back to a multiple of bytes from the start of its memory
  void* host() const { return reinterpret_cast<void*>(address); }
};
Pointer anyPointer(int nullPercent = 2);
Pointer devicePointer(int nullPercent = 2);         // no pageable memory, null where there is no other
Pointer pointerOf(Kind kind, int nullPercent = 2);  // null where there is none
CUdeviceptr given(const char* name, const Pointer& pointer);
void* givenHost(const char* name, const Pointer& pointer);
std::string where(CUdeviceptr address);  // memory and offset

// --- what several families draw

CUmemLocation anyLocation();
std::string text(const CUmemLocation& location);
CUmemLocation given(const char* name, const CUmemLocation& location);
void createStream();
void createEvent();
void createSimpleArray();
void allocate();
void loadModule();
int anyArrayFormat();
void drawAttribute(int id, CUlaunchAttributeValue& value, std::string& drawn);  // of a stream, a launch or a node
std::string text(int id, const CUlaunchAttributeValue& value);
std::string pointerAttribute(int attribute, const uint64_t* value);

}  // namespace calls
