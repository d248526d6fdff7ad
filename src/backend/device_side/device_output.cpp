#include "backend/device_side/device_output.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <string_view>

#include "backend/device_side/kernel_print.h"

namespace vg::backend {
namespace {

using cubin::OutputHeader;
using cubin::RecordHeader;
using cubin::RecordKind;

constexpr size_t kLeastRing = 64 * 1024, kUnit = sizeof(RecordHeader);
constexpr size_t kLargestArgument = 16;  // bytes with its alignment

// Texts one after another, each with its end; empty ones when there are no more.
class PackedTexts final : public print::Texts {
 public:
  // `bytes` ends with a zero.
  explicit PackedTexts(std::string_view bytes) : bytes_(bytes) {}
  const char* next() override {
    if (bytes_.empty()) return "";
    const char* const text = bytes_.data();
    bytes_.remove_prefix(std::min(bytes_.size(), std::strlen(text) + 1));
    return text;
  }

 private:
  std::string_view bytes_;
};

// A print record behind its header: the format, filled to 8 bytes, the arguments, the texts.
void addPrinted(const RecordHeader& header, std::string body, std::string& out) {
  body += '\0';
  const size_t format = (std::strlen(body.data()) + 8) & ~size_t{7};
  const size_t texts = format + header.detail;
  if (texts > body.size()) return;
  // A format that reads more than was written finds zeroes.
  const auto conversions = static_cast<size_t>(
      std::count_if(body.data(), body.data() + format, [](char c) { return c == '%' || c == '*'; }));
  std::string arguments = body.substr(format, header.detail);
  arguments.resize(arguments.size() + (conversions + 1) * kLargestArgument);
  PackedTexts packed(std::string_view(body).substr(texts));
  print::format(body.data(), reinterpret_cast<const std::byte*>(arguments.data()), out, &packed);
}

void addAssertion(const RecordHeader& header, std::string body, std::string& out) {
  body += '\0';
  print::Assertion failed{};
  if (body.size() < sizeof failed.block + sizeof failed.thread) return;
  std::memcpy(failed.block, body.data(), sizeof failed.block);
  std::memcpy(failed.thread, body.data() + sizeof failed.block, sizeof failed.thread);
  PackedTexts texts(std::string_view(body).substr(sizeof failed.block + sizeof failed.thread));
  failed.line = header.detail;
  failed.message = texts.next();
  failed.file = texts.next();
  failed.function = texts.next();
  out += print::textOf(failed);
}

}  // namespace

size_t DeviceOutput::bytesFor(size_t limit) {
  return sizeof(OutputHeader) + std::bit_ceil(std::max(limit, kLeastRing));
}

DeviceOutput::DeviceOutput(std::byte* memory, size_t bytes) : memory_(memory), capacity_(bytes - sizeof(OutputHeader)) {
  OutputHeader header;
  header.capacity = capacity_;
  std::memcpy(memory_, &header, sizeof header);
}

uint64_t DeviceOutput::reserved() const {
  return reinterpret_cast<const std::atomic<uint64_t>*>(memory_)->load(std::memory_order_acquire);
}

std::string DeviceOutput::bytesAt(uint64_t place, size_t bytes) const {
  const std::byte* const ring = memory_ + sizeof(OutputHeader);
  const uint64_t offset = place & (capacity_ - 1);
  const size_t first = std::min<uint64_t>(bytes, capacity_ - offset);
  std::string copy(reinterpret_cast<const char*>(ring) + offset, first);
  return copy.append(reinterpret_cast<const char*>(ring), bytes - first);
}

RecordHeader DeviceOutput::headerAt(uint64_t place) const {
  RecordHeader header;
  std::memcpy(&header, memory_ + sizeof(OutputHeader) + (place & (capacity_ - 1)), sizeof header);
  return header;
}

bool DeviceOutput::wholeAt(uint64_t place, uint64_t end) const {
  const RecordHeader header = headerAt(place);
  return header.mark == cubin::markOf(place) && header.bytes >= kUnit && header.bytes % kUnit == 0 &&
         header.bytes <= end - place;
}

DeviceOutput::Drained DeviceOutput::drain() {
  Drained drained;
  const uint64_t end = reserved();
  // Threads that were slow may have written over newer records: what is not whole then never will be.
  const bool overflowed = end - read_ > capacity_;
  if (overflowed) read_ = end - capacity_;
  while (read_ < end) {
    if (!wholeAt(read_, end)) {
      if (!overflowed) break;
      read_ += kUnit;  // a mark that names its own place is where the next one begins
      continue;
    }
    std::atomic_thread_fence(std::memory_order_acquire);  // the mark came last
    const RecordHeader header = headerAt(read_);
    std::string body = bytesAt(read_ + kUnit, header.bytes - kUnit);
    if (header.kind == RecordKind::Print)
      addPrinted(header, std::move(body), drained.printed);
    else if (header.kind == RecordKind::Assertion)
      addAssertion(header, std::move(body), drained.assertions);
    read_ += header.bytes;
  }
  return drained;
}

}  // namespace vg::backend
