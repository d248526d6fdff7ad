#include "replay/call.h"

#include <cstring>
#include <stdexcept>

namespace vg::replay {

using record::Decoder;
using record::Form;
using record::Kind;

namespace {

template <class T>
uint64_t word(T* pointer) {
  return reinterpret_cast<uint64_t>(pointer);
}

// Kernels copy nothing of this; the driver reads it as structures.
std::string zeroes(size_t size) { return std::string(size, 0); }

}  // namespace

std::string& Call::own(std::string bytes) {
  owned.push_back(std::make_unique<std::string>(std::move(bytes)));
  return *owned.back();
}

void ArgumentReader::read(Decoder& from, unsigned count, Call& call) const {
  if (count > record::kMostParameters) throw std::runtime_error("the recording is damaged");
  unsigned dataOf = count;  // which argument is that of a host function
  void* data = nullptr;
  for (unsigned i = 0; i < count; ++i) {
    call.lastFunction = nullptr;
    call.words[i] = argument(from, call);
    if (!call.lastFunction) continue;
    dataOf = i + static_cast<unsigned>(call.lastBehind);
    data = call.lastFunction;
  }
  if (dataOf < count) call.words[dataOf] = word(data);
}

uint64_t ArgumentReader::argument(Decoder& from, Call& call) const {
  switch (from.get<Form>()) {
    case Form::Word:
      return from.get<uint64_t>();
    case Form::Null:
      return 0;
    case Form::Handle:
      return handle(from, call);
    case Form::Address:
      return values_.address(from.get<uint64_t>());
    case Form::Bytes:
      return bytes(from, call);
    case Form::Data:
      return data(from, call);
    case Form::HostOut:
      return hostOut(from, call);
    case Form::Parameters:
      return parameters(from, call);
    case Form::Wrapper:
      return wrapper(from, call);
    case Form::Function: {
      const auto id = from.get<uint32_t>();
      const bool ofStream = from.get<uint8_t>();
      call.lastBehind = from.get<int8_t>();
      call.lastFunction = functions_.argument(functions_.state, id);
      return ofStream ? word(functions_.callback) : word(functions_.function);
    }
    case Form::Opaque:
      break;
  }
  throw std::runtime_error("the recording is damaged");
}

uint64_t ArgumentReader::handle(Decoder& from, Call& call) const {
  const auto kind = from.get<Kind>();
  const auto recorded = from.get<uint64_t>();
  if (static_cast<size_t>(kind) >= std::size(record::kKindNames)) throw std::runtime_error("the recording is damaged");
  if (const auto now = values_.handle(kind, recorded)) return *now;
  char text[64];
  std::snprintf(text, sizeof text, "%s %#llx", record::kKindNames[static_cast<size_t>(kind)],
                static_cast<unsigned long long>(recorded));
  call.missing = text;
  return 0;
}

uint64_t ArgumentReader::bytes(Decoder& from, Call& call) const {
  std::string& copy = call.own(std::string(from.text()));
  for (auto count = from.get<uint16_t>(); count; --count) {
    const auto offset = from.get<uint32_t>();
    Decoder ahead = from;
    if (ahead.get<Form>() == Form::Opaque) {
      const auto size = ahead.get<uint32_t>();
      from = ahead;
      if (const std::string* const now = values_.opaque(copy.substr(offset, size))) copy.replace(offset, size, *now);
      continue;
    }
    call.lastFunction = nullptr;
    const uint64_t value = argument(from, call);
    if (offset + sizeof value > copy.size()) throw std::runtime_error("the recording is damaged");
    std::memcpy(copy.data() + offset, &value, sizeof value);
    if (call.lastFunction && offset + 2 * sizeof value <= copy.size())
      std::memcpy(copy.data() + offset + sizeof value, &call.lastFunction, sizeof call.lastFunction);
    call.lastFunction = nullptr;
  }
  return word(copy.data());
}

uint64_t ArgumentReader::data(Decoder& from, Call& call) const {
  const auto bias = from.get<int64_t>();
  const auto size = from.get<uint64_t>();
  std::string& bytes = call.own(reader_.data(from, size));
  if (std::string_view(call.symbol).starts_with("cuMemcpy")) values_.exchangeData(bytes);
  return word(bytes.data()) - static_cast<uint64_t>(bias);
}

uint64_t ArgumentReader::hostOut(Decoder& from, Call& call) const {
  const auto bias = from.get<int64_t>();
  call.copied = std::make_shared<Copied>();
  Copied& copied = *call.copied;
  copied.region = from.get<record::Region>();
  copied.memory = memory_.hostPointer(copied.region.start, copied.region.span());
  if (!copied.memory) {
    copied.own = zeroes(copied.region.span());
    copied.memory = copied.own.data();
  }
  return word(copied.memory) - static_cast<uint64_t>(bias);
}

uint64_t ArgumentReader::parameters(Decoder& from, Call& call) const {
  const auto function = from.get<uint64_t>();
  const bool packed = from.get<uint8_t>();
  std::string& bytes = call.own(std::string(from.text()));
  values_.exchangeParameters(bytes);
  std::string& pointers = call.own({});
  const auto add = [&pointers](uint64_t value) {
    pointers.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  if (packed) {
    const uint64_t size = bytes.size();
    const std::string& kept = call.own(std::string(reinterpret_cast<const char*>(&size), sizeof size));
    for (const uint64_t value : {word(CU_LAUNCH_PARAM_BUFFER_POINTER), word(bytes.data()),
                                 word(CU_LAUNCH_PARAM_BUFFER_SIZE), word(kept.data()), uint64_t{0}})
      add(value);
    return word(pointers.data());
  }
  const auto layout = layouts_.find(function);
  if (layout == layouts_.end()) throw std::runtime_error("the recording is damaged");
  for (const auto& [offset, size] : layout->second) {
    if (offset + size > bytes.size()) throw std::runtime_error("the recording is damaged");
    add(word(bytes.data() + offset));
  }
  add(0);
  return word(pointers.data());
}

uint64_t ArgumentReader::wrapper(Decoder& from, Call& call) const {
  constexpr uint32_t kMagic = 0x466243b1;
  const auto version = from.get<uint32_t>();
  const uint64_t container = argument(from, call);
  std::string& linked = call.own({});
  for (auto count = from.get<uint16_t>(); count; --count) {
    const uint64_t value = argument(from, call);
    linked.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  const bool any = !linked.empty();
  linked.append(sizeof(uint64_t), 0);
  record::Encoder wrapper;
  wrapper.put(kMagic).put(version).put(container).put<uint64_t>(any ? word(linked.data()) : 0);
  return word(call.own(wrapper.bytes()).data());
}

}  // namespace vg::replay
