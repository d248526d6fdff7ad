#include "record/reader.h"

#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

#include "record/writer.h"
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace vg::record {

namespace {

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string unpack(std::string_view stored, const BlockHeader& header) {
  constexpr uint32_t kMostBytes = 1u << 31;
  if (header.size > kMostBytes) throw std::runtime_error("the recording is damaged");
  std::string bytes(header.size, 0);
  const size_t size = ZSTD_decompress(bytes.data(), bytes.size(), stored.data(), stored.size());
  if (ZSTD_isError(size) || size != header.size ||
      static_cast<uint32_t>(XXH3_64bits(bytes.data(), bytes.size())) != header.hash)
    throw std::runtime_error("the recording is damaged");
  return bytes;
}

}  // namespace

Reader::Reader(const std::string& path) {
  readFile(path);
  readTail(path);
  keepPieces();
}

void Reader::readFile(const std::string& path) {
  const std::string file = contents(path);
  uint32_t version = 0;
  constexpr size_t kHeader = sizeof kMagic + sizeof version;
  if (file.size() < kHeader || std::memcmp(file.data(), kMagic, sizeof kMagic) != 0)
    throw std::runtime_error(path + " is no recording, or cannot be read");
  std::memcpy(&version, file.data() + sizeof kMagic, sizeof version);
  if (version != kVersion)
    throw std::runtime_error(path + " is of version " + std::to_string(version) + " of the format; this is version " +
                             std::to_string(kVersion));
  BlockHeader header;
  for (std::string_view rest = std::string_view(file).substr(kHeader); rest.size() > sizeof header;) {
    std::memcpy(&header, rest.data(), sizeof header);
    rest.remove_prefix(sizeof header);
    if (header.magic != kBlockMagic || header.stored > rest.size()) return;  // the disk was full
    blocks_.push_back(unpack(rest.substr(0, header.stored), header));
    rest.remove_prefix(header.stored);
  }
}

// Of a program that still runs, or that nobody finished.
void Reader::readTail(const std::string& path) {
  const std::string tail = contents(path + ".tail");
  TailHeader header;
  if (tail.size() < sizeof header) return;
  std::memcpy(&header, tail.data(), sizeof header);
  if (header.block == blocks_.size() && header.used <= tail.size() - sizeof header)
    blocks_.push_back(tail.substr(sizeof header, header.used));
}

void Reader::keepPieces() {
  for (const std::string& block : blocks_)
    for (Decoder records(block); !records.done();) {
      Decoder record(records.text());
      if (record.get<Tag>() == Tag::Piece) pieces_.push_back(record.text());
    }
}

void Reader::forEach(const std::function<bool(Tag, Decoder&)>& visit) {
  for (const std::string& block : blocks_)
    for (Decoder records(block); !records.done();) {
      Decoder record(records.text());
      const Tag tag = record.get<Tag>();
      if (tag != Tag::Piece && !visit(tag, record)) return;
    }
}

std::string Reader::data(Decoder& from, uint64_t size) const {
  std::string bytes;
  for (uint64_t at = 0; at < size; at += kPieceBytes) {
    const auto number = from.get<uint32_t>();
    if (number >= pieces_.size()) throw std::runtime_error("the recording is damaged");
    bytes += pieces_[number];
  }
  if (bytes.size() != size) throw std::runtime_error("the recording is damaged");
  return bytes;
}

}  // namespace vg::record
