// Cases of spdecompress: each way to pack, with the fewest groups that it may have, and each number of groups. Included
// by opcode_matrix.h, whose Builder they use.
#pragma once

namespace vg::ptx::matrix {

struct SparseCase {
  int elementBits, indexBits, kept, whole, groups;

  int words(int fields, int bits) const { return (fields * groups * bits + 31) / 32; }
  int indexWords() const { return words(kept, indexBits); }
  int keptWords() const { return words(kept, elementBits); }
  int wholeWords() const { return words(whole, elementBits); }
  bool exists() const {
    const int bits = whole * elementBits * groups;
    return kept * elementBits <= 32 && 1 << indexBits >= whole && bits >= 32 && bits <= 4096 &&
           indexWords() + keptWords() + wholeWords() <= 253;
  }
  // Places within the group.
  uint32_t places() const {
    uint32_t mask = 0;
    for (int at = 0; at < 32; at += indexBits) mask |= static_cast<uint32_t>(whole - 1) << at;
    return mask;
  }
};

inline std::string namesOf(const char* prefix, int count) {
  std::string names;
  for (int k = 0; k < count; ++k) names += (k ? ", " : "") + std::string(prefix) + std::to_string(k);
  return names;
}

inline void add(Builder& m, const SparseCase& c) {
  const std::string out = namesOf("whole", c.wholeWords()), indexes = namesOf("index", c.indexWords()),
                    elements = namesOf("kept", c.keptWords());
  const std::string name = "spdecompress.b" + std::to_string(c.elementBits) + ".b" + std::to_string(c.indexBits) +
                           ".sp::" + std::to_string(c.kept) + ":" + std::to_string(c.whole) + ".x" +
                           std::to_string(c.groups);
  std::string text = "{ .reg .b32 " + out + ", " + indexes + ", " + elements + "; ";
  const auto fill = [&](const std::string& prefix, int count, const char* first, const char* step) {
    for (int k = 0; k < count; ++k)
      text += "mad.lo.u32 " + prefix + std::to_string(k) + ", " + step + ", " + std::to_string(2 * k + 1) + ", " +
              first + "; ";
  };
  fill("index", c.indexWords(), "a", "b");
  for (int k = 0; k < c.indexWords(); ++k)
    text +=
        "and.b32 index" + std::to_string(k) + ", index" + std::to_string(k) + ", " + std::to_string(c.places()) + "; ";
  fill("kept", c.keptWords(), "c", "d");
  text += name + " {" + out + "}, {" + indexes + "}, {" + elements + "}; mov.b32 x, 1; mov.b32 y, 1; ";
  for (int k = 0; k < c.wholeWords(); ++k)
    text += "shf.l.wrap.b32 x, x, x, 7; xor.b32 x, x, whole" + std::to_string(k) + "; mad.lo.u32 y, y, 31, whole" +
            std::to_string(k) + "; ";
  m.add(name, text + "}", std::vector<Domain>(4, Domain::Int32), {{32, Match::Bits}, {32, Match::Bits}});
}

inline void sparse(Builder& m) {
  const std::pair<int, int> factors[] = {{1, 2}, {1, 4}, {1, 8}, {1, 16}, {2, 4}, {2, 8}, {2, 16}, {4, 8}, {4, 16}};
  for (const int element : {8, 16})
    for (const int index : {2, 4})
      for (const auto& [kept, whole] : factors)
        for (int groups = 1; groups <= 64; groups *= 2) {
          const SparseCase c{element, index, kept, whole, groups};
          if (!c.exists()) continue;
          add(m, c);
          break;
        }
  for (int groups = 4; groups <= 64; groups *= 2) add(m, {8, 4, 2, 4, groups});
}

}  // namespace vg::ptx::matrix
