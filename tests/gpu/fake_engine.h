// The fake GPU's host and copy engines: reads rings and push buffers as the hardware does, knows the methods that the
// backend uses, and ends a channel with the code that the hardware gives for what it does not know or cannot reach.
#pragma once

#include <cstdint>
#include <map>
#include <memory>

#include "gpu/fake_compute.h"

namespace vg::testing {

class FakeChannel {
 public:
  using Translate = FakeTranslate;
  struct Setup {
    uint64_t ring = 0;
    uint32_t entries = 0;
    std::byte* userd = nullptr;
    std::byte* notifier = nullptr;
    uint16_t engine = 0;
    uint32_t copyClass = 0, computeClass = 0;  // 0: no such object
    FakeProgram program;
  };
  FakeChannel(const Setup& setup, Translate translate) : setup_(setup), translate_(std::move(translate)) {}

  bool scheduled = false, registered = false;
  uint32_t preemption = 0;  // of grids, as rm::Preemption has it
  // Runs what is new; true when something was done.
  bool run();
  bool dead() const { return dead_; }
  bool runsGrids() const { return setup_.computeClass != 0; }

 private:
  bool runEntry(uint64_t entry);
  bool runMethods();
  bool method(uint32_t subchannel, uint32_t address, uint32_t value);
  bool bind(uint32_t subchannel, uint32_t objectClass);
  bool hostMethod(uint32_t address);
  bool semaphore();
  bool launch(uint32_t bits);
  bool transfer(uint32_t bits);
  uint64_t tiledAddress(uint64_t base, uint32_t block, uint32_t origin, size_t x, size_t row) const;
  bool tiledTransfer(uint32_t bits, uint64_t from, uint64_t to, size_t length, size_t count);
  bool copyLine(uint64_t from, uint64_t to, size_t bytes);
  bool fillLine(uint64_t to, size_t elements);
  bool writeSemaphore(uint64_t address, uint64_t payload, bool wide, bool timestamp);
  bool die(uint32_t code);
  uint32_t host(uint32_t method) const;
  uint32_t copy(uint32_t method) const;

  const Setup setup_;
  const Translate translate_;
  std::map<uint32_t, uint32_t> host_, copy_;  // method -> value
  bool copyBound_ = false, dead_ = false, blocked_ = false;
  std::unique_ptr<FakeCompute> compute_;  // once bound
  const uint32_t* words_ = nullptr;       // what is left of the entry under way
  size_t left_ = 0;
};

}  // namespace vg::testing
