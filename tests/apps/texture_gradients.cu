// Gradients of boxes and cubemaps choose the level that is read.
#include "numbered_levels.h"

namespace {

using namespace numbered_levels;

__global__ void readBoxes(cudaTextureObject_t texture, const Read* reads, float4* texels) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const Read& r = reads[i];
  texels[i] = tex3DGrad<float4>(texture, r.at.x, r.at.y, r.at.z, r.dx, r.dy);
}
__global__ void readCubes(cudaTextureObject_t texture, const Read* reads, float4* texels) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const Read& r = reads[i];
  texels[i] = texCubemapGrad<float4>(texture, r.at.x, r.at.y, r.at.z, r.dx, r.dy);
}
__global__ void readLayers(cudaTextureObject_t texture, const Read* reads, float4* texels) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const Read& r = reads[i];
  texels[i] = texCubemapLayeredGrad<float4>(texture, r.at.x, r.at.y, r.at.z, static_cast<int>(r.at.w), r.dx, r.dy);
}

// How far a change from the middle of a face goes, in faces: beyond the edge, at 1, the next face is unfolded.
double alongFaces(double change) { return change <= 1 ? change / 2 : 1 - 0.5 / change; }

// Of changes of one axis each. Whichever is longest counts, or their sum's share of it.
double expectedLevel(Form form, const Read& r) {
  const double dx = std::fabs(r.dx.x), dy = std::fabs(r.dy.y);
  const double longest = form == kBox ? std::max(dx, dy) : alongFaces(std::max(dx, dy));
  return std::min(std::max(std::log2(longest * kEdge), 0.0), kLevels - 1.0);
}

void check(Form form) {
  const Texture texture = makeTexture(form);
  const std::vector<Read> reads = makeReads(form);
  const DeviceArray<Read> deviceReads(reads);
  const DeviceArray<float4> texels(kReads);
  const auto kernel = form == kBox ? readBoxes : form == kCube ? readCubes : readLayers;
  kernel<<<kReads / 128, 128>>>(texture.object, deviceReads, texels);
  CHECK_LAUNCH();
  const std::vector<float4> got = texels.host();
  for (unsigned i = 0; i < kReads; ++i) {
    if (i < kReads / 2) {
      const double expected = expectedLevel(form, reads[i]);
      // Both axes at 11/16 are longer than one where they are alike.
      EXPECT(got[i].x > expected - 0.02 && got[i].x < expected + 0.12);
    }
    EXPECT(got[i].x >= 0 && got[i].x <= kLevels - 1);
    EXPECT(got[i].y == reads[i].at.w && got[i].z == 1 && got[i].w == 0);
  }
  destroy(texture);
}

}  // namespace

int main() {
  for (const Form form : {kBox, kCube, kCubes}) check(form);
  return passed();
}
