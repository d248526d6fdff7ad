#include "ptx/facts/async_form.h"

#include <algorithm>

#include "ptx/text/op.h"
#include "ptx/text/opcodes.h"

namespace vg::ptx {
namespace {

struct ReductionRow {
  Mod mod;
  AsyncReduction operation;
};
constexpr ReductionRow kReductions[] = {{Mod::Add, AsyncReduction::Add}, {Mod::Min, AsyncReduction::Min},
                                        {Mod::Max, AsyncReduction::Max}, {Mod::Inc, AsyncReduction::Inc},
                                        {Mod::Dec, AsyncReduction::Dec}, {Mod::And, AsyncReduction::And},
                                        {Mod::Or, AsyncReduction::Or},   {Mod::Xor, AsyncReduction::Xor}};
struct FieldRow {
  Mod mod;
  MapField field;
};
constexpr FieldRow kFields[] = {{Mod::GlobalAddress, MapField::Address},
                                {Mod::Rank, MapField::Rank},
                                {Mod::BoxDim, MapField::Box},
                                {Mod::GlobalDim, MapField::Size},
                                {Mod::GlobalStride, MapField::Stride},
                                {Mod::ElementStride, MapField::ElementStride},
                                {Mod::Elemtype, MapField::ElementType},
                                {Mod::InterleaveLayout, MapField::Interleave},
                                {Mod::SwizzleMode, MapField::Swizzle},
                                {Mod::SwizzleAtomicity, MapField::SwizzleAtomicity},
                                {Mod::FillMode, MapField::Fill}};
constexpr Mod kDimensions[] = {Mod::D1, Mod::D2, Mod::D3, Mod::D4, Mod::D5};

AsyncSpace spaceOf(Space space) {
  return space == Space::Shared || space == Space::SharedCluster ? AsyncSpace::Shared : AsyncSpace::Host;
}

// Gives operands their slots, from left to right.
class Describer {
 public:
  Describer(const Instruction& i, const Function& f) : i_(i), f_(f), at_(destinationCount(i)) {}

  std::optional<AsyncShape> describe() {
    const bool known = i_.op == Op::Mbarrier               ? barrier()
                       : i_.op == Op::Cp                   ? copy()
                       : i_.op == Op::Tensormap            ? map()
                       : i_.op == Op::Clusterlaunchcontrol ? cancellation()
                                                           : store();
    while (known && any()) take(kAsyncUnused);  // hints
    if (!known || bad_) return std::nullopt;
    return std::move(shape_);
  }

 private:
  AsyncForm& form() { return shape_.form; }
  bool any() const { return at_ < i_.count; }
  // The next operand, in consecutive slots; its elements. Without one the instruction has no known form.
  uint32_t take(uint32_t slot, uint32_t most = 1) {
    if (!any()) {
      bad_ = true;
      return 0;
    }
    const Operand& operand = f_.operands[i_.first + at_++];
    const uint32_t count = operand.kind == Operand::Kind::Vector ? operand.count : 1;
    if (slot != kAsyncUnused && count > most) bad_ = true;
    for (uint32_t k = 0; k < count; ++k)
      shape_.slots.push_back(static_cast<uint8_t>(slot == kAsyncUnused ? slot : slot + k));
    return count;
  }
  void operation(AsyncOperation which) { form().operation = which; }

  bool reduction() {
    if (i_.has(Mod::Noftz) && i_.type() == Type::F32) return false;  // sums of f32 are flushed
    for (const ReductionRow& row : kReductions)
      if (i_.has(row.mod)) {
        form().detail = static_cast<uint8_t>(row.operation);
        return true;
      }
    return false;
  }

  bool barrier() {
    form().to = spaceOf(i_.space);
    if (i_.has(Mod::PendingCount)) {
      operation(AsyncOperation::BarrierPending);
      return take(kAsyncCount);
    }
    take(kAsyncTo);
    if (i_.has(Mod::Inval)) {
      operation(AsyncOperation::BarrierInvalidate);
      return true;
    }
    if (i_.has(Mod::Arrive) || i_.has(Mod::ArriveDrop)) return arrive();
    if (i_.has(Mod::TestWait) || i_.has(Mod::TryWait)) {
      operation(AsyncOperation::BarrierTest);
      if (i_.has(Mod::Parity)) form().flags |= kByParity;
    } else if (i_.has(Mod::Init)) {
      operation(AsyncOperation::BarrierInit);
    } else if (i_.has(Mod::ExpectTx)) {
      operation(AsyncOperation::BarrierExpect);
    } else if (i_.has(Mod::CompleteTx)) {
      operation(AsyncOperation::BarrierComplete);
    } else {
      return false;
    }
    return take(kAsyncCount);
  }

  bool arrive() {
    operation(AsyncOperation::BarrierArrive);
    if (i_.has(Mod::ArriveDrop)) form().flags |= kDrops;
    if (any()) {
      form().flags |= i_.has(Mod::ExpectTx) ? kExpects : kCounted;
      take(kAsyncCount);
    }
    return true;
  }

  bool copy() {
    if (i_.has(Mod::Mbarrier)) {
      form().to = spaceOf(i_.space);
      if (!i_.has(Mod::Noinc)) return true;  // one arrival more and one less
      operation(AsyncOperation::BarrierCopies);
      return take(kAsyncTo);
    }
    if (i_.has(Mod::CommitGroup) || i_.has(Mod::WaitGroup) || i_.has(Mod::Prefetch)) return true;
    if (i_.has(Mod::CtaGroup2)) return false;
    if (i_.has(Mod::IgnoreOob) && (i_.has(Mod::Reduce) || i_.has(Mod::Tensor))) return false;
    form().to = spaceOf(i_.space);
    form().from = spaceOf(i_.space2);
    if (i_.has(Mod::Reduce) && !reduction()) return false;
    form().type = i_.type();
    return i_.has(Mod::Tensor) ? tensor() : bulk();
  }

  bool bulk() {
    operation(i_.has(Mod::Reduce) ? AsyncOperation::Reduce : AsyncOperation::Copy);
    take(kAsyncTo);
    take(kAsyncFrom);
    take(kAsyncCount);
    if (i_.has(Mod::IgnoreOob)) {
      form().flags |= kCutShort;
      take(kAsyncCut);
      take(kAsyncCut + 1);
    }
    if (i_.has(Mod::MbarrierCompleteTxBytes)) report();
    if (!i_.has(Mod::CpMask)) return true;
    form().flags |= kMasked;
    if (i_.has(Mod::L2CacheHint)) take(kAsyncUnused);
    return take(kAsyncMask);
  }

  void report() {
    form().flags |= kReports;
    take(kAsyncBarrier);
    if (i_.has(Mod::MulticastCluster)) {
      form().flags |= kMulticast;
      take(kAsyncBlocks);
    }
  }

  bool tensor() {
    const auto* const dimension =
        std::find_if(std::begin(kDimensions), std::end(kDimensions), [&](Mod m) { return i_.has(m); });
    if (dimension == std::end(kDimensions) || i_.has(Mod::Im2colW) || i_.has(Mod::Im2colW128)) return false;
    form().count = static_cast<uint8_t>(dimension - kDimensions + 1);
    const bool rows = i_.has(Mod::TileGather4) || i_.has(Mod::TileScatter4);
    if (rows) form().mode = TensorMode::Rows;
    if (rows && *dimension != Mod::D2) return false;
    const uint32_t coordinates = rows ? kRowCoordinates : form().count;
    const bool withOffsets = i_.has(Mod::Im2col);
    if (withOffsets || i_.has(Mod::Im2colNoOffs)) form().mode = TensorMode::Im2col;
    if (form().to == AsyncSpace::Host) {
      operation(i_.has(Mod::Reduce) ? AsyncOperation::ReduceTensor : AsyncOperation::StoreTensor);
      take(kAsyncTo);
      return take(kAsyncCoordinates, coordinates) == coordinates && take(kAsyncFrom);
    }
    operation(AsyncOperation::LoadTensor);
    take(kAsyncTo);
    take(kAsyncFrom);
    if (take(kAsyncCoordinates, coordinates) != coordinates) return false;
    form().flags |= kReports;
    take(kAsyncBarrier);
    if (withOffsets) {
      form().flags |= kShifted;
      if (take(kAsyncOffsets, 3) + 2u != form().count) return false;
    }
    if (i_.has(Mod::MulticastCluster)) {
      form().flags |= kMulticast;
      take(kAsyncBlocks);
    }
    return true;
  }

  bool map() {
    form().to = spaceOf(i_.space);
    if (i_.has(Mod::CpFenceproxy)) {
      operation(AsyncOperation::Copy);
      form().from = spaceOf(i_.space2);
      take(kAsyncTo);
      take(kAsyncFrom);
      return take(kAsyncCount);
    }
    if (!i_.has(Mod::Replace)) return false;
    operation(AsyncOperation::ReplaceMap);
    const auto* const row =
        std::find_if(std::begin(kFields), std::end(kFields), [&](const FieldRow& r) { return i_.has(r.mod); });
    if (row == std::end(kFields)) return false;
    form().detail = static_cast<uint8_t>(row->field);
    take(kAsyncTo);
    const bool numbered = row->field == MapField::Box || row->field == MapField::Size ||
                          row->field == MapField::Stride || row->field == MapField::ElementStride;
    if (numbered) take(kAsyncCount);
    return take(kAsyncValues);
  }

  // st.async and red.async [to], value, [barrier]; st.bulk [to], size, 0
  bool store() {
    form().to = spaceOf(i_.space);
    form().type = i_.type();
    take(kAsyncTo);
    if (i_.has(Mod::Bulk)) {
      operation(AsyncOperation::Zero);
      return take(kAsyncCount);
    }
    if (i_.op == Op::Red && !reduction()) return false;
    operation(i_.op == Op::Red ? AsyncOperation::ReduceValue : AsyncOperation::Store);
    form().count = static_cast<uint8_t>(take(kAsyncValues, 4));
    if (i_.has(Mod::MbarrierCompleteTxBytes)) report();
    const uint32_t bits = bitsOf(i_.type());
    return bits == 32 || bits == 64;
  }

  // clusterlaunchcontrol.try_cancel [to], [barrier]
  bool cancellation() {
    if (!i_.has(Mod::MbarrierCompleteTxBytes)) return false;
    operation(AsyncOperation::CancelCluster);
    form().to = spaceOf(i_.space);
    form().flags |= kReports;
    if (i_.has(Mod::MulticastClusterAll)) form().flags |= kMulticast;
    take(kAsyncTo);
    return take(kAsyncBarrier);
  }

  const Instruction& i_;
  const Function& f_;
  uint32_t at_;
  AsyncShape shape_;
  bool bad_ = false;
};

}  // namespace

bool mayHold(const Instruction& i) { return i.op == Op::Mbarrier && i.has(Mod::TryWait); }

bool isAsync(const Instruction& i) {
  switch (i.op) {
    case Op::Mbarrier:
    case Op::Tensormap:
      return true;
    case Op::Cp:
      return i.has(Mod::Bulk) || i.has(Mod::Mbarrier);
    case Op::St:
      return i.has(Mod::Async) || i.has(Mod::Bulk);
    case Op::Red:
      return i.has(Mod::Async);
    case Op::Clusterlaunchcontrol:
      return cancelsClusters(i);
    default:
      return false;
  }
}

bool cancelsClusters(const Instruction& i) { return i.op == Op::Clusterlaunchcontrol && i.has(Mod::TryCancel); }

std::optional<AsyncShape> describeAsync(const Instruction& i, const Function& f) { return Describer(i, f).describe(); }

}  // namespace vg::ptx
