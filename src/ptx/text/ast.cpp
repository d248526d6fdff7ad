#include "ptx/text/ast.h"

#include "ptx/text/op.h"
#include "ptx/text/words.h"

namespace vg::ptx {
namespace {

constexpr Word kOps[] = {
#define VG_PTX_OP(name, text, ...) {text, static_cast<uint16_t>(Op::name)},
#include "ptx/text/ops.inc"
};

constexpr Word kMods[] = {
#define VG_PTX_MOD(name, text) {text, static_cast<uint16_t>(Mod::name)},
#include "ptx/text/mods.inc"
#undef VG_PTX_MOD
};

struct TypeRow {
  InlineText<12> name;
  uint16_t bits;
  bool isFloat, isSigned;
};
constexpr TypeRow kTypeRows[] = {
    {"", 0, false, false},
    {"pred", 1, false, false},
    {"b8", 8, false, false},
    {"b16", 16, false, false},
    {"b32", 32, false, false},
    {"b64", 64, false, false},
    {"b128", 128, false, false},
    {"u8", 8, false, false},
    {"u16", 16, false, false},
    {"u32", 32, false, false},
    {"u64", 64, false, false},
    {"s8", 8, false, true},
    {"s16", 16, false, true},
    {"s32", 32, false, true},
    {"s64", 64, false, true},
    {"f16", 16, true, false},
    {"f16x2", 32, true, false},
    {"bf16", 16, true, false},
    {"bf16x2", 32, true, false},
    {"tf32", 32, true, false},
    {"f32", 32, true, false},
    {"f32x2", 64, true, false},
    {"f64", 64, true, false},
    {"e4m3", 8, true, false},
    {"e5m2", 8, true, false},
    {"e4m3x2", 16, true, false},
    {"e5m2x2", 16, true, false},
    {"e2m3x2", 16, true, false},
    {"e3m2x2", 16, true, false},
    {"e2m1x2", 8, true, false},
    {"ue8m0x2", 16, true, false},
    {"u16x2", 32, false, false},
    {"s16x2", 32, false, true},
    {"u8x4", 32, false, false},
    {"s8x4", 32, false, true},
    {"texref", 64, false, false},
    {"samplerref", 64, false, false},
    {"surfref", 64, false, false},
    {"b1", 1, false, false},
    {"s4", 4, false, true},
    {"u4", 4, false, false},
    {"e2m1", 4, true, false},
    {"e3m2", 6, true, false},
    {"e2m3", 6, true, false},
    {"ue8m0", 8, true, false},
    {"ue4m3", 8, true, false},
    {"e4m3x4", 32, true, false},
    {"e5m2x4", 32, true, false},
    {"e3m2x4", 32, true, false},
    {"e2m3x4", 32, true, false},
    {"e2m1x4", 16, true, false},
    {"f16x4", 64, true, false},
    {"s2", 2, false, true},
    {"u2", 2, false, false},
};
constexpr size_t kTypeCount = std::size(kTypeRows);
static_assert(kTypeCount == static_cast<size_t>(Type::U2) + 1);

constexpr auto typeWords() {
  std::array<Word, kTypeCount - 1> words{};
  for (size_t i = 1; i < kTypeCount; ++i)
    words[i - 1] = {std::string_view(kTypeRows[i].name), static_cast<uint16_t>(i)};
  return words;
}

constexpr Word kSpaces[] = {
    {"const", static_cast<uint16_t>(Space::Const)},
    {"global", static_cast<uint16_t>(Space::Global)},
    {"local", static_cast<uint16_t>(Space::Local)},
    {"param", static_cast<uint16_t>(Space::Param)},
    {"param::entry", static_cast<uint16_t>(Space::Param)},
    {"shared", static_cast<uint16_t>(Space::Shared)},
    {"shared::cta", static_cast<uint16_t>(Space::Shared)},
    {"shared::cluster", static_cast<uint16_t>(Space::SharedCluster)},
    {"param::func", static_cast<uint16_t>(Space::ParamFunction)},
};

#define VG_SPECIAL(text, name) \
  { text, static_cast<uint16_t>(Special::name) }
#define VG_SPECIAL_XYZ(text, name) \
  VG_SPECIAL(text ".x", name##X), VG_SPECIAL(text ".y", name##Y), VG_SPECIAL(text ".z", name##Z)
constexpr Word kSpecials[] = {
    VG_SPECIAL_XYZ("%tid", Tid),
    VG_SPECIAL_XYZ("%ntid", Ntid),
    VG_SPECIAL_XYZ("%ctaid", Ctaid),
    VG_SPECIAL_XYZ("%nctaid", Nctaid),
    VG_SPECIAL_XYZ("%clusterid", Clusterid),
    VG_SPECIAL_XYZ("%nclusterid", Nclusterid),
    VG_SPECIAL_XYZ("%cluster_ctaid", ClusterCtaid),
    VG_SPECIAL_XYZ("%cluster_nctaid", ClusterNctaid),
    VG_SPECIAL("%laneid", LaneId),
    VG_SPECIAL("%warpid", WarpId),
    VG_SPECIAL("%nwarpid", NWarpId),
    VG_SPECIAL("%smid", SmId),
    VG_SPECIAL("%nsmid", NSmId),
    VG_SPECIAL("%gridid", GridId),
    VG_SPECIAL("%lanemask_eq", LanemaskEq),
    VG_SPECIAL("%lanemask_lt", LanemaskLt),
    VG_SPECIAL("%lanemask_le", LanemaskLe),
    VG_SPECIAL("%lanemask_gt", LanemaskGt),
    VG_SPECIAL("%lanemask_ge", LanemaskGe),
    VG_SPECIAL("%clock", Clock),
    VG_SPECIAL("%clock_hi", ClockHi),
    VG_SPECIAL("%clock64", Clock64),
    VG_SPECIAL("%globaltimer", GlobalTimer),
    VG_SPECIAL("%globaltimer_lo", GlobalTimerLo),
    VG_SPECIAL("%globaltimer_hi", GlobalTimerHi),
    VG_SPECIAL("%dynamic_smem_size", DynamicSmemSize),
    VG_SPECIAL("%total_smem_size", TotalSmemSize),
    VG_SPECIAL("%aggr_smem_size", AggrSmemSize),
    VG_SPECIAL("%reserved_smem_offset_begin", ReservedSmemOffsetBegin),
    VG_SPECIAL("%reserved_smem_offset_end", ReservedSmemOffsetEnd),
    VG_SPECIAL("%reserved_smem_offset_cap", ReservedSmemOffsetCap),
    VG_SPECIAL("%reserved_smem_offset_0", ReservedSmemOffset0),
    VG_SPECIAL("%reserved_smem_offset_1", ReservedSmemOffset1),
    VG_SPECIAL("%is_explicit_cluster", IsExplicitCluster),
    VG_SPECIAL("%cluster_ctarank", ClusterCtarank),
    VG_SPECIAL("%cluster_nctarank", ClusterNctarank),
    VG_SPECIAL("%current_graph_exec", CurrentGraphExec),
    VG_SPECIAL("%locality_domain_id", Envreg0),  // a device has one domain: this register is 0, too
};
#undef VG_SPECIAL_XYZ
#undef VG_SPECIAL

constexpr WordTable<512> kOpTable{kOps};
constexpr WordTable<1024> kModTable{kMods};
constexpr WordTable<128> kTypeTable{typeWords()};
constexpr WordTable<32> kSpaceTable{kSpaces};
constexpr WordTable<128> kSpecialTable{kSpecials};

const TypeRow& rowOf(Type type) { return kTypeRows[static_cast<size_t>(type)]; }

// "%envreg17" -> 17; limit for anything else.
uint32_t numbered(std::string_view name, std::string_view prefix, uint32_t limit) {
  if (name.size() <= prefix.size() || name.size() > prefix.size() + 2 || !name.starts_with(prefix)) return limit;
  uint32_t number = 0;
  for (char c : name.substr(prefix.size())) {
    if (c < '0' || c > '9') return limit;
    number = number * 10 + static_cast<uint32_t>(c - '0');
  }
  return number < limit ? number : limit;
}

}  // namespace

uint32_t bitsOf(Type type) { return rowOf(type).bits; }
bool isFloat(Type type) { return rowOf(type).isFloat; }
bool isSigned(Type type) { return rowOf(type).isSigned; }
const char* nameOf(Type type) { return rowOf(type).name.data(); }
const char* nameOf(Op op) { return op == Op::Invalid ? "(unknown)" : kOps[static_cast<size_t>(op) - 1].text.data(); }
const char* nameOf(Mod mod) { return mod == Mod::Count ? "(unknown)" : kMods[static_cast<size_t>(mod)].text.data(); }

const char* nameOf(Space space) {
  switch (space) {
    case Space::None:
      return "";
    case Space::Const:
      return "const";
    case Space::Global:
      return "global";
    case Space::Local:
      return "local";
    case Space::Param:
      return "param";
    case Space::Shared:
      return "shared";
    case Space::SharedCluster:
      return "shared::cluster";
    case Space::ParamFunction:
      return "param::func";
  }
  return "";
}

Op findOp(std::string_view word) { return static_cast<Op>(kOpTable.find(word, static_cast<uint16_t>(Op::Invalid))); }
Type findType(std::string_view word) { return static_cast<Type>(kTypeTable.find(word, 0)); }
Space findSpace(std::string_view word) { return static_cast<Space>(kSpaceTable.find(word, 0)); }
Mod findMod(std::string_view word) { return static_cast<Mod>(kModTable.find(word, static_cast<uint16_t>(Mod::Count))); }

Special findSpecial(std::string_view name) {
  if (uint16_t found = kSpecialTable.find(name, 0)) return static_cast<Special>(found);
  if (uint32_t n = numbered(name, "%envreg", 32); n < 32)
    return static_cast<Special>(static_cast<uint32_t>(Special::Envreg0) + n);
  if (uint32_t n = numbered(name, "%pm", 8); n < 8)
    return static_cast<Special>(static_cast<uint32_t>(Special::Pm0) + n);
  return Special::None;
}

const Function* Module::findFunction(const std::string& name) const {
  for (const Function& f : functions)
    if (f.name == name) return &f;
  return nullptr;
}

const Variable* Module::findVariable(const std::string& name) const {
  for (const Variable& v : variables)
    if (v.name == name) return &v;
  return nullptr;
}

}  // namespace vg::ptx
