// Fills: the six functions that set one row, the six that set several, each for elements of 8, 16 and 32 bits.
#include <cstring>
#include <string>

#include "suite.h"

namespace {

constexpr uint32_t kValue = 0xc3a15e97;  // four different bytes

struct Fill {
  const char* name;
  const char* prefix;
  size_t element;  // bytes
  bool async;
  CUresult (*row)(CUdeviceptr, size_t count, uint32_t value, CUstream);
  CUresult (*rows)(CUdeviceptr, size_t pitch, size_t width, size_t height, uint32_t value, CUstream);

  std::string rule(int number) const {
    char text[64];
    snprintf(text, sizeof text, "%s-%03d", prefix, number);
    return text;
  }
};

#define ROW(bits, type)                                                                                           \
  {"cuMemsetD" #bits,                                                                                             \
   "MEMSETD" #bits,                                                                                               \
   bits / 8,                                                                                                      \
   false,                                                                                                         \
   [](CUdeviceptr p, size_t n, uint32_t v, CUstream) { return cuMemsetD##bits(p, type(v), n); },                  \
   nullptr},                                                                                                      \
  {                                                                                                               \
    "cuMemsetD" #bits "Async", "MEMSETD" #bits "ASYNC", bits / 8, true,                                           \
        [](CUdeviceptr p, size_t n, uint32_t v, CUstream s) { return cuMemsetD##bits##Async(p, type(v), n, s); }, \
        nullptr                                                                                                   \
  }

#define ROWS(bits, type)                                                              \
  {"cuMemsetD2D" #bits,                                                               \
   "MEMSETD2D" #bits,                                                                 \
   bits / 8,                                                                          \
   false,                                                                             \
   nullptr,                                                                           \
   [](CUdeviceptr p, size_t pitch, size_t w, size_t h, uint32_t v, CUstream) {        \
     return cuMemsetD2D##bits(p, pitch, type(v), w, h);                               \
   }},                                                                                \
  {                                                                                   \
    "cuMemsetD2D" #bits "Async", "MEMSETD2D" #bits "ASYNC", bits / 8, true, nullptr,  \
        [](CUdeviceptr p, size_t pitch, size_t w, size_t h, uint32_t v, CUstream s) { \
          return cuMemsetD2D##bits##Async(p, pitch, type(v), w, h, s);                \
        }                                                                             \
  }

const Fill kRows[] = {ROW(8, uint8_t), ROW(16, uint16_t), ROW(32, uint32_t)};
const Fill kBoxes[] = {ROWS(8, uint8_t), ROWS(16, uint16_t), ROWS(32, uint32_t)};

void PrintTo(const Fill& fill, std::ostream* out) { *out << fill.name; }
std::string nameOfFill(const testing::TestParamInfo<Fill>& info) { return info.param.name; }

// `count` elements of `value` written into `content` from byte `at`.
void model(Bytes& content, size_t at, size_t element, size_t count) {
  for (size_t i = 0; i < count * element; ++i) content[at + i] = uint8_t(kValue >> 8 * (i % element));
}

class Fills : public Device, public testing::WithParamInterface<Fill> {
 protected:
  const Fill& fill = GetParam();

  CUresult row(CUdeviceptr at, size_t count) {
    return finish([&](CUstream s) { return fill.row(at, count, kValue, s); });
  }
  CUresult rows(CUdeviceptr at, size_t pitch, size_t width, size_t height) {
    return finish([&](CUstream s) { return fill.rows(at, pitch, width, height, kValue, s); });
  }
  template <class Call>
  CUresult finish(Call call) {
    if (!fill.async) return call(nullptr);
    const Stream stream;
    const CUresult result = call(stream);
    stream.synchronize();
    return result;
  }
  // One element or one box at `at`, on a stream.
  CUresult on(CUstream stream, CUdeviceptr at, size_t count) {
    return fill.row ? fill.row(at, count, kValue, stream)
                    : fill.rows(at, count * fill.element, count, 1, kValue, stream);
  }
};

// ---- One row ----

class RowFills : public Fills {};
INSTANTIATE_TEST_SUITE_P(Of, RowFills, testing::ValuesIn(kRows), nameOfFill);

TEST_P(RowFills, SetExactlyTheElementsAskedFor) {
  PROVES(fill.rule(1), fill.rule(2));
  for (size_t count : {size_t{1}, size_t{3}, size_t{100}, size_t{1021}}) {
    const Bytes before = pattern(8192, 1);
    const DeviceBuffer buffer(before);
    ASSERT_OK(row(buffer + 16, count));
    Bytes after = before;
    model(after, 16, fill.element, count);
    EXPECT_EQ(buffer.read(), after) << count << " elements";
  }
}

TEST_P(RowFills, ReachEveryKindOfMemoryTheDeviceKnows) {
  PROVES(fill.rule(1));
  const PinnedBuffer pinned(4096);
  const ManagedBuffer managed(4096);
  Bytes after(4096);
  memset(pinned.data(), 0, 4096);
  memset(managed.data(), 0, 4096);
  model(after, 64, fill.element, 100);
  ASSERT_OK(row(pinned + 64, 100));
  ASSERT_OK(row(managed + 64, 100));
  EXPECT_EQ(pinned.bytes(), after);
  EXPECT_EQ(Bytes(managed.data(), managed.data() + 4096), after);
  Bytes pageable(64);
  EXPECT_INVALID_VALUE(row(reinterpret_cast<CUdeviceptr>(pageable.data()), 1));
}

TEST_P(RowFills, OfNothingSucceed) {
  PROVES(fill.rule(1));
  const DeviceBuffer buffer(pattern(64));
  EXPECT_OK(row(buffer, 0));
  EXPECT_OK(row(0, 0));
  EXPECT_EQ(buffer.read(), pattern(64));
}

TEST_P(RowFills, ThatLeaveTheAllocationAreRefused) {
  PROVES(fill.rule(1));
  const DeviceBuffer buffer(pattern(4096));
  EXPECT_INVALID_VALUE(row(buffer, 4096 / fill.element + 1));
  EXPECT_INVALID_VALUE(row(buffer, size_t{1} << 40));
  EXPECT_INVALID_VALUE(row(0, 1));
  EXPECT_EQ(buffer.read(), pattern(4096));
}

class AlignedRowFills : public Fills {};
INSTANTIATE_TEST_SUITE_P(Of, AlignedRowFills, testing::ValuesIn(kRows + 2, kRows + 6), nameOfFill);

TEST_P(AlignedRowFills, NeedAnAddressThatIsAMultipleOfTheElement) {
  PROVES(fill.rule(3));
  const DeviceBuffer buffer(pattern(4096));
  for (size_t off = 1; off < fill.element; ++off) EXPECT_INVALID_VALUE(row(buffer + off, 4)) << "at +" << off;
  EXPECT_OK(row(buffer + fill.element, 1));
}

// ---- Several rows ----

class BoxFills : public Fills {
 protected:
  // Numbers of the rules behind the alignment rule, which the 8-bit functions do not have.
  std::string later(int number) const { return fill.rule(number - (fill.element == 1)); }
};
INSTANTIATE_TEST_SUITE_P(Of, BoxFills, testing::ValuesIn(kBoxes), nameOfFill);

TEST_P(BoxFills, SetTheElementsOfEachRowAndNoPadding) {
  PROVES(fill.rule(1), fill.rule(2), fill.rule(3));
  for (size_t width : {size_t{1}, size_t{3}, size_t{50}})
    for (size_t height : {size_t{1}, size_t{2}, size_t{9}}) {
      const Bytes before = pattern(4096, 1);
      const DeviceBuffer buffer(before);
      ASSERT_OK(rows(buffer + 8, 256, width, height));
      Bytes after = before;
      for (size_t row = 0; row < height; ++row) model(after, 8 + row * 256, fill.element, width);
      EXPECT_EQ(buffer.read(), after) << width << " x " << height;
    }
}

TEST_P(BoxFills, OfOneRowDoNotUseThePitch) {
  PROVES(later(5));
  const Bytes before = pattern(512, 1);
  for (size_t pitch : {size_t{0}, size_t{3}}) {
    const DeviceBuffer buffer(before);
    ASSERT_OK(rows(buffer, pitch, 20, 1)) << pitch;
    Bytes after = before;
    model(after, 0, fill.element, 20);
    EXPECT_EQ(buffer.read(), after);
  }
}

// Advice about speed; that the advised way is a right one is what can be proven.
TEST_P(BoxFills, TakeThePitchOfPitchedMemory) {
  PROVES(later(6));
  CUdeviceptr memory = 0;
  size_t pitch = 0;
  ASSERT_OK(cuMemAllocPitch(&memory, &pitch, 400, 6, 4));
  ASSERT_OK(cuMemsetD8(memory, 0, pitch * 6));
  ASSERT_OK(rows(memory, pitch, 100, 6));
  Bytes after(pitch * 6);
  for (size_t row = 0; row < 6; ++row) model(after, row * pitch, fill.element, 100);
  EXPECT_EQ(readDevice(memory, pitch * 6), after);
  EXPECT_OK(cuMemFree(memory));
}

TEST_P(BoxFills, NeedRoomOnlyForWhatTheyWrite) {
  PROVES(fill.rule(2));
  const size_t pitch = 256, width = 10;
  const DeviceBuffer buffer(pitch * 3 + width * fill.element);
  EXPECT_OK(rows(buffer, pitch, width, 4)) << "the last row ends with the allocation";
  EXPECT_INVALID_VALUE(rows(buffer, pitch, width + 1, 4));
  EXPECT_INVALID_VALUE(rows(buffer, pitch, width, 5));
  EXPECT_INVALID_VALUE(rows(buffer, width * fill.element - 4, width, 2)) << "rows would overlap";
  EXPECT_INVALID_VALUE(rows(buffer, size_t(attribute(CU_DEVICE_ATTRIBUTE_MAX_PITCH)) + 1, 1, 2));
  EXPECT_OK(rows(buffer, pitch, 0, 4));
  EXPECT_OK(rows(buffer, pitch, 4, 0));
}

class AlignedBoxFills : public Fills {};
INSTANTIATE_TEST_SUITE_P(Of, AlignedBoxFills, testing::ValuesIn(kBoxes + 2, kBoxes + 6), nameOfFill);

TEST_P(AlignedBoxFills, NeedAddressAndPitchThatAreMultiplesOfTheElement) {
  PROVES(fill.rule(4));
  const DeviceBuffer buffer(pattern(4096));
  for (size_t off = 1; off < fill.element; ++off) {
    EXPECT_INVALID_VALUE(rows(buffer + off, 256, 4, 4)) << "at +" << off;
    EXPECT_INVALID_VALUE(rows(buffer, 256 + off, 4, 4)) << "pitch 256 + " << off;
  }
  EXPECT_EQ(buffer.read(), pattern(4096)) << "a refused fill writes nothing";
}

// ---- When they run and when they return ----

std::vector<Fill> fillsThat(bool async) {
  std::vector<Fill> list;
  for (const Fill& fill : kRows)
    if (fill.async == async) list.push_back(fill);
  for (const Fill& fill : kBoxes)
    if (fill.async == async) list.push_back(fill);
  return list;
}

// Numbers of the last rules: ... stream, default stream, synchronisation, results, earlier errors.
class SynchronousFills : public Fills {
 protected:
  std::string synchronisation() const {
    const bool box = fill.rows != nullptr, byte = fill.element == 1;
    return fill.rule((box ? 7 : 4) - (byte ? 1 : 0));
  }
};
INSTANTIATE_TEST_SUITE_P(Of, SynchronousFills, testing::ValuesIn(fillsThat(false)), nameOfFill);

TEST_P(SynchronousFills, OfDeviceMemoryReturnBeforeEarlierWorkIsDone) {
  PROVES(synchronisation());
  const Stream blocking(CU_STREAM_DEFAULT);
  const DeviceBuffer buffer(pattern(64));
  launchSpin(blocking, 0.2);
  const double start = now();
  EXPECT_OK(on(nullptr, buffer, 8));
  EXPECT_LT(now() - start, 0.15);
  EXPECT_EQ(cuStreamQuery(nullptr), CUDA_ERROR_NOT_READY);
  Bytes after = pattern(64);
  model(after, 0, fill.element, 8);
  EXPECT_EQ(buffer.read(), after) << "in the order of the default stream";
}

TEST_P(SynchronousFills, OfPageLockedMemoryAreDoneOnReturn) {
  PROVES(synchronisation());
  const Stream blocking(CU_STREAM_DEFAULT);
  const PinnedBuffer buffer(pattern(64));
  launchSpin(blocking, 0.1);
  EXPECT_OK(on(nullptr, buffer, 8));
  Bytes after = pattern(64);
  model(after, 0, fill.element, 8);
  EXPECT_EQ(buffer.bytes(), after);
  EXPECT_TRUE(blocking.idle());
}

class AsynchronousFills : public Fills {
 protected:
  int first() const { return fill.rows ? (fill.element == 1 ? 6 : 7) : (fill.element == 1 ? 3 : 4); }
};
INSTANTIATE_TEST_SUITE_P(Of, AsynchronousFills, testing::ValuesIn(fillsThat(true)), nameOfFill);

TEST_P(AsynchronousFills, ComeBetweenTheWorkBeforeAndAfterThemInTheirStream) {
  PROVES(fill.rule(first()));
  const DeviceBuffer buffer(64), copy(64);
  const Stream stream;
  launchSpin(stream, 0.01);
  ASSERT_OK(cuMemsetD8Async(buffer, 0x77, 64, stream));
  ASSERT_OK(on(stream, buffer, 8));
  ASSERT_OK(cuMemcpyDtoDAsync(copy, buffer, 64, stream));
  ASSERT_OK(cuMemsetD8Async(buffer, 0, 64, stream));
  stream.synchronize();
  Bytes after(64, 0x77);
  model(after, 0, fill.element, 8);
  EXPECT_EQ(copy.read(), after);
  EXPECT_EQ(buffer.read(), Bytes(64));
}

TEST_P(AsynchronousFills, OnTheDefaultStreamWaitForBlockingStreams) {
  PROVES(fill.rule(first() + 1));
  const DeviceBuffer buffer(64);
  const Stream blocking(CU_STREAM_DEFAULT);
  StreamBlock block(blocking);
  ASSERT_OK(on(nullptr, buffer, 8));
  EXPECT_EQ(cuStreamQuery(nullptr), CUDA_ERROR_NOT_READY);
  block.release();
  Bytes after(64);
  ASSERT_OK(cuStreamSynchronize(nullptr));
  after = buffer.read();
  Bytes wanted = after;
  model(wanted, 0, fill.element, 8);
  EXPECT_EQ(after, wanted);
}

TEST_P(AsynchronousFills, ReturnBeforeTheWorkAheadOfThemIsDone) {
  PROVES(fill.rule(first() + 2));
  const DeviceBuffer buffer(pattern(64));
  const PinnedBuffer pinned(pattern(64));
  const Stream stream;
  StreamBlock block(stream);
  ASSERT_OK(on(stream, buffer, 8));
  ASSERT_OK(on(stream, pinned, 8));
  EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
  EXPECT_EQ(pinned.bytes(), pattern(64));
  block.release();
  stream.synchronize();
  Bytes after = pattern(64);
  model(after, 0, fill.element, 8);
  EXPECT_EQ(buffer.read(), after);
  EXPECT_EQ(pinned.bytes(), after);
}

}  // namespace
