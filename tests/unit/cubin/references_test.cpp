// Textures, surfaces and samplers that kernels name.
#include <algorithm>

#include "unit/cubin/cubin_files.h"

namespace vg::cubin::testing {
namespace {

const Reference* named(const Cubin& cubin, const Kernel& kernel, const std::string& name) {
  const auto found = std::find_if(kernel.references.begin(), kernel.references.end(),
                                  [&](const Reference& one) { return cubin.symbols[one.symbol].name == name; });
  return found == kernel.references.end() ? nullptr : &*found;
}

TEST(References, AreWordsBehindTheParameters) {
  const std::string bytes = fileOf("references.90.cubin");
  SKIP_WITHOUT(bytes);
  const Cubin cubin = read(bytes);
  const Kernel* const kernel = cubin.kernel("looks");
  ASSERT_TRUE(kernel);
  EXPECT_EQ(kernel->references.size(), 4u);
  for (const auto& [name, kind] : {std::pair("picture", Reference::Kind::Texture),
                                   {"second", Reference::Kind::Texture},
                                   {"field", Reference::Kind::Surface},
                                   {"smooth", Reference::Kind::Sampler}}) {
    const Reference* const reference = named(cubin, *kernel, name);
    ASSERT_TRUE(reference) << name;
    EXPECT_EQ(reference->kind, kind) << name;
    EXPECT_GE(reference->offset, kernel->parameterBase + kernel->parameterBytes) << name;
    EXPECT_LE(reference->offset + 4, kernel->bank0Bytes) << name;
  }
  EXPECT_EQ(cubin.textures.size(), 5u);
  ASSERT_TRUE(cubin.kernel("ignores"));
  EXPECT_TRUE(cubin.kernel("ignores")->references.empty());
}

TEST(References, SamplersSayHowTheyRead) {
  const std::string bytes = fileOf("references.90.cubin");
  SKIP_WITHOUT(bytes);
  const Cubin cubin = read(bytes);
  const Reference* const smooth = named(cubin, *cubin.kernel("looks"), "smooth");
  ASSERT_TRUE(smooth && cubin.samplers.contains(smooth->symbol));
  const SamplerMode& mode = cubin.samplers.at(smooth->symbol);
  EXPECT_EQ(mode.addressing[0], 1);
  EXPECT_EQ(mode.addressing[1], 4);
  EXPECT_EQ(mode.addressing[2], SamplerMode::kUnsaid);
  EXPECT_EQ(mode.filter, 1);
}

// Kernels multiply a texture's number with the size of the driver's entries.
TEST(References, CodeLearnsTheSizeOfDescriptions) {
  const std::string bytes = fileOf("references.90.cubin");
  SKIP_WITHOUT(bytes);
  Cubin cubin = read(bytes);
  for (Symbol& symbol : cubin.symbols) symbol.weak = false;  // as a linker leaves them
  Addresses addresses;
  addresses.sections.assign(cubin.sections.size(), 0);
  const auto none = [](const std::string&) -> Result<uint64_t> { return CUDA_ERROR_NOT_FOUND; };
  const uint32_t section = cubin.kernel("looks")->section;
  const std::string text = relocate(cubin, section, addresses, none).value();
  int sizes = 0;
  for (const Relocation& relocation : cubin.relocations[section]) {
    if (!cubin.symbols[relocation.symbol].name.ends_with("refDescSize")) continue;
    uint32_t value;
    std::memcpy(&value, &text[relocation.offset + 4], sizeof value);
    EXPECT_EQ(value, kDescriptionBytes);
    ++sizes;
  }
  EXPECT_GT(sizes, 0);
}

}  // namespace
}  // namespace vg::cubin::testing
