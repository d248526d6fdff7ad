#include "backend/nvidia/kernels/placed_cubin.h"

#include <algorithm>

#include "backend/nvidia/copies/transfer.h"
#include "base/round.h"

namespace vg::backend::nvidia {
namespace {

constexpr uint64_t kAlignment = 256;
constexpr uint64_t kBehindCode = 4096;  // bytes that the hardware may fetch ahead
// In this order, one behind the other.
constexpr cubin::Kind kKinds[] = {cubin::Kind::Code, cubin::Kind::Constant, cubin::Kind::Data, cubin::Kind::Zeroes};

}  // namespace

PlacedCubin::~PlacedCubin() {
  if (memory_) release_(owner_, memory_);
}

CUresult PlacedCubin::place(const ImageSource& source) {
  uint64_t bytes = 0, alignment = kAlignment;
  addresses_.sections.assign(code_->sections.size(), 0);
  for (const cubin::Kind kind : kKinds) {
    const cubin::Layout layout = cubin::layOut(*code_, kind);
    alignment = std::max(alignment, layout.alignment);
    bytes = roundUp(bytes, std::max(layout.alignment, kAlignment));
    for (size_t i = 0; i < code_->sections.size(); ++i)
      if (code_->sections[i].kind == kind) addresses_.sections[i] = bytes + layout.offsets[i];
    bytes += layout.bytes + (kind == cubin::Kind::Code ? kBehindCode : 0);
  }
  if (!source.allocate) return fail(CUDA_ERROR_INVALID_VALUE, "nowhere to put %s", name_.c_str());
  release_ = source.release;
  owner_ = source.memoryOwner;
  VG_TRY(memory_, source.allocate(source.memoryOwner, bytes, alignment));
  for (uint64_t& address : addresses_.sections) address += memory_;
  return placeManaged(source);
}

CUresult PlacedCubin::placeManaged(const ImageSource& source) {
  for (const cubin::Variable& variable : code_->variables) {
    if (!variable.managed) continue;
    if (!source.resolveManaged) return fail(CUDA_ERROR_INVALID_VALUE, "nowhere to put managed variables");
    const size_t alignment = code_->sections[variable.section].alignment;
    VG_TRY(const ImageSource::Managed managed,
           source.resolveManaged(source.resolveOwner, variable.name, variable.size, alignment));
    addresses_.variables[variable.symbol] = managed.address;
    if (managed.fresh) fresh_.push_back(&variable);
  }
  return CUDA_SUCCESS;
}

bool PlacedCubin::holdsFresh(uint32_t section) const {
  return std::any_of(fresh_.begin(), fresh_.end(), [&](const auto* variable) { return variable->section == section; });
}

CUresult PlacedCubin::fill(const cubin::External& external, bool managedOnly) {
  for (uint32_t i = 0; i < code_->sections.size(); ++i) {
    const cubin::Section& section = code_->sections[i];
    if (managedOnly && !holdsFresh(i)) continue;
    if (section.kind == cubin::Kind::Zeroes) {
      VG_CHECK(transfer_.zero(addresses_.sections[i], section.size));
      continue;
    }
    VG_TRY(const std::string bytes, cubin::relocate(*code_, i, addresses_, external));
    if (!managedOnly) VG_CHECK(transfer_.write(addresses_.sections[i], bytes.data(), bytes.size()));
    VG_CHECK(fillManaged(i, bytes));
  }
  return CUDA_SUCCESS;
}

CUresult PlacedCubin::fillManaged(uint32_t section, const std::string& bytes) const {
  for (const cubin::Variable* variable : fresh_)
    if (variable->section == section)
      VG_CHECK(transfer_.write(addressOf(*variable), &bytes[variable->offset], variable->size));
  return CUDA_SUCCESS;
}

CUdeviceptr PlacedCubin::addressOf(const cubin::Variable& variable) const {
  const auto elsewhere = addresses_.variables.find(variable.symbol);
  return elsewhere != addresses_.variables.end() ? elsewhere->second
                                                 : addresses_.sections[variable.section] + variable.offset;
}

}  // namespace vg::backend::nvidia
