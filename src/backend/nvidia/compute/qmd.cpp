#include "backend/nvidia/compute/qmd.h"

namespace vg::backend::nvidia {
namespace {

uint32_t maskOf(Qmd::Field field) { return field.width == 32 ? ~0u : (1u << field.width) - 1; }

}  // namespace

void Qmd::set(Field field, uint32_t value) {
  uint32_t& word = words_[field.first / 32];
  const unsigned shift = field.first % 32;
  word = (word & ~(maskOf(field) << shift)) | (value & maskOf(field)) << shift;
}

uint32_t Qmd::get(Field field) const { return words_[field.first / 32] >> field.first % 32 & maskOf(field); }

}  // namespace vg::backend::nvidia
