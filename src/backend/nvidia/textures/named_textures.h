// The textures, surfaces and samplers that a module names: a word each, which core sets when the
// application binds something (core/textures/texture_reference.h), and whose low half a launch puts into bank 0.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backend/device.h"
#include "backend/nvidia/textures/kernel_engine.h"
#include "cubin/cubin.h"

namespace vg::backend::nvidia {

class NamedTextures {
 public:
  explicit NamedTextures(const cubin::Cubin& code) : code_(code) {}
  NamedTextures(const NamedTextures&) = delete;
  ~NamedTextures();

  // Words for all, and samplers of `engine` as the code describes them.
  CUresult make(KernelEngine& engine);
  // Where the host writes the handle: 8 bytes. CUDA_ERROR_NOT_FOUND.
  Result<Global> find(Image::Reference kind, const std::string& name) const;
  // True for any kind, samplers included.
  bool knows(const std::string& name) const;

  // What a kernel's launches put where.
  struct Word {
    uint32_t offset;  // bytes in bank 0
    const uint64_t* handle;
  };
  std::vector<Word> wordsOf(const cubin::Kernel& kernel) const;

 private:
  struct Named {
    cubin::Reference::Kind kind{};
    uint64_t handle = 0;
  };
  Result<uint64_t> makeSampler(uint32_t symbol);

  const cubin::Cubin& code_;
  TexturePool* pool_ = nullptr;      // set by make() where anything is named
  std::map<uint32_t, Named> named_;  // by symbol
};

}  // namespace vg::backend::nvidia
