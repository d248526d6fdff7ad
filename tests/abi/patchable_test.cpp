// Entry points can be replaced by overwriting their first instructions, as communication libraries (UCX) and tracers
// do. These move what they overwrite elsewhere, so it must be instructions that mean the same there.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

#include "library.h"

// A sanitizer puts instructions of its own first.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
namespace {

constexpr size_t kMove = 5;            // bytes of `mov $number, %eax`
constexpr size_t kRoom = 3 * kMove;    // what a patch may overwrite: a jump to anywhere takes 12 bytes
constexpr uint8_t kMoveOpcode = 0xb8;  // the number follows it

bool isPatchable(const void* entry) {
  const uint8_t* const code = static_cast<const uint8_t*>(entry);
  for (size_t i = 0; i < kRoom; i += kMove)
    if (code[i] != kMoveOpcode) return false;
  return true;
}

TEST(Patchable, EveryEntryPointIs) {
  const Library library;
  size_t entries = 0;
  for (const char* list : {"driver_symbols.txt", "later_symbols.txt"}) {
    for (const auto& row : readTable(list, 0)) {
      const bool isCall = row[0].rfind("cu", 0) == 0 && row[0].rfind("cudbg", 0) != 0;
      if (!isCall) continue;
      const void* const entry = library.symbol(row[0]);
      ASSERT_NE(entry, nullptr) << row[0];
      EXPECT_TRUE(isPatchable(entry)) << row[0];
      ++entries;
    }
  }
  EXPECT_GT(entries, 600u);
}

// movabs $target, %rax; jmp *%rax
void writeJump(uint8_t* code, const void* target) {
  const uint8_t before[] = {0x48, 0xb8}, after[] = {0xff, 0xe0};
  memcpy(code, before, sizeof before);
  memcpy(code + sizeof before, &target, sizeof target);
  memcpy(code + sizeof before + sizeof target, after, sizeof after);
}

using Version = CUresult(int*);
Version* original;
int calls;
CUresult counted(int* version) {
  ++calls;
  return original(version);
}

TEST(Patchable, AReplacedEntryPointCallsTheOriginal) {
  const Library library;
  Version* const function = library.function<Version>("cuDriverGetVersion");
  uint8_t* const entry = reinterpret_cast<uint8_t*>(function);
  ASSERT_TRUE(isPatchable(entry));
  int before = 0;
  ASSERT_EQ(function(&before), CUDA_SUCCESS);

  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  uint8_t* const moved = static_cast<uint8_t*>(
      mmap(nullptr, page, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(moved, MAP_FAILED);
  memcpy(moved, entry, kRoom);
  writeJump(moved + kRoom, entry + kRoom);
  original = reinterpret_cast<Version*>(moved);
  void* const first = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(entry) & ~(page - 1));
  ASSERT_EQ(mprotect(first, 2 * page, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
  uint8_t kept[kRoom];
  memcpy(kept, entry, kRoom);
  writeJump(entry, reinterpret_cast<const void*>(&counted));

  int after = 0;
  EXPECT_EQ(function(&after), CUDA_SUCCESS);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(after, before);
  EXPECT_NE(after, 0);

  memcpy(entry, kept, kRoom);
  EXPECT_EQ(mprotect(first, 2 * page, PROT_READ | PROT_EXEC), 0);
  munmap(moved, page);
  EXPECT_EQ(function(&after), CUDA_SUCCESS);
  EXPECT_EQ(calls, 1);
}

}  // namespace
#endif
