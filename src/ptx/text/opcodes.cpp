#include "ptx/text/opcodes.h"

#include <array>

namespace vg::ptx {
namespace {

constexpr size_t kOps = std::size(rows::kOpcodes);

struct Lists {
  InlineText<144> types;
  InlineText<400> words;
};
constexpr Lists kLists[] = {
    {"", "*"},
#define VG_PTX_OP(name, word, operands, memory, meets, result, traits, types, words) {types, words},
#include "ptx/text/ops.inc"
};

struct Form {
  Op op;
  Mod word;
  InlineText<12> operands;
};

namespace forms {
using enum Mod;
constexpr Mod TwoTypes = Count;  // no word: the instruction has two types

constexpr Form kAll[] = {
#define VG_PTX_OP(...)
#define VG_PTX_FORM(name, word, operands) {Op::name, word, operands},
#include "ptx/text/ops.inc"
};
}  // namespace forms

// Where the forms of each opcode begin; those of the next one end them.
constexpr auto kFirstForm = [] {
  std::array<uint8_t, kOps + 1> first{};
  size_t at = 0;
  for (size_t op = 0; op <= kOps; ++op) {
    while (at < std::size(forms::kAll) && static_cast<size_t>(forms::kAll[at].op) < op) ++at;
    first[op] = static_cast<uint8_t>(at);
  }
  return first;
}();

// --- What holds of every row by itself -----------------------------------------------------------------------------

constexpr bool isSorted() {
  for (size_t op = 2; op < kOps; ++op)
    if (std::string_view(rows::kOpcodes[op - 1].word) >= std::string_view(rows::kOpcodes[op].word)) return false;
  return true;
}
static_assert(isSorted(), "the rows of ops.inc are in alphabetical order");

constexpr bool eachRow(bool (*holds)(size_t op, const Opcode& row)) {
  for (size_t op = 1; op < kOps; ++op)
    if (!holds(op, rows::kOpcodes[op])) return false;
  return true;
}
constexpr bool doesNothingElse(size_t, const Opcode& row) {
  constexpr Trait kOther = Trait::Carries | Trait::MayFault | Trait::Exact | Trait::Yields | Trait::Orders |
                           Trait::Leaves | Trait::Hint | Trait::Texture | Trait::Matrix | Trait::Missing;
  return !row.has(Trait::Pure) ||
         (!row.touchesMemory() && row.meets == Meets::Apart && row.result != ResultKind::NoResult && !row.has(kOther));
}
static_assert(eachRow(doesNothingElse), "a pure opcode has a result and does nothing else");

constexpr bool mayFaultWhereItTouches(size_t, const Opcode& row) {
  return !row.touchesMemory() || row.has(Trait::MayFault | Trait::Missing);
}
static_assert(eachRow(mayFaultWhereItTouches), "what touches memory may fault");

constexpr bool hasDestination(size_t op) {
  bool any = *rows::kOpcodes[op].operands.data() == '=';
  for (size_t at = kFirstForm[op]; at < kFirstForm[op + 1]; ++at) any |= *forms::kAll[at].operands.data() == '=';
  return any;
}
constexpr bool givesWhatItSays(size_t op, const Opcode& row) {
  return static_cast<Op>(op) == Op::Call || hasDestination(op) == (row.result != ResultKind::NoResult);
}
static_assert(eachRow(givesWhatItSays), "an opcode has a kind of result where one of its forms has a destination");

bool applies(const Form& form, const Instruction& i) {
  return form.word == forms::TwoTypes ? i.typeCount == 2 : i.has(form.word);
}

// Whether `list`, words with spaces between them, has the word.
constexpr bool lists(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const size_t end = list.find(' ');
    if (list.substr(0, end) == word) return true;
    if (end == std::string_view::npos) return false;
    list.remove_prefix(end + 1);
  }
  return false;
}

}  // namespace

const char* typesOf(Op op) { return kLists[static_cast<size_t>(op)].types.data(); }
const char* wordsOf(Op op) { return kLists[static_cast<size_t>(op)].words.data(); }

const char* operandsOf(const Instruction& i) {
  const auto op = static_cast<size_t>(i.op);
  for (size_t at = kFirstForm[op]; at < kFirstForm[op + 1]; ++at)
    if (applies(forms::kAll[at], i)) return forms::kAll[at].operands.data();
  return rowOf(i.op).operands.data();
}

uint32_t destinationCount(const Instruction& i) { return *operandsOf(i) != '=' ? 0 : i.pair ? 2 : 1; }

bool listsType(const Instruction& i) {
  const std::string_view types = typesOf(i.op);
  return types.empty() || i.type() == Type::None || lists(types, nameOf(i.type()));
}

bool allows(Op op, Mod word) {
  const std::string_view text = nameOf(word);
  const std::string_view words = wordsOf(op);
  return words == "*" || lists(words, text) || lists(kCommonWords, text);
}

}  // namespace vg::ptx
