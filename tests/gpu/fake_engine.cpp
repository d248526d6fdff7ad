#include "gpu/fake_engine.h"

#include <cstring>

#include "backend/nvidia/channel/methods.h"
#include "backend/nvidia/driver/rm_abi.h"
#include "copy/tiling.h"

namespace vg::testing {

using namespace backend::nvidia;

namespace {

constexpr uint32_t kMmuFault = 31, kBadMethod = 32, kCopyError = 41;  // Xid codes
constexpr uint32_t kPhysical = 3u << 12;                              // LAUNCH_DMA: never ours to use

uint32_t valueOf(const std::map<uint32_t, uint32_t>& methods, uint32_t method) {
  const auto found = methods.find(method);
  return found == methods.end() ? 0 : found->second;
}

}  // namespace

uint32_t FakeChannel::host(uint32_t method) const { return valueOf(host_, method); }
uint32_t FakeChannel::copy(uint32_t method) const { return valueOf(copy_, method); }

bool FakeChannel::die(uint32_t code) {
  dead_ = true;
  if (!setup_.notifier) return false;
  rm::Notification n{fakeTime(), code, setup_.engine, 0};
  std::memcpy(setup_.notifier, &n, sizeof n);
  const uint16_t set = 0xffff;
  __atomic_thread_fence(__ATOMIC_RELEASE);
  std::memcpy(setup_.notifier + offsetof(rm::Notification, status), &set, sizeof set);
  return false;
}

bool FakeChannel::run() {
  if (dead_ || !scheduled || !registered) return false;
  auto* const get = reinterpret_cast<uint32_t*>(setup_.userd + rm::kUserdGet);
  auto* const put = reinterpret_cast<uint32_t*>(setup_.userd + rm::kUserdPut);
  bool worked = false;
  while (!dead_) {
    if (compute_ && !compute_->idle()) {
      if (const uint32_t code = compute_->goOn()) return die(code);
    }
    if (left_) {
      if (!runMethods()) return worked;
      worked = true;
      continue;
    }
    const uint32_t next = *get;
    if (next == __atomic_load_n(put, __ATOMIC_ACQUIRE)) return worked;
    const std::byte* const entry = translate_(setup_.ring + uint64_t{next} * 8, 8, false);
    uint64_t value = 0;
    if (!entry) return die(kMmuFault);
    std::memcpy(&value, entry, sizeof value);
    __atomic_store_n(get, (next + 1) % setup_.entries, __ATOMIC_RELEASE);
    if (!runEntry(value)) return worked;
  }
  return worked;
}

bool FakeChannel::runEntry(uint64_t entry) {
  const uint64_t address = entry & 0xff'ffff'fffcull;
  const size_t words = entry >> 42 & 0x1f'ffff;
  const std::byte* const memory = translate_(address, words * 4, false);
  if (!memory) return die(kMmuFault);
  words_ = reinterpret_cast<const uint32_t*>(memory);
  left_ = words;
  return true;
}

// One header and its words; false when the channel waits or died.
bool FakeChannel::runMethods() {
  const uint32_t header = words_[0], kind = header >> 29, subchannel = header >> 13 & 7;
  const uint32_t count = header >> 16 & 0x1fff, address = (header & 0xfff) << 2;
  if (kind == 4) {
    if (!method(subchannel, address, count)) return false;
    ++words_, --left_;
    return true;
  }
  if (kind != 1 || count + 1 > left_) return die(kBadMethod);
  for (uint32_t i = 0; i < count; ++i)
    if (!method(subchannel, address + 4 * i, words_[1 + i])) return false;
  words_ += count + 1;
  left_ -= count + 1;
  return true;
}

bool FakeChannel::method(uint32_t subchannel, uint32_t address, uint32_t value) {
  if (address == host::kSetObject) return bind(subchannel, value);
  if (address < 0x100) {
    host_[address] = value;
    return hostMethod(address);
  }
  if (subchannel == kComputeSubchannel && compute_) {
    const uint32_t code = compute_->method(address, value);
    if (code == kRunsOn) return false;  // the header runs again later
    return code ? die(code) : true;
  }
  if (subchannel != kCopySubchannel || !copyBound_) return die(kBadMethod);
  copy_[address] = value;
  return address == ce::kLaunch ? launch(value) : true;
}

bool FakeChannel::bind(uint32_t subchannel, uint32_t objectClass) {
  if (subchannel == kComputeSubchannel && setup_.computeClass && objectClass == setup_.computeClass) {
    compute_ = std::make_unique<FakeCompute>(translate_, setup_.program);
    return true;
  }
  if (subchannel != kCopySubchannel || objectClass != setup_.copyClass) return die(kBadMethod);
  copyBound_ = true;
  return true;
}

bool FakeChannel::hostMethod(uint32_t address) {
  if (address == host::kSemExecute) return semaphore();
  const bool operand = address >= host::kSemAddressLow && address < host::kSemExecute;
  return operand ? true : die(kBadMethod);
}

bool FakeChannel::semaphore() {
  const uint64_t address = uint64_t{host(0x60)} << 32 | host(0x5c);
  const uint64_t payload = uint64_t{host(0x68)} << 32 | host(0x64);
  const uint32_t bits = host(host::kSemExecute);
  const bool wide = bits & host::kPayload64;
  if (bits & host::kWaitForIdle && compute_ && !compute_->idle()) return false;  // the header runs again later
  if ((bits & 7) == host::kRelease) return writeSemaphore(address, payload, wide, bits & host::kTimestamp);
  if ((bits & 7) != host::kAcquireCircular) return die(kBadMethod);
  const std::byte* const word = translate_(address, wide ? 8 : 4, false);
  if (!word) return die(kMmuFault);
  if (!wide) {
    const uint32_t count = __atomic_load_n(reinterpret_cast<const uint32_t*>(word), __ATOMIC_ACQUIRE);
    return static_cast<int32_t>(count - static_cast<uint32_t>(payload)) >= 0;
  }
  const uint64_t value = __atomic_load_n(reinterpret_cast<const uint64_t*>(word), __ATOMIC_ACQUIRE);
  return static_cast<int64_t>(value - payload) >= 0;  // the header runs again later
}

bool FakeChannel::writeSemaphore(uint64_t address, uint64_t payload, bool wide, bool timestamp) {
  const size_t bytes = timestamp ? 16 : wide ? 8 : 4;
  std::byte* const memory = translate_(address, bytes, true);
  if (!memory) return die(kMmuFault);
  if (address % bytes) return die(kBadMethod);
  const uint64_t now = fakeTime();
  if (timestamp) std::memcpy(memory + 8, &now, sizeof now);
  if (wide || timestamp)
    __atomic_store_n(reinterpret_cast<uint64_t*>(memory), payload, __ATOMIC_RELEASE);
  else
    __atomic_store_n(reinterpret_cast<uint32_t*>(memory), static_cast<uint32_t>(payload), __ATOMIC_RELEASE);
  return true;
}

bool FakeChannel::launch(uint32_t bits) {
  if (bits & kPhysical) return die(kCopyError);
  if (bits & 3 && !transfer(bits)) return false;
  const uint32_t release = bits & (ce::kReleaseOneWord | ce::kReleaseTimestamp);
  if (!release) return true;
  const uint64_t address = uint64_t{copy(ce::kSemaphoreHigh)} << 32 | copy(ce::kSemaphoreLow);
  const bool wide = bits & ce::kSemaphore64;
  const uint64_t payload = copy(ce::kPayloadLow) | (wide ? uint64_t{copy(ce::kPayloadHigh)} << 32 : 0);
  return writeSemaphore(address, payload, wide, release == ce::kReleaseTimestamp);
}

bool FakeChannel::transfer(uint32_t bits) {
  const bool remap = bits & ce::kRemap, lines = bits & ce::kMultiLine;
  const uint64_t from = uint64_t{copy(ce::kInHigh)} << 32 | copy(ce::kInHigh + 4);
  const uint64_t to = uint64_t{copy(ce::kOutHigh)} << 32 | copy(ce::kOutHigh + 4);
  const size_t length = copy(ce::kLineLength), count = lines ? copy(ce::kLineCount) : 1;
  const size_t element = remap ? (copy(ce::kRemapComponents) >> 16 & 3) + 1 : 1;
  const size_t pitchIn = copy(ce::kPitchIn), pitchOut = copy(ce::kPitchOut);
  if (!(bits & ce::kSourcePitch) || !(bits & ce::kDestinationPitch))
    return tiledTransfer(bits, from, to, length, count);
  // Seen on an H100: several lines with a source pitch below the line end the channel, even when nothing is read.
  if (count > 1 && (pitchIn < length * element || pitchOut < length * element)) return die(kCopyError);
  for (size_t line = 0; line < count; ++line) {
    const bool good =
        remap ? fillLine(to + line * pitchOut, length) : copyLine(from + line * pitchIn, to + line * pitchOut, length);
    if (!good) return false;
  }
  return true;
}

// Where a byte of a box is, by the methods of its side.
uint64_t FakeChannel::tiledAddress(uint64_t base, uint32_t block, uint32_t origin, size_t x, size_t row) const {
  vg::copy::Tiling tiling;
  tiling.blockRows = copy(block) >> 4 & 15;
  tiling.blockSlices = copy(block) >> 8 & 15;
  tiling.rowBytes = copy(block + 4);
  tiling.rows = copy(block + 8);
  tiling.slices = copy(block + 12);
  return base + tiling.offset(copy(origin) + x, copy(origin + 4) + row, copy(block + 16));
}

bool FakeChannel::tiledTransfer(uint32_t bits, uint64_t from, uint64_t to, size_t length, size_t count) {
  if (bits & ce::kRemap) return die(kCopyError);
  for (size_t row = 0; row < count; ++row)
    for (size_t x = 0; x < length; ++x) {
      const uint64_t source = bits & ce::kSourcePitch ? from + row * copy(ce::kPitchIn) + x
                                                      : tiledAddress(from, ce::kSourceBlock, ce::kSourceOrigin, x, row);
      const uint64_t target = bits & ce::kDestinationPitch
                                  ? to + row * copy(ce::kPitchOut) + x
                                  : tiledAddress(to, ce::kDestinationBlock, ce::kDestinationOrigin, x, row);
      if (!copyLine(source, target, 1)) return false;
    }
  return true;
}

// Page by page, as neighbouring addresses may be different memory.
bool FakeChannel::copyLine(uint64_t from, uint64_t to, size_t bytes) {
  while (bytes) {
    const size_t piece = std::min({bytes, 4096 - from % 4096, 4096 - to % 4096});
    const std::byte* const source = translate_(from, piece, false);
    std::byte* const destination = translate_(to, piece, true);
    if (!source || !destination) return die(kMmuFault);
    std::memmove(destination, source, piece);
    from += piece;
    to += piece;
    bytes -= piece;
  }
  return true;
}

bool FakeChannel::fillLine(uint64_t to, size_t elements) {
  const size_t size = (copy(ce::kRemapComponents) >> 16 & 3) + 1;
  if ((copy(ce::kRemapComponents) & 7) != 4 || size == 3) return die(kCopyError);
  const uint32_t value = copy(ce::kRemapConstA);
  while (elements) {
    const size_t piece = std::min<size_t>(elements * size, 4096 - to % 4096);
    std::byte* const memory = translate_(to, piece, true);
    if (!memory) return die(kMmuFault);
    for (size_t i = 0; i < piece; i += size) std::memcpy(memory + i, &value, size);
    to += piece;
    elements -= piece / size;
  }
  return true;
}

}  // namespace vg::testing
