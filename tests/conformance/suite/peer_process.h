// A second process for tests of what processes share.
//
// It is a fork of the test's, made before either has called cuInit, and talks through pipes. What goes wrong in it ends
// it with a message; the test's side then fails where it waits for the peer.
#pragma once

#include <cuda.h>
#include <sys/types.h>

#include <cstddef>

namespace suite {

// cuInit and the primary context of device 0, current. For both sides, instead of the fixture Device.
void startDriver();

// For the peer, which has no test to fail: ends the process, saying why, unless the call succeeded.
void require(CUresult result, const char* call);
#define REQUIRE(call) ::suite::require(call, #call)

// One end of a two-way pipe.
class Link {
 public:
  Link(int in, int out) : in_(in), out_(out) {}
  template <class T>
  void send(const T& value) const {
    sendBytes(&value, sizeof value);
  }
  // A zero T when the other side is gone; the test has failed then.
  template <class T>
  T receive() const {
    T value{};
    receiveBytes(&value, sizeof value);
    return value;
  }
  // To take turns.
  void go() const { send('x'); }
  void await() const { (void)receive<char>(); }

 private:
  void sendBytes(const void* bytes, size_t count) const;
  void receiveBytes(void* bytes, size_t count) const;

  int in_, out_;
};

class PeerProcess {
 public:
  explicit PeerProcess(void (*body)(const Link& link));
  PeerProcess(const PeerProcess&) = delete;
  PeerProcess& operator=(const PeerProcess&) = delete;
  // Waits for the end of the process; the test fails when that was not an orderly one.
  ~PeerProcess();
  const Link& link() const { return link_; }
  // Ends it at once, as `kill -9` does.
  void kill();

 private:
  pid_t process_ = -1;
  Link link_{-1, -1};
};

}  // namespace suite
