#include "peer_process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "results.h"

namespace suite {
namespace {

bool inPeer = false;

}  // namespace

void require(CUresult result, const char* call) {
  if (result == CUDA_SUCCESS) return;
  if (!inPeer) {
    ADD_FAILURE() << call << " answered " << testing::PrintToString(result);
    return;
  }
  std::fprintf(stderr, "peer process: %s answered %d\n", call, static_cast<int>(result));
  _exit(1);
}

void startDriver() {
  CUdevice device = 0;
  CUcontext context = nullptr;
  REQUIRE(cuInit(0));
  REQUIRE(cuDeviceGet(&device, 0));
  REQUIRE(cuDevicePrimaryCtxRetain(&context, device));
  REQUIRE(cuCtxSetCurrent(context));
}

void Link::sendBytes(const void* bytes, size_t count) const {
  if (write(out_, bytes, count) == static_cast<ssize_t>(count)) return;
  if (inPeer) _exit(1);
  ADD_FAILURE() << "the peer process is gone";
}

void Link::receiveBytes(void* bytes, size_t count) const {
  if (read(in_, bytes, count) == static_cast<ssize_t>(count)) return;
  if (inPeer) _exit(1);
  ADD_FAILURE() << "the peer process is gone";
}

PeerProcess::PeerProcess(void (*body)(const Link& link)) {
  int down[2], up[2];
  if (pipe(down) || pipe(up)) {
    ADD_FAILURE() << "no pipe";
    return;
  }
  signal(SIGPIPE, SIG_IGN);
  process_ = fork();
  if (!process_) {
    inPeer = true;
    alarm(60);
    close(down[1]);
    close(up[0]);
    body(Link(down[0], up[1]));
    _exit(0);
  }
  close(down[0]);
  close(up[1]);
  link_ = Link(up[0], down[1]);
}

PeerProcess::~PeerProcess() {
  if (process_ < 0) return;
  int status = 0;
  waitpid(process_, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && !WEXITSTATUS(status)) << "the peer process ended with status " << status;
}

void PeerProcess::kill() {
  ::kill(process_, SIGKILL);
  waitpid(process_, nullptr, 0);
  process_ = -1;
}

}  // namespace suite
