#include "ptx/abi/device_runtime.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <initializer_list>
#include <map>
#include <string_view>

#include "ptx/abi/grid_functions.h"

namespace vg::ptx {
namespace {

// How a text begins that goes to our compiler, and one that goes to a vendor's.
constexpr char kHead[] = ".version 6.0\n.target sm_50\n.address_size 64\n";
constexpr char kNativeHead[] = ".version 6.4\n.target sm_75\n.address_size 64\n";
constexpr std::string_view kNewPrefix = "__cudaCDP2", kOldPrefix = "cuda", kStreamSuffix = "_ptsz";
constexpr std::string_view kVendorCall = "__cuda_syscall_cnp";  // what the vendor's device runtime asks of its driver

// Bytes of each parameter.
class Parameters {
 public:
  constexpr Parameters(std::initializer_list<uint32_t> bytes) : count_(bytes.size()) {
    std::copy(bytes.begin(), bytes.end(), bytes_);
  }
  constexpr size_t size() const { return count_; }
  constexpr uint32_t operator[](size_t i) const { return bytes_[i]; }

 private:
  static constexpr size_t kMost = 12;  // more do not compile
  uint32_t bytes_[kMost] = {};
  size_t count_;
};

struct Row {
  std::string_view name;
  uint32_t resultBits;
  Parameters parameters;
};

constexpr std::array kRows = {
#define VG_DEVICE_CALL(name, bits, ...) Row{#name, bits, {__VA_ARGS__}},
#include "ptx/abi/device_runtime.inc"
#undef VG_DEVICE_CALL
};

DeviceCall callOf(const Row& row) { return static_cast<DeviceCall>(&row - kRows.data()); }

const Row* rowNamed(std::string_view symbol) {
  if (symbol.starts_with(kNewPrefix)) {
    symbol.remove_prefix(kNewPrefix.size());
  } else if (symbol.starts_with(kOldPrefix)) {
    symbol.remove_prefix(kOldPrefix.size());
  } else {
    return nullptr;
  }
  if (symbol.ends_with(kStreamSuffix)) symbol.remove_suffix(kStreamSuffix.size());
  for (const Row& row : kRows)
    if (row.name == symbol) return &row;
  return nullptr;
}

bool isWordOfPtx(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$'; }

using Found = std::map<std::string_view, const Row*>;  // names in the texts

// Every name of a text that contains "cuda" and is one of the device runtime.
void collect(std::string_view text, Found& found) {
  for (size_t at = 0; (at = text.find(kOldPrefix, at)) != text.npos;) {
    size_t begin = at, end = at;
    while (begin && isWordOfPtx(text[begin - 1])) --begin;
    while (end < text.size() && isWordOfPtx(text[end])) ++end;
    const std::string_view name = text.substr(begin, end - begin);
    if (const Row* row = rowNamed(name)) found.emplace(name, row);
    at = end;
  }
}

Found allNamed(const std::vector<std::string>& texts) {
  Found found;
  for (const std::string& text : texts) collect(text, found);
  return found;
}

std::vector<std::string> with(std::vector<std::string> texts, std::string more) {
  std::erase_if(texts, [](const std::string& one) { return one.find(kVendorCall) != one.npos; });
  texts.push_back(std::move(more));
  return texts;
}

std::vector<std::string> withGridFunctions(std::vector<std::string> texts, std::string_view head) {
  if (std::string more = gridFunctionsNamedIn(texts, head); !more.empty()) texts.push_back(std::move(more));
  return texts;
}

std::string number(uint64_t n) { return std::to_string(n); }

uint32_t alignmentOf(uint32_t bytes) { return bytes % 8 ? 4 : 8; }

std::string declared(uint32_t bytes, const std::string& name) {
  if (bytes == 4 || bytes == 8) return ".param .b" + number(bytes * 8) + " " + name;
  return ".param .align " + number(alignmentOf(bytes)) + " .b8 " + name + "[" + number(bytes) + "]";
}

std::string parametersOf(const Row& row) {
  std::string text;
  for (size_t i = 0; i < row.parameters.size(); ++i)
    text += (i ? ", " : "") + declared(row.parameters[i], "p" + number(i));
  return text;
}

std::string headOf(std::string_view name, const Row& row) {
  return ".weak .func (.param .b" + number(row.resultBits) + " result) " + std::string(name) + "(" + parametersOf(row) +
         ")\n";
}

void define(std::string_view name, const Row& row, std::string& text) {
  std::string body;
  uint32_t offset = 0;
  for (size_t i = 0; i < row.parameters.size(); ++i) {
    const uint32_t bytes = row.parameters[i], step = alignmentOf(bytes);
    const std::string parameter = "p" + number(i), type = ".b" + number(step * 8), word = step == 8 ? "%d" : "%r";
    offset = (offset + step - 1) / step * step;
    for (uint32_t k = 0; k < bytes; k += step) {
      body.append("  ld.param").append(type).append(" ").append(word).append(", [").append(parameter);
      body.append("+").append(number(k)).append("];\n");
      body.append("  st.local").append(type).append(" [words+").append(number(offset + k)).append("], ");
      body.append(word).append(";\n");
    }
    offset += bytes;
  }
  text += headOf(name, row) + "{\n  .local .align 8 .b8 words[" + number(offset ? offset : 8) +
          "];\n  .reg .b32 %r;\n  .reg .b64 %d;\n";
  text += body + "  mov.b64 %d, words;\n  cvta.local.u64 %d, %d;\n";
  text += "  {\n  .param .b32 which;\n  .param .b64 arguments;\n  .param .b64 answer;\n";
  text += "  st.param.b32 [which], " + number(static_cast<uint64_t>(&row - kRows.data())) + ";\n";
  text += "  st.param.b64 [arguments], %d;\n";
  text += "  call (answer), " + std::string(kDeviceRuntimeCall) + ", (which, arguments);\n";
  text += "  ld.param.b64 %d, [answer];\n  }\n";
  text +=
      row.resultBits == 64 ? "  st.param.b64 [result], %d;\n" : "  cvt.u32.u64 %r, %d;\n  st.param.b32 [result], %r;\n";
  text += "  ret;\n}\n";
}

}  // namespace

std::optional<DeviceCall> deviceCallNamed(std::string_view symbol) {
  const Row* const row = rowNamed(symbol);
  return row ? std::optional(callOf(*row)) : std::nullopt;
}

std::vector<std::string> withDeviceRuntime(std::vector<std::string> texts) {
  texts = withGridFunctions(std::move(texts), kHead);
  const Found found = allNamed(texts);
  if (found.empty()) return texts;
  std::string text = kHead + std::string(".extern .func (.param .b64 answer) ") + std::string(kDeviceRuntimeCall) +
                     "(.param .b32 which, .param .b64 arguments);\n";
  for (const auto& [name, row] : found) define(name, *row, text);
  return with(std::move(texts), std::move(text));
}

std::vector<std::string> withDeviceRuntimeNames(std::vector<std::string> texts) {
  texts = withGridFunctions(std::move(texts), kNativeHead);
  const Found found = allNamed(texts);
  if (found.empty()) return texts;
  std::string text = kNativeHead;
  for (const auto& [name, row] : found) text += headOf(name, *row) + "{\n  trap;\n  ret;\n}\n";
  return with(std::move(texts), std::move(text));
}

}  // namespace vg::ptx
