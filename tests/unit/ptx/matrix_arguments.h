// What the programs that compare the opcode matrix with a record are given: a record, plain or packed with zstd, and
// which of its cases. Arguments: RECORD [--part K/N] [--spread|--sample] [CASE [TARGET]], CASE a part of the names, K
// from 1 to N; with --spread each case runs on one target, the next one on the next, with --sample each on the best and
// every fourth on another one. With --unrecorded RECORD... all words are records, and the cases are those that none of
// them answers.
#pragma once

#include <unistd.h>
#include <zstd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>

#include "unit/ptx/opcode_record.h"

namespace vg::ptx::matrix {

class Arguments {
 public:
  Arguments(int count, char** values) {
    for (int k = 1; k < count; ++k) {
      const std::string value = values[k];
      if (value == "--part" && k + 1 < count)
        valid_ &= std::sscanf(values[++k], "%u/%u", &part_, &parts_) == 2 && part_ >= 1 && part_ <= parts_;
      else if (value == "--spread")
        spread_ = true;
      else if (value == "--sample")
        sample_ = true;
      else if (value == "--unrecorded")
        unrecorded_ = true;
      else
        words_.push_back(value);
    }
    if (unrecorded_) records_ = std::move(words_);
    words_.resize(words_.size() < 3 ? 3 : words_.size());
  }

  bool valid() const { return valid_ && (unrecorded_ ? !records_.empty() : !words_[0].empty()); }
  bool unrecorded() const { return unrecorded_; }
  const std::vector<std::string>& records() const { return records_; }
  const std::string& record() const { return words_[0]; }
  const std::string& names() const { return words_[1]; }
  const std::string& target() const { return words_[2]; }

  // Whether the case of that number in the list runs on that target of so many, the best of which comes first.
  bool runsOn(size_t number, size_t target, size_t targets) const {
    if (spread_) return number % targets == target;
    return !sample_ || target == 0 || (number + target) % 4 == 0;
  }

  // Whether the case of that number in the list is asked for. Every part holds some of each kind of case.
  bool wants(const Case& c, size_t number) const {
    return number % parts_ + 1 == part_ && c.name.find(names()) != std::string::npos;
  }

 private:
  std::vector<std::string> words_, records_;
  unsigned part_ = 1, parts_ = 1;
  bool valid_ = true, spread_ = false, sample_ = false, unrecorded_ = false;
};

// Reads a record, plain or packed. Empty when the file is neither.
inline std::map<std::string, Record> readPackedRecords(const std::string& path, const std::vector<Case>& cases) {
  std::ifstream file(path, std::ios::binary);
  const std::string packed((std::istreambuf_iterator<char>(file)), {});
  const unsigned long long size = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN) return readRecords(path.c_str(), cases);
  std::string plain(size, '\0');
  ZSTD_decompress(plain.data(), plain.size(), packed.data(), packed.size());
  char name[] = "/tmp/opcode_record.XXXXXX";
  const int descriptor = mkstemp(name);
  if (descriptor < 0) return {};
  close(descriptor);
  std::ofstream(name, std::ios::binary) << plain;
  const auto records = readRecords(name, cases);
  std::remove(name);
  return records;
}

// The names of the cases that one of the records answers.
inline std::set<std::string> answeredBy(const std::vector<std::string>& paths, const std::vector<Case>& cases) {
  std::set<std::string> names;
  for (const std::string& path : paths)
    for (const auto& [name, record] : readPackedRecords(path, cases))
      if (record.status == 0) names.insert(name);
  return names;
}

}  // namespace vg::ptx::matrix
