// Steps of `verdigris gpu-check`: channels, semaphores, copies and fills.
#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "tools/gpu_check.h"
#include "tools/gpu_check/bench.h"

namespace vg::tools {

using namespace backend::nvidia;

namespace {

constexpr size_t kMiB = size_t{1} << 20;

struct Buffers {
  std::unique_ptr<Block> host, back;  // pinned
  std::unique_ptr<Block> video, other;
};

// Runs pieces to their end; false when the channel failed.
template <class Pieces>
bool run(Channel& channel, Pieces pieces) {
  uint64_t last = 0;
  while (!pieces.done()) {
    Result<Push> push = channel.begin();
    if (!push.ok()) return false;
    pieces.write(*push);
    last = channel.submit(*push);
  }
  return channel.wait(last) == CUDA_SUCCESS;
}

bool copyRow(Channel& channel, std::byte* to, const std::byte* from, size_t bytes) {
  copy::Shape shape;
  shape.destination.base = to;
  shape.source.base = const_cast<std::byte*>(from);
  shape.width = bytes;
  return run(channel, CopyPieces(shape));
}

std::unique_ptr<Block> videoBlock(GpuBench& bench, size_t bytes) {
  Result<std::unique_ptr<Block>> block =
      Block::create(bench.gpu, bench.addresses, {Where::Video, bytes, kHugePage}, SeenBy::Gpu);
  return block.ok() ? std::move(*block) : nullptr;
}
std::unique_ptr<Block> hostBlock(GpuBench& bench, size_t bytes) {
  Result<std::unique_ptr<Block>> block = Block::createPinned(bench.gpu, bench.addresses, bytes);
  return block.ok() ? std::move(*block) : nullptr;
}

void checkEmpty(GpuBench& bench, Channel& channel, const char* what) {
  std::vector<double> times;
  bool good = true;
  for (int i = 0; i < 2000 && good; ++i) {
    const double start = microseconds();
    Result<Push> push = channel.begin();
    good = push.ok() && channel.wait(channel.submit(*push)) == CUDA_SUCCESS;
    times.push_back(microseconds() - start);
  }
  std::sort(times.begin(), times.end());
  const double start = microseconds();
  for (int i = 0; i < 2000 && good; ++i) {
    Result<Push> push = channel.begin();
    good = push.ok();
    if (good) channel.submit(*push);
  }
  const double submitted = microseconds();
  good = good && channel.wait(channel.submitted()) == CUDA_SUCCESS;
  bench.check(good, what, "semaphore round trip %.2f us (median), submission %.2f us when many are under way (%s)",
              times[times.size() / 2], (submitted - start) / 2000, channel.describe().c_str());
}

void checkTimestamps(GpuBench& bench, Channel& channel) {
  const Result<uint64_t> before = bench.gpu.time();
  Result<Push> push = channel.begin();
  const bool done = push.ok() && channel.wait(channel.submit(*push)) == CUDA_SUCCESS;
  const uint64_t at = done ? channel.endedAt(channel.submitted()) : 0;
  const Result<uint64_t> after = bench.gpu.time();
  if (!before.ok() || !after.ok()) return;
  bench.check(done && before.value() <= at && at <= after.value(), "timestamp",
              "%llu ns after the GPU's clock was read, %llu ns before it was read again",
              static_cast<unsigned long long>(at - before.value()),
              static_cast<unsigned long long>(after.value() - at));
}

// There and back, with every bit looked at.
void checkRoundTrips(GpuBench& bench, Channel& channel, Buffers& b, const char* what) {
  std::mt19937_64 random(1);
  bool good = true;
  for (size_t i = 0; i < 64 * kMiB; i += 8) {
    const uint64_t word = random();
    std::memcpy(b.host->start() + i, &word, 8);
  }
  for (const size_t bytes : {size_t{4}, size_t{1}, size_t{4097}, size_t{65536}, kMiB + 3, 64 * kMiB - 64}) {
    const size_t offset = random() % 61;
    std::memset(b.back->start(), 0xAA, bytes + 64);
    good = good && copyRow(channel, b.video->start() + offset, b.host->start() + offset / 2, bytes) &&
           copyRow(channel, b.other->start() + 3, b.video->start() + offset, bytes) &&
           copyRow(channel, b.back->start() + 1, b.other->start() + 3, bytes);
    good = good && !std::memcmp(b.back->start() + 1, b.host->start() + offset / 2, bytes) &&
           b.back->start()[0] == std::byte{0xAA} && b.back->start()[bytes + 1] == std::byte{0xAA};
    if (!good) {
      bench.check(false, what, "%zu bytes came back changed (%s)", bytes, channel.describe().c_str());
      return;
    }
  }
  bench.check(good, what, "host to device to device to host, 1 byte to 64 MiB");
}

double gigabytesPerSecond(Channel& channel, std::byte* to, const std::byte* from, size_t bytes) {
  double best = 1e30;
  for (int round = 0; round < 3; ++round) {
    const double start = microseconds();
    if (!copyRow(channel, to, from, bytes)) return 0;
    best = std::min(best, microseconds() - start);
  }
  return static_cast<double>(bytes) / best * 1e-3;
}

void measureCopies(GpuBench& bench, Channel& channel, Buffers& b, const char* what) {
  for (const size_t bytes : {size_t{4}, size_t{4096}, kMiB, 64 * kMiB}) {
    const double in = gigabytesPerSecond(channel, b.video->start(), b.host->start(), bytes),
                 out = gigabytesPerSecond(channel, b.back->start(), b.video->start(), bytes),
                 inside = gigabytesPerSecond(channel, b.other->start(), b.video->start(), bytes);
    const auto us = [bytes](double rate) { return static_cast<double>(bytes) / rate * 1e-3; };
    bench.check(in > 0 && out > 0 && inside > 0, what,
                "%9zu bytes: in %.2f us %.2f GB/s, out %.2f us %.2f GB/s, inside %.2f us %.2f GB/s", bytes, us(in), in,
                us(out), out, us(inside), inside);
  }
}

void measureBothWays(GpuBench& bench, Channel& one, Channel& two, Buffers& b) {
  constexpr size_t kBytes = 64 * kMiB;
  constexpr int kRounds = 8;
  const auto send = [](Channel& channel, std::byte* to, std::byte* from) {
    copy::Shape shape;
    shape.destination.base = to;
    shape.source.base = from;
    shape.width = kBytes;
    Result<Push> push = channel.begin();
    if (push.ok()) CopyPieces(shape).write(*push), channel.submit(*push);
  };
  const double start = microseconds();
  for (int i = 0; i < kRounds; ++i) {
    send(one, b.video->start(), b.host->start());
    send(two, b.back->start(), b.other->start());
  }
  const bool good = one.wait(one.submitted()) == CUDA_SUCCESS && two.wait(two.submitted()) == CUDA_SUCCESS;
  bench.check(good, "both ways at once", "%.1f GB/s together",
              2.0 * kRounds * kBytes / (microseconds() - start) * 1e-3);
}

void checkFills(GpuBench& bench, Channel& channel, Buffers& b) {
  std::mt19937_64 random(2);
  bool good = true;
  for (int round = 0; round < 200 && good; ++round) {
    copy::Fill fill;
    fill.elementSize = 1u << random() % 3;
    fill.height = 1 + random() % 7;
    fill.width = fill.elementSize * (1 + random() % 300);
    fill.pitch = fill.width + fill.elementSize * (random() % 5);
    const size_t offset = fill.elementSize * (random() % 16), bytes = offset + fill.pitch * fill.height + 64;
    fill.pattern = static_cast<uint32_t>(random());
    std::vector<std::byte> expected(bytes, std::byte{0x5A});
    for (size_t row = 0; row < fill.height; ++row)
      for (size_t x = 0; x < fill.width; x += fill.elementSize)
        std::memcpy(&expected[offset + row * fill.pitch + x], &fill.pattern, fill.elementSize);
    std::memset(b.host->start(), 0x5A, bytes);
    fill.base = b.video->start() + offset;
    good = copyRow(channel, b.video->start(), b.host->start(), bytes) && run(channel, FillPieces(fill)) &&
           copyRow(channel, b.back->start(), b.video->start(), bytes) &&
           !std::memcmp(b.back->start(), expected.data(), bytes);
    if (!good)
      bench.check(false, "fills", "element %u, %zu x %zu, pitch %zu", fill.elementSize, fill.width, fill.height,
                  fill.pitch);
  }
  if (good) bench.check(true, "fills", "200 of 1, 2 and 4 bytes in one and two dimensions");
  copy::Fill large;
  large.base = b.video->start();
  large.elementSize = 4;
  large.width = 64 * kMiB;
  double best = 1e30;
  for (int round = 0; round < 3; ++round) {
    const double start = microseconds();
    if (!run(channel, FillPieces(large))) return;
    best = std::min(best, microseconds() - start);
  }
  bench.check(true, "fills", "64 MiB at %.0f GB/s", 64.0 * kMiB / best * 1e-3);
}

void checkBoxes(GpuBench& bench, Channel& channel, Buffers& b) {
  std::mt19937_64 random(3);
  bool good = true;
  constexpr size_t kRoom = 2 * kMiB;
  for (size_t i = 0; i < kRoom; i += 8) {
    const uint64_t word = random();
    std::memcpy(b.host->start() + i, &word, 8);
  }
  for (int round = 0; round < 200 && good; ++round) {
    copy::Shape s;
    s.width = 1 + random() % 500;
    s.height = 1 + random() % 20;
    s.depth = 1 + random() % 5;
    const auto side = [&](std::byte* base) {
      const size_t row = s.width + random() % 40, slice = row * (s.height + random() % 3);
      return copy::Side{base + random() % 33, row, slice};
    };
    s.source = side(b.host->start());
    s.destination = side(b.video->start());
    std::memset(b.back->start(), 0xA5, kRoom);
    std::vector<std::byte> expected(kRoom, std::byte{0xA5});
    for (size_t z = 0; z < s.depth; ++z)
      for (size_t y = 0; y < s.height; ++y)
        std::memcpy(&expected[static_cast<size_t>(s.destination.base - b.video->start()) +
                              z * s.destination.slicePitch + y * s.destination.rowPitch],
                    s.source.base + z * s.source.slicePitch + y * s.source.rowPitch, s.width);
    good = copyRow(channel, b.video->start(), b.back->start(), kRoom) && run(channel, CopyPieces(s)) &&
           copyRow(channel, b.back->start(), b.video->start(), kRoom) &&
           !std::memcmp(b.back->start(), expected.data(), kRoom);
  }
  bench.check(good, "boxes", "200 random ones with pitches");
}

Result<std::unique_ptr<ChannelGroup>> openGroup(GpuBench& bench, uint32_t engine, const char* what) {
  const double start = microseconds();
  Result<std::unique_ptr<ChannelGroup>> group = ChannelGroup::create(bench.gpu, bench.addresses, engine, 1);
  bench.check(group.ok(), what, "group and channel on engine %#x in %.0f us", engine, microseconds() - start);
  return group;
}

// A copy from where nothing is must end the channel with the right error, and leave others alone.
void checkFault(GpuBench& bench, Buffers& b, uint32_t engine) {
  Result<std::byte*> nothing = bench.addresses.take(kHugePage, kHugePage);
  {
    Result<std::unique_ptr<ChannelGroup>> group = openGroup(bench, engine, "fault");
    if (!group.ok() || !nothing.ok()) return;
    Channel& channel = (*group)->channel(0);
    const double start = microseconds();
    copyRow(channel, b.video->start(), *nothing, 4096);
    bench.check(channel.state() == CUDA_ERROR_ILLEGAL_ADDRESS, "fault", "reported after %.0f us: %s",
                microseconds() - start, channel.describe().c_str());
  }
  Result<std::unique_ptr<ChannelGroup>> next = openGroup(bench, engine, "after the fault");
  if (next.ok()) checkEmpty(bench, (*next)->channel(0), "after the fault");
}

void checkCopyEngines(GpuBench& bench, Buffers& b, const GpuCheckOptions& options) {
  std::vector<std::unique_ptr<ChannelGroup>> groups;
  for (const CopyEngine& engine : bench.gpu.facts().copyEngines) {
    if (engine.sharesGraphics() || groups.size() == 2) continue;
    Result<std::unique_ptr<ChannelGroup>> group = openGroup(bench, engine.type, "copy engine");
    if (!group.ok()) continue;
    Channel& channel = (*group)->channel(0);
    checkEmpty(bench, channel, "copy engine");
    checkRoundTrips(bench, channel, b, "copies on a copy engine");
    if (options.bandwidth) measureCopies(bench, channel, b, "copy engine");
    groups.push_back(std::move(*group));
  }
  if (options.bandwidth && groups.size() == 2) measureBothWays(bench, groups[0]->channel(0), groups[1]->channel(0), b);
  if (groups.empty()) return;
  checkFills(bench, groups[0]->channel(0), b);
  checkBoxes(bench, groups[0]->channel(0), b);
  if (options.fault) checkFault(bench, b, groups[0]->engine());
}

}  // namespace

void checkChannels(GpuBench& bench, const GpuCheckOptions& options) {
  Buffers b{hostBlock(bench, 64 * kMiB), hostBlock(bench, 66 * kMiB), videoBlock(bench, 66 * kMiB),
            videoBlock(bench, 66 * kMiB)};
  if (!bench.check(b.host && b.back && b.video && b.other, "buffers", "made")) return;
  Result<std::unique_ptr<ChannelGroup>> graphics = openGroup(bench, rm::kEngineGraphics, "graphics engine");
  if (graphics.ok()) {
    Channel& channel = (*graphics)->channel(0);
    checkEmpty(bench, channel, "graphics engine");
    checkTimestamps(bench, channel);
    checkRoundTrips(bench, channel, b, "copies on the graphics engine's copy engine");
    if (options.bandwidth) measureCopies(bench, channel, b, "graphics engine's copy engine");
  }
  checkCopyEngines(bench, b, options);
}

}  // namespace vg::tools
