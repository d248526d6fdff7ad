#include "base/text/log_history.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "base/result.h"

namespace vg {
namespace {

TEST(LogHistory, KnowsWhySomethingFailedOnThisThread) {
  EXPECT_EQ(fail(CUDA_ERROR_INVALID_VALUE, "the pitch is %d", 3), CUDA_ERROR_INVALID_VALUE);
  std::thread([] {
    EXPECT_EQ(log::lastReason(), "") << "nothing failed here";
    (void)fail(CUDA_ERROR_OUT_OF_MEMORY, "elsewhere");
  }).join();
  EXPECT_EQ(log::lastReason(), "the pitch is 3");
  (void)unsupported("a device of %s", "wood");
  EXPECT_EQ(log::lastReason(), "not supported: a device of wood");
}

TEST(LogHistory, TellsWhatIsWrongBehindALongName) {
  std::string parameters;
  for (int n = 0; n < 300; ++n) parameters += "PKd";
  (void)fail(CUDA_ERROR_NOT_SUPPORTED, "kernel %s has no stack", ("_Z4spin" + parameters).c_str());
  EXPECT_EQ(log::lastReason().find("kernel spin(double const*, "), 0u) << log::lastReason();
  EXPECT_NE(log::lastReason().find(" has no stack"), std::string::npos) << log::lastReason();
}

}  // namespace
}  // namespace vg
