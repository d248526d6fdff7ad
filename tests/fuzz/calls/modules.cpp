// Modules, libraries and links, of good and of damaged PTX.
#include "modules.h"

#include <cstring>

#include "families.h"

namespace calls {

Slots<CUfunction, 6> functions{"function"};

namespace {

struct Source {
  const char* name;
  const char* text;
};

constexpr const char* kKernels[] = {"nothing", "store", "shared", "big", "bounds", "cluster", "explicitly"};

#define CALLS_HEADER ".version 8.0\n.target sm_50\n.address_size 64\n"
constexpr Source kGood = {
    "good", CALLS_HEADER
    ".global .align 8 .u64 word;\n.global .align 4 .b8 table[1000];\n.const .align 4 .b8 fixed[64];\n"
    ".visible .entry nothing() { ret; }\n"
    ".visible .entry store(.param .u64 p, .param .u32 v) { .reg .b64 %a; .reg .b32 %v; ld.param.u64 %a,[p];\n"
    "  ld.param.u32 %v,[v]; cvta.to.global.u64 %a,%a; st.global.u32 [%a],%v; ret; }\n"
    ".visible .entry shared(.param .u64 p) .maxntid 256,1,1 { .shared .align 4 .b8 s[1024]; .reg .b64 %a;\n"
    "  ld.param.u64 %a,[p]; bar.sync 0; cvta.to.global.u64 %a,%a; st.global.u32 [%a],5; ret; }\n"
    ".visible .entry big(.param .align 8 .b8 q[200], .param .u8 c, .param .f64 d) .reqntid 64,1,1 { ret; }\n"
    ".visible .entry bounds(.param .u32 a) .maxntid 128,2,1 .minnctapersm 2 { ret; }\n"};
constexpr Source kClusters = {
    "clusters",
    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry cluster() .reqnctapercluster 2,1,1 { ret; }\n"
    ".visible .entry nothing() { ret; }\n.visible .entry explicitly() .explicitcluster .maxclusterrank 4 { ret; }\n"
    ".visible .global .align 4 .u32 word;\n"};
constexpr Source kBad[] = {
    {"empty", ""},
    {"no PTX", "hello"},
    {"bad opcode", CALLS_HEADER ".visible .entry x() { bogus.u32 %r1; ret; }\n"},
    {"version 99", ".version 99.0\n.target sm_50\n.address_size 64\n"},
    {"target too new for its version",
     ".version 8.0\n.target sm_120\n.address_size 64\n.visible .entry x() { ret; }\n"},
    {"target of another device", ".version 8.8\n.target sm_120\n.address_size 64\n.visible .entry x() { ret; }\n"},
    {"function of nowhere", CALLS_HEADER
     ".extern .func (.param .u32 r) gone();\n.visible .entry x() { .param .u32 r; call (r), gone; ret; }\n"},
    {"no entry", CALLS_HEADER},
    {"old target", ".version 8.0\n.target sm_10\n.address_size 64\n.visible .entry x() { ret; }\n"},
    {"single architecture", ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry x() { ret; }\n"},
    {"no target", ".version 8.0\n.address_size 64\n"},
    {"32 bits", ".version 8.0\n.target sm_50\n.address_size 32\n.visible .entry x() { ret; }\n"},
    {"garbage ELF", "\177ELF garbage that is no object"},
    {"variable of nowhere",
     CALLS_HEADER ".extern .global .u32 gone;\n.visible .entry x() { .reg .b32 %r; ld.global.u32 %r,[gone]; ret; }\n"},
};

Slots<CUmodule, 3> modules{"module"};
const char* moduleSources[3];
const char* functionNames[6];
int functionModules[6];
CUlinkState linkState;

// --- modules

struct Options {
  unsigned count = 0;
  CUjit_option names[8];
  void* values[8];
};

void drawOptions(Options& options) {
  static char log[512];
  std::string drawn;
  const auto add = [&](int name, uint64_t value) {
    options.names[options.count] = static_cast<CUjit_option>(name);
    options.values[options.count++] = reinterpret_cast<void*>(value);
  };
  for (uint64_t left = below(5); left > 0 && options.count < 6; --left) {
    switch (const int name = oneOf({0, 1, 7, 8, 9, 10, 11, 12, 13, 14, 5, 3, 2})) {
      case CU_JIT_INFO_LOG_BUFFER:
      case CU_JIT_ERROR_LOG_BUFFER:
        add(name, reinterpret_cast<uint64_t>(log));
        add(name + 1, sizeof log);
        drawn += text(name) + ";";
        break;
      default: {
        const uint64_t value = name == CU_JIT_MAX_REGISTERS        ? oneOf<uint64_t>({0, 16, 32, 255, 1000})
                               : name == CU_JIT_THREADS_PER_BLOCK  ? oneOf<uint64_t>({32, 128, 1024, 5000})
                               : name == CU_JIT_TARGET             ? oneOf<uint64_t>({50, 75, 90, 10, 120, 100})
                               : name == CU_JIT_OPTIMIZATION_LEVEL ? below(7)
                                                                   : below(3);
        add(name, value);
        drawn += text(name) + ":" + text(value) + ";";
      }
    }
  }
  describe("options", drawn);
}

void load() {
  const int slot = modules.unused();
  if (slot < 0) return;
  std::string name;
  const void* const image = drawSource(name);
  describe("image", name);
  CUmodule module = nullptr;
  CUresult result;
  switch (below(3)) {
    case 0:
      result = RECORD(cuModuleLoadData, out("module", &module, 1), image);
      break;
    case 1: {
      Options options;
      drawOptions(options);
      result =
          RECORD(cuModuleLoadDataEx, out("module", &module, 1), image, options.count, options.names, options.values);
      break;
    }
    default:
      result = RECORD(cuModuleLoadFatBinary, out("module", &module, 1), image);
      break;
  }
  if (result != CUDA_SUCCESS) return;
  modules.put(slot, module);
  moduleSources[slot] = name == kGood.name ? kGood.name : name == kClusters.name ? kClusters.name : "bad";
}

CUmodule givenModule(const Named<CUmodule>& module) {
  describe("module", moduleSources[module.slot]);
  return module.object;
}

void findFunction() {
  const Named<CUmodule> module = modules.any();
  const int slot = functions.unused();
  if (!module || slot < 0) return;
  const char* const name = chance(92) ? anyKernelName() : oneOf({"missing", "", "word"});
  CUfunction function = nullptr;
  describe("name", name);
  if (RECORD(cuModuleGetFunction, out("function", &function), givenModule(module), out("name", name))) return;
  functions.put(slot, function);
  functionModules[slot] = module.slot;
  functionNames[slot] = name;
}

void findVariable() {
  const Named<CUmodule> module = modules.any();
  if (!module) return;
  const char* const name = oneOf({"word", "table", "fixed", "nothing", "missing", ""});
  CUdeviceptr address = 0;
  size_t bytes = 0;
  describe("name", name);
  const CUresult result = RECORD(cuModuleGetGlobal, out("address", &address, 10), out("size", &bytes, 10),
                                 givenModule(module), out("name", name, 3));
  output("size", bytes);
  if (result != CUDA_SUCCESS || !address || !bytes) return;
  CUdeviceptr base = 0, start = 0;
  size_t whole = 0;
  output("range", CALL(cuMemGetAddressRange, &base, &whole, address));
  output("own range", base == address && whole == bytes);
  output("start", CALL(cuPointerGetAttribute, &start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address));
  output("own start", start == address);
}

void countFunctions() {
  const Named<CUmodule> module = modules.any();
  if (!module) return;
  unsigned count = 0;
  if (chance(50)) {
    RECORD(cuModuleGetFunctionCount, &count, givenModule(module));
    return output("count", count);
  }
  CUfunction found[10] = {};
  RECORD(cuModuleEnumerateFunctions, found, given("room", 1 + static_cast<unsigned>(below(8))), givenModule(module));
  for (CUfunction function : found) count += function != nullptr;
  output("filled", count);
}

void unload() {
  const Named<CUmodule> module = modules.any();
  if (!module || chance(70)) return;
  functions.removeIf([&](int slot) { return functionModules[slot] == module.slot; });
  if (RECORD(cuModuleUnload, givenModule(module)) == CUDA_SUCCESS) modules.remove(module);
}

void findTexture() {
  const Named<CUmodule> module = modules.any();
  if (!module) return;
  CUtexref reference = nullptr;
  const char* const name = oneOf({"word", "missing"});
  describe("name", name);
  RECORD(cuModuleGetTexRef, &reference, givenModule(module), name);
}

void askLoadingMode() {
  CUmoduleLoadingMode mode{};
  RECORD(cuModuleGetLoadingMode, &mode);
  output("mode", mode);
}

// --- links

void addData() {
  std::string name;
  const void* const data = drawSource(name);
  size_t bytes = std::strlen(static_cast<const char*>(data)) + 1;
  const bool good = name == kGood.name || name == kClusters.name;
  const int type = chance(92) ? 1 : good ? belowInt(8) : oneOf({1, 6, 7});
  if (wrong("size", 5)) bytes = oneOf<size_t>({0, bytes - 1, 10});
  describe("data", name);
  RECORD(cuLinkAddData, linkState, givenAs<CUjitInputType>("type", type),
         wrong("no data", 3) ? nullptr : const_cast<void*>(data), bytes,
         static_cast<const char*>(chance(50) ? "name" : nullptr), 0, nullptr, nullptr);
}

void completeLink() {
  void* image = nullptr;
  size_t bytes = 0;
  if (RECORD(cuLinkComplete, linkState, &image, &bytes)) return;
  CUmodule module = nullptr;
  output("loaded", CALL(cuModuleLoadData, &module, image));
  if (module) CALL(cuModuleUnload, module);
}

void destroyLink() {
  RECORD(cuLinkDestroy, linkState);
  linkState = nullptr;
}

}  // namespace

const void* drawSource(std::string& name) {
  static char padded[8192];
  const Source& source = chance(60) ? kGood : chance(50) ? kClusters : kBad[below(std::size(kBad))];
  name = source.name;
  std::memset(padded, 0, sizeof padded);
  std::strncpy(padded, source.text, sizeof padded - 1);
  return padded;
}

const char* anyKernelName() { return kKernels[below(std::size(kKernels))]; }

std::string nameOf(const Named<CUfunction>& function) { return functionNames[function.slot]; }
int anyFunctionAttribute() { return chance(95) ? belowInt(17) : oneOf({17, -1}); }
int anyFunctionValue() {
  return mostly(70, {0, 1, 2, 4, 50, 100, -1, 1024}, {101, -2, 300000, 49152, 65536, 227 * 1024, 16, 9});
}
bool comparable(int attribute) {
  return attribute != CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES && attribute != CU_FUNC_ATTRIBUTE_NUM_REGS &&
         attribute != CU_FUNC_ATTRIBUTE_PTX_VERSION && attribute != CU_FUNC_ATTRIBUTE_BINARY_VERSION;
}

void loadModule() {
  if (modules.lives(0)) return;
  CUmodule module = nullptr;
  describe("image", kGood.name);
  if (RECORD(cuModuleLoadData, &module, static_cast<const void*>(kGood.text))) return;
  modules.put(0, module);
  moduleSources[0] = kGood.name;
  for (int i = 0; i < 5; ++i) {
    CUfunction function = nullptr;
    if (functions.lives(i) || CALL(cuModuleGetFunction, &function, module, kKernels[i])) continue;
    functions.put(i, function);
    functionModules[i] = 0;
    functionNames[i] = kKernels[i];
  }
}

void callModules() {
  pickOf({{6, load},
          {4, findFunction},
          {2, findVariable},
          {2, countFunctions},
          {2, unload},
          {1, findTexture},
          {1, askLoadingMode}});
}

void callLinks() {
  if (linkState) return pickOf({{2, addData}, {1, completeLink}, {1, destroyLink}});
  RECORD(cuLinkCreate, 0, nullptr, nullptr, out("state", &linkState, 3));
}

void releaseModules() {
  if (linkState) CALL(cuLinkDestroy, linkState);
  linkState = nullptr;
  functions.forgetAll();
  modules.releaseAll([](CUmodule module) { CALL(cuModuleUnload, module); });
}

}  // namespace calls
