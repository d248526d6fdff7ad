// Replays a recording on a driver and compares what comes of it.
//
// A thread of the program's is a thread here. One of them at a time is handed a call by the player, in the order in
// which calls began; the player waits for an end where the recording has it, so that calls that were under way together
// are so again, and none that waited for another is made too early.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/sync/mutex.h"
#include "record/reader.h"
#include "replay/call.h"
#include "replay/driver.h"
#include "replay/memory.h"
#include "replay/values.h"

namespace vg::replay {

inline constexpr uint64_t kNoCall = ~0ull;

struct PlayOptions {
  std::string library;            // the driver
  uint64_t until = ~0ull;         // the number of the last call
  bool ownAddresses = false;      // memory where the driver puts it
  bool verbose = false;           // each call is printed before it is made
  unsigned patience = 60;         // seconds that a call may take
  unsigned mostDifferences = 10;  // that are printed
};

struct PlayReport {
  uint64_t calls = 0;    // that were made
  uint64_t copies = 0;   // to the host, compared
  uint64_t results = 0;  // parts of host memory that devices wrote, compared
  uint64_t differences = 0;
  uint64_t missing = 0;     // calls that could not be made
  uint64_t movedBytes = 0;  // of memory that lies elsewhere
  bool stuck = false;       // a call did not end
};

class Player {
 public:
  Player(record::Reader& reader, const PlayOptions& options);
  ~Player();
  PlayReport play();

 private:
  class Thread;
  struct Function {
    Player* player;
    uint32_t id;
    unsigned reached = 0, let = 0;
  };

  void survey();
  void endUnended();
  bool record(record::Tag tag, record::Decoder& from);
  void introduce(record::Decoder& from);
  bool begin(record::Decoder& from);
  void end(record::Decoder& from);
  void endAllocation(Call& call, int recorded);
  void make(Call& call, std::function<CUresult()> work, int recorded);
  void allocateDevice(Call& call, const RecordedRange& range, int recorded);
  void leaveDevice(Call& call);
  void waitForDevice(Call& call);
  void compareResults(const Call& call, int recorded);
  void bindResults(record::Decoder& from, const Call& call);
  void range(record::Decoder& from);
  void hostMemory(record::Decoder& from);
  void copyDone(record::Decoder& from);
  void layout(record::Decoder& from);

  // On the thread of the program's; null where the call need not be made.
  void start(Call& call, std::function<CUresult()> work);
  bool wait(Call& call);
  std::function<CUresult()> made(Call& call);
  std::function<CUresult()> waiting(Call& call);
  bool mustBeMade(const Call& call) const;

  void letOthersGo(const Function* but) VG_REQUIRES(mutex_);
  void functionBegan(uint32_t id);
  void functionEnded(uint32_t id);
  void reached(Function& function);
  static void runFunction(void* function);
  static void runCallback(CUstream, CUresult, void* function);
  static void* functionArgument(void* player, uint32_t id);

  [[gnu::format(printf, 3, 4)]] void differs(uint64_t number, const char* format, ...);
  void lacks(const Call& call, const char* what);

  record::Reader& reader_;
  const PlayOptions options_;
  PlayReport report_;
  Values values_;
  Memory memory_{values_};
  std::vector<RecordedRange> ranges_;
  struct Left {
    uint64_t address, size, stream;
  };
  std::vector<Left> left_;  // memory that was freed in a stream, which nobody has waited for since
  std::unique_ptr<Driver> driver_;
  Layouts layouts_;
  std::unordered_map<uint64_t, std::string> kernels_;
  Functions stands_;
  std::unordered_map<uint16_t, std::pair<std::string, unsigned>> entries_;  // recorded number -> symbol, our number
  std::map<uint32_t, std::unique_ptr<Thread>> threads_;
  std::unordered_map<uint32_t, std::unique_ptr<Call>> current_;   // by thread
  std::unordered_map<uint32_t, RecordedRange> fresh_;             // memory of the call of a thread
  std::unordered_map<uint64_t, std::shared_ptr<Copied>> copied_;  // by the number of the call
  std::vector<std::unique_ptr<Call>> kept_;                       // what the driver may still read

  Mutex mutex_;
  std::condition_variable changed_;
  std::map<uint32_t, Function> functions_ VG_GUARDED_BY(mutex_);
  bool over_ VG_GUARDED_BY(mutex_) = false;  // nobody's turn will come
};

}  // namespace vg::replay
