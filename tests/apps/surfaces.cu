// Surfaces of the runtime API: an image changed in place again and again, layers, boxes, cubemaps; what they hold read
// back through textures; gathers, gradients and directions.
#include <algorithm>

#include "check.h"

namespace {

constexpr int kEdge = 48;

cudaResourceDesc resourceOf(cudaArray_t array) {
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  return resource;
}

cudaSurfaceObject_t surfaceOf(cudaArray_t array) {
  const cudaResourceDesc resource = resourceOf(array);
  cudaSurfaceObject_t surface = 0;
  CHECK(cudaCreateSurfaceObject(&surface, &resource));
  return surface;
}

cudaTextureObject_t textureOf(cudaArray_t array, bool normalized, cudaTextureFilterMode filter = cudaFilterModePoint) {
  const cudaResourceDesc resource = resourceOf(array);
  cudaTextureDesc settings = {};
  for (auto& mode : settings.addressMode) mode = cudaAddressModeClamp;
  settings.filterMode = filter;
  settings.normalizedCoords = normalized;
  cudaTextureObject_t texture = 0;
  CHECK(cudaCreateTextureObject(&texture, &resource, &settings, nullptr));
  return texture;
}

template <class T>
cudaArray_t arrayOf(cudaExtent extent, unsigned flags) {
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<T>();
  cudaArray_t array = nullptr;
  CHECK(cudaMalloc3DArray(&array, &format, extent, flags | cudaArraySurfaceLoadStore));
  return array;
}

// One step of diffusion from one surface to the other; the edge counts as itself.
__global__ void diffuse(cudaSurfaceObject_t from, cudaSurfaceObject_t to) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= kEdge || y >= kEdge) return;
  const auto at = [&](int px, int py) {
    return surf2Dread<int>(from, px * int(sizeof(int)), py, cudaBoundaryModeClamp);
  };
  const int sum = 4 * at(x, y) + at(x - 1, y) + at(x + 1, y) + at(x, y - 1) + at(x, y + 1);
  surf2Dwrite(sum / 8, to, x * int(sizeof(int)), y);
}

void diffusion() {
  std::vector<int> cells(kEdge * kEdge);
  for (size_t i = 0; i < cells.size(); ++i) cells[i] = int(i * 7919 % 10007);
  cudaArray_t arrays[2];
  cudaSurfaceObject_t surfaces[2];
  for (int i = 0; i < 2; ++i) {
    arrays[i] = arrayOf<int>(make_cudaExtent(kEdge, kEdge, 0), 0);
    surfaces[i] = surfaceOf(arrays[i]);
  }
  CHECK(cudaMemcpy2DToArray(arrays[0], 0, 0, cells.data(), kEdge * 4, kEdge * 4, kEdge, cudaMemcpyHostToDevice));
  for (int step = 0; step < 10; ++step) {
    diffuse<<<dim3(3, 6), dim3(16, 8)>>>(surfaces[step % 2], surfaces[1 - step % 2]);
    CHECK_LAUNCH();
    const std::vector<int> before = cells;
    const auto at = [&](int x, int y) {
      return before[std::clamp(y, 0, kEdge - 1) * kEdge + std::clamp(x, 0, kEdge - 1)];
    };
    for (int y = 0; y < kEdge; ++y)
      for (int x = 0; x < kEdge; ++x)
        cells[y * kEdge + x] = (4 * at(x, y) + at(x - 1, y) + at(x + 1, y) + at(x, y - 1) + at(x, y + 1)) / 8;
  }
  std::vector<int> found(cells.size());
  CHECK(cudaMemcpy2DFromArray(found.data(), kEdge * 4, arrays[0], 0, 0, kEdge * 4, kEdge, cudaMemcpyDeviceToHost));
  expectEqual(found, cells, "diffusion");
  for (int i = 0; i < 2; ++i) {
    CHECK(cudaDestroySurfaceObject(surfaces[i]));
    CHECK(cudaFreeArray(arrays[i]));
  }
}

__global__ void number(cudaSurfaceObject_t layers, cudaSurfaceObject_t box, cudaSurfaceObject_t cube) {
  const int x = threadIdx.x, y = threadIdx.y, z = blockIdx.x;
  const float value = float(x + 8 * y + 64 * z);
  surf2DLayeredwrite(make_float2(value, -value), layers, x * int(sizeof(float2)), y, z);
  surf3Dwrite(make_uchar4(x, y, z, 255), box, x * 4, y, z);
  surfCubemapwrite(value, cube, x * 4, y, z);
}

__global__ void collect(cudaTextureObject_t layers, cudaTextureObject_t box, cudaTextureObject_t cube, float* out) {
  const int x = threadIdx.x, y = threadIdx.y, z = blockIdx.x;
  const float2 pair = tex2DLayered<float2>(layers, x + 0.5f, y + 0.5f, z);
  const uchar4 bytes = tex3D<uchar4>(box, x + 0.5f, y + 0.5f, z + 0.5f);
  // The middle of element (x, y) of each face, as a direction.
  const float s = (2 * x + 1) / 8.0f - 1, t = (2 * y + 1) / 8.0f - 1;
  const float3 directions[6] = {{1, -t, -s}, {-1, -t, s}, {s, 1, t}, {s, -1, -t}, {s, -t, 1}, {-s, -t, -1}};
  const float onFace = texCubemap<float>(cube, directions[z].x, directions[z].y, directions[z].z);
  float* const mine = out + 4 * (x + 8 * y + 64 * z);
  mine[0] = pair.x;
  mine[1] = pair.y;
  mine[2] = float(bytes.x + 8 * bytes.y + 64 * bytes.z);
  mine[3] = onFace;
}

void layersBoxesAndFaces() {
  const cudaArray_t layers = arrayOf<float2>(make_cudaExtent(8, 8, 6), cudaArrayLayered);
  const cudaArray_t box = arrayOf<uchar4>(make_cudaExtent(8, 8, 6), 0);
  const cudaArray_t cube = arrayOf<float>(make_cudaExtent(8, 8, 6), cudaArrayCubemap);
  number<<<6, dim3(8, 8)>>>(surfaceOf(layers), surfaceOf(box), surfaceOf(cube));
  CHECK_LAUNCH();
  DeviceArray<float> out(4 * 8 * 8 * 6);
  collect<<<6, dim3(8, 8)>>>(textureOf(layers, false), textureOf(box, false), textureOf(cube, true), out);
  CHECK_LAUNCH();
  std::vector<float> expected;
  for (int i = 0; i < 8 * 8 * 6; ++i) {
    const float value = float(i);
    for (const float e : {value, -value, value, value}) expected.push_back(e);
  }
  expectEqual(out.host(), expected, "layers, boxes and faces");
}

__global__ void neighbours(cudaTextureObject_t image, float4* gathered, float* sloped) {
  const int x = threadIdx.x, y = threadIdx.y;
  gathered[y * 7 + x] = tex2Dgather<float4>(image, x + 1.0f, y + 1.0f, 0);
  sloped[y * 7 + x] = tex2DGrad<float>(image, x + 0.5f, y + 0.5f, make_float2(1, 0), make_float2(0, 1));
}

void gathers() {
  const cudaArray_t array = arrayOf<float>(make_cudaExtent(8, 8, 0), cudaArrayTextureGather);
  std::vector<float> image(64);
  for (int i = 0; i < 64; ++i) image[i] = float(i * i);
  CHECK(cudaMemcpy2DToArray(array, 0, 0, image.data(), 32, 32, 8, cudaMemcpyHostToDevice));
  DeviceArray<float4> gathered(49);
  DeviceArray<float> sloped(49);
  neighbours<<<1, dim3(7, 7)>>>(textureOf(array, false), gathered, sloped);
  CHECK_LAUNCH();
  const std::vector<float4> found = gathered.host();
  const std::vector<float> plain = sloped.host();
  for (int y = 0; y < 7; ++y)
    for (int x = 0; x < 7; ++x) {
      const float4 four = found[y * 7 + x];
      const auto at = [&](int dx, int dy) { return image[(y + dy) * 8 + x + dx]; };
      EXPECT(four.x == at(0, 1) && four.y == at(1, 1) && four.z == at(1, 0) && four.w == at(0, 0));
      EXPECT(plain[y * 7 + x] == at(0, 0));
    }
}

__global__ void readThrough(cudaTextureObject_t texture, float* out) { out[0] = tex1Dfetch<float>(texture, 0); }

// A texture of no memory is refused; one of memory reads it.
void linearMemory() {
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeLinear;
  cudaTextureDesc settings = {};
  cudaTextureObject_t texture = 0;
  EXPECT(cudaCreateTextureObject(&texture, &resource, &settings, nullptr) != cudaSuccess);
  (void)cudaGetLastError();
  DeviceArray<float> values(std::vector<float>(128, 4.5f)), out(1);
  resource.res.linear.devPtr = values;
  resource.res.linear.desc = cudaCreateChannelDesc<float>();
  resource.res.linear.sizeInBytes = 512;
  CHECK(cudaCreateTextureObject(&texture, &resource, &settings, nullptr));
  readThrough<<<1, 1>>>(texture, out);
  CHECK_LAUNCH();
  EXPECT(out.host()[0] == 4.5f);
  CHECK(cudaDestroyTextureObject(texture));
}

}  // namespace

int main() {
  diffusion();
  layersBoxesAndFaces();
  gathers();
  linearMemory();
  return passed();
}
