// Lanes of a warp that store to one place: the manuals leave open whose value stays, GPUs do not. Memory takes 128
// bytes at a time, of the lanes that go together the lowest one's value stays, and later ones overwrite it.
#include <cstdint>
#include <vector>

#include "check.h"

namespace {

constexpr int kLanes = 32, kPlaces = 32, kPatterns = 8, kMasks = 5;

__host__ __device__ int placeOf(int pattern, int lane) {
  switch (pattern) {
    case 0:
      return 3;
    case 1:
      return lane / 2;
    case 2:
      return lane % 16;
    case 3:
      return lane % 2;
    case 4:
      return lane * 7 % 8;
    case 5:
      return lane < 16 ? 0 : lane;
    case 6:
      return (31 - lane) / 3;
    default:
      return lane * lane % 11;
  }
}

__host__ __device__ bool stores(int mask, int lane) {
  constexpr uint32_t kSome = 0x93a5c6d1;
  return mask == 0 || (mask == 1 && lane >= 5 && lane <= 20) || (mask == 2 && lane % 2) || (mask == 3 && lane < 16) ||
         (mask == 4 && kSome >> lane & 1);
}

template <class T>
__host__ __device__ T valueOf(int lane) {
  T value;
  for (unsigned n = 0; n < sizeof(T); ++n) reinterpret_cast<uint8_t*>(&value)[n] = static_cast<uint8_t>(lane + 1);
  return value;
}

// How lanes find their places decides how code for vectors stores.
enum class Form { Asked, Uniform, Row, Shared, Guarded };

template <class T, Form form>
__global__ void store(T* places, int pattern, int mask) {
  const int lane = threadIdx.y * blockDim.x + threadIdx.x;
  __shared__ T tile[kPlaces];
  tile[lane] = T{};
  __syncwarp();
  if (form == Form::Guarded && pattern != 0) return;
  if (!stores(mask, lane)) return;
  if (form == Form::Uniform || form == Form::Guarded) places[pattern] = valueOf<T>(lane);
  if (form == Form::Row) places[threadIdx.x] = valueOf<T>(lane);
  if (form == Form::Asked) places[placeOf(pattern, lane)] = valueOf<T>(lane);
  if (form == Form::Shared) {
    tile[placeOf(pattern, lane)] = valueOf<T>(lane);
    __syncwarp(__activemask());
    places[placeOf(pattern, lane)] = tile[placeOf(pattern, lane)];
  }
}

template <class T, Form form>
void expectTheLowest(dim3 block) {
  DeviceArray<T> places(kPlaces);
  for (int pattern = 0; pattern < (form == Form::Guarded ? 1 : kPatterns); ++pattern)
    for (int mask = 0; mask < kMasks; ++mask) {
      places.clear();
      store<T, form><<<1, block>>>(places, pattern, mask);
      CHECK_LAUNCH();
      const std::vector<T> got = places.host();
      int winner[kPlaces];
      for (int& w : winner) w = -1;
      const int together = sizeof(T) <= 4 ? 32 : 128 / static_cast<int>(sizeof(T));
      for (int first = 0; first < kLanes; first += together)
        for (int lane = first + together - 1; lane >= first; --lane) {
          if (!stores(mask, lane)) continue;
          const int place = form == Form::Row                                ? lane % static_cast<int>(block.x)
                            : form == Form::Uniform || form == Form::Guarded ? pattern
                                                                             : placeOf(pattern, lane);
          winner[place] = lane;
        }
      for (int p = 0; p < kPlaces; ++p) {
        const int byte = reinterpret_cast<const uint8_t*>(&got[p])[0];
        EXPECT(byte == winner[p] + 1);
        for (unsigned n = 1; n < sizeof(T); ++n) EXPECT(reinterpret_cast<const uint8_t*>(&got[p])[n] == byte);
      }
    }
}

template <class T>
void expectOfType() {
  for (const dim3 block : {dim3(32), dim3(16, 2), dim3(8, 4), dim3(4, 8)}) {
    expectTheLowest<T, Form::Asked>(block);
    expectTheLowest<T, Form::Uniform>(block);
    expectTheLowest<T, Form::Row>(block);
    expectTheLowest<T, Form::Shared>(block);
    expectTheLowest<T, Form::Guarded>(block);
  }
}

// What programs do: the sum of a warp is lane 0's, and all lanes store what they hold.
__global__ void sumOfWarps(const int* in, int* out) {
  int sum = in[blockIdx.x * 32 + threadIdx.x];
  for (int step = 16; step > 0; step /= 2) sum += __shfl_down_sync(~0u, sum, step);
  out[blockIdx.x] = sum;
}

void expectSums() {
  constexpr int kWarps = 40;
  std::vector<int> in(kWarps * kLanes), expected(kWarps);
  for (int n = 0; n < kWarps * kLanes; ++n) expected[n / kLanes] += in[n] = n * 37 % 101;
  const DeviceArray<int> from(in), to(kWarps);
  sumOfWarps<<<kWarps, kLanes>>>(from, to);
  CHECK_LAUNCH();
  expectEqual(to.host(), expected, "sums of warps");
}

}  // namespace

int main() {
  expectOfType<uint8_t>();
  expectOfType<short>();
  expectOfType<float>();
  expectOfType<float2>();
  expectOfType<double>();
  expectOfType<uint4>();
  expectSums();
  return passed();
}
