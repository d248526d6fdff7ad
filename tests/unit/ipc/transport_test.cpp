// Handles and the connection between exporter and importer, with real processes.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <vector>

#include "ipc/exporter.h"
#include "ipc/importer.h"

namespace vg::ipc {
namespace {

class Page final : public Offer {
 public:
  explicit Page(const char* text) : file_(memfd_create("page", MFD_CLOEXEC)) {
    EXPECT_EQ(write(file_, text, strlen(text)), static_cast<ssize_t>(strlen(text)));
  }
  ~Page() override { close(file_); }
  Result<int> descriptor() const override {
    if (!lives()) return CUDA_ERROR_INVALID_VALUE;
    return dup(file_);
  }
  bool lives() const override { return !ended; }
  Note note() const override { return {std::byte{42}}; }

  std::atomic<bool> ended{false};

 private:
  const int file_;
};

uint64_t nextId() {
  static uint64_t id = 100;
  return ++id;
}

// The exit code of a child that runs this; it never returns to the test.
template <class Body>
int inChild(Body body) {
  fflush(nullptr);
  const pid_t child = fork();
  if (!child) {
    alarm(60);
    _exit(body());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

Handle published(const std::shared_ptr<const Offer>& offer, uint64_t id = nextId()) {
  Result<Handle> handle = publish(Subject::Memory, id, offer);
  EXPECT_TRUE(handle.ok());
  return handle.ok() ? *handle : Handle{};
}

bool granted(const Handle& handle) {
  Result<Grant> grant = request(handle);
  if (grant) close(grant->descriptor);
  return grant.ok();
}

TEST(IpcTransport, AnotherProcessReadsWhatIsOffered) {
  const Handle handle = published(std::make_shared<Page>("offered"));
  EXPECT_EQ(inChild([&] {
              Result<Grant> grant = request(handle);
              if (!grant) return 1;
              char text[8] = "";
              if (pread(grant->descriptor, text, 7, 0) != 7 || strcmp(text, "offered")) return 2;
              return grant->note[0] == std::byte{42} ? 0 : 3;
            }),
            0);
}

TEST(IpcTransport, TheSameObjectKeepsItsHandleAndAnotherGetsAnother) {
  const auto page = std::make_shared<Page>("x");
  const uint64_t id = nextId();
  unsigned char first[kHandleBytes], second[kHandleBytes], third[kHandleBytes];
  published(page, id).encode(first);
  published(page, id).encode(second);
  published(page).encode(third);
  EXPECT_EQ(std::memcmp(first, second, sizeof first), 0);
  EXPECT_NE(std::memcmp(first, third, sizeof first), 0);
}

TEST(IpcTransport, EveryBitOfAHandleMatters) {
  unsigned char good[kHandleBytes];
  published(std::make_shared<Page>("x")).encode(good);
  EXPECT_EQ(inChild([&] {
              for (size_t bit = 0; bit < kHandleBytes * 8; ++bit) {
                unsigned char bytes[kHandleBytes];
                std::memcpy(bytes, good, sizeof bytes);
                bytes[bit / 8] = static_cast<unsigned char>(bytes[bit / 8] ^ 1u << bit % 8);
                Result<Handle> forged = Handle::decode(bytes);
                if (forged && granted(*forged)) return 1;
              }
              Result<Handle> genuine = Handle::decode(good);
              return genuine && granted(*genuine) ? 0 : 2;
            }),
            0);
}

TEST(IpcTransport, WhatHasEndedIsRefused) {
  const auto page = std::make_shared<Page>("x");
  const Handle handle = published(page);
  EXPECT_TRUE(granted(handle));
  page->ended = true;
  EXPECT_FALSE(granted(handle));
}

TEST(IpcTransport, EndedOffersAreForgotten) {
  std::vector<std::weak_ptr<Page>> all;
  for (int i = 0; i < 2000; ++i) {
    auto page = std::make_shared<Page>("x");
    all.push_back(page);
    published(page);
    page->ended = true;
  }
  size_t kept = 0;
  for (const auto& page : all) kept += !page.expired();
  EXPECT_LT(kept, 200u);
}

TEST(IpcTransport, AnotherUserIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
  const Handle handle = published(std::make_shared<Page>("x"));
  EXPECT_EQ(inChild([&] {
              if (setuid(65534)) return 2;
              return granted(handle) ? 1 : 0;
            }),
            0);
  EXPECT_TRUE(granted(handle));
}

TEST(IpcTransport, ClientsThatNeverAskDoNotStopOthers) {
  const Handle handle = published(std::make_shared<Page>("x"));
  std::vector<int> silent;
  for (int i = 0; i < 100; ++i) silent.push_back(connectTo(handle.exporter, 0));
  EXPECT_TRUE(granted(handle));
  for (int socket : silent) close(socket);
  EXPECT_TRUE(granted(handle));
}

TEST(IpcTransport, NonsenseIsRefusedAndChangesNothing) {
  const Handle handle = published(std::make_shared<Page>("x"));
  for (size_t bytes : {1, 63, 64, 65, 4096}) {
    const int socket = connectTo(handle.exporter, 0);
    const std::vector<char> nonsense(bytes, 'n');
    (void)!send(socket, nonsense.data(), nonsense.size(), MSG_NOSIGNAL);
    Answer answer{};
    int descriptor = -1;
    const bool answered = receiveAnswer(socket, answer, descriptor);
    EXPECT_TRUE(!answered || answer.verdict == Verdict::Unknown);
    close(socket);
  }
  EXPECT_TRUE(granted(handle));
}

// The child of a fork is not the exporter, and does not keep its name alive.
TEST(IpcTransport, AChildListensForItselfAndAKilledProcessIsDead) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "no threads after a fork of a process with threads";
#endif
  int tube[2];
  ASSERT_EQ(pipe(tube), 0);
  const Handle ours = published(std::make_shared<Page>("x"));
  EXPECT_TRUE(isOurs(ours.exporter));
  const pid_t exporter = fork();
  if (!exporter) {
    Result<Address> own = listen();
    if (isOurs(ours.exporter) || !own || !isOurs(*own)) _exit(1);
    const pid_t child = fork();  // outlives its parent for a while, and holds what a fork holds
    if (!child) {
      (void)!write(tube[1], &*own, sizeof *own);  // from here: it has let go of the socket
      sleep(2);
      _exit(0);
    }
    pause();
  }
  Address address;
  ASSERT_EQ(read(tube[0], &address, sizeof address), static_cast<ssize_t>(sizeof address));
  EXPECT_TRUE(alive(address));
  kill(exporter, SIGKILL);
  waitpid(exporter, nullptr, 0);
  EXPECT_FALSE(alive(address));
  EXPECT_TRUE(granted(ours));
}

}  // namespace
}  // namespace vg::ipc
