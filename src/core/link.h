// cuLink: several PTX texts become one image. What cuLinkComplete gives out is text again: the modules one after
// another with a line between them, so that the application may keep it, copy it and load it like any PTX.
#pragma once

#include <cuda.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "core/jit_options.h"
#include "images/image_source.h"

namespace vg::core {

class Device;

class Link {
 public:
  Link(Device& device, JitOptions options) : device_(device), options_(std::move(options)) {}

  CUlinkState handle() { return reinterpret_cast<CUlinkState>(this); }
  JitOptions& options() { return options_; }
  // PTX text, or a fat binary whose PTX is taken. Native code and libraries of it: CUDA_ERROR_NOT_SUPPORTED.
  CUresult add(CUjitInputType type, const void* data, size_t size, const std::string& name);
  CUresult addFile(CUjitInputType type, const std::string& path);
  // Tries the link; the image lives as long as the link.
  CUresult complete(void** image, size_t* size);

 private:
  Device& device_;
  JitOptions options_;
  std::vector<std::string> texts_;
  std::string image_;
};

// Takes a linked image that came back as one text apart again.
void separateLinked(images::Selected& selected);

namespace links {

Link& create(Device& device, JitOptions options);
Result<Link&> find(CUlinkState handle);
CUresult destroy(Link& link);

}  // namespace links

}  // namespace vg::core
