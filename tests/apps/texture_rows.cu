// Reads of textures that code for their kind may do by itself, against the same reads with handles from memory, of
// which that code knows nothing: the same bits in every lane. All formats, filters and ways to address, coordinates
// side by side, scaled up and down and at random, far outside and no numbers among them; blocks of several shapes.
#include <cstdint>
#include <limits>
#include <random>

#include "check.h"

constexpr int kWidth = 101, kHeight = 37;     // of the textures
constexpr int kAcross = 128 + 7, kDown = 24;  // of the grids
constexpr int kReads = 7;

__device__ static uint4 bitsOf(float4 v) {
  return make_uint4(__float_as_uint(v.x), __float_as_uint(v.y), __float_as_uint(v.z), __float_as_uint(v.w));
}
__device__ static uint4 bitsOf(uint4 v) { return v; }

struct Scales {
  float up, down;  // elements, or shares of them, for each thread
  float first;
};

// Numbered so that each format's kernels are its own.
template <class Texel, int kNumber, bool kPlane, bool kKept>
__global__ void readAll(cudaTextureObject_t given, const cudaTextureObject_t* kept, const float2* places, Scales scales,
                        uint4* out) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= kAcross || y >= kDown) return;
  const cudaTextureObject_t texture = kKept ? *kept : given;
  const int i = y * kAcross + x;
  const auto read = [&](float u, float v) {
    return bitsOf(kPlane ? tex2D<Texel>(texture, u, v) : tex1D<Texel>(texture, u));
  };
  uint4* const to = out + i * kReads;
  to[0] = read(x, y);
  to[1] = read(x - 3, y + 1);
  to[2] = read(x + 0.5f, y + 0.5f);
  to[3] = read((x + 0.5f) * scales.up + scales.first, (y + 0.5f) * scales.up);
  to[4] = read((x + 0.5f) * scales.down + scales.first, (y + 0.5f) * scales.down);
  const float2 place = places[i];
  to[5] = read(place.x, scales.up * y);
  to[6] = x % 3 ? read(place.x, place.y) : make_uint4(1, 2, 3, 4);
}

template <class Texel, int kNumber, bool kKept>
__global__ void fetchAll(cudaTextureObject_t given, const cudaTextureObject_t* kept, const float2* places, uint4* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= kAcross * kDown) return;
  const cudaTextureObject_t texture = kKept ? *kept : given;
  const auto read = [&](int at) { return bitsOf(tex1Dfetch<Texel>(texture, at)); };
  uint4* const to = out + i * kReads;
  to[0] = read(i);
  to[1] = read(i - 40);
  to[2] = read(i * 2);
  to[3] = read(i / 2);
  to[4] = read(static_cast<int>(places[i].x));
  to[5] = i % 5 ? read(i % 64) : make_uint4(1, 2, 3, 4);
  to[6] = read(7);
}

static std::mt19937 randomNumbers(11);

static std::vector<float2> randomPlaces(bool normalized) {
  std::vector<float2> places(kAcross * kDown);
  const auto coordinate = [&](int size) {
    const float share = (randomNumbers() % 6000) / 5000.0f - 0.1f;
    switch (randomNumbers() % 400) {
      case 0:
        return std::numeric_limits<float>::quiet_NaN();
      case 1:
        return std::numeric_limits<float>::infinity();
      case 2:
        return -std::numeric_limits<float>::infinity();
      case 3:
        return 1e9f * share;
      case 4:
        return -0.0f;
      default:
        return normalized ? share : share * size;
    }
  };
  for (size_t n = 0; n < places.size(); ++n) {
    places[n] = make_float2(coordinate(kWidth), coordinate(kHeight));
    if (n / 32 % 2) places[n].x = (normalized ? 1.0f / kWidth : 1.0f) * (30 + n % 32 * 0.75f);  // in order, near
  }
  return places;
}

struct Way {
  cudaTextureFilterMode filter;
  bool normalized;
  cudaTextureAddressMode addressing;
};
constexpr Way kWays[] = {{cudaFilterModePoint, false, cudaAddressModeClamp},
                         {cudaFilterModeLinear, false, cudaAddressModeClamp},
                         {cudaFilterModeLinear, true, cudaAddressModeWrap},
                         {cudaFilterModePoint, true, cudaAddressModeMirror},
                         {cudaFilterModeLinear, false, cudaAddressModeBorder}};

// A texture object over random elements, and the same number in memory.
class Texture {
 public:
  Texture(cudaChannelFormatDesc format, bool asFractions, const Way& way, bool plane, bool buffer) {
    const size_t unit = (format.x + format.y + format.z + format.w) / 8, row = kWidth * unit;
    std::vector<unsigned char> elements(row * kHeight);
    for (unsigned char& byte : elements) byte = randomNumbers();
    if (format.f == cudaChannelFormatKindFloat && format.x == 32)
      for (size_t n = 0; n + 4 <= elements.size(); n += 4) {
        float value = int(randomNumbers() % 20001 - 10000) * 0.37f;
        if (randomNumbers() % 50 == 0) value = std::numeric_limits<float>::infinity();
        std::memcpy(&elements[n], &value, 4);
      }
    cudaResourceDesc resource{};
    if (buffer) {
      CHECK(cudaMalloc(&memory_, elements.size()));
      CHECK(cudaMemcpy(memory_, elements.data(), elements.size(), cudaMemcpyHostToDevice));
      resource.resType = cudaResourceTypeLinear;
      resource.res.linear.devPtr = memory_;
      resource.res.linear.desc = format;
      resource.res.linear.sizeInBytes = elements.size();
    } else if (plane && way.addressing == cudaAddressModeClamp) {  // as frames of videos are
      size_t pitch = 0;
      CHECK(cudaMallocPitch(&memory_, &pitch, row, kHeight));
      CHECK(cudaMemcpy2D(memory_, pitch, elements.data(), row, row, kHeight, cudaMemcpyHostToDevice));
      resource.resType = cudaResourceTypePitch2D;
      resource.res.pitch2D = {memory_, format, kWidth, kHeight, pitch};
    } else {
      CHECK(cudaMallocArray(&array_, &format, kWidth, plane ? kHeight : 0));
      CHECK(cudaMemcpy2DToArray(array_, 0, 0, elements.data(), row, row, plane ? kHeight : 1, cudaMemcpyHostToDevice));
      resource.resType = cudaResourceTypeArray;
      resource.res.array.array = array_;
    }
    cudaTextureDesc reads{};
    for (auto& mode : reads.addressMode) mode = way.addressing;
    reads.filterMode = way.filter;
    reads.normalizedCoords = way.normalized;
    reads.readMode = asFractions ? cudaReadModeNormalizedFloat : cudaReadModeElementType;
    reads.borderColor[0] = reads.borderColor[2] = 0.25f;
    CHECK(cudaCreateTextureObject(&number, &resource, &reads, nullptr));
    CHECK(cudaMalloc(&kept, sizeof number));
    CHECK(cudaMemcpy(kept, &number, sizeof number, cudaMemcpyHostToDevice));
  }
  ~Texture() {
    cudaDestroyTextureObject(number);
    cudaFree(kept);
    cudaFree(memory_);
    if (array_) cudaFreeArray(array_);
  }

  cudaTextureObject_t number = 0;
  cudaTextureObject_t* kept = nullptr;

 private:
  void* memory_ = nullptr;
  cudaArray_t array_ = nullptr;
};

static bool few = false;  // formats, shapes of blocks and ways

static bool areNans(uint32_t a, uint32_t b) { return (a << 1) > 0xff000000u && (b << 1) > 0xff000000u; }

template <class Launch>
static void compare(const char* what, int number, Launch launch) {
  DeviceArray<uint4> given(kAcross * kDown * kReads), kept(given.size());
  for (int round = 0; round < 2; ++round) {
    given.clear(), kept.clear();
    launch(false, static_cast<uint4*>(given));
    launch(true, static_cast<uint4*>(kept));
    CHECK_LAUNCH();
    const std::vector<uint4> a = given.host(), b = kept.host();
    const auto* const words = reinterpret_cast<const uint32_t*>(a.data());
    const auto* const others = reinterpret_cast<const uint32_t*>(b.data());
    for (size_t n = 0; n < 4 * a.size(); ++n)
      if (words[n] != others[n] && !areNans(words[n], others[n])) {
        std::fprintf(stderr, "%s %d, thread %zu, read %zu, channel %zu: %08x, not %08x\n", what, number, n / 4 / kReads,
                     n / 4 % kReads, n % 4, words[n], others[n]);
        std::_Exit(1);
      }
  }
}

template <class Texel, int kNumber>
static void tryFormat(cudaChannelFormatDesc format, bool asFractions) {
  const bool isFloat = asFractions || format.f == cudaChannelFormatKindFloat;
  int number = kNumber * 100;
  for (const Way& way : kWays) {
    if (way.filter == cudaFilterModeLinear && !isFloat) continue;
    if (kNumber > 3 && (&way - kWays + kNumber) % 2) continue;
    const std::vector<float2> list = randomPlaces(way.normalized);
    const DeviceArray<float2> places(list);
    const float unit = way.normalized ? 1.0f / kWidth : 1.0f;
    const Scales scales{0.6f * unit, 1.7f * unit, 0.3f * unit};
    for (const bool plane : {true, false}) {
      if (!plane && kNumber % 4 != 1) continue;
      const Texture texture(format, asFractions, way, plane, false);
      for (const dim3 block : {dim3(32, 4), dim3(16, 8), dim3(8, 8), dim3(45, 2)}) {
        if (block.x != 32 && (!plane || kNumber != 1 || few)) continue;
        const dim3 grid((kAcross + block.x - 1) / block.x, (kDown + block.y - 1) / block.y);
        compare(plane ? "plane" : "line", ++number, [&](bool kept, uint4* out) {
          const auto kernel =
              plane ? (kept ? readAll<Texel, kNumber, true, true> : readAll<Texel, kNumber, true, false>)
                    : (kept ? readAll<Texel, kNumber, false, true> : readAll<Texel, kNumber, false, false>);
          kernel<<<grid, block>>>(texture.number, texture.kept, places, scales, out);
        });
      }
    }
  }
  const DeviceArray<float2> places(randomPlaces(false));
  const Texture buffer(format, asFractions, kWays[0], false, true);
  compare("buffer", ++number, [&](bool kept, uint4* out) {
    const auto kernel = kept ? fetchAll<Texel, kNumber, true> : fetchAll<Texel, kNumber, false>;
    kernel<<<(kAcross * kDown + 127) / 128, 128>>>(buffer.number, buffer.kept, places, out);
  });
}

// With an argument: less of all.
int main(int count, char**) {
  few = count > 1;
  tryFormat<float4, 1>(cudaCreateChannelDesc<unsigned char>(), true);
  tryFormat<float4, 5>(cudaCreateChannelDesc<ushort4>(), true);
  tryFormat<float4, 7>(cudaCreateChannelDesc<float2>(), false);
  tryFormat<uint4, 10>(cudaCreateChannelDesc<char4>(), false);
  if (few) return passed();
  tryFormat<float4, 2>(cudaCreateChannelDesc<uchar2>(), true);
  tryFormat<float4, 3>(cudaCreateChannelDesc<uchar4>(), true);
  tryFormat<float4, 4>(cudaCreateChannelDesc<unsigned short>(), true);
  tryFormat<float4, 6>(cudaCreateChannelDesc<float>(), false);
  tryFormat<float4, 8>(cudaCreateChannelDesc<float4>(), false);
  tryFormat<uint4, 9>(cudaCreateChannelDesc<unsigned char>(), false);
  tryFormat<uint4, 11>(cudaCreateChannelDesc<short2>(), false);
  tryFormat<uint4, 12>(cudaCreateChannelDesc<unsigned int>(), false);
  tryFormat<float4, 13>(cudaCreateChannelDescHalf2(), false);
  tryFormat<float4, 14>(cudaCreateChannelDesc<short>(), true);
  return passed();
}
