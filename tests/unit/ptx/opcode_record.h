// Recorded results of the opcode matrix: what a machine (a GPU, compiled code, the interpreter) answered for each case.
// File: "VGOM1\n", then for each case: u32 length and name, u32 status (CUresult of load and launch), and when that is
// 0 for each result kThreads words, 8 bytes each for 64-bit results and 4 otherwise. Where bits decide, a record may
// hold digests instead: status kDigested, and for each result the digest of its words. Little-endian.
#pragma once

#include <algorithm>
#include <cstdio>
#include <map>

#include "unit/ptx/opcode_matrix.h"

namespace vg::ptx::matrix {

inline constexpr uint32_t kDigested = 0xD16E57ED;

struct Record {
  uint32_t status = 0;
  bool digested = false;                       // results[k] is one word, the digest
  std::vector<std::vector<uint64_t>> results;  // [result][thread]

  uint64_t digest(size_t result) const {
    if (digested) return results[result][0];
    uint64_t digest = 0;
    for (uint64_t word : results[result]) digest = mix(digest ^ word);
    return digest;
  }
};

inline bool bitsDecide(const Case& c) {
  return std::all_of(c.results.begin(), c.results.end(), [](const auto& r) { return r.second == Match::Bits; });
}

// Splits out[] as the kernels write it.
inline Record recordOf(const Case& c, const std::vector<uint64_t>& out) {
  Record record;
  for (size_t k = 0; k < c.results.size(); ++k) {
    std::vector<uint64_t>& words = record.results.emplace_back(kThreads);
    for (uint32_t t = 0; t < kThreads; ++t) words[t] = out[size_t{t} * kResults + k];
  }
  return record;
}

class RecordWriter {
 public:
  // `digests`: of the results where bits decide.
  explicit RecordWriter(const char* path, bool digests = false) : file_(std::fopen(path, "wb")), digests_(digests) {
    if (file_) std::fputs("VGOM1\n", file_);
  }
  ~RecordWriter() {
    if (file_) std::fclose(file_);
  }
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;
  bool ok() const { return file_ && !std::ferror(file_); }
  void flush() { std::fflush(file_); }

  void write(const Case& c, const Record& record) {
    word(static_cast<uint32_t>(c.name.size()));
    std::fwrite(c.name.data(), 1, c.name.size(), file_);
    if (digests_ && record.status == 0 && bitsDecide(c)) {
      word(kDigested);
      for (size_t k = 0; k < record.results.size(); ++k) {
        const uint64_t digest = record.digest(k);
        std::fwrite(&digest, sizeof digest, 1, file_);
      }
      return;
    }
    word(record.status);
    for (size_t k = 0; record.status == 0 && k < record.results.size(); ++k)
      for (uint64_t value : record.results[k]) std::fwrite(&value, 1, c.results[k].first == 64 ? 8 : 4, file_);
  }

 private:
  void word(uint32_t value) { std::fwrite(&value, 1, sizeof value, file_); }
  std::FILE* file_;
  const bool digests_;
};

// Case name -> what was recorded; empty when the file is not a record.
inline std::map<std::string, Record> readRecords(const char* path, const std::vector<Case>& cases) {
  std::map<std::string, Record> records;
  std::map<std::string, const Case*> byName;
  for (const Case& c : cases) byName[c.name] = &c;
  std::FILE* file = std::fopen(path, "rb");
  if (!file) return records;
  char magic[6];
  if (std::fread(magic, 1, sizeof magic, file) == sizeof magic && !std::memcmp(magic, "VGOM1\n", sizeof magic)) {
    uint32_t length = 0, status = 0;
    while (std::fread(&length, sizeof length, 1, file) == 1 && length < 4096) {
      std::string name(length, '\0');
      if (std::fread(name.data(), 1, length, file) != length || std::fread(&status, sizeof status, 1, file) != 1) break;
      const auto known = byName.find(name);
      if (known == byName.end()) break;
      Record record;
      record.digested = status == kDigested;
      record.status = record.digested ? 0 : status;
      for (size_t k = 0; record.digested && k < known->second->results.size(); ++k) {
        std::vector<uint64_t>& digest = record.results.emplace_back(1);
        if (std::fread(digest.data(), sizeof digest[0], 1, file) != 1) break;
      }
      for (size_t k = 0; status == 0 && k < known->second->results.size(); ++k) {
        std::vector<uint64_t>& words = record.results.emplace_back(kThreads);
        for (uint64_t& value : words)
          if (std::fread(&value, known->second->results[k].first == 64 ? 8 : 4, 1, file) != 1) break;
      }
      records[name] = std::move(record);
    }
  }
  std::fclose(file);
  return records;
}

// Comparison -------------------------------------------------------------------------------------------------------

inline double valueOf(uint64_t bits, Match match) {
  const auto wide = [](uint64_t b, int exponentBits, int fractionBits) {
    const uint64_t sign = b >> (exponentBits + fractionBits) & 1, e = b >> fractionBits & ((1u << exponentBits) - 1);
    const uint64_t f = b & ((1ull << fractionBits) - 1);
    const int bias = (1 << (exponentBits - 1)) - 1;
    double v;
    if (e == (1u << exponentBits) - 1u)
      v = f ? __builtin_nan("") : __builtin_inf();
    else
      v = __builtin_ldexp(static_cast<double>(e ? f | 1ull << fractionBits : f),
                          static_cast<int>(e ? e : 1) - bias - fractionBits);
    return sign ? -v : v;
  };
  switch (match) {
    case Match::F16:
    case Match::F16x2:
    case Match::F16x4:
    case Match::ApproxF16:
      return wide(bits & 0xffff, 5, 10);
    case Match::Bf16:
    case Match::Bf16x2:
    case Match::ApproxBf16:
      return wide(bits & 0xffff, 8, 7);
    case Match::F32:
    case Match::F32x2:
    case Match::ApproxF32:
      return wide(bits & 0xffffffff, 8, 23);
    default: {
      double d;
      std::memcpy(&d, &bits, sizeof d);
      return d;
    }
  }
}

// Whether each element is the same, or zero in one and the smallest normal number in the other.
inline bool agreesFlushed(Match match, int bits, uint64_t expected, uint64_t actual) {
  const int each = match == Match::FlushedF16 ? 16 : 32;
  const uint64_t smallest = each == 16 ? 0x400 : 0x800000;
  for (int at = 0; at < bits; at += each) {
    const uint64_t part = (uint64_t{1} << each) - 1, e = expected >> at & part, a = actual >> at & part;
    const bool oneIsZero = (e & part >> 1) == 0 || (a & part >> 1) == 0;
    if (e != a && !((e ^ a) == smallest && oneIsZero)) return false;
  }
  return true;
}

// Whether `actual` is an allowed answer where `expected` is the reference.
inline bool agrees(const Case& c, size_t result, uint64_t expected, uint64_t actual) {
  if (expected == actual) return true;
  const auto [bits, match] = c.results[result];
  if (match == Match::Bits) return false;
  if (match == Match::FlushedF32 || match == Match::FlushedF16) return agreesFlushed(match, bits, expected, actual);
  if (match == Match::Loose) return true;
  const bool halves = match == Match::F16 || match == Match::F16x2 || match == Match::F16x4 || match == Match::Bf16 ||
                      match == Match::Bf16x2 || match == Match::ApproxF16 || match == Match::ApproxBf16;
  const int each = halves ? 16 : match == Match::F32x2 ? 32 : bits;
  for (int at = 0; at < bits; at += each) {
    const uint64_t part = each == 64 ? ~uint64_t{0} : (uint64_t{1} << each) - 1;
    const uint64_t e = expected >> at & part, a = actual >> at & part;
    const double x = valueOf(e, match), y = valueOf(a, match);
    if (e == a || (x != x && y != y)) continue;
    if (c.relative == 0 && c.absolute == 0) return false;
    if (x != x || y != y) return false;
    const double difference = __builtin_fabs(x - y);
    // Flushing of subnormal results is left open by the approximate functions.
    const double tiny = match == Match::ApproxF64 ? 0x1p-1022 : match == Match::ApproxF16 ? 0x1p-14 : 0x1p-126;
    if (!(difference <= c.relative * __builtin_fabs(x) || difference <= c.absolute || difference <= 2 * tiny))
      return false;
  }
  return true;
}

// Whether the answer for these operands is open: sin and cos outside their documented range, two NaNs of f64.
inline bool isOpen(const Case& c, const uint64_t* operands) {
  const auto isNaN = [&](int n) { return valueOf(operands[n], Match::F64) != valueOf(operands[n], Match::F64); };
  if (c.oneNaN && isNaN(0) && isNaN(1)) return true;
  return !c.operands.empty() && c.operands[0] == Domain::Angle &&
         !(__builtin_fabs(valueOf(operands[0], Match::F32)) <= 314.159);
}

// Lanes of a case that differ, all of them where only digests are known.
inline uint32_t differences(const Case& c, const Record& expected, const Record& actual, uint32_t* firstThread,
                            size_t* firstResult) {
  uint32_t count = 0;
  *firstThread = 0;
  for (size_t k = 0; (expected.digested || actual.digested) && k < c.results.size(); ++k) {
    *firstResult = k;
    if (expected.digest(k) != actual.digest(k)) return kThreads;
  }
  if (expected.digested || actual.digested) return 0;
  const std::vector<uint64_t> in = inputsOf(c);
  for (uint32_t t = 0; t < kThreads; ++t) {
    if (isOpen(c, &in[size_t{t} * kOperands])) continue;
    for (size_t k = 0; k < c.results.size(); ++k) {
      if (agrees(c, k, expected.results[k][t], actual.results[k][t])) continue;
      if (count++ == 0) {
        *firstThread = t;
        *firstResult = k;
      }
      break;
    }
  }
  return count;
}

}  // namespace vg::ptx::matrix
