#include "photo_reference.h"

#include <algorithm>
#include <cmath>

BlurWeights blurWeights() {
  BlurWeights weights;
  double sum = 0;
  for (int i = -kBlurRadius; i <= kBlurRadius; ++i) sum += std::exp(-i * i / (2 * 1.6 * 1.6));
  for (int i = -kBlurRadius; i <= kBlurRadius; ++i)
    weights[i + kBlurRadius] = float(std::exp(-i * i / (2 * 1.6 * 1.6)) / sum);
  return weights;
}

namespace reference {
namespace {

using Samples = std::vector<uint8_t>;

struct Size {
  int width, height;
  size_t at(int x, int y) const {  // the nearest pixel inside
    return size_t(std::clamp(y, 0, height - 1)) * width + std::clamp(x, 0, width - 1);
  }
};

Samples luminance(const Photo& photo) {
  Samples out(photo.pixels());
  for (size_t i = 0; i < out.size(); ++i) {
    const uint8_t* rgb = &photo.samples[3 * i];
    out[i] = uint8_t((77 * rgb[0] + 150 * rgb[1] + 29 * rgb[2] + 128) >> 8);
  }
  return out;
}

Samples blur(const Samples& in, Size size) {
  const BlurWeights weights = blurWeights();
  std::vector<float> across(in.size());
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) {
      float sum = 0;
      for (int k = -kBlurRadius; k <= kBlurRadius; ++k)
        sum = std::fma(weights[k + kBlurRadius], float(in[size.at(x + k, y)]), sum);
      across[size.at(x, y)] = sum;
    }
  Samples out(in.size());
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) {
      float sum = 0;
      for (int k = -kBlurRadius; k <= kBlurRadius; ++k)
        sum = std::fma(weights[k + kBlurRadius], across[size.at(x, y + k)], sum);
      out[size.at(x, y)] = uint8_t(std::min(255.0f, std::nearbyint(sum)));
    }
  return out;
}

Samples sobel(const Samples& in, Size size) {
  Samples out(in.size());
  for (int y = 0; y < size.height; ++y)
    for (int x = 0; x < size.width; ++x) {
      const auto p = [&](int dx, int dy) { return int(in[size.at(x + dx, y + dy)]); };
      const int gx = p(1, -1) + 2 * p(1, 0) + p(1, 1) - p(-1, -1) - 2 * p(-1, 0) - p(-1, 1);
      const int gy = p(-1, 1) + 2 * p(0, 1) + p(1, 1) - p(-1, -1) - 2 * p(0, -1) - p(1, -1);
      out[size.at(x, y)] = uint8_t(std::min(255.0f, std::nearbyint(std::sqrt(float(gx * gx + gy * gy)))));
    }
  return out;
}

Samples equalise(const Samples& in, const std::array<unsigned, 256>& histogram) {
  std::array<unsigned, 256> below;
  unsigned sum = 0, darkest = 0;
  for (int value = 0; value < 256; ++value) {
    if (sum == 0) darkest = histogram[value];
    below[value] = sum += histogram[value];
  }
  const unsigned range = std::max(1u, unsigned(in.size()) - darkest);
  Samples out(in.size());
  for (size_t i = 0; i < in.size(); ++i) out[i] = uint8_t(((below[in[i]] - darkest) * 255 + range / 2) / range);
  return out;
}

}  // namespace

Results process(const Photo& photo) {
  const Size size{photo.width, photo.height};
  Results results;
  results.luminance = luminance(photo);
  results.blurred = blur(results.luminance, size);
  results.edges = sobel(results.blurred, size);
  results.histogram.fill(0);
  for (uint8_t sample : results.luminance) ++results.histogram[sample];
  results.equalised = equalise(results.luminance, results.histogram);
  return results;
}

}  // namespace reference
