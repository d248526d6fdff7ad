// The file of VERDIGRIS_TIMELINE: trace events in the JSON array format, which Perfetto and chrome://tracing open.
//
// It is written as the program runs, mostly a whole number of events at a time: viewers do without the bracket at the
// end, which a killed process leaves out. The system may cut what a process writes as it is killed, in its last line.
// Threads of the host are threads of the process; each device is a process of its own with a track for each stream.
// When the file cannot be written any more the log says so, once, and the rest is left out.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "activity/consumer.h"
#include "activity/json.h"
#include "activity/kernel_name.h"
#include "activity/open_ranges.h"

namespace vg::activity {

class TimelineFile final : public Consumer {
 public:
  // Null, said in the log, when the file cannot be written. `keep` as in output_name.h.
  static std::unique_ptr<TimelineFile> open(const std::string& path, bool keep);
  ~TimelineFile() override;

  void take(const Record& record) override;
  void lost(uint64_t records) override;
  void flush() override;
  void finish() override;

 private:
  TimelineFile(int file, std::string path);

  // A number of this process, below the process's own, so that files of several processes can be put together. Viewers
  // keep the 53 bits of a real number.
  uint64_t everywhere(uint64_t number) const { return (process_ << 31) + (number & 0x7fffffff); }
  void begin(const char* phase, uint64_t process, uint64_t thread);
  void at(uint64_t nanoseconds);
  void end() { text_ += '}'; }
  void metadata(const char* what, uint64_t process, uint64_t thread, std::string_view name);
  void sortIndex(const char* what, uint64_t process, uint64_t thread, uint64_t index);
  uint64_t deviceProcess(unsigned device);
  uint64_t streamTrack(const Origin& origin);
  void knowThread(uint32_t thread);

  // The end of a call's event: its result and arguments, which are often those of another call of the function.
  struct CallEnd {
    uint64_t arguments[Call::kMostArguments];
    int result = 0;
    std::string text;  // empty: of no call
  };
  // What stands around the value of an argument: ,"flags": or, of three in a row, ,"gridDim":[ and , and ,].
  struct Argument {
    std::string before;
    const char* behind;
  };
  // What is the same in every event of an entry point.
  struct CallTexts {
    std::string begin;  // up to the number of the thread
    std::vector<Argument> arguments;
    WriteArgument write;
    NameResult nameResult;
    std::array<CallEnd, 4> ends;  // by a hash
    uint32_t thread = 0;
    std::string track;  // the same with that thread's number, up to the time
  };
  static std::vector<Argument> argumentsOf(const CallDescription& what);
  CallTexts& textsOf(DescribeCall describe);
  const std::string& endOf(CallTexts& texts, const Call& call);
  const std::string& trackOf(CallTexts& texts, uint32_t thread);
  // The same of launches of a kernel with one shape in one stream.
  struct LaunchTexts {
    const KernelFacts* kernel = nullptr;
    uint64_t process = 0, track = 0;
    uint32_t grid[3] = {}, block[3] = {}, dynamicShared = 0;
    std::string begin;  // up to the time
    bool are(const Work& work, uint64_t process, uint64_t track) const;
  };
  const LaunchTexts& textsOf(const Work& work, uint64_t process, uint64_t track);

  void write(const Call& call);
  void write(const Work& work);
  void write(const Memory& memory);
  void write(const Note& note);
  void write(const Name& name);
  void writeLaunch(const Work& work, uint64_t process, uint64_t track);
  void keepText();
  // Room for an event of at most so many bytes, behind all others. Then wrote().
  char* room(size_t bytes);
  void wrote(const char* end);
  char* time(char* to, uint64_t nanoseconds);
  void writeDetails(const Work& work);
  void writeDetails(const Note& note);
  void writeNote(const Note& note);
  void writeCounter(const Memory& memory);
  void writeToFile();

  int file_;  // -1: it cannot be written any more
  const std::string path_;
  const uint64_t process_;
  const std::unique_ptr<char[]> buffer_;  // what is not in the file yet
  size_t used_ = 0;
  std::string text_;        // an event in the making, not of the most frequent
  uint64_t size_ = 0;       // bytes of the file
  uint64_t lastEvent_ = 0;  // where the last event in it begins
  struct {
    NearNumbers milliseconds, correlations, arrows;
  } near_;
  bool first_ = true;
  uint32_t lastThread_ = 0;  // that was looked for
  std::unordered_set<uint32_t> threads_;
  std::unordered_set<uint64_t> devices_, tracks_;  // that have a name
  OpenRanges ranges_;
  KernelNames names_;
  std::unordered_map<DescribeCall, CallTexts> calls_;
  DescribeCall lastCall_ = nullptr;
  CallTexts* lastCallTexts_ = nullptr;
  std::array<LaunchTexts, 64> launches_;  // by a hash
  uint64_t lastDevice_ = 0, lastProcess_ = 0, lastTrack_ = 0;
};

// "copy host to device".
const char* titleOf(const Work& work);

}  // namespace vg::activity
