// What recorded handles and addresses are at replay. Used by one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "record/recording.h"

namespace vg::replay {

class Values {
 public:
  void bind(record::Kind kind, uint64_t recorded, uint64_t now);
  // Nothing: no call that was replayed gave it. Handles that mean the same everywhere are themselves.
  std::optional<uint64_t> handle(record::Kind kind, uint64_t recorded) const;

  // Memory that lies elsewhere than it did.
  void bindRange(uint64_t recorded, uint64_t size, uint64_t now);
  // The address itself where nothing else is known.
  uint64_t address(uint64_t recorded) const;
  bool moved(uint64_t recorded) const { return address(recorded) != recorded; }

  // What a call made as a whole: maps of tensors, resources of devices.
  void bindOpaque(std::string_view recorded, std::string_view now);
  const std::string* opaque(std::string_view recorded) const;

  // Exchanges what kernels are given: addresses, texture objects and the like, at multiples of eight bytes.
  void exchangeParameters(std::string& bytes) const;
  // The same in memory that a device sees, for numbers that no data has by chance.
  void exchangeData(std::string& bytes) const;

 private:
  struct Moved {
    uint64_t size, now;
  };
  std::optional<uint64_t> object(uint64_t recorded, uint64_t least) const;

  std::unordered_map<uint64_t, uint64_t> handles_[100];
  std::map<uint64_t, Moved> ranges_;
  std::unordered_map<std::string, std::string> opaque_;
};

}  // namespace vg::replay
