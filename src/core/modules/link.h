// cuLink: several parts become one image. For devices that compile PTX themselves the parts are PTX, and what
// cuLinkComplete gives out is text again: the modules one after another with a line between them, so that the
// application may keep it, copy it and load it like any PTX. For devices that run native code it is native code.
#pragma once

#include <cuda.h>

#include <string>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "core/modules/jit_options.h"
#include "cubin/compiler.h"
#include "images/image_source.h"

namespace vg::core {

class Device;

class Link {
 public:
  Link(Device& device, JitOptions options) : device_(device), options_(std::move(options)) {}

  CUlinkState handle() { return reinterpret_cast<CUlinkState>(this); }
  JitOptions& options() { return options_; }
  // PTX text, or a fat binary of which the best is taken: what is wrong with PTX is said here. A name that two parts
  // define is CUDA_ERROR_INVALID_SOURCE, and of no other use is the link then. Native code, objects and libraries of it
  // only for devices that run it; others answer CUDA_ERROR_NOT_SUPPORTED, but for the device runtime's library.
  CUresult add(CUjitInputType type, const void* data, size_t size, const std::string& name);
  CUresult addFile(CUjitInputType type, const std::string& path);
  // Tries the link; the image lives as long as the link.
  CUresult complete(void** image, size_t* size);

 private:
  bool native() const;
  CUresult check(CUjitInputType type, const std::string& name) const;
  CUresult checkText(const std::string& text);
  CUresult tryNative(const std::string& name, const std::string& text, CUresult refused);
  CUresult addText(const std::string& name, std::string text);
  CUresult addPart(CUjitInputType type, const std::string& name, std::string bytes);
  CUresult addSelected(images::Selected selected, const std::string& name);
  CUresult completeText();
  std::string nothing() const;
  CUresult completeNative();

  Device& device_;
  JitOptions options_;
  std::vector<cubin::Input> parts_;
  std::unordered_set<std::string> names_;  // that the parts define for all
  CUresult broken_ = CUDA_SUCCESS;
  std::string image_;
};

namespace links {

Link& create(Device& device, JitOptions options);
Result<Link&> find(CUlinkState handle);
CUresult destroy(Link& link);

}  // namespace links

}  // namespace vg::core
