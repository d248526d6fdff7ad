// A process started by a test: this executable again, in one of the roles of peer.cpp.
#pragma once

#include <cuda.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#define EXPECT_OK(call) EXPECT_EQ(call, CUDA_SUCCESS)
#define ASSERT_OK(call) ASSERT_EQ(call, CUDA_SUCCESS)

// The primary context of a device, current; aborts the process when that fails.
void start(int device = 0);

CUdeviceptr filled(size_t bytes, uint32_t value);
uint32_t wordAt(CUdeviceptr address);
CUipcMemHandle handleOf(CUdeviceptr address);
inline CUresult open(CUdeviceptr* address, const CUipcMemHandle& handle) {
  return cuIpcOpenMemHandle(address, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
}

// Two pipe ends. A side that finds the other one gone gets false.
class Link {
 public:
  Link(int in, int out) : in_(in), out_(out) {}
  template <class T>
  bool send(const T& value) const {
    return sendBytes(&value, sizeof value);
  }
  template <class T>
  bool receive(T& value) const {
    return receiveBytes(&value, sizeof value);
  }
  // Whether something arrives in so many milliseconds; it is left where it is.
  bool arrives(int milliseconds) const;
  bool go() const { return send('x'); }
  bool await() const {
    char byte;
    return receive(byte);
  }
  void close();

 private:
  bool sendBytes(const void* bytes, size_t count) const;
  bool receiveBytes(void* bytes, size_t count) const;
  int in_, out_;
};

class Peer {
 public:
  explicit Peer(const std::string& role);
  Peer(Peer&& other) noexcept : process_(std::exchange(other.process_, -1)), link_(other.link_) {}
  ~Peer();
  const Link& link() const { return link_; }
  pid_t process() const { return process_; }
  // Only sends it.
  void signal(int number) const { kill(process_, number); }
  // Sends a signal and waits for the end.
  void end(int signal);
  // Waits for an orderly end.
  void join();

 private:
  pid_t process_;
  Link link_;
};

// What may leak from a process.
struct Footprint {
  size_t descriptors, mappings, threads, sharedFiles;
  static Footprint now();
};
std::vector<std::string> threadNames();
