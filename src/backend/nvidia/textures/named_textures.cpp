#include "backend/nvidia/textures/named_textures.h"

#include "arrays/reading/texture.h"

namespace vg::backend::nvidia {
namespace {

using Kind = cubin::Reference::Kind;

arrays::SamplerState stateOf(const cubin::SamplerMode& mode) {
  arrays::SamplerState state;
  for (unsigned axis = 0; axis < 3; ++axis)
    if (mode.addressing[axis] < std::size(arrays::kAddressingByNumber))
      state.addressing[axis] = arrays::kAddressingByNumber[mode.addressing[axis]];
  state.linear = mode.filter == 1;
  return state;
}

}  // namespace

NamedTextures::~NamedTextures() {
  for (const auto& [symbol, named] : named_)
    if (named.kind == Kind::Sampler) pool_->remove(named.handle);
}

Result<uint64_t> NamedTextures::makeSampler(uint32_t symbol) {
  const auto described = code_.samplers.find(symbol);
  return pool_->addSampler(stateOf(described == code_.samplers.end() ? cubin::SamplerMode{} : described->second));
}

CUresult NamedTextures::make(KernelEngine& engine) {
  if (code_.textures.empty()) return CUDA_SUCCESS;
  VG_TRY(TexturePool & pool, engine.textures());
  pool_ = &pool;
  for (const auto& [symbol, kind] : code_.textures) {
    Named& made = named_[symbol];
    if (kind == Kind::Sampler) {
      VG_TRY(made.handle, makeSampler(symbol));
    }
    made.kind = kind;
  }
  return CUDA_SUCCESS;
}

Result<Global> NamedTextures::find(Image::Reference kind, const std::string& name) const {
  const Kind wanted = kind == Image::Reference::Texture ? Kind::Texture : Kind::Surface;
  for (const auto& [symbol, named] : named_)
    if (named.kind == wanted && code_.symbols[symbol].name == name)
      return Global{reinterpret_cast<CUdeviceptr>(&named.handle), sizeof named.handle};
  return fail(CUDA_ERROR_NOT_FOUND, "no %s reference %s", wanted == Kind::Texture ? "texture" : "surface",
              name.c_str());
}

bool NamedTextures::knows(const std::string& name) const {
  for (const auto& [symbol, named] : named_)
    if (code_.symbols[symbol].name == name) return true;
  return false;
}

std::vector<NamedTextures::Word> NamedTextures::wordsOf(const cubin::Kernel& kernel) const {
  std::vector<Word> words;
  for (const cubin::Reference& reference : kernel.references)
    words.push_back({reference.offset, &named_.at(reference.symbol).handle});
  return words;
}

}  // namespace vg::backend::nvidia
