// In which order pieces of work run: happens-before between kernels, copies and fills, as streams, events and calls
// that wait make it. What the device happens to do does not count.
//
// A stream is a line of work. Every piece of work has the next number of its line, and knows up to which number of each
// line everything is over when it begins. The host is one party, whatever its threads do: what one of them has waited
// for counts for all, as nobody sees how they tell each other. So no order is ever missed; some is seen that is none.
//
// Every block of a kernel, and every copy or fill, has an id of its own; ids grow in the order of the calls. All
// functions are thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "check/reports/caller.h"
#include "check/tools.h"

namespace vg::ptx {
struct Module;
}

namespace vg::check::order {

inline bool on() { return wants(Tool::Race); }

// A stream, by its timeline; `group`: the streams that one legacy default stream orders.
struct Line {
  enum class Kind : uint8_t { Free, Blocking, Legacy };
  const void* timeline = nullptr;
  const void* group = nullptr;
  Kind kind = Kind::Free;
};

enum class Form : uint8_t { Kernel, Copy, Fill, Other };

using Numbers = std::vector<uint64_t>;  // by line

struct Work {
  uint64_t first = 0, blocks = 1;  // its ids
  uint64_t horizon = 0;            // everything up to this id is over when it begins
  uint32_t line = 0;
  uint64_t number = 0;
  Form form = Form::Other;
  bool anywhere = false;  // its order is not known
  std::shared_ptr<const Numbers> knows;
  Caller caller;
  // Of a kernel that has begun.
  const ptx::Module* module = nullptr;  // null, too, when it was unloaded
  std::string kernel;
  uint32_t blockSize[3] = {1, 1, 1}, gridSize[3] = {1, 1, 1};

  bool holds(uint64_t id) const { return id - first < blocks; }
};
using WorkPointer = std::shared_ptr<Work>;

// The next piece of work of a line; its first id. 0: nobody follows it.
uint64_t submitted(const Line& line, Form form, uint64_t blocks);
// The same for a node of a graph, which comes after these works of the same run, and after `begin`. Work behind the
// graph comes after what endGraph() was told.
uint64_t beginGraph(const Line& line);
uint64_t nodeSubmitted(uint64_t begin, const std::vector<uint64_t>& after, Form form, uint64_t blocks);
void endGraph(const Line& line, const std::vector<uint64_t>& works);

// An event's record in the line: a later wait for this value of its timeline comes after what the line has by now.
void marked(const Line& line, uint64_t value);
void waits(const Line& line, const void* timeline, uint64_t value);
// The host has waited for all of a line, for a point, for one piece of work, for everything.
void hostWaited(const Line& line);
void hostWaited(const void* timeline, uint64_t value);
void hostKnows(uint64_t work);
void hostWaitedForAll();
// From now on nobody knows when the work of the line runs: it waits for words of memory.
void loseOrder(const Line& line);

// The grid runs a piece of work; 0: of which nothing is known, `blocks` of it.
void began(uint64_t grid, uint64_t work, uint64_t blocks);
void ended(uint64_t grid);
// What is known of the kernel of a piece of work.
void describe(Work& work, const ptx::Module& module, std::string kernel, const uint32_t* blockSize,
              const uint32_t* gridSize);
WorkPointer ofGrid(uint64_t grid);
// Null: too long ago.
WorkPointer find(uint64_t id);
// Whether either is over before the other begins, or nobody knows.
bool ordered(const Work& one, const Work& other);
// Whether `one` is over before `other` begins.
bool before(const Work& one, const Work& other);
// Whether the host knows that the work is over, or nobody knows its order.
bool hostHas(const Work& work);
// Hears, on the thread that does it, that a piece of work has ended, and that the host has come to know of some. One
// for the process.
struct Listener {
  void (*ended)(uint64_t work);
  void (*hostLearned)();
};
void listen(const Listener& listener);
// The module ends.
void forget(const ptx::Module& module);

// The work that the calling thread does, outside of kernels.
class Doing {
 public:
  // Without work (the tool is off) what the thread does already stays.
  explicit Doing(uint64_t work) : work_(work) {
    if (work_) [[unlikely]]
      begin();
  }
  ~Doing() {
    if (work_) [[unlikely]]
      end();
  }
  Doing(const Doing&) = delete;
  static uint64_t now() { return on() ? current() : 0; }

 private:
  static uint64_t current();
  void begin();
  void end();

  uint64_t work_;
  uint64_t before_ = 0;
};

}  // namespace vg::check::order
