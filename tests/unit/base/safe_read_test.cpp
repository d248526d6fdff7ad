#include "base/memory/safe_read.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "shortage/deny_calls.h"

namespace vg {
namespace {

constexpr size_t kPage = 4096;

// Two pages with numbers, and behind them one that is not there.
class SafeRead : public testing::Test {
 protected:
  void SetUp() override {
    void* const memory = mmap(nullptr, 3 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    pages_ = static_cast<unsigned char*>(memory);
    for (size_t i = 0; i < 2 * kPage; ++i) pages_[i] = static_cast<unsigned char>(i * 7 + 1);
    ASSERT_EQ(munmap(pages_ + 2 * kPage, kPage), 0);
  }
  void TearDown() override { munmap(pages_, 2 * kPage); }

  // Which of the questions below is answered wrongly, from 1 on; 0: none.
  int firstWrong() const {
    unsigned char to[2 * kPage + 8];
    if (!safe_read::all(to, pages_ + 5, 2 * kPage - 5) || std::memcmp(to, pages_ + 5, 2 * kPage - 5)) return 1;
    if (safe_read::all(to, pages_ + 2 * kPage - 4, 8)) return 2;
    if (safe_read::some(to, pages_ + 2 * kPage, 1) || safe_read::some(to, nullptr, 1)) return 3;
    const iovec both[] = {{pages_ + 1, 2}, {pages_ + kPage, 3}}, bad[] = {{pages_, 1}, {pages_ + 2 * kPage, 1}};
    if (safe_read::gather(to, both, 2) != 5 || to[1] != pages_[2] || to[4] != pages_[kPage + 2]) return 4;
    if (safe_read::gather(to, bad, 2) != 1) return 5;
    if (!safe_read::mapped(pages_ + 3, 2 * kPage - 3) || !safe_read::mapped(pages_, 0)) return 6;
    if (safe_read::mapped(pages_, 2 * kPage + 1) || safe_read::mapped(pages_, SIZE_MAX)) return 7;
    return 0;
  }
  // In a process that is refused the calls.
  int firstWrongWithout(int error) const {
    constexpr int kRefused[] = {SYS_process_vm_readv, SYS_mincore};
    const pid_t child = fork();
    if (!child) _exit(denyCalls(kRefused, 2, error) ? 77 : firstWrong());
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  unsigned char* pages_ = nullptr;
};

TEST_F(SafeRead, TellsWhatIsThere) { EXPECT_EQ(firstWrong(), 0); }

TEST_F(SafeRead, TellsTheSameWhereASandboxRefusesToSay) {
  for (const int error : {EPERM, ENOSYS}) {
    const int wrong = firstWrongWithout(error);
    if (wrong == 77) GTEST_SKIP() << "the system has no such filters";
    EXPECT_EQ(wrong, 0) << std::strerror(error);
  }
}

}  // namespace
}  // namespace vg
