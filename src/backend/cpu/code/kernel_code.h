// Native code of kernels in memory, and kernels that are ready to run.
//
// All code lies in one reserved range, so that "is this ours" is one comparison, also in signal handlers. Pages are
// written first and executable afterwards, never both.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "backend/cpu/code/kernel_times.h"
#include "backend/cpu/code/streaming.h"
#include "backend/cpu/run/crowding.h"
#include "base/result.h"
#include "ptx/abi/kernel_abi.h"
#include "ptx/abi/kernel_blob.h"

namespace vg::backend::cpu {

// Executable memory for one blob; given back with the object.
class CodePages {
 public:
  CodePages() = default;
  CodePages(CodePages&& other) noexcept : base_(other.base_), bytes_(other.bytes_) { other.base_ = nullptr; }
  CodePages& operator=(CodePages&&) = delete;
  ~CodePages();
  // Copies the code into executable memory. CUDA_ERROR_OUT_OF_MEMORY when the range is full, CUDA_ERROR_NOT_PERMITTED
  // when the system forbids executable memory.
  static Result<CodePages> load(const std::vector<uint8_t>& code);
  const std::byte* base() const { return base_; }
  // True when the address lies in the range of all code. For signal handlers too.
  static bool contains(const void* address);

 private:
  std::byte* base_ = nullptr;
  size_t bytes_ = 0;
};

class LoadedKernel;

// Functions that a kernel calls through registers and that have code of their own (RuntimeCalls::callApart).
class CalledFunctions {
 public:
  virtual ~CalledFunctions() = default;
  // Whether that is the address of a function which can be called so; `number` becomes its index in Module::functions.
  virtual bool isFunction(uint64_t address, uint32_t& number) const = 0;
  // Its code where it is there, or null.
  virtual const LoadedKernel* ready(uint32_t number) const = 0;
  // The same; made now if need be, which takes long. Null where it cannot be, which the log says.
  virtual const LoadedKernel* code(uint32_t number) = 0;
  // Has good code made of it, in the background.
  virtual void upgradeLater(uint32_t number) = 0;
  // The PTX line that an address in the code of any of them belongs to; 0 where it is in none.
  virtual uint32_t lineAt(const void* codeAddress) const = 0;
};

// What could be made of a kernel in more time than a launch should wait.
enum class Maturity : uint8_t {
  Good,            // nothing better
  Quick,           // made for a launch of this process
  QuickSinceThen,  // made for another process: the kernel is in use
};

// One variant of a kernel, ready to run: native, or the interpreter's program. Constant but for what it has learnt
// about its speed.
class LoadedKernel {
 public:
  LoadedKernel() = default;
  explicit LoadedKernel(CodePages pages) : pages_(std::move(pages)) {}
  virtual ~LoadedKernel() = default;

  ptx::KernelEntry entry = nullptr;
  ptx::KernelTraits traits;
  const void* program = nullptr;  // KernelLaunch::code; the interpreter's, or of code that checks its accesses
  bool interpreted = false;
  std::shared_ptr<CalledFunctions> apart;  // that it calls; only with traits.callsApart

  // Nanoseconds that a grid of so many warps is likely to take on one thread; 0 when that cannot be told: never run, or
  // with loops, whose length depends on data.
  uint64_t expected(uint64_t warps) const;
  KernelTimes& times() const { return times_; }
  KernelCrowding& crowding() const { return crowding_; }
  KernelStreaming& streaming() const { return streaming_; }
  // Whether the code may run with these parameters; else only a variant that tests them.
  bool trusts(const std::byte* parameters) const;

  // Whether better code is to be made for launches after this one. True once, where it is known that the kernel is not
  // launched once and never again.
  bool asksForBetter() const {
    if (maturity_ == Maturity::Good) [[likely]]
      return false;
    return launches_.fetch_add(1, std::memory_order_relaxed) == (maturity_ == Maturity::Quick ? 1 : 0);
  }

  // Makes a blob runnable.
  static Result<std::unique_ptr<const LoadedKernel>> load(ptx::KernelBlob blob, Maturity maturity = Maturity::Good,
                                                          const void* program = nullptr,
                                                          std::shared_ptr<CalledFunctions> apart = nullptr);
  // For debuggers: where the code is, and which PTX lines it was made from. No bytes: an interpreted kernel.
  const std::byte* code() const { return pages_.base(); }
  size_t textSize() const { return textSize_; }
  const std::vector<ptx::LineEntry>& lines() const { return lines_; }
  // The PTX line that an address in the code, or in that of functions apart, belongs to; 0 when unknown.
  uint32_t lineAt(const void* codeAddress) const;

 private:
  CodePages pages_;
  mutable KernelTimes times_;
  mutable KernelCrowding crowding_;
  mutable KernelStreaming streaming_;
  Maturity maturity_ = Maturity::Good;
  mutable std::atomic<uint32_t> launches_{0};  // of code that is not good
  size_t textSize_ = 0;
  std::vector<ptx::LineEntry> lines_;
  std::vector<ptx::AlignmentRule> alignments_;
};

}  // namespace vg::backend::cpu
