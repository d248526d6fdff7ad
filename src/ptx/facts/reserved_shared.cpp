#include "ptx/facts/reserved_shared.h"

namespace vg::ptx {

std::optional<uint32_t> reservedShared(Special special) {
  switch (special) {
    case Special::ReservedSmemOffsetBegin:
    case Special::ReservedSmemOffset0:
      return 0;
    case Special::ReservedSmemOffset1:
      return kReservedShared / 2;
    case Special::ReservedSmemOffsetEnd:
    case Special::ReservedSmemOffsetCap:
      return kReservedShared;
    default:
      return {};
  }
}

}  // namespace vg::ptx
