// Reads a recording: its records one after the other, with the pieces of data set aside.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "record/bytes.h"
#include "record/recording.h"

namespace vg::record {

class Reader {
 public:
  // Throws std::runtime_error, with a reason for people, where the file is none or of a later version.
  explicit Reader(const std::string& path);

  // Calls `visit` for every record but those of data, until it answers false. Can be repeated. Throws
  // std::runtime_error where the file is damaged; one that ends early ends there.
  void forEach(const std::function<bool(Tag, Decoder&)>& visit);
  // The bytes of a Data argument behind its size.
  std::string data(Decoder& from, uint64_t size) const;

 private:
  void readFile(const std::string& path);
  void readTail(const std::string& path);
  void keepPieces();

  std::vector<std::string> blocks_;  // unpacked
  std::vector<std::string_view> pieces_;
};

}  // namespace vg::record
