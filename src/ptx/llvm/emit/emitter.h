// Warp IR -> LLVM IR. A PTX register becomes one scalar when all lanes agree or differ by a constant step, else K
// vectors of W lanes (K * W = 32).
//
// Blocks are emitted in up to four copies: with all lanes present or only some (Full, Part), and convergent (real
// branches) or masked (a divergent region in linear order, each block under its own mask). Values that cross blocks
// which exist in several copies go through stack slots that the first LLVM pass promotes to registers again.
#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include <array>
#include <functional>
#include <map>
#include <optional>

#include "ptx/abi/engine.h"
#include "ptx/llvm/analysis/misalignment.h"
#include "ptx/llvm/analysis/reach.h"
#include "ptx/llvm/analysis/streaming.h"
#include "ptx/llvm/ir/row_thread.h"
#include "ptx/llvm/ir/warp_ir.h"
#include "ptx/llvm/passes/suspend.h"

namespace vg::ptx::special {
struct Segment;
}

namespace vg::ptx::gen {

struct EmitOptions : ShapeOptions {
  uint32_t lanes = 16;  // W
  bool avx512 = false;  // with BW, DQ, VL
  bool avx2 = false;
  bool fma = false;
  bool f16c = false;
  bool fullWarps = false;
  bool exactApproximations = true;   // of f32, to the bit
  bool trustsParameters = true;      // pointers that the kernel is given are aligned as it uses them
  bool testsReach = false;           // what addresses lead to (analysis/reach.h)
  bool testsLoaded = false;          // of addresses that may have been loaded, that they are none of the library's own
  uint64_t leanBeyond = UINT64_MAX;  // so much work (plannedWork), fewer copies have to do: a launch waits
  std::string cpu, features;
};

using Chunks = llvm::SmallVector<llvm::Value*, 8>;

// The LLVM form of a value.
struct Form {
  Shape shape;
  llvm::Value* scalar = nullptr;  // uniform: the value; affine: lane 0's
  llvm::Value* holds = nullptr;   // fragile: i1, whether the affine form is right
  Chunks rows;                    // of rows: the first lane's of each; one where they are repeated
  Chunks chunks;                  // varying
};

inline Form uniformForm(llvm::Value* scalar) {
  Form form;
  form.shape = {Shape::Uniform, 0, false};
  form.scalar = scalar;
  return form;
}

struct Mask {
  bool full = true;       // statically all lanes
  Chunks chunks;          // <W x i1> unless full
  bool occupied = false;  // statically a lane at least; of those that are not full
};

// The mask of a predicate of which a part may be the same in all lanes: what each lane says, and a bit that must hold
// too or that is enough alone.
struct PartedMask {
  Mask lanes;
  llvm::Value* bit = nullptr;  // null: there is no such part
  bool needsBoth = true;
};

class Emitter {
 public:
  Emitter(Program& program, llvm::Module& module, const EmitOptions& options);
  // Emits the entry function. Throws Unsupported.
  llvm::Function* run();
  KernelTraits traits;
  bool lean = false;  // there are fewer copies than good code has
  const std::vector<AlignmentRule>& alignmentRules() const { return alignment_.rules; }

 private:
  enum Version : uint8_t { Full, Part };
  struct CopyKey {
    Version version;
    bool masked;
    BlockId block;
    bool operator<(const CopyKey& o) const {
      return std::tie(version, block, masked) < std::tie(o.version, o.block, o.masked);
    }
  };
  struct Slot {
    llvm::AllocaInst* scalar = nullptr;
    llvm::AllocaInst* holds = nullptr;
    llvm::SmallVector<llvm::AllocaInst*, 8> rows, chunks;
    bool empty() const { return !scalar && rows.empty() && chunks.empty(); }
  };
  using Value = llvm::Value;
  using LType = llvm::Type;
  using BB = llvm::BasicBlock;

  // --- control.cpp, plan.cpp (which copies), masked.cpp, test.cpp (tests by scalars)
  void describeLines();
  void prepare();
  void markRead();
  void planEmptying();
  void planCopies();
  size_t plannedWork() const;
  void planLeanly();
  void takeWholeWarps();
  void planGo(Version v, BlockId b);
  void planMasked(Version from, uint32_t component);
  Version maskedVersion(Version v, uint32_t component) const;
  void planCopy(const CopyKey& key);
  bool duplicates(uint32_t component, Version v) const { return v == Full && duplicated_[component]; }
  bool atomicsPrevail(const Component& component) const;
  bool isLaneExit(BlockId b) const;
  void emitCopy(const CopyKey& key);
  void emitConvergentEnd(const CopyKey& key);
  void emitConvergentBranch(const CopyKey& key);
  void emitLaneExit(const CopyKey& key);
  BlockId firstBehind(BlockId from, uint32_t component) const;
  void emitMixed(const CopyKey& key, const Mask& mask, llvm::ArrayRef<Mask> edges);
  void takeMask(const CopyKey& key);
  BlockId emptyingOf(BlockId b) const;
  void emptyMasks(Version v, uint32_t component, BlockId first);
  void emptyMasksAt(const CopyKey& key);
  void enterMasked(const CopyKey& key, BB* tail);
  bool rejoins(const CopyKey& key) const;
  void emitTurns(Version v, uint32_t component);
  BB* occupied(const CopyKey& key);
  void emitMaskedEnd(const CopyKey& key, BB* tail);
  bool leavesByFew(const CopyKey& key) const;
  void emitLeaving(const CopyKey& key, BB* tail);
  void emitTail(const CopyKey& key, BB* tail);
  void emitComponentExit(Version v, uint32_t component);
  void edgeMasks(const CopyKey& key, llvm::SmallVectorImpl<Mask>& out);
  void maskedEdge(const CopyKey& key, BlockId to, uint32_t running, const Mask& mask);
  bool joinsInside(BlockId b) const;
  void storePhis(BlockId from, BlockId to, const Mask* blend, bool alwaysBlend);
  void startComponent(Version v, uint32_t component, BlockId first);
  // Branches from the current place to the convergent copy of `to` (or into its component), storing phis.
  void go(Version v, BlockId from, BlockId to);
  BB* goBlock(Version v, BlockId from, BlockId to);
  BB* branchBlock(Version v, BlockId from, bool taken);
  bool needsLaneTest(BlockId b) const;
  BB* startOf(Version v, bool masked, BlockId b);
  size_t edgeIndex(BlockId from, BlockId to) const;
  // Cheap tests of a predicate by scalars: {all lanes true, no lane true}, null when there is none.
  std::pair<Value*, Value*> quickTests(ValueId predicate, bool negated, int depth = 0);
  std::pair<Value*, Value*> rowTests(const Instruction& i, const RowComparison& comparison, bool negated);
  std::pair<Value*, Value*> straightTests(const Instruction& i, Value* base, Value* bound, int64_t distance,
                                          bool swapped);
  Mask mixedMask(ValueId predicate, bool negated);
  void emitYield(uint32_t line);

  // --- frame.cpp
  bool mayWait() const;
  bool suspendsOnly() const;
  bool waitsInOneCopy() const;
  bool rowsAcrossBlocks() const;
  void emitPrologue();
  enum class TellsWarp : uint8_t { No, AtItsStart, AtAccesses };
  void planTellingWarp();
  void tellWarp();
  bool accessesMemory(const Instruction& i) const;
  Value* atLaunch(const std::function<Value*()>& make);
  bool countsThreads() const { return options_.rowsOf32 || rows_; }
  bool inParts() const { return rows_ && !options_.wholeRows; }
  void countThreadAxes();
  void startThreads();
  void resetThreads(int axes);
  void advanceThread(bool sameRow, llvm::PHINode* warp, Value* next);
  void advanceRow();
  BB* behindWarp(const Block& block, BlockId id, bool taken);
  bool nothingDone(const Block& block, BlockId id) const;
  using ThreadIndex = std::array<Value*, 3>;
  void advance(ThreadIndex& at, int axis, uint32_t by);
  void indexParts();
  Value* warpState();
  void emitDispatch();
  void emitSuspend(const Instruction& i);
  SuspendFrame suspendFrame();

  // --- values.cpp (forms and slots), special.cpp (what is there before the kernel begins)
  Form formOf(ValueId id);
  // Whether formOf has it here: it is used in this block, or was kept for other blocks.
  bool readable(ValueId id) const;
  void define(ValueId id, Form form);
  Value* scalarOf(ValueId id);                 // requires a uniform value
  Value* laneZero(ValueId id);                 // uniform or affine
  Value* rowOf(ValueId id, uint32_t row);      // the row's first lane's, of any shape
  Value* chunkOf(ValueId id, uint32_t chunk);  // vector form of any shape
  Chunks vectorsOf(ValueId id);
  Value* laneOf(ValueId id, Value* lane);
  Value* madeAgain(ValueId id, llvm::function_ref<Value*(ValueId)> read);
  Value* chunkOfForm(const Form& form, uint32_t chunk);
  Value* rowOfForm(const Form& form, uint32_t row);
  Value* firstsOfRows(const Chunks& rows, uint32_t chunk);
  // How many scalars a value of rows has; 1 of others.
  uint32_t rowsIn(const Shape& shape) const { return shape.kind == Shape::Rows ? rows_ : 1; }
  Slot makeSlot(const vg::ptx::gen::Value& v, const char* name);
  Form loadSlot(const Slot& slot, const vg::ptx::gen::Value& v);
  void storeSlot(const Slot& slot, const vg::ptx::gen::Value& v, const Form& form);
  Form toShape(ValueId id, const vg::ptx::gen::Value& v);
  Form blended(const Slot& slot, const vg::ptx::gen::Value& v, Form form);
  Value* constantValue(const vg::ptx::gen::Value& v);
  Form specialForm(const vg::ptx::gen::Value& v);
  Value* special(Special s);
  Value* globalAddress(uint32_t variable);  // of a module variable in the kernel's table
  Form symbolForm(const vg::ptx::gen::Value& v);
  Value* launchField(size_t offset, LType* type);
  Value* blockField(size_t offset, LType* type);
  Value* blockIndex(uint32_t axis);
  Value* parameter(int64_t offset, LType* type);
  llvm::AllocaInst* entryAlloca(LType* type, const char* name, llvm::Align align = llvm::Align(8));
  llvm::AllocaInst* scratch(uint32_t index);  // 32 lanes of up to 8 bytes
  Value* threadIndex(uint32_t axis, uint32_t chunk);
  void markFragileSources();

  // --- mask.cpp
  Mask guardedMask(const Instruction& i);
  Chunks chunksOf(const Mask& mask);
  Mask both(const Mask& a, const Mask& b);
  Mask without(const Mask& a, const Mask& b);
  Mask either(const Mask& a, const Mask& b);
  Mask maskOf(ValueId predicate, bool negated);
  Mask uniformMask(Value* bit);
  PartedMask partedMaskOf(ValueId predicate, bool negated);
  Mask whole(const PartedMask& mask);
  Value* withBit(const PartedMask& mask, Value* ofLanes);  // what all or any of its lanes say, and the bit
  Mask constantMask(uint32_t lanes);
  Value* anyLane(const Mask& mask);
  Value* anyLaneOfRow(const Mask& mask, uint32_t row);
  Value* allLanes(const Mask& mask);
  Value* maskBits(const Mask& mask);  // i32
  Mask maskFromBits(Value* bits);
  LType* maskSlotType();
  void storeMask(llvm::ArrayRef<llvm::AllocaInst*> slot, const Mask& mask);
  Mask loadMask(llvm::ArrayRef<llvm::AllocaInst*> slot);
  llvm::SmallVector<llvm::AllocaInst*, 8> makeMaskSlot(const char* name);
  llvm::SmallVector<llvm::AllocaInst*, 8>& maskSlot(Version v, BlockId b);

  // --- build.cpp
  BB* newBlock(const char* name);
  llvm::VectorType* vectorOf(LType* element) { return llvm::FixedVectorType::get(element, w_); }
  LType* elementType(Class c);
  LType* integerType(uint32_t bits) { return b_.getIntNTy(bits); }
  LType* like(Value* shape, LType* element);  // element, or a vector of it when shape is one
  LType* likeType(LType* shape, LType* element);
  Value* splatLike(Value* shape, Value* scalar);
  Value* number(Value* shape, LType* element, uint64_t bits);  // a constant of the form of `shape`
  Value* real(Value* shape, LType* element, double value);
  Value* reinterpret(Value* v, LType* element);
  Value* asInteger(Value* v, uint32_t bits);  // reinterprets, truncates or zero-extends
  Value* asClass(Value* v, Class type);       // of the class's width, as a float where that is one
  Value* asType(Value* v, Type type);         // as the LLVM type that instructions of a PTX type compute in
  Value* asFloat(Value* v, LType* element);
  Value* iota(uint32_t chunk, LType* element, int64_t stride, uint32_t again = kWarpSize);
  Value* extend(Value* v, uint32_t bits, bool isSigned);
  Value* intrinsic(llvm::Intrinsic::ID id, llvm::ArrayRef<Value*> args);  // overloaded on the first argument's type
  Value* callIntrinsic(llvm::Intrinsic::ID id, llvm::ArrayRef<LType*> types, llvm::ArrayRef<Value*> args);
  Value* concat(Value* a, Value* b);
  llvm::SmallVector<Value*, 32> wordsOf(Value* vector);
  Value* joined(llvm::ArrayRef<Value*> pieces);  // a power of two of them
  Value* slice(Value* v, uint32_t first, uint32_t count);
  Value* reversed(Value* v) { return b_.CreateVectorReverse(v); }
  // The numbered lanes of a warp whose chunks these are, as one vector.
  Value* lanesFrom(const Chunks& chunks, llvm::ArrayRef<int> lanes);
  Value* whenTrue(Value* condition, LType* type, const std::function<Value*()>& body);
  void ifTrue(Value* condition, const std::function<void()>& body, bool likely = false);
  // Runs body once for each lane of the mask, ascending, with the lane number as i32; with 8, 16 or 32 for descending,
  // groups of so many lanes ascending, and the lanes of each descending.
  void forEachLane(const Mask& mask, const std::function<void(Value* lane)>& body, uint32_t descending = 1);
  // To accesses of whole rows, or lane after lane (row_lanes.h).
  void branchToRow(Value* condition, BB* rows, BB* lanes);
  llvm::AllocaInst* spill(uint32_t index, llvm::ArrayRef<Value*> chunks);  // to a scratch array
  Value* laneAddress(llvm::AllocaInst* array, Value* lane, LType* element);
  Chunks reload(llvm::AllocaInst* array, LType* element);
  Value* extractLane(llvm::ArrayRef<Value*> chunks, Value* lane);
  [[noreturn]] void unsupported(const Instruction& i, const char* why = nullptr);
  Value* runtimeCall(size_t offset, LType* result, llvm::ArrayRef<Value*> args);

  // --- instruction.cpp
  void emitInstruction(const Instruction& i);
  void emitPointwise(const Instruction& i);
  // Computes results from sources of one form: all scalars or all vectors of W lanes.
  void compute(const Instruction& i, llvm::ArrayRef<Value*> sources, llvm::SmallVectorImpl<Value*>& results);
  void finish(const Instruction& i, size_t result, Form form);

  // --- opcodes/integer.cpp, opcodes/multiply.cpp, opcodes/bits.cpp
  bool computeMove(const Instruction& i, llvm::ArrayRef<Value*> s, llvm::SmallVectorImpl<Value*>& r);
  bool computeInteger(const Instruction& i, llvm::ArrayRef<Value*> s, llvm::SmallVectorImpl<Value*>& r);
  Value* multiplyHigh(Value* a, Value* b, uint32_t bits, bool isSigned);
  Value* multiplyLow(const Instruction& i, Value* a, Value* b);
  Value* divide(Value* a, Value* b, Type type, bool remainder);
  Value* divide64Helper(Value* a, Value* b, bool isSigned, bool remainder);
  Value* shift(const Instruction& i, Value* a, Value* amount);
  Value* funnelShift(const Instruction& i, Value* a, Value* b, Value* amount);
  Value* bitFieldExtract(const Instruction& i, Value* a, Value* b, Value* c);
  Value* bitFieldInsert(const Instruction& i, Value* a, Value* b, Value* c, Value* d);
  Value* permuteBytes(const Instruction& i, Value* a, Value* b, Value* c);
  Value* dotProduct(const Instruction& i, Value* a, Value* b, Value* c);
  Value* lop3(Value* a, Value* b, Value* c, uint32_t table);
  Value* findLeading(const Instruction& i, Value* a);
  void carryChain(const Instruction& i, llvm::ArrayRef<Value*> s, llvm::SmallVectorImpl<Value*>& r);
  void packedInteger(const Instruction& i, llvm::ArrayRef<Value*> s, llvm::SmallVectorImpl<Value*>& r);

  // --- opcodes/video.cpp
  bool computeVideo(const Instruction& i, llvm::ArrayRef<Value*> s, llvm::SmallVectorImpl<Value*>& r);
  Value* videoField(Value* word, uint32_t first, uint32_t bits, bool isSignedField);
  Value* videoLimit(Value* v, uint32_t bits, bool isSignedType);
  Value* videoOperation(const Instruction& i, Value* a, Value* b);
  Value* videoSecond(const Instruction& i, Value* value, Value* c, uint16_t selector, bool isSignedType);
  Value* videoScalar(const Instruction& i, llvm::ArrayRef<Value*> s, llvm::ArrayRef<uint16_t> selectors);
  Value* videoMultiply(const Instruction& i, llvm::ArrayRef<Value*> s, llvm::ArrayRef<uint16_t> selectors);
  Value* videoParallel(const Instruction& i, llvm::ArrayRef<Value*> s, llvm::ArrayRef<uint16_t> selectors);

  // --- opcodes/float.cpp, opcodes/rounded.cpp, opcodes/half.cpp, opcodes/approximate.cpp
  bool computeFloat(const Instruction& i, llvm::ArrayRef<Value*> s, llvm::SmallVectorImpl<Value*>& r);
  Value* farDivisorsGiveZero(Value* dividend, Value* divisor, Value* quotient);
  Value* nearReciprocalRoot64(Value* in);
  Value* flushLifted(const Instruction& i, llvm::ArrayRef<Value*> s, Value* out);
  Value* floatOperation(const Instruction& i, Type type, llvm::ArrayRef<Value*> s);
  Value* halfExtreme(Value* a, Value* b, bool isMin, bool nanWins, bool f16);
  Value* halfExtremes(const ptx::Instruction& ast, llvm::ArrayRef<Value*> s, bool f16);
  Value* halfOperation(const Instruction& i, Type type, llvm::ArrayRef<Value*> s);
  Value* flush(Value* x);         // denormals of f32 to zero
  Value* flushHalf(Value* bits);  // of f16
  Value* saturate(Value* x);
  Value* rounded(const Instruction& i, Op op, llvm::ArrayRef<Value*> s, int mode = 0);
  Value* roundedByProcessor(Op op, llvm::ArrayRef<Value*> s, uint32_t rounding);
  Value* directedOperation(const Instruction& i, llvm::ArrayRef<Value*> s, int mode);  // .rz .rm .rp
  Value* minMax(const Instruction& i, Value* a, Value* b, bool isMin);
  Value* fusedMultiplyAdd(Value* a, Value* b, Value* c);
  Value* oddSum(Value* a, Value* b);
  Value* absolute(Value* x);
  Value* negate(Value* x);
  Value* exp2Approx(Value* x);
  Value* log2Approx(Value* x);
  Value* sinCosApprox(Value* x, bool cosine);
  Value* tanhApprox(Value* x);
  Value* polynomial(Value* x, llvm::ArrayRef<double> coefficients);
  Value* approxReciprocal64(Value* x, bool root);

  // --- opcodes/special.cpp: approximate functions to the bit; operands of `ftz` have been flushed, results are later
  struct SegmentTable {
    llvm::ArrayRef<special::Segment> first, second;
    int bias;
  };
  struct SegmentSum {
    Value *high, *low;  // 18 bits
  };
  struct Coefficients {
    Value *c0, *c1, *c2;
  };
  struct FloatParts {
    Value *exponent, *fraction;
  };
  Value* exactSpecial(Op op, Value* x, bool ftz);
  Value* exactQuotient(Value* a, Value* b, bool full, bool ftz);
  Value* exactReciprocal(Value* bits, bool ftz);
  Value* exactRoot(Value* bits, bool ftz, bool inverse);
  Value* exactPower(Value* x, bool ftz);
  Value* exactLogarithm(Value* bits, bool ftz);
  Value* exactSine(Value* bits, bool cosine);
  Value* exactTangent(Value* bits);
  Value* exactHalf(Op op, Value* bits, Type type);   // of 16 bits
  Value* exactReciprocal64(Value* bits, bool root);  // of f64's upper words
  Value* entryOf(llvm::ArrayRef<uint32_t> table, Value* index);
  llvm::Constant* wordsOf(llvm::ArrayRef<uint32_t> table);
  Value* powerOfTwo(Value* x);
  Value* placeInTurn(Value* magnitude);
  FloatParts partsOf(Value* magnitude, bool ftz);
  Value* assembled(Value* exponent, Value* digits);
  SegmentSum segmentSum(const SegmentTable& table, Value* index, Value* x);
  SegmentSum segmentSum(const SegmentTable& table, Value* fraction);
  Value* wideSum(const SegmentSum& sum);
  Value* cutToFloat(Value* wide);
  Value* lightSquare(Value* x);
  Value* permuted(llvm::ArrayRef<uint32_t> table, Value* index);
  llvm::Constant* rowsOf(const SegmentTable& table);
  Coefficients transposed(llvm::ArrayRef<Value*> rows);
  Coefficients coefficients(const SegmentTable& table, Value* index);
  Value* word(Value* shape, uint32_t bits);
  Value* compareFloat(const Instruction& i, Value* a, Value* b);
  Value* testProperty(const Instruction& i, Value* x);

  // --- opcodes/convert.cpp
  void computeConvert(const Instruction& i, llvm::ArrayRef<Value*> s, llvm::SmallVectorImpl<Value*>& r);
  Value* convert(const Instruction& i, Value* v, Type to, Type from);
  Value* halfToFloat(Value* bits, Type type);  // f16 or bf16 bits to float
  Value* floatToHalf(Value* x, Type type, int rounding);
  Value* doubleToFloat(Value* x, int rounding);
  Value* integerToFloat(const Instruction& i, Value* v, Type to, Type from);
  Value* floatToInteger(Value* x, Type to, Type from);
  Value* roundToIntegral(Value* x, int mode);
  Value* saturateInteger(Value* v, Type to, Type from);

  // --- opcodes/cluster.cpp
  void queryCancelled(const Instruction& i, Value* answer, llvm::SmallVectorImpl<Value*>& r);
  bool computeCluster(const Instruction& i, llvm::ArrayRef<Value*> s, llvm::SmallVectorImpl<Value*>& r);
  Value* ownShared();      // i64 host address of the block's shared memory
  Value* clusterBlocks();  // i32
  Value* clusterSpecial(Special s);
  bool asksForCluster() const;  // what one call for several blocks could not answer

  // --- opcodes/narrow.cpp
  static bool isNarrowPair(Type type);
  Value* convertPairs(const Instruction& i, llvm::ArrayRef<Value*> s);
  Value* narrowFloat(Value* x, Type type);
  Value* widenNarrow(Value* element, Type type);
  Value* exponentOf(Value* x, bool upward, bool finite);
  Value* powerOf(Value* code);
  Value* pairElement(Value* pair, Type type, uint32_t n);
  Value* finiteHalf(Value* bits, Type type);  // infinities to the largest number

  // --- opcodes/predicate.cpp
  bool computePredicate(const Instruction& i, llvm::ArrayRef<Value*> s, llvm::SmallVectorImpl<Value*>& r);
  Value* compare(const Instruction& i, Type type, Value* a, Value* b);

  // --- address.cpp, opcodes/load.cpp, opcodes/store.cpp
  struct Address {
    Space space = Space::None;
    Shape shape;
    Value* scalar = nullptr;  // i64 host address (lane 0's when affine)
    Chunks rows;              // ... of the first lane of each row, as in a Form
    Value* holds = nullptr;
    ValueId value = kNone;
    int64_t offset = 0;
  };
  Value* displaced(Value* address, int64_t offset);
  Value* rowStart(Value* first, int64_t offset);
  Address addressOf(const Instruction& i, size_t source, Space space);
  Value* addressChunk(const Address& a, uint32_t chunk);  // <W x i64>
  Value* addressLane(const Address& a, Value* lane);      // i64
  using LanePlaces = std::function<Value*(Value* lane)>;  // i64
  LanePlaces placesOfLanes(const Address& a);
  Value* placeInRow(const Address& a, uint32_t lane, int64_t step, int64_t offset = 0);
  uint32_t lanesInPiece(const Address& a) const { return a.rows.empty() ? w_ : std::min(w_, rowLanes_); }
  void loadParameters(const Instruction& i);
  void loadUniform(const Instruction& i, const Address& a, const Mask& mask);
  void loadSameInRow(const Instruction& i, const Address& a, const Mask& mask);
  void loadVarying(const Instruction& i, const Address& a, const Mask& mask);
  void emitLoad(const Instruction& i);
  void storeUniform(const Instruction& i, const Address& a, const Mask& mask);
  Value* laneWhoseStoreStays(Value* lanes, uint32_t together);
  void storeVarying(const Instruction& i, const Address& a, const Mask& mask);
  void emitStore(const Instruction& i);
  void emitConversionOfArgument(const Instruction& i);
  using Components = llvm::SmallVector<Chunks, 4>;
  Components loadLanes(const Address& a, uint32_t bits, uint32_t count, const Mask& mask, bool isVolatile);
  Components loadRow(const Address& a, uint32_t bits, uint32_t count, const Mask& mask, bool isVolatile);
  Value* loadSteps(const Address& a, uint32_t chunk, int64_t offset, uint32_t bits, bool isVolatile);
  Components loadEach(const Address& a, uint32_t bits, uint32_t count, const Mask& mask, bool isVolatile);
  Components loadByTurns(const LanePlaces& places, uint32_t bits, uint32_t count, const Mask& mask, bool isVolatile);
  Components loadWhole(const Address& a, uint32_t bits, uint32_t count, const Mask& mask);
  void storeLanes(const Address& a, uint32_t bits, const Components& data, const Mask& mask, bool isVolatile);
  Value* interleaved(const Components& data, uint32_t chunk);
  void storeRow(const Address& a, uint32_t bits, const Components& data, const Mask& mask, bool isVolatile);
  struct Piece {
    Value *elements, *place;
    Value* lanes;  // null: all
  };
  llvm::SmallVector<Piece, 4> piecesOf(const Address& a, uint32_t chunk, uint32_t bytes, const Components& data,
                                       Value* mask);
  llvm::SmallVector<uint32_t, 8> chunksInStoreOrder(uint32_t bytes) const;  // bytes of a lane
  void storeWholeRow(const Address& a, uint32_t bits, const Components& data, bool isVolatile);
  void storeVector(llvm::Value* address, const llvm::SmallVectorImpl<llvm::Value*>& elements, uint32_t bits,
                   bool isVolatile);
  Chunks joinHalves(const Components& halves);
  Components splitHalves(ValueId wide);
  void storeEach(const Address& a, uint32_t bits, const Components& data, const Mask& mask, bool isVolatile);
  void storeByTurns(const LanePlaces& places, uint32_t bits, const Components& data, const Mask& mask, bool isVolatile);
  ValueId originOf(ValueId address) const;
  // Addresses that are elements of one array by an index of 32 bits.
  struct Elements {
    Value* base = nullptr;  // i64
    ValueId index = kNone;  // varying
    uint64_t step = 0;      // bytes
    bool isSigned = false;
  };
  std::optional<Elements> elementsOf(const Address& a);
  Value* placeOf(const Elements& all, Value* index);                        // i64
  Value* consecutive(const Address& a, uint32_t stride, const Mask& mask);  // i1
  void startAtFirstLanes(Address& a);
  Value* nowhere();  // i64
  Value* orNowhere(Value* addresses, Value* mask);
  Value* gather(Value* addresses, uint32_t bits, Value* mask, bool isVolatile);
  Value* partOfWord(Value* words, Value* places, uint32_t bits);
  Value* gatherAndLoad(Value* addresses, const Elements& all, uint32_t chunk, uint32_t bits);
  void scatter(Value* addresses, Value* data, uint32_t bits, Value* mask);
  Value* pointer(Value* address) { return b_.CreateIntToPtr(address, b_.getPtrTy()); }
  Value* sharedBase();
  Value* widenLoaded(Value* v, Type type, Class to);
  Value* repeatMask(Value* mask, uint32_t count, uint32_t part);
  void prefetchAhead(const Instruction& i, const Address& a, uint32_t bytes);  // prefetch.cpp
  bool canMaskedAccess(uint32_t bits) const { return options_.avx512 || (options_.avx2 && bits >= 32); }

  // --- indexed.cpp
  struct Indices {
    Value* base;   // a pointer
    Value* bytes;  // <W x i32>, signed
  };
  bool hasSteps(const Address& a) const;
  bool hasIndices(const Address& a, bool isVolatile) const;
  Indices indicesOf(const Address& a, uint32_t chunk, int64_t offset, uint32_t bits);
  Indices stepsOf(const Address& a, uint32_t chunk, int64_t offset, uint32_t bits);
  Value* gatherIndexed(const Indices& at, uint32_t bits, Value* mask);
  void scatterIndexed(const Indices& at, Value* data, uint32_t bits, Value* mask);

  // --- opcodes/copy.cpp
  uint32_t bytesToCopy(const Instruction& i);
  Value* bytesToRead(const Instruction& i, uint32_t chunk, uint32_t bytes);
  void copyParts(const Address& to, const Address& from, const Chunks& bound, const Mask& lanes);
  void copyLimited(const Instruction& i, const Address& to, const Address& from, uint32_t bits, uint32_t count,
                   const Mask& mask);
  void copyAsync(const Instruction& i);

  // --- alignment_tests.cpp
  void checkAlignment(const Instruction& i, size_t source, const Mask& mask);
  bool atHand(ValueId id, BlockId where) const;
  Value* commonRemainder(ValueId address, const AlignmentTest& test, BlockId where);
  Value* remainderOf(Value* address, const AlignmentTest& test);
  Mask misalignedLanes(ValueId address, const AlignmentTest& test, const Mask& mask);
  Value* anyMisaligned(ValueId address, const AlignmentTest& test, const Mask& mask);  // i1
  void trapMisaligned(Value* bad, const std::function<Value*()>& lanes, uint32_t line);

  // --- reach_tests.cpp
  void checkReach(const Instruction& i, size_t source, Space space, uint32_t bytes, const Mask& mask);
  Value* reachField(size_t offset);
  Value* isAskedAbout(Value* address);
  bool mayBeLoaded(ValueId address);
  Value* asksAboutAny(const Address& a, const ReachTest& test, BlockId where, const Mask& mask);  // i1
  Value* asksAboutLanes(const Address& a, const Mask& mask);                                      // i1

  // --- opcodes/stack.cpp
  Value* laneStackStride();  // i64
  Value* laneStacks();       // i64
  void setStackTop(uint32_t chunk, Value* top, const Mask& mask);
  void emitAlloca(const Instruction& i);
  void emitStackSave(const Instruction& i);
  void emitStackRestore(const Instruction& i);

  // --- opcodes/atomic.cpp
  void emitWideAtomic(const Instruction& i);
  void emitAtomic(const Instruction& i);
  void emitAtomicElement(const Instruction& i, uint32_t part);
  void defineDead(const Instruction& i, uint32_t part);
  Value* inRegister(Value* v);
  llvm::SmallVector<Value*, 32> laneWords(ValueId id, int64_t plus);
  bool isRead(ValueId id) const { return read_[id]; }
  Value* atomicLane(const Instruction& i, Value* address, llvm::ArrayRef<Value*> operands, bool shared);
  Value* applyAtomic(const Instruction& i, Value* old, llvm::ArrayRef<Value*> operands);
  void emitFence(const Instruction& i);

  // --- opcodes/async.cpp
  void emitAsync(const Instruction& i);

  // --- opcodes/texture.cpp
  void emitTexture(const Instruction& i);

  // --- opcodes/matrix.cpp
  void emitMatrix(const Instruction& i);

  // --- opcodes/warp.cpp (which), opcodes/shuffle.cpp, opcodes/vote.cpp, opcodes/redux.cpp, opcodes/barrier.cpp,
  // opcodes/syscall.cpp
  bool emitWarpOperation(const Instruction& i);
  void shuffleKnown(const Instruction& i, const Chunks& data, uint64_t b, uint64_t c, Form& value, Form& inRange);
  std::pair<Value*, Value*> sourceLanes(const Instruction& i, uint32_t chunk);
  Value* lanesFromMemory(llvm::AllocaInst* data, Value* from);
  void shuffleByLanes(const Instruction& i, const Chunks& data, Form& value, Form& inRange);
  void emitShuffle(const Instruction& i);
  void emitVote(const Instruction& i);
  void emitMatch(const Instruction& i);
  void emitRedux(const Instruction& i);
  void emitForMembers(const Instruction& i, const std::function<std::vector<Value*>(Value* members)>& answer);
  Value* reducedIntegers(const Instruction& i, const Chunks& data, const Mask& who);
  Value* reducedFloats(const Instruction& i, const Chunks& data, const Mask& who);
  void emitElect(const Instruction& i);
  void emitBarrier(const Instruction& i);
  void emitSyscall(const Instruction& i);
  void emitTrap(const Instruction& i);
  void callTrap(TrapReason reason, Value* lanes, uint32_t line);
  void emitFns(const Instruction& i);

  Program& program_;
  llvm::Module& module_;
  std::map<llvm::Constant*, llvm::GlobalVariable*> tables_;  // constants are one for equal contents
  llvm::LLVMContext& context_;
  EmitOptions options_;
  llvm::IRBuilder<> b_;
  uint32_t w_, k_;
  const uint32_t rowLanes_, rows_;  // rows in a warp and their lanes, 0 where it is not made of rows
  llvm::Function* function_ = nullptr;
  Value *blockArgument_ = nullptr, *launch_ = nullptr, *warp_ = nullptr;
  BB *entry_ = nullptr, *warpHeader_ = nullptr, *warpStart_ = nullptr;
  BB *warpLatch_ = nullptr, *nextWarp_ = nullptr;  // where a warp ends, and where it leaves for the next one
  BB* rowEnd_ = nullptr;                           // ... which is in another row; null where that makes no difference
  BB* restOfRow_ = nullptr;           // where warps end with all that follow in their row; made when needed
  llvm::PHINode* nextRow_ = nullptr;  // in rowEnd_: the first warp of the next row
  // Where constants of the launch, of the block and of the warp are inserted.
  llvm::Instruction *launchPoint_ = nullptr, *blockPoint_ = nullptr, *warpPoint_ = nullptr;
  std::map<CopyKey, BB*> copies_, occupied_;
  std::map<CopyKey, bool> planned_;
  std::vector<CopyKey> planWork_;
  std::vector<Slot> slots_, phiSlots_;
  std::vector<std::optional<Form>> direct_;
  std::vector<bool> read_;  // by any instruction, phi or branch
  std::map<ValueId, Form> local_;
  std::map<std::pair<ValueId, uint32_t>, Value*> vectors_;  // vector forms of scalars made in this copy
  bool caching_ = true;
  llvm::Instruction* loadPoint_ = nullptr;  // start of the present copy
  std::vector<bool> duplicated_;            // components that have a convergent copy too
  std::map<std::pair<Version, BlockId>, llvm::SmallVector<llvm::AllocaInst*, 8>> maskSlots_;
  std::vector<BlockId> emptying_;  // where the mask of each block is emptied (emptyingOf)
  llvm::SmallVector<llvm::AllocaInst*, 8> liveSlot_;
  Mask mask_;
  bool onlyPart_ = false;
  std::map<Special, Value*> specials_;
  Value *window_ = nullptr, *windowBytes_ = nullptr;
  std::vector<bool> loaded_;  // where testsLoaded: which values may be (analysis/reach.h), found at the first question
  std::map<std::pair<size_t, LType*>, Value*> launchFields_, blockFields_;
  std::map<std::pair<int64_t, LType*>, Value*> parameters_;
  std::map<uint32_t, Value*> threadIndices_;
  std::map<uint32_t, Value*> globals_;
  llvm::AllocaInst* localArea_ = nullptr;
  Value* laneStacks_ = nullptr;                        // of kernels with alloca
  llvm::SmallVector<llvm::AllocaInst*, 8> stackTops_;  // <W x i32>: bytes that lanes have taken of their stacks
  llvm::SmallVector<llvm::AllocaInst*, 8> scratch_;
  llvm::AllocaInst* dummy_ = nullptr;
  llvm::AllocaInst* asyncLanes_ = nullptr;    // of asynchronous operations
  llvm::AllocaInst* textureLanes_ = nullptr;  // operands and results of texture instructions
  llvm::AllocaInst *matrixOperands_ = nullptr, *matrixResults_ = nullptr;
  llvm::AllocaInst* threadSlots_[3] = {};
  int threadAxes_ = 0;  // of %tid, that advance from warp to warp: up to the last one that is read
  Value *laneThread_[3] = {}, *firstThread_[3] = {};
  llvm::SmallVector<ThreadIndex, 4> partThread_;  // of the first lane of each part, where warps are made of such
  Value* blockX_ = nullptr;                       // %ctaid.x where a call runs several blocks
  // Warps that suspend: markers where they do, the way back.
  bool suspends_ = false;
  llvm::Function* suspendMark_ = nullptr;
  llvm::SmallVector<llvm::CallInst*, 8> suspendCalls_;
  bool alike_ = false;              // all warps of a block wait at the same places
  llvm::PHINode* round_ = nullptr;  // where warps go on in this round, 0 at the start; where any one does unless alike_
  llvm::AllocaInst* waitsAt_ = nullptr;
  llvm::SwitchInst* dispatch_ = nullptr;
  llvm::DISubprogram* debugScope_ = nullptr;
  const Instruction* present_ = nullptr;
  AlignmentTests alignment_;
  StreamedStores streamed_;
  TellsWarp tellsWarp_ = TellsWarp::No;
  bool warpTold_ = false;  // in the present copy
};

}  // namespace vg::ptx::gen
