// Writing numbers and texts to bytes and reading them again. Little-endian, as the machines are. A Decoder that has
// come to the end of its bytes throws: the file is damaged.
#pragma once

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace vg::record {

class Encoder {
 public:
  template <class T>
  Encoder& put(T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Encoder& text(std::string_view value) {
    put(static_cast<uint32_t>(value.size()));
    bytes_.append(value);
    return *this;
  }
  Encoder& text(const void* bytes, size_t size) { return text({static_cast<const char*>(bytes), size}); }
  // Where a number is that is known later.
  template <class T>
  size_t reserve() {
    put(T{});
    return bytes_.size() - sizeof(T);
  }
  template <class T>
  void fill(size_t at, T value) {
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }
  void clear() { bytes_.clear(); }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : bytes_(bytes) {}
  template <class T>
  T get() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string_view text() { return take(get<uint32_t>()); }
  bool done() const { return bytes_.empty(); }

 private:
  std::string_view take(size_t size) {
    if (size > bytes_.size()) throw std::runtime_error("the recording is damaged");
    const std::string_view result = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return result;
  }
  std::string_view bytes_;
};

}  // namespace vg::record
