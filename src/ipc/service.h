// Answers what other processes ask at a socket: the listening socket, and those who have connected but not asked yet.
// For one thread, which does nothing else.
#pragma once

#include <poll.h>

#include <cstdint>

namespace vg::ipc {

class Service {
 public:
  // `listening`: of listenAt(). Clients of other users are refused, and said in the log.
  explicit Service(int listening, bool rootWillDo = false) : rootWillDo_(rootWillDo) {
    polled_[0] = {listening, POLLIN, 0};
  }
  Service(const Service&) = delete;
  [[noreturn]] void run();

 protected:
  ~Service() = default;
  // A client has sent something or has gone. True: the socket is the callee's from now on; otherwise it is closed.
  virtual bool asked(int client) = 0;
  // Once a round. In how many milliseconds it wants to be called again at the latest; -1 when somebody asks.
  virtual int turn() { return -1; }

 private:
  static constexpr unsigned kMost = 64;
  static constexpr int kTick = 50;                      // ms
  static constexpr uint64_t kPatience = 500'000'000;    // ns a client may take to ask
  static constexpr uint64_t kRestPeriod = 100'000'000;  // ns without new clients when there was no descriptor

  bool resting() const;
  void rest();
  void serve();
  void take();
  void drop(unsigned i, bool closing);
  void dropLate();

  const bool rootWillDo_;
  pollfd polled_[kMost + 1] = {};  // [0] listens
  uint64_t until_[kMost + 1] = {};
  unsigned count_ = 0;
  uint64_t restUntil_ = 0;
};

}  // namespace vg::ipc
