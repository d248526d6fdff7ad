// The one geometry that heaps and the memory table share: granules of 2 MiB are divided into pages of 64 KiB, pages
// into slots of equal size, a multiple of 512 bytes (the alignment that the vendor's driver gives small allocations).
#pragma once

#include <cstddef>
#include <cstdint>

namespace vg::alloc {

inline constexpr unsigned kUnitShift = 9, kPageShift = 16, kGranuleShift = 21;
inline constexpr size_t kUnit = size_t{1} << kUnitShift;
inline constexpr size_t kPage = size_t{1} << kPageShift;
inline constexpr size_t kGranule = size_t{1} << kGranuleShift;
inline constexpr unsigned kPagesPerGranule = kGranule / kPage;
inline constexpr unsigned kUnitsPerPage = kPage / kUnit;

}  // namespace vg::alloc
