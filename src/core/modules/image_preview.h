// An image loaded to be looked at: what kernels it has and what they are like, without a context. Its variables lie in
// memory of its own that nobody uses; nothing in it is launched. Managed variables are the real ones.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "backend/device.h"
#include "base/result.h"
#include "core/modules/managed_variables.h"

namespace vg::core {

class DeviceCode;

class Blueprint {
 public:
  // `managed` may be null: then managed variables are private too.
  static Result<std::unique_ptr<Blueprint>> load(backend::Device& device, DeviceCode& code, const std::string& name,
                                                 ManagedVariables* managed, const backend::LoadOptions& options);

  backend::Image& image() const { return *image_; }
  std::vector<std::string> kernelNames() const { return image_->kernelNames(); }

 private:
  Blueprint() = default;

  using Bytes = std::unique_ptr<std::byte, void (*)(std::byte*)>;

  std::vector<Bytes> managed_;  // private managed variables
  backend::ImageSource source_;
  std::unique_ptr<backend::Image> image_;
};

}  // namespace vg::core
