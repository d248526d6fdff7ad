#include "ptx/facts/limits.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

#include "base/round.h"
#include "ptx/facts/function_uses.h"
#include "ptx/facts/layout.h"

namespace vg::ptx {
namespace {

constexpr uint64_t kParameters = 4352, kManyParameters = 32764;  // bytes; the second with PTX 8.1, sm_70 and later
constexpr uint64_t kStaticShared = 48 << 10;                     // bytes of a kernel
constexpr uint64_t kConstants = 64 << 10;                        // bytes of a module
constexpr uint64_t kFrame = 1 << 30;                             // bytes of what a function declares for each thread

__attribute__((format(printf, 2, 3))) LimitFault fault(uint32_t line, const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return {line, text};
}

// Bytes of variables one behind the other; past any limit where a sum would wrap.
class Bytes {
 public:
  void add(const Variable& v) {
    sum_ = roundUp(sum_, std::max<uint64_t>(v.alignment, 1));
    sum_ = v.size > kTooMuch || sum_ > kTooMuch ? kTooMuch : sum_ + v.size;
  }
  uint64_t sum() const { return sum_; }

 private:
  static constexpr uint64_t kTooMuch = uint64_t{1} << 60;
  uint64_t sum_ = 0;
};

uint64_t sumOf(const std::vector<Variable>& variables, Space space) {
  Bytes bytes;
  for (const Variable& v : variables)
    if (v.space == space) bytes.add(v);
  return bytes.sum();
}

std::optional<LimitFault> inParameters(const Module& module, const Function& f) {
  const uint64_t bytes = sumOf(f.parameters, Space::Param);
  if (!f.isEntry) {
    if (bytes + sumOf(f.returns, Space::Param) <= kFrame) return {};
    return fault(f.line, "function '%s' has over 1 GiB of parameters; pass a pointer to them", f.name.c_str());
  }
  const bool many = module.version >= 81 && module.target >= 70;
  const uint64_t limit = many ? kManyParameters : kParameters;
  if (bytes <= limit) return {};
  return fault(f.line, "kernel '%s' has %llu bytes of parameters, over the limit of %llu; %s", f.name.c_str(),
               static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(limit),
               many || bytes > kManyParameters ? "pass a pointer to memory that holds them"
                                               : "from .version 8.1 and .target sm_70 on it is 32764");
}

std::optional<LimitFault> inFrame(const Function& f) {
  const uint64_t local = sumOf(f.variables, Space::Local), arguments = sumOf(f.variables, Space::Param);
  if (local + arguments <= kFrame) return {};
  return fault(f.line, "'%s' declares over 1 GiB of .local and .param memory for each thread; use .global memory",
               f.name.c_str());
}

// What is declared at module level counts for the kernels that use it.
std::optional<LimitFault> inShared(const Module& module) {
  uint64_t all = sumOf(module.variables, Space::Shared);
  for (const Function& f : module.functions) all += sumOf(f.variables, Space::Shared);
  if (all <= kStaticShared) return {};
  UsesOfFunctions uses(module);
  for (uint32_t e = 0; e < module.functions.size(); ++e) {
    const Function& f = module.functions[e];
    if (!f.isEntry || f.isDeclaration) continue;
    const SharedLayout layout = sharedLayout(uses, e);
    const uint64_t bytes = layout.staticSize - layout.reserved;
    if (bytes > kStaticShared)
      return fault(f.line,
                   "kernel '%s' has %llu bytes of static .shared memory, over the limit of 49152; declare it "
                   ".extern .shared [] and give its size to the launch",
                   f.name.c_str(), static_cast<unsigned long long>(bytes));
  }
  return {};
}

std::optional<LimitFault> inConstants(const Module& module) {
  const uint64_t bytes = sumOf(module.variables, Space::Const);
  if (bytes <= kConstants) return {};
  return fault(0, "the module has %llu bytes of .const memory, over the limit of 65536; use .global memory",
               static_cast<unsigned long long>(bytes));
}

}  // namespace

std::optional<LimitFault> exceededLimit(const Module& module) {
  for (const Function& f : module.functions) {
    if (auto found = inParameters(module, f)) return found;
    if (auto found = inFrame(f)) return found;
  }
  if (auto found = inShared(module)) return found;
  return inConstants(module);
}

}  // namespace vg::ptx
