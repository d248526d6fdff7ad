// The functions that real GPUs are given for gradients of boxes and cubemaps, run on an emulated device, which is asked
// for the same gradients itself: the answers have the same bits.
#include "backend/nvidia/functions/gradient_functions.cu"

#include "apps/numbered_levels.h"

namespace {

using namespace numbered_levels;

__global__ void readBoxes(cudaTextureObject_t texture, const Read* reads, float4* texels, Texel* ours) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const Read& r = reads[i];
  texels[i] = tex3DGrad<float4>(texture, r.at.x, r.at.y, r.at.z, r.dx, r.dy);
  ours[i] = vgGradientBoxF32(texture, r.at, r.dx, r.dy);
}
__global__ void readCubes(cudaTextureObject_t texture, const Read* reads, float4* texels, Texel* ours) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const Read& r = reads[i];
  texels[i] = texCubemapGrad<float4>(texture, r.at.x, r.at.y, r.at.z, r.dx, r.dy);
  ours[i] = vgGradientCubeF32(texture, r.at, r.dx, r.dy);
}
__global__ void readLayers(cudaTextureObject_t texture, const Read* reads, float4* texels, Texel* ours) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const Read& r = reads[i];
  const int layer = static_cast<int>(r.at.w);
  const float4 at = make_float4(__int_as_float(layer), r.at.x, r.at.y, r.at.z);
  texels[i] = texCubemapLayeredGrad<float4>(texture, r.at.x, r.at.y, r.at.z, layer, r.dx, r.dy);
  ours[i] = vgGradientCubesF32(texture, at, r.dx, r.dy);
}

void check(Form form) {
  const Texture texture = makeTexture(form);
  std::vector<Read> reads = makeReads(form);
  for (unsigned i = 0; i < kReads; i += 64) {  // neither coordinates nor gradients need to be numbers
    const float odd = i & 64 ? INFINITY : NAN;
    (i & 128 ? reads[i].at.x : i & 256 ? reads[i].dx.y : reads[i].dy.x) = odd;
  }
  const DeviceArray<Read> deviceReads(reads);
  const DeviceArray<float4> texels(kReads);
  const DeviceArray<Texel> ours(kReads);
  const auto kernel = form == kBox ? readBoxes : form == kCube ? readCubes : readLayers;
  kernel<<<kReads / 128, 128>>>(texture.object, deviceReads, texels, ours);
  CHECK_LAUNCH();
  const std::vector<float4> expected = texels.host();
  const std::vector<Texel> got = ours.host();
  for (unsigned i = 0; i < kReads; ++i) {
    EXPECT(got[i].resident == 1);
    if (std::memcmp(&expected[i], got[i].words, sizeof expected[i]) == 0) continue;
    float level;
    std::memcpy(&level, got[i].words, sizeof level);
    std::fprintf(stderr, "form %d, read %u: level %.9g, not %.9g\n", form, i, level, expected[i].x);
    std::_Exit(1);
  }
  destroy(texture);
}

}  // namespace

int main() {
  for (const Form form : {kBox, kCube, kCubes}) check(form);
  return passed();
}
