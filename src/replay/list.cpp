#include "replay/list.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/text/format.h"
#include "record/recording.h"
#include "record/writer.h"
#include "replay/driver.h"

namespace vg::replay {

using record::Action;
using record::Decoder;
using record::Form;
using record::Tag;

namespace {

std::string number(uint64_t value) {
  constexpr uint64_t kLargest = 0x100000;  // that is more likely a count than an address
  return format(value < kLargest ? "%llu" : "%#llx", static_cast<unsigned long long>(value));
}

bool printable(std::string_view text) {
  return text.size() > 1 && text.back() == 0 &&
         std::all_of(text.begin(), text.end() - 1, [](char c) { return std::isprint(static_cast<unsigned char>(c)); });
}

// Names of arguments, one after the other.
std::string_view nextName(std::string_view& names) {
  while (!names.empty() && (names[0] == '(' || names[0] == ' ' || names[0] == ',')) names.remove_prefix(1);
  const std::string_view name = names.substr(0, names.find_first_of(",)"));
  names.remove_prefix(name.size());
  return name;
}

class Lister {
 public:
  explicit Lister(uint64_t until) : until_(until) {}
  bool record(Tag tag, Decoder& from);
  void finish() const;

 private:
  void begin(Decoder& from);
  void end(Decoder& from);
  std::string argument(Decoder& from);
  std::string bytes(Decoder& from);
  std::string parameters(Decoder& from);

  struct Entry {
    std::string symbol, names;
  };
  const uint64_t until_;
  std::unordered_map<uint16_t, Entry> entries_;
  std::unordered_map<uint64_t, std::string> kernels_;
  std::map<uint32_t, std::string> lines_;  // of calls under way, by thread
};

std::string Lister::argument(Decoder& from) {
  switch (from.get<Form>()) {
    case Form::Word:
    case Form::Address:
      return number(from.get<uint64_t>());
    case Form::Null:
      return "null";
    case Form::Handle: {
      const auto kind = static_cast<size_t>(from.get<record::Kind>());
      const auto value = from.get<uint64_t>();
      const auto kernel = kernels_.find(value);
      const bool function = kind == static_cast<size_t>(record::Kind::CUfunction);
      return number(value) + (function && kernel != kernels_.end() ? " " + kernel->second : "");
    }
    case Form::Bytes:
      return bytes(from);
    case Form::Data: {
      from.get<int64_t>();
      const auto size = from.get<uint64_t>();
      for (uint64_t at = 0; at < size; at += record::kPieceBytes) from.get<uint32_t>();
      return format("{%llu bytes of data}", static_cast<unsigned long long>(size));
    }
    case Form::HostOut: {
      from.get<int64_t>();
      const auto region = from.get<record::Region>();
      return number(region.start);
    }
    case Form::Parameters:
      return parameters(from);
    case Form::Function: {
      const auto id = from.get<uint32_t>();
      from.get<uint8_t>();
      from.get<int8_t>();
      return format("host function %u", id);
    }
    case Form::Wrapper: {
      from.get<uint32_t>();
      std::string text = "fat binary " + argument(from);
      for (auto count = from.get<uint16_t>(); count; --count) text += " + " + argument(from);
      return text;
    }
    case Form::Opaque:
      return format("{%u bytes}", from.get<uint32_t>());
  }
  throw std::runtime_error("the recording is damaged");
}

std::string Lister::bytes(Decoder& from) {
  const std::string_view text = from.text();
  std::string inner;
  for (auto count = from.get<uint16_t>(); count; --count) {
    const auto offset = from.get<uint32_t>();
    inner += format("%s+%u: ", inner.empty() ? "" : ", ", offset) + argument(from);
  }
  if (inner.empty() && printable(text)) return '"' + std::string(text.substr(0, text.size() - 1)) + '"';
  return format("{%zu bytes", text.size()) + (inner.empty() ? "" : ": " + inner) + "}";
}

std::string Lister::parameters(Decoder& from) {
  from.get<uint64_t>();
  from.get<uint8_t>();
  const std::string_view text = from.text();
  std::string line = "{";
  constexpr size_t kMost = 8;
  for (size_t at = 0; at < text.size() && at < kMost * sizeof(uint64_t); at += sizeof(uint64_t)) {
    uint64_t word = 0;
    std::memcpy(&word, text.data() + at, std::min(sizeof word, text.size() - at));
    line += (at ? " " : "") + format("%#llx", static_cast<unsigned long long>(word));
  }
  return line + (text.size() > kMost * sizeof(uint64_t) ? " ...}" : "}");
}

void Lister::begin(Decoder& from) {
  const auto call = from.get<uint64_t>();
  const auto thread = from.get<uint32_t>();
  const Entry& entry = entries_[from.get<uint16_t>()];
  const auto action = from.get<Action>();
  std::string_view names = entry.names;
  std::string line = format("%llu [%u] ", static_cast<unsigned long long>(call), thread) + entry.symbol + "(";
  for (unsigned i = 0, count = from.get<uint8_t>(); i < count; ++i)
    line += (i ? ", " : "") + std::string(nextName(names)) + "=" + argument(from);
  line += ")";
  if (action == Action::Missing) line += " [no replay]";
  lines_[thread] = line;
}

void Lister::end(Decoder& from) {
  const auto line = lines_.find(from.get<uint32_t>());
  if (line == lines_.end()) return;
  std::printf("%s = %s\n", line->second.c_str(), resultName(from.get<int32_t>()).c_str());
  lines_.erase(line);
}

bool Lister::record(Tag tag, Decoder& from) {
  switch (tag) {
    case Tag::Entry: {
      const auto entry = from.get<uint16_t>();
      const std::string symbol(from.text());
      entries_[entry] = {symbol, std::string(from.text())};
      return true;
    }
    case Tag::Begin:
      if (Decoder(from).get<uint64_t>() > until_) return false;
      begin(from);
      return true;
    case Tag::End:
      end(from);
      return true;
    case Tag::Kernel: {
      const auto function = from.get<uint64_t>();
      kernels_[function] = from.text();
      return true;
    }
    case Tag::Note:
      std::printf("note: %s\n", std::string(from.text()).c_str());
      return true;
    default:
      return true;
  }
}

void Lister::finish() const {
  for (const auto& [thread, line] : lines_) std::printf("%s had not ended\n", line.c_str());
}

}  // namespace

void list(record::Reader& reader, uint64_t until) {
  Lister lister(until);
  reader.forEach([&](Tag tag, Decoder& from) { return lister.record(tag, from); });
  lister.finish();
}

}  // namespace vg::replay
