// Damaged files: whatever stands in them, parsing and relocating give an answer or an error.
#include <random>

#include "unit/cubin/cubin_files.h"

namespace vg::cubin::testing {
namespace {

void use(const std::string& bytes) {
  Result<Cubin> parsed = parse(bytes);
  if (!parsed) return;
  const Cubin& cubin = *parsed;
  Addresses addresses;
  for (size_t i = 0; i < cubin.sections.size(); ++i) addresses.sections.push_back(0x7000'0000'0000 + i * 0x1000);
  const auto external = [](const std::string&) -> Result<uint64_t> { return uint64_t{0x1000}; };
  for (Kind kind : {Kind::Code, Kind::Data, Kind::Zeroes, Kind::Constant}) (void)layOut(cubin, kind);
  for (uint32_t i = 0; i < cubin.sections.size(); ++i)
    if (cubin.sections[i].kind != Kind::Zeroes) (void)relocate(cubin, i, addresses, external).ok();
  for (const Kernel& kernel : cubin.kernels) {
    ASSERT_LT(kernel.section, cubin.sections.size());
    ASSERT_LE(kernel.offset, cubin.sections[kernel.section].size);
    for (const Bank& bank : kernel.banks) ASSERT_LT(bank.section, cubin.sections.size());
    for (const Parameter& parameter : kernel.parameters)
      ASSERT_LE(parameter.offset + parameter.size, kernel.parameterBytes);
    ASSERT_LE(kernel.parameterBase + kernel.parameterBytes, kernel.bank0Bytes);
  }
  for (const Variable& variable : cubin.variables)
    ASSERT_LE(variable.offset + variable.size, cubin.sections[variable.section].size);
}

// Half of the changes hit the header and the tables behind it, where they do most harm.
void change(std::string& bytes, std::mt19937& random) {
  constexpr unsigned char kOdd[] = {0, 1, 0x7F, 0x80, 0xFE, 0xFF};
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  const size_t tables = std::min<size_t>(header.e_shoff, bytes.size() - 1);
  const size_t at = random() % 2 ? random() % bytes.size() : tables + random() % (bytes.size() - tables);
  bytes[at] = static_cast<char>(random() % 2 ? kOdd[random() % sizeof kOdd] : random());
}

class Damage : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(EveryFile, Damage,
                         ::testing::Values("kernels.80.cubin", "kernels.90.cubin", "parts.90.cubin", "bytes.90.cubin"),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& c : name) c = c == '.' ? '_' : c;
                           return name;
                         });

TEST_P(Damage, ChangedBytesDoNoHarm) {
  const std::string whole = fileOf(GetParam());
  SKIP_WITHOUT(whole);
  std::mt19937 random(7);
  for (int round = 0; round < 4000; ++round) {
    std::string bytes = whole;
    for (unsigned changes = 1 + random() % 6; changes; --changes) change(bytes, random);
    use(bytes);
  }
}

TEST_P(Damage, CutFilesDoNoHarm) {
  const std::string whole = fileOf(GetParam());
  SKIP_WITHOUT(whole);
  for (size_t size = 0; size < whole.size(); size += size < 128 ? 1 : 37) use(whole.substr(0, size));
}

}  // namespace
}  // namespace vg::cubin::testing
