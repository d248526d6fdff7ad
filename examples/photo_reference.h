// The stages of photo_pipeline.cu in plain C++. Every stage gives the same samples as the device, bit by bit: integers
// are exact, and floating-point sums use fused multiply-add in the same order, which IEEE 754 defines exactly.
#pragma once

#include <array>

#include "photo.h"

constexpr int kBlurRadius = 4;
using BlurWeights = std::array<float, 2 * kBlurRadius + 1>;

// A Gaussian with a standard deviation of 1.6 samples, summing to one.
BlurWeights blurWeights();

namespace reference {

struct Results {
  std::vector<uint8_t> luminance, blurred, edges, equalised;
  std::array<unsigned, 256> histogram;
};

Results process(const Photo& photo);

}  // namespace reference
