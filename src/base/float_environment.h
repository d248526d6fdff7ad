// How numbers are rounded and which exceptions are signals, as every thread begins with it, whatever the application
// has set: for as long as the object lives. Of one thread.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

namespace vg {

#if defined(__x86_64__)
// Both units': the C library asks the older one how it rounds, and sets both.
class DefaultFloatEnvironment {
 public:
  DefaultFloatEnvironment() : vector_(_mm_getcsr()) {
    constexpr uint32_t kVector = 0x1F80;  // to nearest, denormals kept, exceptions masked
    constexpr uint16_t kScalar = 0x037F;  // the same
    asm volatile("fnstcw %0" : "=m"(scalar_));
    _mm_setcsr(kVector);
    asm volatile("fldcw %0" : : "m"(kScalar));
  }
  ~DefaultFloatEnvironment() {
    asm volatile("fldcw %0" : : "m"(scalar_));
    _mm_setcsr(vector_);
  }
  DefaultFloatEnvironment(const DefaultFloatEnvironment&) = delete;

 private:
  const uint32_t vector_;
  uint16_t scalar_;
};
#else
class DefaultFloatEnvironment {
 public:
  DefaultFloatEnvironment() {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloatEnvironment() { std::fesetenv(&before_); }
  DefaultFloatEnvironment(const DefaultFloatEnvironment&) = delete;

 private:
  std::fenv_t before_;
};
#endif

}  // namespace vg
