// What kernels print: formatted as the host's printf does, kept in a queue of limited size, written to the process's
// standard output where CUDA does (Device::flushOutput). When the queue is full the oldest output is lost, as on a GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace vg::backend::print {

// One vprintf call of a kernel: appends the text to `out` and returns the number of arguments that the format used.
// `arguments` is packed as the CUDA compiler packs variadic arguments: each at its own alignment. Reads the kernel's
// memory and so may fault. With `texts`, those of %s come from there in their order; else arguments point to them.
class Texts {
 public:
  virtual const char* next() = 0;  // never null

 protected:
  ~Texts() = default;
};
int32_t format(const char* format, const std::byte* arguments, std::string& out, Texts* texts = nullptr);

// What a failed assertion says on standard error, with the end of the line.
struct Assertion {
  const char *message, *file, *function;  // null: empty
  uint32_t line;
  uint32_t block[3], thread[3];
};
std::string textOf(const Assertion& assertion);

// Queues text; `limit` is the context's CU_LIMIT_PRINTF_FIFO_SIZE in bytes.
void queue(const std::string& text, size_t limit);
// Writes what is queued to stdout.
void flush() noexcept;

}  // namespace vg::backend::print
