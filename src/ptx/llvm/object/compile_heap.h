// Memory for compiles. LLVM makes and forgets hundreds of thousands of small objects a kernel; a fresh thread's malloc
// grows page by page for them and shrinks again. Threads that hold a LentHeap get what they `new` from lists of pieces
// of one size instead, which outlive the thread and serve the next compile. Any thread may delete it.
//
// Replaces this library's operator new and delete, which nobody outside sees. malloc is as before, and serves what is
// large, what goes beyond 32 MiB, what other threads ask for, and all when there is no address space. Builds with
// sanitizers have none of this.
#pragma once

#include <cstddef>

namespace vg::ptx::gen {

struct CompileHeap;

// Gives the heaps their 32 MiB; they take their own otherwise. Requires: no LentHeap was made yet.
void lendMemory(std::byte* memory, size_t bytes);

// Called on threads that hold a LentHeap where there is no memory, in place of throwing std::bad_alloc: what LLVM has
// begun cannot be undone, so it does not return. Set before the first compile.
using NoMemory = void (*)();
inline constinit NoMemory noMemoryForCompile = nullptr;

// A heap lent to the calling thread until the end of the scope. One of a thread that never ends is never given back.
class LentHeap {
 public:
  LentHeap();
  ~LentHeap();
  LentHeap(const LentHeap&) = delete;
  // False: there was no memory for it.
  explicit operator bool() const;
  LentHeap& operator=(const LentHeap&) = delete;

 private:
  CompileHeap* heap_;
};

}  // namespace vg::ptx::gen
