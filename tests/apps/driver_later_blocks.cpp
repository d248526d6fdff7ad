// Blocks of an ordinary grid that wait for later blocks, as barriers of grids without cooperative launches do, warps
// that wait for later warps of their block, and lanes for others of their warp: by every read that sees what others
// write. A GPU runs such blocks beside each other, however few workers an emulated device has. Launches that wait for
// nothing come first, so that the grid is known to be short.
#include <string>

#include "driver_check.h"

namespace {

constexpr unsigned kBlocks = 4, kShortLaunches = 50, kRounds = 5, kFlagBytes = 64;

struct Form {
  const char* name;
  const char* read;        // into %r4, of the flag at ADDRESS
  bool amongLanes = true;  // lanes of one warp may wait so for each other
  bool onTheWay = false;   // tried with the loops of kWays, too
};

constexpr Form kForms[] = {
    {"volatile", "ld.volatile.global.u32 %r4, [ADDRESS];", true, true},
    {"relaxed", "ld.relaxed.gpu.global.u32 %r4, [ADDRESS];"},
    {"acquire", "ld.acquire.gpu.global.u32 %r4, [ADDRESS];"},
    {"cv", "ld.global.cv.u32 %r4, [ADDRESS];"},
    {"cg", "ld.global.cg.u32 %r4, [ADDRESS];", true, true},
    {"membar and cg", "membar.gl; ld.global.cg.u32 %r4, [ADDRESS];"},
    {"membar and weak", "membar.gl; ld.global.u32 %r4, [ADDRESS];", true, true},
    {"membar and nc", "membar.gl; ld.global.nc.u32 %r4, [ADDRESS];"},
    {"fence and generic", "fence.acq_rel.gpu; ld.u32 %r4, [ADDRESS];"},
    {"fence and a vector", "fence.sc.gpu; ld.global.v2.u32 {%r4, %r7}, [ADDRESS];"},
    {"nothing added", "atom.global.add.u32 %r4, [ADDRESS], 0;", true, true},
    {"nothing exchanged", "atom.global.cas.b32 %r4, [ADDRESS], 0xffffffff, 0;"},
    {"all bits kept", "atom.global.and.b32 %r4, [ADDRESS], 0xffffffff;"},
    {"the smaller of it and all", "atom.global.min.u32 %r4, [ADDRESS], 0xffffffff;"},
    {"membar and ldu", "membar.gl; ldu.global.u32 %r4, [ADDRESS];"},
    {"sleep and weak", "nanosleep.u32 20; ld.global.u32 %r4, [ADDRESS];", true, true},
    {"a copy beside the thread",
     "cp.async.ca.shared.global [told], [ADDRESS], 4; cp.async.wait_all; ld.shared.u32 %r4, [told];"},
    {"a place that comes back",
     "mul.wide.u32 %a6, %r0, 0; add.u64 %a6, %a6, ADDRESS; xor.b32 %r0, %r0, 1;"
     "ld.global.cg.u32 %r4, [%a6];"},
};

// How what one thread of a block saw comes to the others, to %r4 of each. TOLD: of the block, in global memory.
struct Telling {
  const char* name;
  const char* tell;
  const char* hear;
  const char* meet = "bar.sync 0;";
};

constexpr Telling kTellings[] = {
    {"generic", "st.u32 [%a7], %r4;", "ld.u32 %r4, [%a7];"},
    {"generic to shared", "st.u32 [%a7], %r4;", "ld.shared.u32 %r4, [told];"},
    {"exchange", "atom.shared.exch.b32 %r7, [told], %r4;", "ld.shared.u32 %r4, [told];"},
    {"sum", "red.shared.max.u32 [told], %r4;", "ld.shared.u32 %r4, [told];"},
    {"global", "st.global.u32 [%a8], %r4;", "ld.global.u32 %r4, [%a8];"},
    {"cluster", "st.shared.u32 [told], %r4;", "ld.shared.u32 %r4, [told];",
     "barrier.cluster.arrive; barrier.cluster.wait;"},
    {"barrier object", "st.shared.u32 [told], %r4;", "ld.shared.u32 %r4, [told];",
     "bar.sync 0; mbarrier.arrive.shared.b64 %a6, [object]; bar.sync 0;"},
};

std::string with(std::string text, const std::string& name, const std::string& value) {
  for (size_t at; (at = text.find(name)) != std::string::npos;) text.replace(at, name.size(), value);
  return text;
}

// Block 0 waits for the flags of all others, and they for block 0's. `wait`: goes back to LABEL while the flag at
// ADDRESS is not %r1.
std::string kernel(const char* name, const std::string& wait) {
  const std::string text =
      ".visible .entry NAME(.param .u64 flags, .param .u32 round) {\n"
      ".reg .b32 %r<9>; .reg .b64 %a<9>; .reg .pred %p<6>; .shared .align 4 .b32 told; .shared .align 8 .b64 object;\n"
      "ld.param.u64 %a1, [flags]; ld.param.u32 %r1, [round]; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %nctaid.x;\n"
      "mov.u64 %a7, told; cvta.shared.u64 %a7, %a7; mul.wide.u32 %a8, %r2, 64; add.u64 %a8, %a8, %a1;\n"
      "add.u64 %a8, %a8, 32; mov.u32 %r0, 0; mov.u32 %r6, %tid.x; setp.ne.u32 %p4, %r6, 0;\n"
      "@!%p4 st.volatile.shared.u32 [told], 0; @!%p4 mbarrier.init.shared.b64 [object], 64; bar.sync 0;\n"
      "setp.eq.u32 %p1, %r2, 0; @%p1 bra FIRST;\n"
      "mul.wide.u32 %a2, %r2, 64; add.u64 %a2, %a1, %a2; st.global.u32 [%a2], %r1; membar.gl;\n" +
      with(with(wait, "LABEL", "TOLD"), "ADDRESS", "%a1") +
      "ret;\nFIRST: mov.u32 %r5, 1;\nNEXT: mul.wide.u32 %a3, %r5, 64; add.u64 %a3, %a1, %a3;\n" +
      with(with(wait, "LABEL", "ARRIVED"), "ADDRESS", "%a3") +
      "add.u32 %r5, %r5, 1; setp.lt.u32 %p3, %r5, %r3; @%p3 bra NEXT; membar.gl; st.global.u32 [%a1], %r1; ret; }\n";
  return with(text, "NAME", name);
}

std::string alone(const Form& form) {
  return std::string("LABEL: ") + form.read + " setp.ne.u32 %p2, %r4, %r1; @%p2 bra LABEL;\n";
}

// One thread reads, and tells its block what it saw.
std::string oneForAll(const Form& form) {
  return std::string("LABEL: bar.sync 0; @%p4 bra LABEL_MEET;\n") + form.read +
         " st.shared.u32 [told], %r4;\nLABEL_MEET: bar.sync 0; ld.shared.u32 %r4, [told];\n"
         "setp.ne.u32 %p2, %r4, %r1; @%p2 bra LABEL;\n";
}

// The same, told in other ways.
std::string told(const Telling& telling) {
  const std::string meet = telling.meet;
  return "LABEL: " + meet + " @%p4 bra LABEL_MEET; ld.volatile.global.u32 %r4, [ADDRESS]; " + telling.tell +
         "\nLABEL_MEET: " + meet + " " + telling.hear + " setp.ne.u32 %p2, %r4, %r1; @%p2 bra LABEL;\n";
}

// The place is one of several that each round looks at: all flags from the first on, in a loop inside of the loop.
std::string overAll(const Form& form) {
  return std::string("LABEL: mov.u64 %a4, ADDRESS; mov.u32 %r8, 0;\nLABEL_EACH:\n") +
         with(form.read, "ADDRESS", "%a4") +
         " setp.ne.u32 %p5, %r4, %r1; @%p5 add.u32 %r8, %r8, 1; add.u64 %a4, %a4, 64; add.u64 %a5, ADDRESS, 64;\n"
         "setp.lt.u64 %p5, %a4, %a5; @%p5 bra LABEL_EACH; setp.ne.u32 %p2, %r8, 0; @%p2 bra LABEL;\n";
}

// Loops that go from place to place, and come back or stay until something has come. READ: reads the flag of block
// %r5, counted from 1, into %r4; %p2: it has come. %r8 counts rounds, %r0 what came in a row. NEXT: another round while
// blocks are left that have not come.
struct Way {
  const char* name;
  const char* loop;
};

constexpr Way kWays[] = {
    {"step_by_predicate", "L: READ @%p2 add.u32 %r5, %r5, 1; NEXT"},
    {"step_chosen", "L: READ add.u32 %r6, %r5, 1; selp.b32 %r5, %r6, %r5, %p2; NEXT"},
    {"step_of_none", "L: READ selp.u32 %r6, 1, 0, %p2; add.u32 %r5, %r5, %r6; NEXT"},
    {"step_computed",
     "L: READ sub.u32 %r6, %r1, %r4; min.u32 %r6, %r6, 1; xor.b32 %r6, %r6, 1; add.u32 %r5, %r5, %r6; NEXT"},
    {"step_behind_a_branch", "L: READ @!%p2 bra STAY; st.global.u32 [%a3 + 4], %r4; add.u32 %r5, %r5, 1;\nSTAY: NEXT"},
    {"step_in_a_loop_inside",
     "L: READ @!%p2 bra STAY;\nMORE: add.u32 %r5, %r5, 1; setp.ge.u32 %p3, %r5, %r3; @%p3 bra STAY; READ\n"
     "@%p2 bra MORE;\nSTAY: NEXT"},
    {"pointer",
     "mul.wide.u32 %a4, %r3, 64; add.u64 %a4, %a1, %a4; mul.wide.u32 %a3, %r5, 64; add.u64 %a3, %a1, %a3;\n"
     "L: FLAG @%p2 add.u64 %a3, %a3, 64; setp.lt.u64 %p3, %a3, %a4; @%p3 bra L;"},
    {"pointer_by_what_is_read",
     "mul.wide.u32 %a4, %r3, 64; add.u64 %a4, %a1, %a4; mul.wide.u32 %a3, %r5, 64; add.u64 %a3, %a1, %a3;\n"
     "L: FLAG selp.u32 %r4, %r4, 0, %p2; mul.wide.u32 %a5, %r4, 64; max.u32 %r6, %r1, 1;\n"
     "cvt.u64.u32 %a6, %r6; div.u64 %a5, %a5, %a6; add.u64 %a3, %a3, %a5;\n"
     "setp.ne.u32 %p4, %r1, 0; @!%p4 bra OUT; setp.lt.u64 %p3, %a3, %a4; @%p3 bra L;\nOUT:"},
    {"two_places_in_turn",
     "sub.u32 %r6, %r3, 1;\nL: and.b32 %r7, %r8, 1; setp.eq.u32 %p4, %r7, 0; selp.b32 %r5, 1, %r6, %p4; READ\n"
     "add.u32 %r8, %r8, 1; add.u32 %r0, %r0, 1; selp.b32 %r0, %r0, 0, %p2; setp.lt.u32 %p3, %r0, 2; @%p3 bra L;"},
    {"there_and_back",
     "mov.u32 %r6, 1; mov.u32 %r5, 1;\nL: READ add.u32 %r5, %r5, %r6; neg.s32 %r6, %r6;\n"
     "add.u32 %r0, %r0, 1; selp.b32 %r0, %r0, 0, %p2; setp.lt.u32 %p3, %r0, 2; @%p3 bra L;"},
    {"ring",
     "sub.u32 %r7, %r3, 1;\nL: READ add.u32 %r5, %r5, 1; setp.eq.u32 %p4, %r5, %r3; selp.b32 %r5, 1, %r5, %p4;\n"
     "add.u32 %r0, %r0, 1; selp.b32 %r0, %r0, 0, %p2; setp.lt.u32 %p3, %r0, %r7; @%p3 bra L;"},
    {"ring_by_subtraction",
     "sub.u32 %r7, %r3, 1;\nL: READ add.u32 %r5, %r5, 1; setp.eq.u32 %p4, %r5, %r3; @%p4 sub.u32 %r5, %r5, %r7;\n"
     "add.u32 %r0, %r0, 1; selp.b32 %r0, %r0, 0, %p2; setp.lt.u32 %p3, %r0, %r7; @%p3 bra L;"},
    {"ring_by_a_way_back",
     "sub.u32 %r7, %r3, 1; mov.u32 %r6, 2; sub.u32 %r6, %r6, %r3;\n"
     "L: READ setp.eq.u32 %p4, %r5, %r7; selp.b32 %r4, %r6, 1, %p4; add.u32 %r5, %r5, %r4;\n"
     "add.u32 %r0, %r0, 1; selp.b32 %r0, %r0, 0, %p2; setp.lt.u32 %p3, %r0, %r7; @%p3 bra L;"},
    {"ring_by_two_ways",
     "sub.u32 %r7, %r3, 1; mov.u32 %r6, 2; sub.u32 %r6, %r6, %r3; min.u32 %r8, %r3, 1;\n"
     "L: READ setp.eq.u32 %p4, %r5, %r7; selp.b32 %r4, %r6, %r8, %p4; add.u32 %r5, %r5, %r4;\n"
     "add.u32 %r0, %r0, 1; selp.b32 %r0, %r0, 0, %p2; setp.lt.u32 %p3, %r0, %r7; @%p3 bra L;"},
    {"ring_by_two_branches",
     "sub.u32 %r7, %r3, 1; mov.u32 %r6, 2; sub.u32 %r6, %r6, %r3; min.u32 %r8, %r3, 1;\n"
     "L: READ setp.eq.u32 %p4, %r5, %r7; @%p4 bra BACK; add.u32 %r5, %r5, %r8; bra ON;\n"
     "BACK: add.u32 %r5, %r5, %r6;\n"
     "ON: add.u32 %r0, %r0, 1; selp.b32 %r0, %r0, 0, %p2; setp.lt.u32 %p3, %r0, %r7; @%p3 bra L;"},
    {"back_by_a_factor",
     "mov.u32 %r5, 1;\nL: READ add.u32 %r5, %r5, 3; setp.eq.u32 %p4, %r5, 4; selp.b32 %r4, 2, 4, %p4;\n"
     "mul.lo.s32 %r4, %r4, -1; add.s32 %r5, %r5, %r4;\n"
     "add.u32 %r0, %r0, 1; selp.b32 %r0, %r0, 0, %p2; setp.lt.u32 %p3, %r0, 2; @%p3 bra L;"},
    {"ring_by_remainder",
     "sub.u32 %r7, %r3, 1;\nL: rem.u32 %r5, %r8, %r7; add.u32 %r5, %r5, 1; READ add.u32 %r8, %r8, 1;\n"
     "add.u32 %r0, %r0, 1; selp.b32 %r0, %r0, 0, %p2; setp.lt.u32 %p3, %r0, %r7; @%p3 bra L;"},
    {"ring_by_bits",
     "L: and.b32 %r5, %r8, 1; add.u32 %r5, %r5, 1; READ add.u32 %r8, %r8, 1;\n"
     "add.u32 %r0, %r0, 1; selp.b32 %r0, %r0, 0, %p2; setp.lt.u32 %p3, %r0, 2; @%p3 bra L;"},
    {"ring_of_a_byte",
     "L: cvt.u32.u8 %r5, %r8; shr.u32 %r5, %r5, 7; add.u32 %r5, %r5, 1; READ add.u32 %r8, %r8, 128;\n"
     "add.u32 %r0, %r0, 1; selp.b32 %r0, %r0, 0, %p2; setp.lt.u32 %p3, %r0, 2; @%p3 bra L;"},
    {"up_to_the_last", "sub.u32 %r7, %r3, 1;\nL: READ add.u32 %r5, %r5, 1; min.u32 %r5, %r5, %r7; @!%p2 bra L;"},
    {"down_to_the_first", "sub.u32 %r5, %r3, 1;\nL: READ sub.u32 %r5, %r5, 1; max.s32 %r5, %r5, 1; @!%p2 bra L;"},
    {"so_many_places",
     "mov.u32 %r5, 1;\nL: READ add.u32 %r8, %r8, 1; setp.lt.u32 %p4, %r8, 2; @%p4 add.u32 %r5, %r5, 1; @!%p2 bra L;"},
    {"list_that_ends_where_it_began",
     "mov.u32 %r6, 1; mov.u64 %a3, %a1;\nLINK: add.u64 %a4, %a3, 64; add.u32 %r6, %r6, 1; setp.lt.u32 %p4, %r6, %r3;\n"
     "@!%p4 add.u64 %a4, %a1, 64; st.global.u64 [%a3 + 8], %a4; mov.u64 %a3, %a4; @%p4 bra LINK;\n"
     "sub.u32 %r7, %r3, 1;\nL: FLAG ld.global.u64 %a3, [%a3 + 8];\n"
     "add.u32 %r0, %r0, 1; selp.b32 %r0, %r0, 0, %p2; setp.lt.u32 %p3, %r0, %r7; @%p3 bra L;"},
    {"one_for_all",
     "@!%p5 st.shared.u32 [told], %r5; bar.sync 0;\nL: @%p5 bra MEET; READ @!%p2 bra MEET; add.u32 %r5, %r5, 1;\n"
     "st.shared.u32 [told], %r5;\nMEET: bar.sync 0; ld.shared.u32 %r6, [told]; bar.sync 0;\n"
     "setp.lt.u32 %p3, %r6, %r3; @%p3 bra L;"},
    {"one_for_its_warp",
     "mov.u32 %r6, %laneid; setp.ne.u32 %p5, %r6, 0; mov.u32 %r6, %tid.x; shr.u32 %r6, %r6, 5; shl.b32 %r6, %r6, 2;\n"
     "mov.u32 %r7, told; add.u32 %r7, %r7, %r6; @!%p5 st.shared.u32 [%r7], %r5; bar.warp.sync -1;\n"
     "L: @%p5 bra MEET; READ @!%p2 bra MEET; add.u32 %r5, %r5, 1; st.shared.u32 [%r7], %r5;\n"
     "MEET: bar.warp.sync -1; ld.shared.u32 %r6, [%r7]; bar.warp.sync -1;\nsetp.lt.u32 %p3, %r6, %r3; @%p3 bra L;"},
};

// Block 0 waits so for all others, each thread from the first block on or from one of its own (`first`, into %r5).
std::string onTheWay(const Way& way, const char* read, const char* first) {
  const std::string flag = std::string(read) + " setp.eq.u32 %p2, %r4, %r1;";
  const std::string text =
      ".visible .entry NAME(.param .u64 flags, .param .u32 round) {\n"
      ".reg .b32 %r<9>; .reg .b64 %a<9>; .reg .pred %p<6>; .shared .align 4 .b32 told[2];\n"
      "ld.param.u64 %a1, [flags]; ld.param.u32 %r1, [round]; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %nctaid.x;\n"
      "mov.u32 %r6, %tid.x; setp.ne.u32 %p5, %r6, 0; mov.u32 %r0, 0; mov.u32 %r8, 0; FIRST\n"
      "setp.ne.u32 %p1, %r2, 0; @%p1 bra TELL;\nWAY\nbar.sync 0; membar.gl; st.global.u32 [%a1], %r1; ret;\n"
      "TELL: mul.wide.u32 %a2, %r2, 64; add.u64 %a2, %a1, %a2; st.global.u32 [%a2], %r1; ret; }\n";
  std::string made = with(with(with(text, "NAME", way.name), "FIRST", first), "WAY", way.loop);
  made = with(made, "READ", "mul.wide.u32 %a3, %r5, 64; add.u64 %a3, %a1, %a3; FLAG");
  made = with(made, "FLAG", with(flag, "ADDRESS", "%a3"));
  return with(made, "NEXT", "setp.lt.u32 %p3, %r5, %r3; @%p3 bra L;");
}

// Thread 0, or the first warp, waits in shared memory for the last thread of its block, which comes later.
std::string within(const Form& form) {
  const std::string text =
      ".visible .entry NAME(.param .u64 flags, .param .u32 round) {\n"
      ".reg .b32 %r<9>; .reg .b64 %a<9>; .reg .pred %p<6>; .shared .align 8 .b32 told[2];\n"
      "ld.param.u64 %a1, [flags]; ld.param.u32 %r1, [round]; mov.u32 %r2, %ctaid.x; mul.wide.u32 %a2, %r2, 64;\n"
      "add.u64 %a2, %a1, %a2; mov.u32 %r3, %ntid.x; sub.u32 %r3, %r3, 1; mov.u32 %r6, %tid.x;\n"
      "mov.u64 %a3, told; cvta.shared.u64 %a3, %a3;\n"
      "setp.lt.u32 %p1, %r6, WAITING; setp.eq.u32 %p2, %r6, %r3; @%p1 st.volatile.shared.u32 [told], -1; bar.sync 0;\n"
      "@%p1 bra WAIT; @!%p2 ret; st.volatile.shared.u32 [told], %r1; ret;\n"
      "WAIT: " +
      with(form.read, "ADDRESS", "told") +
      " setp.ne.u32 %p3, %r4, %r1; @%p3 bra WAIT; st.global.u32 [%a2], %r4; ret; }\n";
  return with(with(text, "NAME", form.name), "WAITING", form.amongLanes ? "1" : "32");
}

// Each lane of a warp waits for the next one, meets only itself, and tells the one before. The place is one that the
// loop computes, so it may be a search.
constexpr unsigned kChain = 15;
const char* const kChainText =
    ".visible .entry chain(.param .u64 flags, .param .u32 round) {\n"
    ".reg .b32 %r<9>; .reg .b64 %a<9>; .reg .pred %p<6>;\n"
    "ld.param.u64 %a1, [flags]; ld.param.u32 %r1, [round]; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %nctaid.x;\n"
    "mul.wide.u32 %a2, %r2, 64; add.u64 %a1, %a1, %a2; mov.u32 %r6, %tid.x; add.u32 %r5, %r6, 1;\n"
    "min.u32 %r7, %r3, 1; sub.u32 %r7, 0, %r7; setp.eq.u32 %p1, %r5, 15; @%p1 bra TELL;\n"
    "L: mul.wide.u32 %a3, %r5, 4; add.u64 %a3, %a1, %a3; ld.global.cg.u32 %r4, [%a3]; and.b32 %r5, %r5, %r7;\n"
    "setp.ne.u32 %p2, %r4, %r1; @%p2 bra L;\n"
    "TELL: mov.u32 %r8, 1; shl.b32 %r8, %r8, %r6; bar.warp.sync %r8;\n"
    "mul.wide.u32 %a4, %r6, 4; add.u64 %a4, %a1, %a4; st.volatile.global.u32 [%a4], %r1; ret; }\n";

// The same, where the first of two places is what is waited for, and only the test of the second one ends the loop.
const char* const kTwoTestsText =
    ".global .align 4 .b32 open[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};\n"
    ".visible .entry two_tests(.param .u64 flags, .param .u32 round) {\n"
    ".reg .b32 %r<9>; .reg .b64 %a<9>; .reg .pred %p<6>;\n"
    "ld.param.u64 %a1, [flags]; ld.param.u32 %r1, [round]; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %nctaid.x;\n"
    "mul.wide.u32 %a2, %r2, 64; add.u64 %a1, %a1, %a2; mov.u32 %r6, %tid.x; add.u32 %r5, %r6, 1; mov.u64 %a6, open;\n"
    "min.u32 %r7, %r3, 1; sub.u32 %r7, 0, %r7; setp.eq.u32 %p1, %r5, 15; @%p1 bra TELL;\n"
    "L: mul.wide.u32 %a3, %r5, 4; add.u64 %a5, %a6, %a3; add.u64 %a3, %a1, %a3; and.b32 %r5, %r5, %r7;\n"
    "ld.global.cg.u32 %r4, [%a3]; setp.ne.u32 %p2, %r4, %r1; @%p2 bra L;\n"
    "ld.global.cg.u32 %r4, [%a5]; setp.eq.u32 %p2, %r4, 0; @%p2 bra L;\n"
    "TELL: mul.wide.u32 %a4, %r6, 4; add.u64 %a4, %a1, %a4; st.global.u32 [%a4], %r1; ret; }\n";

// The same, where the kernel is given its memory twice, and tells by the second pointer.
const char* const kGivenTwiceText =
    ".visible .entry given_twice(.param .u64 flags, .param .u32 round, .param .u64 same) {\n"
    ".reg .b32 %r<9>; .reg .b64 %a<9>; .reg .pred %p<6>;\n"
    "ld.param.u64 %a1, [flags]; ld.param.u32 %r1, [round]; ld.param.u64 %a5, [same]; mov.u32 %r2, %ctaid.x;\n"
    "mov.u32 %r3, %nctaid.x; mul.wide.u32 %a2, %r2, 64; add.u64 %a1, %a1, %a2; add.u64 %a5, %a5, %a2;\n"
    "mov.u32 %r6, %tid.x; add.u32 %r5, %r6, 1;\n"
    "min.u32 %r7, %r3, 1; sub.u32 %r7, 0, %r7; setp.eq.u32 %p1, %r5, 15; @%p1 bra TELL;\n"
    "L: mul.wide.u32 %a3, %r5, 4; add.u64 %a3, %a1, %a3; and.b32 %r5, %r5, %r7;\n"
    "ld.global.cg.u32 %r4, [%a3]; setp.ne.u32 %p2, %r4, %r1; @%p2 bra L;\n"
    "TELL: mul.wide.u32 %a4, %r6, 4; add.u64 %a4, %a5, %a4; st.global.u32 [%a4], %r1; ret; }\n";

// The same, where the second of two values that are stored at once tells.
const char* const kTwoValuesText =
    ".visible .entry two_values(.param .u64 flags, .param .u32 round, .param .u64 same) {\n"
    ".reg .b32 %r<9>; .reg .b64 %a<9>; .reg .pred %p<6>;\n"
    "ld.param.u64 %a1, [flags]; ld.param.u32 %r1, [round]; ld.param.u64 %a5, [same]; mov.u32 %r2, %ctaid.x;\n"
    "mov.u32 %r3, %nctaid.x; mul.wide.u32 %a2, %r2, 64; add.u64 %a1, %a1, %a2; add.u64 %a5, %a5, %a2;\n"
    "mov.u32 %r6, %tid.x; add.u32 %r5, %r6, 1; mov.u32 %r4, 0; setp.gt.u32 %p3, %r6, 6; @%p3 ret;\n"
    "min.u32 %r7, %r3, 1; sub.u32 %r7, 0, %r7; setp.eq.u32 %p1, %r5, 7; @%p1 bra TELL;\n"
    "L: mul.wide.u32 %a3, %r5, 8; add.u64 %a3, %a1, %a3; and.b32 %r5, %r5, %r7;\n"
    "ld.global.cg.u32 %r4, [%a3+4]; setp.ne.u32 %p2, %r4, %r1; @%p2 bra L;\n"
    "TELL: mul.wide.u32 %a4, %r6, 8; add.u64 %a4, %a5, %a4; st.global.v2.u32 [%a4], {%r4, %r1}; ret; }\n";

// An H100 does not end where lanes of one warp wait for each other with weak loads.
constexpr Form kInBlock[] = {
    {"volatile_shared", "ld.volatile.shared.u32 %r4, [ADDRESS];"},
    {"membar_shared", "membar.cta; ld.shared.u32 %r4, [ADDRESS];", false},
    {"fence_shared", "fence.acq_rel.cta; ld.shared.u32 %r4, [ADDRESS];", false},
    {"fence_vector", "membar.cta; ld.shared.v2.u32 {%r4, %r7}, [ADDRESS];", false},
    {"atomic_shared", "atom.shared.or.b32 %r4, [ADDRESS], 0;"},
    {"warp_meets", "bar.warp.sync -1; ld.shared.u32 %r4, [ADDRESS];", false},
    {"part_meets", "bar.sync 1, 32; ld.shared.u32 %r4, [ADDRESS];", false},
    {"sleep", "nanosleep.u32 20; ld.shared.u32 %r4, [ADDRESS];", false},
    {"weak", "ld.shared.u32 %r4, [ADDRESS];", false},
    {"generic", "membar.cta; ld.u32 %r4, [%a3];", false},
};

void meet(CUmodule module, const char* name, unsigned threads, CUdeviceptr flags) {
  CUfunction meet;
  CHECK(cuModuleGetFunction(&meet, module, name));
  CHECK(cuMemsetD32(flags, 0, kBlocks * kFlagBytes / 4));
  for (unsigned launch = 0; launch < kShortLaunches + kRounds; ++launch) {
    unsigned round = launch < kShortLaunches ? 0 : launch - kShortLaunches + 1;
    void* arguments[] = {&flags, &round, &flags};  // given_twice and two_values take them all
    CHECK(cuLaunchKernel(meet, kBlocks, 1, 1, threads, 1, 1, 0, 0, arguments, 0));
    CHECK(cuCtxSynchronize());
  }
  unsigned seen[kBlocks * kFlagBytes / 4];
  CHECK(cuMemcpyDtoH(seen, flags, sizeof seen));
  for (unsigned block = 0; block < kBlocks; ++block) EXPECT(seen[block * kFlagBytes / 4] == kRounds);
}

void meetOnTheWay(const Form& form, CUdeviceptr flags) {
  for (const bool apart : {false, true}) {
    std::printf("%s on the way%s\n", form.name, apart ? ", each thread on its own" : "");
    std::fflush(stdout);
    std::string ptx = ".version 8.0\n.target sm_80\n.address_size 64\n";
    for (const Way& way : kWays)
      ptx += onTheWay(way, form.read, apart ? "rem.u32 %r5, %r6, 3; add.u32 %r5, %r5, 1;" : "mov.u32 %r5, 1;");
    CUmodule module;
    CHECK(cuModuleLoadData(&module, ptx.c_str()));
    for (const Way& way : kWays) {
      std::printf("  %s\n", way.name);
      std::fflush(stdout);
      meet(module, way.name, apart ? 64 : 1, flags);
    }
    CHECK(cuModuleUnload(module));
  }
}

}  // namespace

int main() {
  CUdevice device;
  CUcontext context;
  CUdeviceptr flags;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuMemAlloc(&flags, kBlocks * kFlagBytes));
  for (const Form& form : kForms) {
    std::printf("%s\n", form.name);
    std::fflush(stdout);  // the last one is what hung
    const std::string ptx = ".version 8.0\n.target sm_80\n.address_size 64\n" + kernel("alone", alone(form)) +
                            kernel("one_for_all", oneForAll(form)) + kernel("over_all", overAll(form)) +
                            kernel("one_for_warp", with(oneForAll(form), "bar.sync 0;", "bar.warp.sync -1;"));
    CUmodule module;
    CHECK(cuModuleLoadData(&module, ptx.c_str()));
    meet(module, "alone", 1, flags);
    meet(module, "one_for_all", 64, flags);
    meet(module, "over_all", 1, flags);
    meet(module, "one_for_warp", 32, flags);
    CHECK(cuModuleUnload(module));
  }
  for (const Telling& telling : kTellings) {
    std::printf("one tells: %s\n", telling.name);
    std::fflush(stdout);
    CUmodule module;
    const std::string ptx = ".version 8.0\n.target sm_90\n.address_size 64\n" + kernel("told", told(telling));
    CHECK(cuModuleLoadData(&module, ptx.c_str()));
    meet(module, "told", 64, flags);
    CHECK(cuModuleUnload(module));
  }
  for (const Form& form : kForms)
    if (form.onTheWay) meetOnTheWay(form, flags);
  std::string ptx = ".version 8.0\n.target sm_70\n.address_size 64\n";
  for (const Form& form : kInBlock) ptx += within(form);
  ptx += std::string(kChainText) + kTwoTestsText + kGivenTwiceText + kTwoValuesText;
  CUmodule module;
  CHECK(cuModuleLoadData(&module, ptx.c_str()));
  for (const Form& form : kInBlock)
    for (unsigned threads : {2u, 32u, 64u, 256u}) {
      if (threads <= 32 && !form.amongLanes) continue;
      std::printf("%s in a block of %u\n", form.name, threads);
      std::fflush(stdout);
      meet(module, form.name, threads, flags);
    }
  std::printf("each lane behind the next\n");
  meet(module, "chain", kChain, flags);
  std::printf("each lane behind the next, by two tests\n");
  meet(module, "two_tests", kChain, flags);
  std::printf("each lane behind the next, by two pointers\n");
  meet(module, "given_twice", kChain, flags);
  std::printf("each lane behind the next, by the second of two values\n");
  meet(module, "two_values", kChain, flags);
  CHECK(cuModuleUnload(module));
  CHECK(cuMemFree(flags));
  CHECK(cuDevicePrimaryCtxRelease(device));
  return passed();
}
