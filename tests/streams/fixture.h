// What the stream tests share: a current primary context, and a gate that keeps a stream busy until it is opened.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "device_test.h"

using namespace std::chrono_literals;

// Waits at most ten seconds.
inline bool eventually(const std::function<bool()>& ready) {
  for (int i = 0; i < 20000 && !ready(); ++i) std::this_thread::sleep_for(500us);
  return ready();
}

// Queues function(state); the state lives as long as the caller or the queue needs it.
template <class State>
void enqueue(CUstream stream, const std::shared_ptr<State>& state, void (*function)(State&)) {
  struct Call {
    std::shared_ptr<State> state;
    void (*function)(State&);
  };
  const auto run = [](void* raw) {
    const std::unique_ptr<Call> call(static_cast<Call*>(raw));
    call->function(*call->state);
  };
  EXPECT_OK(cuLaunchHostFunc(stream, run, new Call{state, function}));
}

// Work that ends when open() is called.
class Gate {
 public:
  explicit Gate(CUstream stream) {
    enqueue<State>(stream, state_, [](State& state) {
      state.entered = true;
      while (!state.open) std::this_thread::sleep_for(50us);
    });
  }
  ~Gate() { open(); }
  void open() { state_->open = true; }
  // True once the stream has got this far.
  bool entered() const {
    return eventually([this] { return state_->entered.load(); });
  }

 private:
  struct State {
    std::atomic<bool> open{false}, entered{false};
  };
  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

// Says whether a stream has got as far as where it was put.
class Mark {
 public:
  explicit Mark(CUstream stream) {
    enqueue<std::atomic<bool>>(stream, passed_, [](std::atomic<bool>& passed) { passed = true; });
  }
  bool passed() const { return *passed_; }

 private:
  const std::shared_ptr<std::atomic<bool>> passed_ = std::make_shared<std::atomic<bool>>(false);
};

// Long enough that what would run wrongly has run.
inline void settle() { std::this_thread::sleep_for(10ms); }

class StreamTest : public DeviceTest {
 protected:
  void TearDown() override {
    EXPECT_OK(cuCtxSynchronize());
    for (CUstream stream : streams) EXPECT_OK(cuStreamDestroy(stream));
    EXPECT_OK(cuCtxSetCurrent(nullptr));
    DeviceTest::TearDown();
  }
  CUstream create(unsigned flags = CU_STREAM_DEFAULT) {
    CUstream stream = nullptr;
    EXPECT_OK(cuStreamCreate(&stream, flags));
    streams.push_back(stream);
    return stream;
  }

  std::vector<CUstream> streams;
};
