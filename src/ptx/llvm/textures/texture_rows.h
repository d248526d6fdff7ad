// Reads of textures in plain rows (ptx/abi/texture_abi.h) as vector code, where the compile was told what kind of
// texture a launch is likely to give the kernel. What it is really given is asked once a launch; any other texture, and
// what this code leaves, goes to RuntimeCalls::texture, of which all results are those bits.
//
// Elements side by side along x are one load. Others of one row are permuted out of the 32 or 64 elements from the
// first lane's on, or gathered.
#pragma once

#include <map>
#include <optional>

#include "ptx/abi/texture_abi.h"
#include "ptx/facts/texture_form.h"
#include "ptx/llvm/emit/masks.h"
#include "ptx/llvm/emit/part.h"
#include "ptx/llvm/emit/runner.h"
#include "ptx/llvm/emit/values.h"

namespace vg::ptx::gen {

class RowTextures : public EmitterPart {
 public:
  RowTextures(Emission& emission, Runner& runner, Masks& masks, Values& values)
      : EmitterPart(emission), runner_(runner), masks_(masks), values_(values) {}

  // Emits the read if it can be done here: words of 32 bits for each result. `call` emits the same for the runner.
  std::optional<Components> read(const Instruction& i, const TextureShape& shape, const Mask& mask,
                                 const std::function<Components()>& call);

 private:
  // A texture among the parameters, asked for once a launch.
  struct Texture {
    Value *fits, *base, *rowPitch;  // i1: of the expected kind; pointer; i64
    Value *last[2], *lastReal[2], *size[2];
  };
  struct Request {
    const Instruction& i;
    const TextureShape& shape;
    const Mask& mask;
    TextureKind kind;
    bool whole, linear;
    ValueId at[2];  // coordinates
    const Texture& texture;
  };
  // Two neighbours along an axis and the share of the second in 256ths; one where nothing is mixed.
  struct Along {
    Value *index[2] = {nullptr, nullptr}, *share = nullptr;
  };
  // What the lanes of a chunk read.
  struct Place {
    Along x;
    Value* first = nullptr;              // i32, where what they read of a row begins
    Value* row[2] = {nullptr, nullptr};  // pointers
    Value* shareY = nullptr;             // of a row alone or of all
  };
  struct Places {
    llvm::SmallVector<Place, 8> chunks;
    Value* all;  // i1: that is what the lanes read
  };
  class Tests;

  std::optional<TextureHint> hintFor(uint32_t parameter) const;
  const Texture& textureAt(uint32_t parameter, uint16_t kind);
  bool isRead(const Request& r, uint32_t channel) const;

  Value* scaled(const Request& r, unsigned axis, Value* at);
  Value* clamped(Value* at, Value* least, Value* most);
  Along along(const Request& r, unsigned axis, Value* at, Tests& tests);
  Along wholeAlong(const Request& r, unsigned axis, Value* at, Tests& tests);
  Along mixedAlong(const Request& r, unsigned axis, Value* at, Tests& tests);
  Value* rowOfLanes(const Request& r, uint32_t chunk, Tests& tests);
  void setRows(const Request& r, uint32_t chunk, Place& place, Tests& tests);
  Places placesOf(const Request& r);
  std::optional<Places> consecutive(const Request& r);
  ValueId countedLanes(ValueId coordinate) const;

  bool permutes(const TextureKind& kind) const;
  uint32_t window(const TextureKind& kind) const;
  Chunks loadWindow(const Request& r, Value* row, Value* first);
  Chunks elements(const Request& r, const Place& place, unsigned side, unsigned down);
  Chunks permuted(const TextureKind& kind, const Chunks& window, Value* lanes);
  Chunks gathered(const TextureKind& kind, Value* row, Value* index);
  Chunks sideBySide(const Request& r, const Place& place);
  Value* channelOf(const TextureKind& kind, const Chunks& words, uint32_t channel);
  Value* decoded(const TextureKind& kind, Value* raw);
  Value* fraction(Value* number, uint32_t channelBytes);
  Value* floorOf(Value* v) { return b_.intrinsic(llvm::Intrinsic::floor, {v}); }

  Components readEach(const Request& r, const Places& places, bool isConsecutive);
  Chunks point(const Request& r, const Place& place, bool isConsecutive);
  Chunks mixed(const Request& r, const Place& place);
  Value* sumOf(const TextureKind& kind, llvm::ArrayRef<Value*> parts, llvm::ArrayRef<Value*> weights);

  Runner& runner_;
  Masks& masks_;
  Values& values_;
  std::map<uint32_t, Texture> textures_;
};

}  // namespace vg::ptx::gen
