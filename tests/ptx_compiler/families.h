// Families of kernels that grow: what compiling them costs must grow with them, not faster.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vg::ptx::test {

struct Family {
  const char* name;
  // The statements of a kernel of this size, and what stands before the kernel. `%x` is a word of the thread's own,
  // `%t` its number, `%in` and `%out` its places in memory; what the kernel is to give is left in `%x`.
  std::string (*body)(uint32_t size);
  uint32_t largest;  // about 25 KB of text
  std::string (*functions)(uint32_t size) = nullptr;
};

const std::vector<Family>& families();
const Family* familyNamed(const std::string& name);

// A module with one kernel, `family`, of the signature of compare.h, for blocks of one row.
std::string familyText(const Family& family, uint32_t size);

}  // namespace vg::ptx::test
