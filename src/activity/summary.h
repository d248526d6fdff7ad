// What VERDIGRIS_SUMMARY asks for at the end of a program: where its time went. Top kernels, calls of the API and
// copies, how long each device did nothing and when, how much of copies and kernels could have run side by side.
//
// Memory is bounded: of names beyond some thousands the rest is one row.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "activity/busy_time.h"
#include "activity/consumer.h"
#include "activity/kernel_name.h"

namespace vg::activity {

struct Total {
  uint64_t count = 0, nanoseconds = 0, shortest = ~uint64_t{0}, longest = 0, bytes = 0;
  void add(uint64_t took, uint64_t moved);
};

// A time in which a device did nothing.
struct Gap {
  uint64_t begin, end;
  std::string before, after;  // what ran
};

struct DeviceSummary {
  std::string name;
  uint64_t first = ~uint64_t{0}, last = 0;  // of its work
  BusyTime any, kernels, copies;
  uint64_t peakMemory = 0;
  std::vector<Gap> gaps;  // the longest, longest first; some more until keepTrueGaps()

  // For gaps: the end of all that has come so far, and what it was.
  uint64_t latestEnd = 0;
  std::string latest;

  uint64_t span() const { return last > first ? last - first : 0; }
  // Nanoseconds in which kernels and copies ran side by side, and in which they might have beside that.
  uint64_t overlap() const;
  uint64_t unusedOverlap() const;
  // At the end: drops what is no gap because other work ran then.
  void keepTrueGaps();
};

class Summary final : public Consumer {
 public:
  // `outputs`: "1" is standard error; a name that ends in .html gets a page, any other one text.
  Summary(std::vector<std::string> outputs, bool keep) : outputs_(std::move(outputs)), keep_(keep) {}

  void take(const Record& record) override;
  void lost(uint64_t records) override { lost_ += records; }
  void finish() override;

  using Totals = std::map<std::string, Total>;
  using Row = std::pair<std::string, Total>;
  // The rows that took longest, longest first.
  static std::vector<Row> top(const Totals& totals, size_t most);
  const Totals& kernels() const { return kernels_; }
  const Totals& transfers() const { return transfers_; }
  const Totals& calls() const { return calls_; }
  const std::map<unsigned, DeviceSummary>& devices() const { return devices_; }
  uint64_t lostRecords() const { return lost_; }

 private:
  void take(const Work& work);
  void noteGap(DeviceSummary& device, const Work& work, const std::string& name);
  void write(const std::string& output) const;

  const std::vector<std::string> outputs_;
  const bool keep_;
  Totals kernels_, transfers_, calls_;
  std::map<unsigned, DeviceSummary> devices_;
  KernelNames names_;
  uint64_t lost_ = 0;
};

// The whole of it.
std::string textOf(const Summary& summary);
std::string pageOf(const Summary& summary);
// "12.3 ms", "4.0 KiB".
std::string durationText(uint64_t nanoseconds);
std::string bytesText(uint64_t bytes);

}  // namespace vg::activity
