// Reads an ELF file into a Cubin: sections to place, symbols, relocations, then what is known of each kernel.
#include <algorithm>
#include <bit>
#include <cstring>
#include <set>
#include <unordered_map>

#include "cubin/attributes.h"
#include "cubin/cubin.h"
#include "cubin/references.h"
#include "images/elf_file.h"

namespace vg::cubin {
namespace {

using images::ElfFile;
using images::ElfSection;
using images::ElfSymbol;

constexpr uint8_t kOldDialect = 0x33;        // OSABI of CUDA 12 and before
constexpr uint8_t kManaged = 0x04;           // st_other
constexpr uint8_t kCudaObject = 13;          // symbol type of variables in relocatable code
constexpr uint32_t kReservedShared = 0x400;  // bytes, from sm_80 on
constexpr uint64_t kLargestSection = uint64_t{1} << 40;
constexpr uint64_t kConstantAlignment = 256;
constexpr uint32_t kMostParameterBytes = 64 * 1024;

constexpr std::string_view kText = ".text.", kConstant = ".nv.constant", kInformation = ".nv.info";

// The driver's words at the start of bank 0, where no attribute tells how many they are.
uint32_t driverWords(uint32_t architecture) {
  if (architecture >= 100) return 0x380;
  return architecture >= 90 ? 0x210 : 0x160;
}

// Registers and barriers that the old dialect keeps in the header of a text section.
uint32_t registersOf(const Elf64_Shdr& text) { return text.sh_info >> 24; }
uint32_t barriersOf(const Elf64_Shdr& text) { return text.sh_flags >> 20 & 0x7F; }

class Parser {
 public:
  Parser(const ElfFile& file, Cubin& cubin) : file_(file), cubin_(cubin) {}
  CUresult run();

 private:
  void readHeader();
  void readNote();
  CUresult placeSections();
  CUresult place(const ElfSection& section, Section placed);
  CUresult readSymbols();
  CUresult readRelocations();
  CUresult readRelocations(const ElfSection& table, uint32_t section);
  void listCode();
  void addFunction(uint32_t symbol);
  void addVariable(uint32_t symbol);
  CUresult describeModule();
  void addSampler(const Attribute& attribute);
  CUresult checkReferences(const Kernel& kernel) const;
  CUresult describeKernels();
  CUresult describe(Kernel& kernel);
  void apply(const Attribute& attribute, Kernel& kernel);
  void addParameter(Kernel& kernel, uint32_t ordinal, Parameter parameter);
  void sortBanks();
  CUresult check(Kernel& kernel) const;

  const ElfFile& file_;
  Cubin& cubin_;
  std::vector<ElfSymbol> symbols_;
  std::vector<uint32_t> placed_;  // by section of the file: index into Cubin::sections or kNone
  struct Needs {
    uint32_t registers = 0, frame = 0, stack = 0;
  };
  std::unordered_map<uint32_t, Needs> needs_;  // by symbol
  std::vector<Bank> commonBanks_;
  std::unordered_map<uint32_t, std::vector<Bank>> banks_;  // by symbol of the only function that reads them
  std::vector<bool> parameterKnown_;                       // by ordinal, of the kernel at hand
};

void Parser::readHeader() {
  const Elf64_Ehdr& header = file_.header();
  const uint32_t flags = header.e_flags;
  cubin_.architecture = header.e_ident[EI_OSABI] == kOldDialect ? flags & 0xFF : flags >> 8 & 0xFF;
  cubin_.ptxTarget = header.e_ident[EI_OSABI] == kOldDialect ? flags >> 16 & 0xFF : 0;
  readNote();
  if (!cubin_.ptxTarget) cubin_.ptxTarget = cubin_.architecture;
  cubin_.abiVersion = header.e_ident[EI_ABIVERSION];
  cubin_.relocatable = header.e_type == ET_REL;
}

// The new dialect says in a note what the code was made of: {u16 version, u16 target of the PTX, u32 of the compiler}
// behind the header and the name of the maker.
void Parser::readNote() {
  const ElfSection* const section = file_.find(".note.nv.cuinfo");
  if (!section) return;
  const Result<std::string_view> bytes = file_.contents(*section);
  Elf64_Nhdr header;
  if (!bytes || bytes.value().size() < sizeof header) return;
  std::memcpy(&header, bytes.value().data(), sizeof header);
  const uint64_t target = sizeof header + ((uint64_t{header.n_namesz} + 3) & ~uint64_t{3}) + sizeof(uint16_t);
  uint16_t value;
  if (target + sizeof value > bytes.value().size()) return;
  std::memcpy(&value, bytes.value().data() + target, sizeof value);
  cubin_.ptxTarget = value;
}

CUresult Parser::place(const ElfSection& section, Section placed) {
  const Elf64_Shdr& header = section.header;
  placed.name = section.name;
  placed.size = header.sh_size;
  placed.alignment = std::max<uint64_t>(header.sh_addralign, placed.kind == Kind::Constant ? kConstantAlignment : 1);
  if (!std::has_single_bit(placed.alignment) || placed.alignment > kLargestSection || placed.size > kLargestSection)
    return fail(CUDA_ERROR_INVALID_IMAGE, "cubin section %s: %#llx bytes aligned to %#llx", placed.name.c_str(),
                static_cast<unsigned long long>(placed.size), static_cast<unsigned long long>(placed.alignment));
  if (placed.kind != Kind::Zeroes) VG_CHECK(file_.contents(section));
  placed_[&section - file_.sections().data()] = static_cast<uint32_t>(cubin_.sections.size());
  cubin_.sections.push_back(std::move(placed));
  cubin_.fileOffsets.push_back(header.sh_offset);
  return CUDA_SUCCESS;
}

// ".nv.constant3" or ".nv.constant2.kernel": the bank, and what remains of the name.
bool readBank(std::string_view name, uint32_t& bank, std::string_view& owner) {
  if (!name.starts_with(kConstant)) return false;
  name.remove_prefix(kConstant.size());
  size_t digits = 0;
  for (bank = 0; digits < name.size() && digits < 2 && name[digits] >= '0' && name[digits] <= '9'; ++digits)
    bank = bank * 10 + static_cast<uint32_t>(name[digits] - '0');
  owner = name.substr(digits);
  return digits && (owner.empty() || owner[0] == '.');
}

// By name: relocatable code has section types of its own for data.
CUresult Parser::placeSections() {
  placed_.assign(file_.sections().size(), kNone);
  for (const ElfSection& section : file_.sections()) {
    Section placed;
    std::string_view owner;
    const bool bytes = section.header.sh_type != SHT_NOBITS && section.header.sh_type != SHT_NULL;
    if (section.name.starts_with(kText) && section.header.sh_type == SHT_PROGBITS) {
      placed.kind = Kind::Code;
    } else if (section.name == ".nv.global.init" && bytes) {
      placed.kind = Kind::Data;
    } else if (section.name == ".nv.global") {
      placed.kind = Kind::Zeroes;
    } else if (readBank(section.name, placed.bank, owner) && placed.bank != 0 && bytes) {
      placed.kind = Kind::Constant;
    } else {
      continue;
    }
    VG_CHECK(place(section, std::move(placed)));
  }
  return CUDA_SUCCESS;
}

CUresult Parser::readSymbols() {
  VG_TRY(symbols_, file_.symbols());
  cubin_.symbols.reserve(symbols_.size());
  std::set<std::string> externals;
  for (const ElfSymbol& symbol : symbols_) {
    Symbol known;
    known.name = symbol.name;
    known.value = symbol.raw.st_value;
    known.weak = symbol.weak();
    known.undefined = symbol.raw.st_shndx == SHN_UNDEF && !symbol.name.empty();
    if (symbol.section) known.section = placed_[symbol.section];
    if (known.section != kNone && known.value > cubin_.sections[known.section].size)
      return fail(CUDA_ERROR_INVALID_IMAGE, "cubin symbol %s lies beyond its section", known.name.c_str());
    if (known.undefined && symbol.type() == STT_FUNC && externals.insert(known.name).second)
      cubin_.externals.push_back(known.name);
    cubin_.symbols.push_back(std::move(known));
  }
  return CUDA_SUCCESS;
}

CUresult Parser::readRelocations(const ElfSection& table, uint32_t section) {
  const bool withAddend = table.header.sh_type == SHT_RELA;
  const size_t entry = withAddend ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
  VG_TRY(std::string_view bytes, file_.contents(table));
  std::vector<Relocation>& relocations = cubin_.relocations[section];
  relocations.reserve(bytes.size() / entry);
  for (; bytes.size() >= entry; bytes.remove_prefix(entry)) {
    Elf64_Rela raw{};
    std::memcpy(&raw, bytes.data(), entry);
    const auto symbol = static_cast<uint32_t>(ELF64_R_SYM(raw.r_info));
    if (symbol >= cubin_.symbols.size())
      return fail(CUDA_ERROR_INVALID_IMAGE, "cubin relocation of symbol %u, there are %zu", symbol,
                  cubin_.symbols.size());
    relocations.push_back(
        {raw.r_offset, static_cast<uint32_t>(ELF64_R_TYPE(raw.r_info)), symbol, raw.r_addend, !withAddend});
  }
  return CUDA_SUCCESS;
}

CUresult Parser::readRelocations() {
  cubin_.relocations.resize(cubin_.sections.size());
  const uint32_t symbolTable = file_.symbolTable();
  for (const ElfSection& table : file_.sections()) {
    const Elf64_Shdr& header = table.header;
    if ((header.sh_type != SHT_RELA && header.sh_type != SHT_REL) || header.sh_info >= placed_.size()) continue;
    if (header.sh_link != symbolTable) continue;  // of the compiler's own notes
    if (const uint32_t section = placed_[header.sh_info]; section != kNone) VG_CHECK(readRelocations(table, section));
  }
  return CUDA_SUCCESS;
}

void Parser::addFunction(uint32_t symbol) {
  const ElfSymbol& raw = symbols_[symbol];
  Kernel kernel;
  kernel.name = raw.name;
  kernel.symbol = symbol;
  kernel.section = cubin_.symbols[symbol].section;
  kernel.offset = raw.raw.st_value;
  kernel.size = raw.raw.st_size;
  const Elf64_Shdr& text = file_.sections()[raw.section].header;
  kernel.registers = registersOf(text);
  if (!images::isKernel(raw)) {
    cubin_.functions.push_back(std::move(kernel));
    return;
  }
  if (file_.header().e_ident[EI_OSABI] == kOldDialect) kernel.barriers = barriersOf(text);
  cubin_.kernels.push_back(std::move(kernel));
}

void Parser::addVariable(uint32_t symbol) {
  const ElfSymbol& raw = symbols_[symbol];
  const uint32_t section = cubin_.symbols[symbol].section;
  if (raw.raw.st_size > cubin_.sections[section].size - raw.raw.st_value) return;
  cubin_.variables.push_back(
      {std::string(raw.name), symbol, section, raw.raw.st_value, raw.raw.st_size, (raw.raw.st_other & kManaged) != 0});
}

void Parser::listCode() {
  for (uint32_t i = 0; i < symbols_.size(); ++i) {
    const uint32_t section = cubin_.symbols[i].section;
    if (section == kNone || symbols_[i].name.empty()) continue;
    const bool code = cubin_.sections[section].kind == Kind::Code;
    if (code && symbols_[i].type() == STT_FUNC) addFunction(i);
    if (!code && (symbols_[i].type() == STT_OBJECT || symbols_[i].type() == kCudaObject)) addVariable(i);
  }
}

// Launches write the numbers behind the driver's words.
CUresult Parser::checkReferences(const Kernel& kernel) const {
  for (const Reference& reference : kernel.references)
    if (reference.offset < kernel.parameterBase || reference.offset > kernel.bank0Bytes - sizeof(uint32_t))
      return fail(CUDA_ERROR_INVALID_IMAGE, "cubin kernel %s: a reference at %#x of bank 0", kernel.name.c_str(),
                  reference.offset);
  return CUDA_SUCCESS;
}

void Parser::addSampler(const Attribute& attribute) {
  const uint32_t modes = attribute.word(1);
  SamplerMode& mode = cubin_.samplers[attribute.word(0)];
  for (unsigned axis = 0; axis < 3; ++axis) mode.addressing[axis] = static_cast<uint8_t>(modes >> 8 * axis);
  mode.filter = static_cast<uint8_t>(modes >> 24);
}

CUresult Parser::describeModule() {
  const ElfSection* section = file_.find(kInformation);
  if (!section) return CUDA_SUCCESS;
  VG_TRY(const std::string_view information, file_.contents(*section));
  VG_CHECK(forEachAttribute(information, [&](const Attribute& attribute) {
    const auto of = [&]() -> Needs& { return needs_[attribute.word(0)]; };
    if (attribute.code == Code::Registers) of().registers = attribute.word(1);
    if (attribute.code == Code::Sampler) addSampler(attribute);
    if (attribute.code == Code::FrameSize) of().frame = attribute.word(1);
    if (attribute.code == Code::MinStackSize || attribute.code == Code::MaxStackSize)
      of().stack = std::max(of().stack, attribute.word(1));
  }));
  const auto apply = [&](Function& function) {
    const auto known = needs_.find(function.symbol);
    if (known != needs_.end()) {
      if (known->second.registers) function.registers = known->second.registers;
      function.frameBytes = known->second.frame;
      function.stackBytes = std::max(known->second.stack, known->second.frame);
    }
  };
  for (Kernel& kernel : cubin_.kernels) apply(kernel);
  for (Function& function : cubin_.functions) apply(function);
  return CUDA_SUCCESS;
}

void Parser::addParameter(Kernel& kernel, uint32_t ordinal, Parameter parameter) {
  if (ordinal >= kMostParameterBytes) return;
  if (ordinal >= kernel.parameters.size()) {
    kernel.parameters.resize(ordinal + 1);
    parameterKnown_.resize(ordinal + 1);
  }
  kernel.parameters[ordinal] = parameter;
  parameterKnown_[ordinal] = true;
}

void Parser::apply(const Attribute& attribute, Kernel& kernel) {
  const std::array<uint32_t, 3> three = {attribute.word(0), attribute.word(1), attribute.word(2)};
  switch (attribute.code) {
    case Code::MaxThreads:
      kernel.maxThreads = three[0] * std::max(three[1], 1u) * std::max(three[2], 1u);
      break;
    case Code::RequiredThreads:
      kernel.requiredThreads = three;
      break;
    case Code::ParameterBank:
      kernel.parameterBase = attribute.half(2);
      kernel.parameterBytes = attribute.half(3);
      break;
    case Code::Parameter:
      addParameter(kernel, attribute.half(2), {attribute.half(3), attribute.word(2) >> 18});
      break;
    case Code::LargeParameter:
      addParameter(kernel, attribute.half(2), {attribute.half(3), attribute.word(2) & 0xFFFFFF});
      break;
    case Code::ParameterBytes:
      kernel.parameterBytes = attribute.value;
      break;
    case Code::CrsStackSize:
      kernel.unknownStack = true;
      break;
    case Code::ApiVersion:
      cubin_.apiVersion = attribute.word(0);
      break;
    case Code::ClusterShape:
      kernel.cluster = three;
      break;
    case Code::ExplicitCluster:
      kernel.explicitCluster = true;
      break;
    case Code::MaxClusterBlocks:
      kernel.maxClusterBlocks = attribute.word(0);
      break;
    case Code::Barriers:
      kernel.barriers = attribute.value;
      break;
    case Code::Externs:
      for (size_t i = 0; i < attribute.bytes.size() / sizeof(uint32_t); ++i)
        if (const uint32_t symbol = attribute.word(i);
            symbol < cubin_.symbols.size() && cubin_.symbols[symbol].undefined)
          kernel.externals.push_back(cubin_.symbols[symbol].name);
      break;
    default:
      break;
  }
}

// Core copies parameters by these sizes into a buffer of parameterBytes.
CUresult Parser::check(Kernel& kernel) const {
  for (size_t i = 0; i < kernel.parameters.size(); ++i) {
    const uint64_t end = uint64_t{kernel.parameters[i].offset} + kernel.parameters[i].size;
    if (!parameterKnown_[i] || end > kMostParameterBytes)
      return fail(CUDA_ERROR_INVALID_IMAGE, "cubin kernel %s: parameter %zu ends at %llu", kernel.name.c_str(), i,
                  static_cast<unsigned long long>(end));
    kernel.parameterBytes = std::max(kernel.parameterBytes, static_cast<uint32_t>(end));
  }
  if (kernel.parameterBase + kernel.parameterBytes > kMostParameterBytes)
    return fail(CUDA_ERROR_INVALID_IMAGE, "cubin kernel %s: %u bytes of parameters at %#x", kernel.name.c_str(),
                kernel.parameterBytes, kernel.parameterBase);
  return CUDA_SUCCESS;
}

CUresult Parser::describe(Kernel& kernel) {
  parameterKnown_.clear();
  kernel.parameterBase = driverWords(cubin_.architecture);
  kernel.reservedBytes = cubin_.architecture >= 80 ? kReservedShared : 0;
  if (const ElfSection* section = file_.find(".nv.info." + kernel.name)) {
    VG_TRY(const std::string_view information, file_.contents(*section));
    VG_CHECK(forEachAttribute(information, [&](const Attribute& attribute) { apply(attribute, kernel); }));
  }
  VG_CHECK(check(kernel));
  if (const ElfSection* section = file_.find(".nv.shared." + kernel.name)) {
    // From sm_90 on the size has the reserve in it.
    const uint64_t reserve = cubin_.architecture >= 90 ? kReservedShared : 0;
    const uint64_t bytes = section->header.sh_size;
    if (bytes > UINT32_MAX)
      return fail(CUDA_ERROR_INVALID_IMAGE, "cubin kernel %s: %llu bytes of shared memory", kernel.name.c_str(),
                  static_cast<unsigned long long>(bytes));
    kernel.sharedBytes = static_cast<uint32_t>(bytes - std::min(bytes, reserve));
  }
  kernel.bank0Bytes = kernel.parameterBase + kernel.parameterBytes;
  if (const ElfSection* section = file_.find(".nv.constant0." + kernel.name))
    kernel.bank0Bytes =
        static_cast<uint32_t>(std::clamp<uint64_t>(section->header.sh_size, kernel.bank0Bytes, kMostParameterBytes));
  return CUDA_SUCCESS;
}

// Constants of one function are told apart by its name, once all symbols are known.
void Parser::sortBanks() {
  std::unordered_map<std::string_view, uint32_t> functions;
  for (uint32_t i = 0; i < symbols_.size(); ++i)
    if (symbols_[i].type() == STT_FUNC) functions.emplace(symbols_[i].name, i);
  for (uint32_t i = 0; i < cubin_.sections.size(); ++i) {
    Section& section = cubin_.sections[i];
    uint32_t bank;
    std::string_view owner;
    if (section.kind != Kind::Constant || !readBank(section.name, bank, owner)) continue;
    if (owner.empty()) {
      commonBanks_.push_back({bank, i});
      continue;
    }
    const auto found = functions.find(owner.substr(1));
    section.function = found == functions.end() ? 0 : found->second;  // symbol 0 is nobody
    banks_[section.function].push_back({bank, i});
  }
}

CUresult Parser::describeKernels() {
  sortBanks();
  cubin_.textures = namedTextures(symbols_);
  VG_TRY(References references, readReferences(file_, symbols_));
  for (Kernel& kernel : cubin_.kernels) {
    VG_CHECK(describe(kernel));
    if (const auto found = references.find(kernel.name); found != references.end())
      kernel.references = std::move(found->second);
    VG_CHECK(checkReferences(kernel));
    kernel.banks = banks_[kernel.symbol];
    kernel.banks.insert(kernel.banks.end(), commonBanks_.begin(), commonBanks_.end());
  }
  return CUDA_SUCCESS;
}

CUresult Parser::run() {
  readHeader();
  VG_CHECK(placeSections());
  VG_CHECK(readSymbols());
  VG_CHECK(readRelocations());
  listCode();
  VG_CHECK(describeModule());
  return describeKernels();
}

}  // namespace

Result<Cubin> parse(std::string bytes) {
  Cubin cubin;
  cubin.bytes = std::move(bytes);
  const auto* const begin = reinterpret_cast<const std::byte*>(cubin.bytes.data());
  if (!ElfFile::isCubin(begin, cubin.bytes.size()))
    return fail(CUDA_ERROR_INVALID_IMAGE, "%zu bytes are no native GPU code", cubin.bytes.size());
  VG_TRY(const ElfFile file, ElfFile::read(begin, cubin.bytes.size()));
  VG_CHECK(Parser(file, cubin).run());
  return cubin;
}

}  // namespace vg::cubin
