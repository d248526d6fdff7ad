// The textures, surfaces and samplers that a module names: a word each, which core sets when the
// application binds something (core/texture_reference.h), and whose low half a launch puts into bank 0.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "backend/device.h"
#include "cubin/cubin.h"

namespace vg::backend::nvidia {

class GpuDevice;

class NamedTextures {
 public:
  NamedTextures(GpuDevice& device, const cubin::Cubin& code) : device_(device), code_(code) {}
  NamedTextures(const NamedTextures&) = delete;
  ~NamedTextures();

  // Words for all, and samplers as the code describes them.
  CUresult make();
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

  GpuDevice& device_;
  const cubin::Cubin& code_;
  std::map<uint32_t, Named> named_;  // by symbol
};

}  // namespace vg::backend::nvidia
