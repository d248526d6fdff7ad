// Native code with all its sections in one piece of device memory.
#pragma once

#include <string>
#include <vector>

#include "backend/device.h"
#include "cubin/cubin.h"

namespace vg::backend::nvidia {

class Transfer;

class PlacedCubin {
 public:
  // `name` is for messages. Nothing is placed yet.
  PlacedCubin(Transfer& transfer, std::shared_ptr<const cubin::Cubin> code, std::string name)
      : transfer_(transfer), code_(std::move(code)), name_(std::move(name)) {}
  PlacedCubin(const PlacedCubin&) = delete;
  ~PlacedCubin();

  // Takes memory as the source says, of its managed variables as well.
  CUresult place(const ImageSource& source);
  // From now on a symbol of the file means this address.
  void replace(uint32_t symbol, CUdeviceptr address) { addresses_.variables[symbol] = address; }
  // Writes everything there, or only the initial values of managed variables that are new. Requires: place().
  CUresult fill(const cubin::External& external, bool managedOnly);

  const cubin::Cubin& code() const { return *code_; }
  CUdeviceptr addressOf(uint32_t section) const { return addresses_.sections[section]; }
  CUdeviceptr addressOf(const cubin::Variable& variable) const;
  CUdeviceptr addressOf(const cubin::Function& function) const {
    return addresses_.sections[function.section] + function.offset;
  }

 private:
  CUresult placeManaged(const ImageSource& source);
  CUresult fillManaged(uint32_t section, const std::string& bytes) const;
  bool holdsFresh(uint32_t section) const;

  Transfer& transfer_;
  const std::shared_ptr<const cubin::Cubin> code_;
  const std::string name_;
  ImageSource::Release release_ = nullptr;
  void* owner_ = nullptr;
  CUdeviceptr memory_ = 0;
  cubin::Addresses addresses_;
  std::vector<const cubin::Variable*> fresh_;  // managed ones whose initial value we write
};

}  // namespace vg::backend::nvidia
