#include "activity/kernel_name.h"

#include <gtest/gtest.h>

namespace vg::activity {
namespace {

TEST(KernelNames, AreWithoutParametersAndReturnTypes) {
  KernelNames names;
  EXPECT_EQ(names.shortName("_Z3addPfi"), "add");
  EXPECT_EQ(names.shortName("_Z5scaleIfEvPT_"), "scale<float>");
  EXPECT_EQ(names.shortName("_ZN2ns5outer5innerIiLi4EEEvPKT_"), "ns::outer::inner<int, 4>");
  EXPECT_EQ(names.shortName("plain_c"), "plain_c");
  EXPECT_EQ(names.shortName("_Znothing"), "_Znothing");
}

TEST(KernelNames, StayRightWhenThereAreMoreThanAreRemembered) {
  KernelNames names;
  for (int i = 0; i < 10'000; ++i) {
    const std::string name = "kernel" + std::to_string(i);
    EXPECT_EQ(names.shortName(name), name);
  }
}

}  // namespace
}  // namespace vg::activity
