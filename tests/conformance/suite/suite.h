// What every conformance test includes: the driver API, GoogleTest, and what the tests share.
//
// Tests are plain driver-API code; each cu* call goes to the library that `--library` names. A body starts with
// PROVES("MEMALLOC-001", ...): the rules of tests/conformance/rules.tsv that it proves. Where the real driver differs
// from the manual the test asserts what the driver does and says DIFFERS("MEMALLOC-001", "what it does instead"). A
// suite whose name contains "Isolated" or "Fault" runs each test in a process of its own; nothing has called cuInit
// there. Tests of other suites share a process: they leave no current context but the primary one and no device error
// behind.
#pragma once

#define CUDA_ENABLE_DEPRECATED
#include <cuda.h>
#include <gtest/gtest.h>

#include "device_fixture.h"
#include "documented.h"
#include "evidence.h"
#include "kernels.h"
#include "library.h"
#include "memory_objects.h"
#include "results.h"
#include "stream_objects.h"

namespace suite {

// A symbol that cuda.h maps to another name: entry<decltype(cuMemcpy)>("cuMemcpy_ptds")(...). Null when it is absent.
template <class Function>
Function* entry(const char* name) {
  void* const address = symbolAddress(name);
  EXPECT_NE(address, nullptr) << "the library does not export " << name;
  return reinterpret_cast<Function*>(address);
}

}  // namespace suite

using namespace suite;  // NOLINT: a test file is an end user
