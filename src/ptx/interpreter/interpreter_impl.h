// What the parts of the interpreter share: decoded instructions, the state of a warp, the selection of the function
// that does an instruction's arithmetic.
#pragma once

#include <bit>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ptx/abi/system_calls.h"
#include "ptx/facts/layout.h"
#include "ptx/facts/sparse_form.h"
#include "ptx/interpreter/interpreter.h"
#include "ptx/operations/half.h"
#include "ptx/operations/random_rounding.h"
#include "ptx/text/ast.h"

namespace vg::ptx {
struct AsyncShape;
struct TextureShape;
struct MatrixShape;
}  // namespace vg::ptx

namespace vg::ptx::interpreter {

class Warp;
struct Step;
struct FunctionCode;

// Where a source value comes from.
struct Source {
  enum class Kind : uint8_t { Constant, Register, Special, Global, FrameAddress, EntryParameter, SharedAddress };
  Kind kind = Kind::Constant;
  Special special = Special::None;
  bool negated = false;
  uint16_t selector = 0;
  uint8_t bits = 64;   // of the register
  uint32_t slot = 0;   // Register: slot; Global: index in KernelLaunch::globals
  uint64_t value = 0;  // Constant; byte offset of the others
};

struct Target {
  uint32_t slot = UINT32_MAX;  // UINT32_MAX: the value is not wanted
  uint8_t bits = 0;
  bool wanted() const { return slot != UINT32_MAX; }
};

// Arithmetic on one lane: sources in a (predicates 0 or 1), results in r. Values are the low bits of each word; what
// the result has above its size is dropped.
using Compute = void (*)(const Step& s, const uint64_t* a, uint64_t* r);
// An instruction that needs more than its lane's sources.
using Execute = void (*)(Warp& w, const Step& s, uint32_t mask);

enum class Flow : uint8_t {
  None,
  Branch,
  BranchTable,
  Call,
  Return,
  Exit,
  Barrier,
  WarpSync,
  Trap,
  Illegal,
  Yield,
};

struct Step {
  const Instruction* i = nullptr;
  Compute compute = nullptr;
  Execute execute = nullptr;
  Flow flow = Flow::None;
  uint8_t sourceCount = 0;
  bool readsCarry = false, writesCarry = false;
  Rounding rounding = Rounding::NearestEven;
  bool ftz = false, sat = false, polls = false;
  Space space = Space::None;
  int32_t guard = -1;  // slot
  bool guardNegated = false;
  uint32_t destination = 0;         // Branch: step; WarpSync: index of the mask among the sources
  uint8_t number = 0, number2 = 0;  // of the instruction's own meaning: bytes, table, mode
  uint16_t selector = 0;            // of the destination of a video instruction
  Target targets[2];
  Source sources[6];
  std::vector<Target> vectorTargets;  // ld.v4, mov unpack
  std::vector<Source> vectorSources;  // st.v4, mov pack
  const struct CallSite* call = nullptr;
  // Texture and surface instructions: vectorSources and vectorTargets are all operands and destinations, flattened.
  std::shared_ptr<const TextureShape> texture;
  std::shared_ptr<const MatrixShape> matrix;  // matrix instructions: operands as for textures
  std::shared_ptr<const AsyncShape> async;    // operands in vectorSources too, the destination in targets[0]
  std::optional<SparseForm> sparse;
  std::optional<RandomRounding> randomRounding;  // operands as for textures
};

struct CallSite {
  const FunctionCode* target = nullptr;  // null: through sources[0]
  SystemCall systemCall = SystemCall::None;
  struct Argument {
    bool isFrame = false;  // bytes of the frame at `offset`; else a source or target
    uint32_t offset = 0, size = 0;
    Source source;
    Target target;
  };
  std::vector<Argument> arguments, results;
};

// A parameter or return value of a function: in the frame's memory, or a register.
struct Formal {
  uint32_t offset = 0, size = 0;
  bool isRegister = false;
  Target target;
};

inline constexpr size_t kAlignment = 64;  // of what a lane's stack is given out in

struct FunctionCode {
  const Function* function = nullptr;
  uint32_t index = 0;
  uint32_t slots = 0;       // 64-bit register slots
  uint32_t frameBytes = 0;  // parameters, returns, .local and .param variables
  uint32_t frameAlignment = kAlignment;
  std::vector<uint32_t> registerSlots;
  std::vector<uint32_t> variableOffsets;  // of Function::variables in the frame
  std::vector<Formal> parameters, returns;
  std::vector<Step> steps;
  std::vector<std::vector<uint32_t>> tables;
  std::vector<std::unique_ptr<CallSite>> calls;
};

class Program final : public InterpreterProgram {
 public:
  Program();
  ~Program() override;
  // The state of warps of a block from `first` on, one after another, which the program owns; given back when they have
  // ended.
  Warp* takeWarp(const BlockState* block, uint32_t first) const;
  void keepWarp(Warp* warp, const BlockState* block, uint32_t first) const;
  // What takeWarp() has given for this warp or for those from 0 on; null: nothing.
  const Warp* findWarp(const BlockState* block, uint32_t warp) const;

  const Module* module = nullptr;
  Observer* observer = nullptr;
  bool allocates = false;              // has alloca
  Carries carries = Carries::Nothing;  // of fences, and accesses that order others
  const FunctionCode* entry = nullptr;
  std::vector<std::unique_ptr<FunctionCode>> functions;  // by Module::functions index; null: not reachable
  SharedLayout shared;
  KernelReferences uses;
  std::vector<ParameterSlot> parameters;

  KernelTraits& mutableTraits() { return traits_; }
  std::string& mutableGaps() { return gaps_; }

 private:
  // Warps between uses, and all that exist: a trap abandons a running warp, which is then only freed with the program.
  struct Pool;
  std::unique_ptr<Pool> pool_;
};

// Set s.compute (and what it needs) for the instruction, or leave it null when the opcode is not of the family or has
// no known form.
void selectInteger(const Instruction& i, Step& s);
void selectBits(const Instruction& i, Step& s);
void selectVideo(const Instruction& i, Step& s);
void selectFloat(const Instruction& i, Step& s);
void selectHalf(const Instruction& i, Step& s);
void selectCompare(const Instruction& i, Step& s);
void selectConvert(const Instruction& i, Step& s);
// Set s.execute or s.flow.
void selectMemory(const Instruction& i, Step& s);
void selectWarp(const Instruction& i, Step& s);
void selectWide(const Instruction& i, Step& s);  // 128-bit values
// Addresses between the blocks of a cluster.
void selectCluster(const Instruction& i, Step& s);
void selectAsync(const Instruction& i, const Function& f, Step& s);
void selectTexture(const Instruction& i, const Function& f, Step& s);
void selectMatrix(const Instruction& i, const Function& f, Step& s);
void selectRandomRounding(const Instruction& i, const Function& f, Step& s);
void selectSparse(const Instruction& i, const Function& f, Step& s);
// The traits of a program whose steps are all there.
void findTraits(Program& program);

template <class Visit>
inline void eachLane(uint32_t mask, Visit visit) {
  for (; mask; mask &= mask - 1) visit(static_cast<uint32_t>(std::countr_zero(mask)));
}
inline uint64_t maskOf(uint32_t bits) { return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1; }
inline int64_t signExtend(uint64_t value, uint32_t bits) {
  return static_cast<int64_t>(value << (64 - bits)) >> (64 - bits);
}

inline float asFloat(uint64_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits)); }
inline double asDouble(uint64_t bits) { return std::bit_cast<double>(bits); }
inline uint64_t bitsOfFloat(float f) { return f != f ? 0x7fffffff : std::bit_cast<uint32_t>(f); }
inline uint64_t bitsOfDouble(double d) { return std::bit_cast<uint64_t>(d); }
// A subnormal f32 as zero of its sign.
inline uint64_t flush(uint64_t bits) { return (bits & 0x7f800000) == 0 ? bits & 0x80000000 : bits & 0xffffffff; }
inline uint64_t flushHalf(uint64_t bits) { return (bits & 0x7c00) == 0 ? bits & 0x8000 : bits & 0xffff; }

// The state of a warp while it runs.
class Warp {
 public:
  void start(BlockState* block, const Program* program, uint32_t warp);
  void run();

  struct Frame {
    const FunctionCode* code = nullptr;
    uint64_t* registers = nullptr;
    std::byte* memory = nullptr;
    const CallSite* site = nullptr;  // how it was called
    uint32_t resume = 0;             // step of the caller after the call
    size_t mark = 0, total = 0;      // of the lane's stack before the call
  };
  enum class State : uint8_t { Done, Ready, AtBarrier, AtWarpSync };
  struct Lane {
    State state = State::Done;
    uint32_t step = 0;
    uint32_t carry = 0;
    uint64_t lastRun = 0;
    std::vector<Frame> frames;
    // The lane's registers and local memory: chunks that never move.
    std::vector<std::unique_ptr<std::byte[]>> chunks;
    std::vector<size_t> chunkSizes;
    size_t used = 0;  // chunk index << 32 | bytes used in it
    size_t total = 0;
    uint32_t syncMask = 0;
    uint32_t barrierId = 0, barrierCount = 0;
  };

  uint64_t read(uint32_t lane, const Source& s) const;
  void write(uint32_t lane, const Target& t, uint64_t value) {
    if (t.wanted()) frame(lane).registers[t.slot] = value & maskOf(t.bits);
  }
  Frame& frame(uint32_t lane) { return lanes[lane].frames.back(); }
  const Frame& frame(uint32_t lane) const { return lanes[lane].frames.back(); }
  // What a lane does in an operation of the warp that it waits at, which others may do with another step.
  const Step& stepOf(uint32_t lane) const { return frame(lane).code->steps[lanes[lane].step]; }
  uint64_t special(uint32_t lane, Special s) const;
  uint32_t liveMask() const;
  const RuntimeCalls& calls() const { return *block->launch->calls; }
  [[noreturn]] void trap(uint32_t mask, TrapReason reason, const Step& s) const;
  // Lanes come to the barrier of the cluster; the warp arrives when all that live have come.
  void arriveCluster(const Step* s, uint32_t mask);
  // From the lane's stack, zeroed; null when it is exhausted.
  std::byte* reserve(uint32_t lane, size_t bytes, size_t alignment = kAlignment);
  void noteWhere(uint32_t lane, const Instruction* i) const;
  void view(LaneView (&views)[kWarpSize]) const;
  // Bytes of the lane's chunks below what it takes next, and back to where that was: frees what was taken since.
  uint64_t stackDepth(uint32_t lane) const;
  void returnTo(uint32_t lane, uint64_t depth);
  // The host address of an access of `bytes` by the lane, checked.
  std::byte* address(uint32_t lane, const Step& s, const Source& base, uint64_t bytes, Space space) {
    return range(lane, s, base, bytes, bytes, space);
  }
  // The same for many bytes with an alignment of their own, a power of two.
  std::byte* range(uint32_t lane, const Step& s, const Source& base, uint64_t bytes, uint64_t alignment, Space space);

  BlockState* block = nullptr;
  const Program* program = nullptr;
  BlockObserver* observer = nullptr;  // null: nobody looks on
  bool watched = false;               // the observer is asked about accesses
  uint32_t index = 0;
  uint32_t lanemask = 0;        // lanes that exist
  uint32_t clusterArrived = 0;  // lanes that came to the cluster's barrier before the whole warp has
  bool polled = false;          // an access that may be a poll since the last yield
  uint32_t turns = 0;           // jumps backwards
  Lane lanes[kWarpSize];

 private:
  uint32_t pick();
  void runGroup(uint32_t mask);
  bool together(uint32_t a, uint32_t b) const;
  uint32_t meetingPoint(uint32_t mask, uint32_t step) const;
  template <class Relation>
  bool others(uint32_t mask, Relation relation) const;
  bool othersAt(uint32_t mask, uint32_t step) const;
  bool othersBehind(uint32_t mask, uint32_t step) const;
  void moveTo(uint32_t mask, uint32_t step);
  uint32_t guarded(const Step& s, uint32_t mask) const;
  void execute(const Step& s, uint32_t mask);
  void transfer(const Step& s, uint32_t mask, uint32_t step);
  void yieldIfPolling(uint32_t mask);
  void call(const Step& s, uint32_t mask, uint32_t resume);
  void systemCall(const Step& s, SystemCall which, uint32_t mask);
  uint64_t argument(uint32_t lane, const CallSite& site, size_t number) const;
  void result(uint32_t lane, const CallSite& site, uint64_t value);
  void enter(uint32_t lane, const FunctionCode* target, const CallSite* site, uint32_t resume, const Step& s);
  void leave(uint32_t lane);
  void finish(uint32_t lane);
  void arriveBarrier(const Step& s, uint32_t mask, uint32_t step);
  void arriveWarpSync(const Step& s, uint32_t mask, uint32_t step);
  bool completeWarpSync(bool partial);
  bool completeBarrier();
  std::byte* checked(uint32_t lane, const Step& s, uint64_t at, uint64_t bytes, uint64_t alignment, Space space);
  // The same as checked(), after asking the observer.
  std::byte* observed(uint32_t lane, const Step& s, const Source& base, uint64_t at, uint64_t bytes, uint64_t alignment,
                      Space space);
  BlockObserver::Own ownership(uint32_t lane, uint64_t address, uint64_t bytes) const;
  void tellArrival(const Step& s, uint32_t id, uint32_t count, uint32_t mask, bool waits);
  void tellMeeting(uint32_t lane, uint32_t present);

  alignas(16) std::byte forbidden_[256];  // where accesses go that must not happen
  // Which lanes run next, and when other warps do.
  struct Choice {
    uint64_t clock = 0;
    uint32_t spent = 0;      // steps since lanes were last picked by waiting time
    bool unfair = false;     // the next pick goes by waiting time
    bool wasUnfair = false;  // the running group was picked so
    bool abreast = false;    // other warps of the block share memory with this one and have fibres of their own
    uint32_t slice = 0;      // steps since they were let go on
    void spend(uint32_t steps, bool polls);
  } choice_;
  void keepAbreast(uint32_t mask, uint32_t step);
};

// Tells an observer of cp.async.commit_group, wait_group and wait_all.
void tellCopies(Warp& w, const Step& s, uint32_t mask);

}  // namespace vg::ptx::interpreter
