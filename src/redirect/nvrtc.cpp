// NVRTC keeps the PTX of a program that it compiled for a real architecture (-arch=sm_90).
#include <array>
#include <cstddef>
#include <utility>

#include "redirect/replacement.h"

namespace vg::redirect {
namespace {

using Program = void*;
using GetSize = int(Program, size_t*);
using GetText = int(Program, char*);

// Requires: `library` is set before a replacement is called.
template <unsigned kNumber>
struct Nvrtc {
  static inline Handle library = nullptr;

  static int cubinSize(Program program, size_t* size) {
    const int result = functionOf<GetSize>(library, "nvrtcGetCUBINSize")(program, size);
    if (result || !size || !*size) return result;
    return functionOf<GetSize>(library, "nvrtcGetPTXSize")(program, size);
  }

  static int cubin(Program program, char* to) {
    size_t size = 0;
    if (functionOf<GetSize>(library, "nvrtcGetCUBINSize")(program, &size) || !size)
      return functionOf<GetText>(library, "nvrtcGetCUBIN")(program, to);
    return functionOf<GetText>(library, "nvrtcGetPTX")(program, to);
  }

  static void* replacement(std::string_view name, Handle from) {
    library = theCompiler = from;
    if (name == "nvrtcGetCUBINSize") return reinterpret_cast<void*>(&cubinSize);
    if (name == "nvrtcGetCUBIN") return reinterpret_cast<void*>(&cubin);
    return nullptr;
  }
};

template <unsigned... kNumbers>
constexpr auto tableOf(std::integer_sequence<unsigned, kNumbers...>) {
  return std::array{&Nvrtc<kNumbers>::replacement...};
}

}  // namespace

void* nvrtcReplacement(std::string_view name, Handle library, unsigned number) {
  static constexpr auto kTable = tableOf(std::make_integer_sequence<unsigned, kMost>{});
  return number < kMost ? kTable[number](name, library) : nullptr;
}

}  // namespace vg::redirect
