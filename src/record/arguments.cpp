#include "record/arguments.h"

#include <algorithm>
#include <cstring>

#include "images/container.h"
#include "images/elf_file.h"
#include "images/read_file.h"
#include "record/driver.h"

namespace vg::record {

namespace {

template <class T>
T* pointer(uint64_t word) {
  return reinterpret_cast<T*>(word);
}

template <class T>
T read(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// What nvcc registers.
struct ImageWrapper {
  uint32_t magic, version;
  const std::byte* container;
  const std::byte* const* linked;  // version 2: relocatable containers, ended by null
};
constexpr uint32_t kWrapperMagic = 0x466243b1;
constexpr size_t kContainerHeader = 16;

// Bytes of an image that is no wrapper.
size_t imageSize(const std::byte* image) {
  if (const uint64_t size = images::containerSize(image, kContainerHeader)) return size;
  if (std::memcmp(image,
                  "\x7f"
                  "ELF",
                  4) == 0) {
    const Result<size_t> size = images::ElfFile::headerExtent(image);
    return size.ok() ? size.value() : 0;
  }
  return std::strlen(reinterpret_cast<const char*>(image)) + 1;
}

// Settings of compilers whose values are numbers. Others are buffers of the program, or change no result.
constexpr unsigned kKeptOptions[] = {CU_JIT_MAX_REGISTERS, CU_JIT_THREADS_PER_BLOCK, CU_JIT_OPTIMIZATION_LEVEL,
                                     CU_JIT_GENERATE_DEBUG_INFO, CU_JIT_GENERATE_LINE_INFO};

uint64_t valueIn(const Parameter& parameter, uint64_t word) {
  if (!parameter.stars) return word;
  if (!word) return 0;
  return parameter.pointee == sizeof(uint32_t) ? *pointer<uint32_t>(word) : *pointer<uint64_t>(word);
}

}  // namespace

// What lies in memory that an argument points to, written behind its bytes.
class Arguments::Patches final : public StructureVisitor {
 public:
  // `bytes`: where the program has it. `copy`: bytes that the call is given in its place; made when it is needed.
  Patches(Arguments& outer, const std::byte* bytes, std::byte*& copy, size_t size)
      : outer_(outer), bytes_(bytes), copy_(copy), size_(size), countAt_(outer.to_->reserve<uint16_t>()) {}
  ~Patches() { outer_.to_->fill(countAt_, count_); }
  Patches(const Patches&) = delete;

  void from(size_t at) { base_ = at; }
  void handle(size_t offset, Kind kind) override {
    at(offset);
    outer_.handle(kind, word(offset));
  }
  void address(size_t offset) override {
    at(offset);
    outer_.address(word(offset));
  }
  void opaque(size_t offset, size_t size) override {
    at(offset);
    outer_.to_->put(Form::Opaque).put(static_cast<uint32_t>(size));
  }
  void memory(size_t offset, std::string_view type, size_t size, size_t count) override {
    at(offset);
    outer_.structure(type, word(offset), size, count);
  }
  void hostRegion(size_t host, uint64_t start, const Region& region, bool reads) override {
    at(host);
    if (reads)
      outer_.hostIn(word(host), start, region);
    else
      outer_.hostOut(word(host), start, region);
  }
  void kernel(uint64_t function, size_t parameters, size_t packed) override {
    at(parameters);
    outer_.kernel(function, word(parameters));
    at(packed);
    outer_.packed(function, word(packed));
  }
  void function(size_t function, size_t userData) override VG_UNCHECKED_LOCKS {
    if (!copy_) copy_ = outer_.own(bytes_, size_);
    uint64_t words[2] = {word(function), word(userData)};
    const uint32_t id = outer_.recorder_.wrapFunction(words[0], words[1], false);
    std::memcpy(copy_ + base_ + function, &words[0], sizeof words[0]);
    std::memcpy(copy_ + base_ + userData, &words[1], sizeof words[1]);
    at(function);
    outer_.to_->put(Form::Function).put(id).put<uint8_t>(0).put<int8_t>(1);
  }
  void drop(size_t offset) override {
    at(offset);
    outer_.null();
  }

 private:
  void at(size_t offset) {
    ++count_;
    outer_.to_->put(static_cast<uint32_t>(base_ + offset));
  }
  uint64_t word(size_t offset) const { return read<uint64_t>(bytes_ + base_ + offset); }

  Arguments& outer_;
  const std::byte* const bytes_;
  std::byte*& copy_;
  const size_t size_;
  const size_t countAt_;
  uint16_t count_ = 0;
  size_t base_ = 0;
};

bool Arguments::write(Encoder& to) {
  to_ = &to;
  keepOptions();
  for (size_t i = 0; i < entry_.parameters.size(); ++i) argument(i);
  return whole_;
}

void Arguments::argument(size_t at) {
  const Parameter& parameter = entry_.parameters[at];
  const uint64_t value = words_[at];
  if (parameter.stars && !value) return null();
  if (optionsAt_ >= 0 && static_cast<int>(at) == entry_.parameters[static_cast<size_t>(optionsAt_)].companion)
    return word(optionNames_.size());
  switch (parameter.role) {
    case Role::Word:
      return word(value);
    case Role::Zero:
      return word(0);
    case Role::Handle:
      return handle(parameter.kind, value);
    case Role::Address:
      return address(value);
    case Role::Text:
      return structure("", value, std::strlen(pointer<char>(value)) + 1, 1);
    case Role::Memory:
      return memory(parameter, value);
    case Role::Structure:
      return structure(parameter.type, value, parameter.pointee, count(parameter));
    case Role::HostIn:
    case Role::Source:
      return hostIn(value, 0, {value, count(parameter)});
    case Role::HostOut:
    case Role::Target:
      return hostOut(value, 0, {value, count(parameter)});
    case Role::Image:
      return image(value);
    case Role::FileName:
      return file(pointer<char>(value));
    case Role::Kernel:
      return kernel(functionArgument(), value);
    case Role::Packed:
      return packed(functionArgument(), value);
    case Role::Options:
      return options(at);
    case Role::Unknown:
      return optionsAt_ >= 0 && parameter.companion >= 0 ? values(at) : null();
    case Role::Attribute:
      return structure("", value, sizeof(uint64_t), 1);
    case Role::Function:
      return function(at);
  }
}

void Arguments::function(size_t at) {
  const Parameter& parameter = entry_.parameters[at];
  const bool ofStream = parameter.name == "callback";
  const uint32_t id = recorder_.wrapFunction(words_[at], words_[static_cast<size_t>(parameter.companion)], ofStream);
  const auto behind = static_cast<int8_t>(parameter.companion - static_cast<int>(at));
  to_->put(Form::Function).put(id).put<uint8_t>(ofStream).put(behind);
}

uint64_t Arguments::count(const Parameter& parameter) const {
  if (parameter.companion < 0) return 1;
  const auto at = static_cast<size_t>(parameter.companion);
  const auto value = static_cast<int64_t>(valueIn(entry_.parameters[at], words_[at])) + parameter.surplus;
  return value < 0 ? 0 : static_cast<uint64_t>(value);
}

uint64_t Arguments::functionArgument() const {
  for (size_t i = 0; i < entry_.parameters.size(); ++i)
    if (entry_.parameters[i].role == Role::Handle && entry_.parameters[i].kind == Kind::CUfunction) return words_[i];
  return 0;
}

std::byte* Arguments::own(const void* bytes, size_t size) {
  owned_.push_back(std::make_unique<std::byte[]>(size));
  std::memcpy(owned_.back().get(), bytes, size);
  return owned_.back().get();
}

void Arguments::handle(Kind kind, uint64_t value) { to_->put(Form::Handle).put(kind).put(value); }

void Arguments::memory(const Parameter& parameter, uint64_t value) {
  const size_t many = count(parameter), size = many * parameter.pointee;
  to_->put(Form::Bytes).text(pointer<char>(value), size);
  std::byte* copy = nullptr;
  Patches patches(*this, pointer<std::byte>(value), copy, size);
  if (!parameter.holds || parameter.stars > 1 || !(parameter.input || parameter.kind == Kind::Opaque)) return;
  for (size_t i = 0; i < many; ++i) {
    patches.from(i * parameter.pointee);
    if (parameter.kind == Kind::Address)
      patches.address(0);
    else if (parameter.kind == Kind::Opaque)
      patches.opaque(0, parameter.pointee);
    else
      patches.handle(0, parameter.kind);
  }
}

void Arguments::structure(std::string_view type, uint64_t value, size_t size, size_t count) {
  if (!value) return null();
  to_->put(Form::Bytes).text(pointer<char>(value), size * count);
  std::byte* copy = nullptr;
  {
    Patches patches(*this, pointer<std::byte>(value), copy, size * count);
    const int attribute = entry_.find("attr");
    for (size_t i = 0; i < count; ++i) {
      patches.from(i * size);
      visitStructure(type, pointer<std::byte>(value) + i * size,
                     attribute < 0 ? 0 : words_[static_cast<size_t>(attribute)], patches);
    }
  }
  for (size_t i = 0; copy && i < entry_.parameters.size(); ++i)
    if (words_[i] == value) words_[i] = reinterpret_cast<uint64_t>(copy);
}

void Arguments::data(const void* bytes, size_t size, int64_t bias) {
  to_->put(Form::Data).put(bias).put<uint64_t>(size);
  whole_ &= recorder_.writer.data(*to_, bytes, size);
}

bool Arguments::onDevice(uint64_t address) {
  const MemoryRange* const range = recorder_.memory.find(address);
  if (range) return range->kind == RangeKind::Device || range->kind == RangeKind::Bound;
  unsigned type = 0;
  const auto ask = VG_DRIVER(cuPointerGetAttribute);
  return ask && ask(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) == CUDA_SUCCESS && type == CU_MEMORYTYPE_DEVICE;
}

// Of memory that the recording follows the pointer says it all.
void Arguments::hostIn(uint64_t value, uint64_t start, const Region& region) {
  if (onDevice(value)) return address(value);
  const uint64_t from = value + start, span = region.span();
  if (!recorder_.memory.find(from) && stream_ == kAnyStream && span)
    recorder_.memory.add(threadNumber(), from, span, RangeKind::Pageable, -1);
  if (MemoryRange* const range = recorder_.memory.find(from)) {
    recorder_.memory.tell(*range, from, span);
    return address(value);
  }
  data(pointer<char>(from), span, static_cast<int64_t>(start));
}

void Arguments::hostOut(uint64_t value, uint64_t start, const Region& region) {
  if (onDevice(value)) return address(value);
  const uint64_t to = value + start, span = region.span();
  if (stream_ == kAnyStream && span) {
    if (!recorder_.memory.find(to)) recorder_.memory.add(threadNumber(), to, span, RangeKind::Pageable, -1);
    recorder_.memory.find(to)->writers.insert(kAnyStream);
    return address(value);
  }
  toHost_ = region;
  toHost_.start = to;
  to_->put(Form::HostOut).put(static_cast<int64_t>(start)).put(toHost_);
}

void Arguments::image(uint64_t value) {
  if (recorder_.madeByDriver(value)) return handle(Kind::Image, value);
  const auto* const bytes = pointer<std::byte>(value);
  if (read<uint32_t>(bytes) != kWrapperMagic) return data(bytes, imageSize(bytes), 0);
  const auto wrapper = read<ImageWrapper>(bytes);
  to_->put(Form::Wrapper).put(wrapper.version);
  if (wrapper.container)
    data(wrapper.container, imageSize(wrapper.container), 0);
  else
    null();
  const size_t countAt = to_->reserve<uint16_t>();
  uint16_t count = 0;
  if (wrapper.version == 2 && wrapper.linked)
    for (; wrapper.linked[count]; ++count) data(wrapper.linked[count], imageSize(wrapper.linked[count]), 0);
  to_->fill(countAt, count);
}

void Arguments::file(const char* name) {
  const Result<std::string> contents = images::readFile(name);
  if (!contents.ok()) return null();
  const std::string whole = contents.value() + '\0';
  data(whole.data(), whole.size(), 0);
}

void Arguments::kernel(uint64_t function, uint64_t parameters) {
  if (!parameters) return null();
  const std::vector<ParameterPlace>* const layout = recorder_.layout(function);
  if (!layout) {
    whole_ = false;
    return null();
  }
  std::string bytes;
  const auto* const values = pointer<const char* const>(parameters);
  for (size_t i = 0; i < layout->size(); ++i) {
    const ParameterPlace& place = (*layout)[i];
    bytes.resize(std::max<size_t>(bytes.size(), place.offset + place.size));
    std::memcpy(bytes.data() + place.offset, values[i], place.size);
  }
  this->parameters(function, false, bytes.data(), bytes.size());
}

void Arguments::packed(uint64_t function, uint64_t extra) {
  if (!extra) return null();
  const char* bytes = nullptr;
  size_t size = 0;
  for (const uint64_t* at = pointer<uint64_t>(extra); *at; at += 2) {
    if (*at == reinterpret_cast<uint64_t>(CU_LAUNCH_PARAM_BUFFER_POINTER)) bytes = pointer<const char>(at[1]);
    if (*at == reinterpret_cast<uint64_t>(CU_LAUNCH_PARAM_BUFFER_SIZE)) size = *pointer<size_t>(at[1]);
  }
  recorder_.layout(function);
  parameters(function, true, bytes, bytes ? size : 0);
}

// What the kernel may read through a pointer is told of first; what it may find otherwise only once between results.
void Arguments::parameters(uint64_t function, bool packed, const char* bytes, size_t size) {
  to_->put(Form::Parameters).put(function).put<uint8_t>(packed).text(bytes, size);
  for (size_t at = 0; at + sizeof(uint64_t) <= size; at += sizeof(uint64_t))
    if (MemoryRange* const range =
            recorder_.memory.find(read<uint64_t>(reinterpret_cast<const std::byte*>(bytes) + at))) {
      recorder_.memory.tell(*range, range->address, range->size);
      range->writers.insert(stream_);
    }
}

void Arguments::keepOptions() {
  for (size_t i = 0; i < entry_.parameters.size(); ++i) {
    const Parameter& parameter = entry_.parameters[i];
    if (parameter.role != Role::Options || optionsAt_ >= 0) continue;
    optionsAt_ = static_cast<int>(i);
    const auto* const names = pointer<const uint32_t>(words_[i]);
    const auto* const values = pointer<const uint64_t>(words_[i + 1]);  // they follow in every entry point
    for (uint64_t at = 0; names && values && at < count(parameter); ++at) {
      if (std::find(std::begin(kKeptOptions), std::end(kKeptOptions), names[at]) == std::end(kKeptOptions)) continue;
      optionNames_.push_back(names[at]);
      optionValues_.push_back(values[at]);
    }
  }
}

void Arguments::options(size_t) {
  if (optionNames_.empty()) return null();
  structure("", reinterpret_cast<uint64_t>(optionNames_.data()), sizeof(uint32_t), optionNames_.size());
}

void Arguments::values(size_t at) {
  if (static_cast<int>(at) != optionsAt_ + 1 || optionValues_.empty()) return null();
  structure("", reinterpret_cast<uint64_t>(optionValues_.data()), sizeof(uint64_t), optionValues_.size());
}

}  // namespace vg::record
