// What becomes of a command that nobody can do.
#pragma once

#include "backend/command.h"

namespace vg::backend {

// Who is to know when it fails; null: nobody.
inline FaultSink* faultsOf(const Command& command) {
  if (const auto* launch = std::get_if<LaunchCommand>(&command)) return launch->faults;
  if (const auto* launches = std::get_if<PreparedCommand>(&command)) return launches->faults;
  if (const auto* copy = std::get_if<CopyCommand>(&command)) return copy->faults;
  const auto* const fill = std::get_if<FillCommand>(&command);
  return fill ? fill->faults : nullptr;
}

// Gives up a launch's record when it goes, once.
class OwnedRecord {
 public:
  explicit OwnedRecord(LaunchRecord* record) : record_(record) {}
  OwnedRecord(const OwnedRecord&) = delete;
  ~OwnedRecord() {
    if (record_ && record_->release) record_->release(record_);
  }

 private:
  LaunchRecord* const record_;
};

inline void dropRecord(const Command& command) {
  const auto* const launch = std::get_if<LaunchCommand>(&command);
  if (!launch) return;
  const OwnedRecord dropped(launch->record);
  if (launch->timing.launch) launch->timing.ended(launch->timing.launch, 0, 0);
}

}  // namespace vg::backend
