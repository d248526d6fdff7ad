// nvJitLink puts PTX, link-time intermediate code and containers of both together. What goes in is remembered: the
// PTX of a link without intermediate code is what went in; intermediate code is linked a second time, to PTX.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/sync/mutex.h"
#include "base/undying.h"
#include "ptx/facts/linkage.h"
#include "ptx/facts/register_limit.h"
#include "redirect/driver_link.h"
#include "redirect/keeper.h"
#include "redirect/replacement.h"

namespace vg::redirect {
namespace {

using Link = void*;

struct Linking {
  std::vector<std::string> options;
  std::vector<Input> inputs;
  std::string text;  // with its final zero, once complete; empty: the library's own answer stands
};

bool asksForIntermediateCode(const Linking& linking) {
  for (const std::string& option : linking.options)
    if (option == "-lto" || option == "-dlto") return true;
  for (const Input& input : linking.inputs)
    if (input.type == InputType::IntermediateCode) return true;
  return false;
}

// 0: as many as the compiler likes.
uint32_t mostRegisters(const std::vector<std::string>& options) {
  constexpr std::string_view kOption = "-maxrregcount=";
  for (const std::string& option : options)
    if (const size_t at = option.find(kOption); at == 0 || at == 1)
      return static_cast<uint32_t>(std::strtoul(option.c_str() + at + kOption.size(), nullptr, 10));
  return 0;
}

// "sm_90" of "-arch=sm_90".
std::string architectureOf(const std::vector<std::string>& options) {
  constexpr std::string_view kOption = "-arch=";
  for (const std::string& option : options)
    if (const size_t at = option.find(kOption); at == 0 || at == 1) return option.substr(at + kOption.size());
  return {};
}

// What the device runtime and the driver have themselves.
bool isSystemFunction(std::string_view name) {
  return name == "vprintf" || name == "malloc" || name == "free" || name.starts_with("__") || name.starts_with("cuda");
}

// Functions that `texts` leave to others, and that neither they nor the linked text have. The linked text's own
// declarations stand as they are.
std::vector<std::string> functionsLacking(const std::string& linked, const std::vector<Input>& texts) {
  std::vector<std::string> lacking, known = ptx::functionsOf(linked.c_str());
  std::ranges::move(ptx::functionsWanted(linked.c_str()), std::back_inserter(known));
  for (const Input& text : texts) {
    std::ranges::move(ptx::functionsWanted(text.content.c_str()), std::back_inserter(lacking));
    std::ranges::move(ptx::functionsOf(text.content.c_str()), std::back_inserter(known));
  }
  std::erase_if(lacking, [&](const std::string& name) {
    return isSystemFunction(name) || std::ranges::find(known, name) != known.end();
  });
  std::ranges::sort(lacking);
  lacking.erase(std::unique(lacking.begin(), lacking.end()), lacking.end());
  return lacking;
}

bool readFile(const char* path, std::string& content) {
  std::FILE* file = std::fopen(path, "rb");
  if (!file) return false;
  char piece[16384];
  for (size_t got; (got = std::fread(piece, 1, sizeof piece, file));) content.append(piece, got);
  std::fclose(file);
  return true;
}

// Requires: `library` is set before a replacement is called.
template <unsigned kNumber>
class NvJitLink {
 public:
  static void* replacement(std::string_view name, Handle from) {
    library_ = from;
    if (name == "nvJitLinkCreate") return reinterpret_cast<void*>(&create);
    if (name == "nvJitLinkDestroy") return reinterpret_cast<void*>(&destroy);
    if (name == "nvJitLinkAddData") return reinterpret_cast<void*>(&addData);
    if (name == "nvJitLinkAddFile") return reinterpret_cast<void*>(&addFile);
    if (name == "nvJitLinkComplete") return reinterpret_cast<void*>(&complete);
    if (name == "nvJitLinkGetLinkedCubinSize") return reinterpret_cast<void*>(&cubinSize);
    if (name == "nvJitLinkGetLinkedCubin") return reinterpret_cast<void*>(&cubin);
    return nullptr;
  }

 private:
  template <class... Arguments>
  static int call(const char* name, Arguments... arguments) {
    return functionOf<int(Arguments...)>(library_, name)(arguments...);
  }

  static int create(Link* link, uint32_t count, const char** options) {
    const int result = call("nvJitLinkCreate", link, count, options);
    if (result || !link) return result;
    const MutexLock lock(mutex());
    Linking& made = linkings()[*link] = {};
    for (uint32_t i = 0; i < count; ++i) made.options.emplace_back(options[i]);
    return result;
  }

  static int destroy(Link* link) {
    if (link) {
      const MutexLock lock(mutex());
      linkings().erase(*link);
    }
    return call("nvJitLinkDestroy", link);
  }

  static int addData(Link link, InputType type, const void* data, size_t size, const char* name) {
    const int result = call("nvJitLinkAddData", link, type, data, size, name);
    if (!result) remember(link, {type, std::string(static_cast<const char*>(data), size), name ? name : ""});
    return result;
  }

  static int addFile(Link link, InputType type, const char* path) {
    const int result = call("nvJitLinkAddFile", link, type, path);
    std::string content;
    if (!result && readFile(path, content)) remember(link, {type, std::move(content), path});
    return result;
  }

  static int complete(Link link) {
    const int result = call("nvJitLinkComplete", link);
    if (result) return result;
    const MutexLock lock(mutex());
    Linking& linking = linkings()[link];
    linking.text = asksForIntermediateCode(linking) ? linkedApart(linking) : textOf(linking.inputs);
    if (const uint32_t most = mostRegisters(linking.options); most && !linking.text.empty())
      linking.text = ptx::withRegisterLimit(linking.text, most);
    if (!linking.text.empty() && linking.text.back()) linking.text.push_back(0);
    return result;
  }

  static int cubinSize(Link link, size_t* size) {
    const int result = call("nvJitLinkGetLinkedCubinSize", link, size);
    if (result || !size) return result;
    const MutexLock lock(mutex());
    if (const std::string& text = linkings()[link].text; !text.empty()) *size = text.size();
    return result;
  }

  static int cubin(Link link, void* to) {
    ReleasableLock lock(mutex());
    const std::string& text = linkings()[link].text;
    if (!text.empty() && to) return std::memcpy(to, text.data(), text.size()), 0;
    lock.unlock();
    return call("nvJitLinkGetLinkedCubin", link, to);
  }

  // The compiler gives PTX of intermediate code alone: what is text already joins it afterwards. Libraries may hold
  // intermediate code or native code alone, which the compiler refuses here and nothing needs.
  static std::string linkedApart(const Linking& linking) {
    Linking intermediate{linking.options, {}, {}};
    std::vector<Input> texts, libraries;
    for (const Input& input : linking.inputs)
      (isText(input) ? texts : input.type == InputType::Library ? libraries : intermediate.inputs).push_back(input);
    if (intermediate.inputs.empty()) return textOf(texts);
    const size_t withoutLibraries = intermediate.inputs.size();
    std::move(libraries.begin(), libraries.end(), std::back_inserter(intermediate.inputs));
    std::string text = linkedAgain(intermediate);
    if (text.empty() && !libraries.empty()) {
      intermediate.inputs.resize(withoutLibraries);
      text = linkedAgain(intermediate);
    }
    if (text.empty() || texts.empty()) return text;
    text = withWanted(intermediate, std::move(text), texts);
    texts.push_back({InputType::Ptx, text, "intermediate code"});
    return textOf(texts);
  }

  // The same with the functions that only the other texts name. `text` is what comes out without them.
  static std::string withWanted(Linking intermediate, std::string text, const std::vector<Input>& texts) {
    const std::vector<std::string> lacking = functionsLacking(text, texts);
    std::string keeper = lacking.empty() ? "" : keeperOf(lacking, architectureOf(intermediate.options));
    if (keeper.empty()) return text;
    intermediate.inputs.push_back({InputType::IntermediateCode, std::move(keeper), "what other texts name"});
    const std::string kept = linkedAgain(intermediate);
    return kept.empty() ? text : ptx::withVisible(kept.c_str(), lacking, kKeeper);
  }

  // What comes out when the same is linked to PTX; empty when that fails.
  static std::string linkedAgain(const Linking& linking) {
    std::vector<const char*> options;
    for (const std::string& option : linking.options) options.push_back(option.c_str());
    options.push_back("-ptx");
    Link second = nullptr;
    if (call("nvJitLinkCreate", &second, static_cast<uint32_t>(options.size()), options.data())) return {};
    bool linked = true;
    for (const Input& input : linking.inputs)
      linked &= !call("nvJitLinkAddData", second, input.type, static_cast<const void*>(input.content.data()),
                      input.content.size(), input.name.c_str());
    linked = linked && !call("nvJitLinkComplete", second);
    size_t size = 0;
    linked = linked && !call("nvJitLinkGetLinkedPtxSize", second, &size);
    std::string text(linked ? size : 0, 0);
    if (size && call("nvJitLinkGetLinkedPtx", second, text.data())) text.clear();
    call("nvJitLinkDestroy", &second);
    return text;
  }

  static void remember(Link link, Input input) {
    const MutexLock lock(mutex());
    linkings()[link].inputs.push_back(std::move(input));
  }

  // Never destroyed: programs link while they exit.
  static Mutex& mutex() {
    static constinit Mutex instance;
    return instance;
  }
  // A map for each library, as each has a mutex.
  static std::map<Link, Linking>& linkings() { return undying<std::map<Link, Linking>, NvJitLink>(); }

  static inline Handle library_ = nullptr;
};

template <unsigned... kNumbers>
constexpr auto tableOf(std::integer_sequence<unsigned, kNumbers...>) {
  return std::array{&NvJitLink<kNumbers>::replacement...};
}

// The header's names carry the version they were compiled for: __nvJitLinkCreate_13_0.
std::string_view plainName(std::string_view name) {
  if (!name.starts_with("__nvJitLink")) return name;
  name.remove_prefix(2);
  const size_t version = name.find_first_of('_');
  return name.substr(0, version);
}

}  // namespace

void* nvJitLinkReplacement(std::string_view name, Handle library, unsigned number) {
  static constexpr auto kTable = tableOf(std::make_integer_sequence<unsigned, kMost>{});
  return number < kMost ? kTable[number](plainName(name), library) : nullptr;
}

}  // namespace vg::redirect
