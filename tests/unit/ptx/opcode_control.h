// Cases of control flow: branches, tables of branches, calls, returns and exits, with lanes that go different ways;
// what warps say to each other when some lanes have gone; and barriers of part of a block. Included by opcode_matrix.h,
// whose Builder it fills. Names begin with "control". Register lane is the thread's index in its block of 4 warps.
#pragma once

namespace vg::ptx::matrix {

inline void controlCase(Builder& m, const std::string& name, const std::string& text, const std::string& module = {}) {
  m.add("control " + name, "{ .reg .pred p, q, r; .reg .b32 n, k, w, t, u; mov.b32 x, 0; mov.b32 y, 0; " + text + " }",
        {Domain::Int32, Domain::Int32, Domain::Lane}, {{32, Match::Bits}, {32, Match::Bits}});
  m.cases.back().module = module;
}

// Predicates that a warp, some of its lanes, or each lane of its own have.
struct Way {
  const char *name, *text;
};
inline const Way kWays[] = {
    {"all", "setp.ne.u32 p, lane, 1000;"},
    {"none", "setp.eq.u32 p, lane, 1000;"},
    {"by warp", "and.b32 n, lane, 32; setp.ne.u32 p, n, 0;"},
    {"by half", "and.b32 n, lane, 16; setp.ne.u32 p, n, 0;"},
    {"by data", "and.b32 n, a, 1; setp.ne.u32 p, n, 0;"},
    {"one lane", "and.b32 n, lane, 31; setp.eq.u32 p, n, 7;"},
};

inline void branches(Builder& m) {
  for (const Way& way : kWays) {
    const std::string p = std::string(way.text) + " ", name = std::string(", ") + way.name;
    controlCase(m, "bra over" + name, p + "@p bra L; add.u32 x, a, 1; L: add.u32 y, b, x;");
    controlCase(m, "bra over, not" + name, p + "@!p bra L; mul.lo.u32 x, a, 3; L: xor.b32 y, b, x;");
    controlCase(m, "bra both" + name, p + "@p bra L; add.u32 x, a, 5; bra J; L: sub.u32 x, a, b; J: not.b32 y, x;");
    controlCase(m, "bra both, in both" + name,
                p + "and.b32 k, b, 2; setp.eq.u32 q, k, 0; @p bra L; @q bra M; mov.b32 x, 1; bra J; M: mov.b32 x, 2; "
                    "bra J; L: @!q bra N; mov.b32 x, 3; bra J; N: mov.b32 x, 4; J: add.u32 y, x, a;");
    // A way that comes into the other one's middle.
    controlCase(
        m, "bra into the middle" + name,
        p + "setp.lt.s32 q, b, 0; @p bra L; add.u32 x, x, a; @q bra M; add.u32 x, x, 7; bra J; L: mul.lo.u32 x, "
            "a, 9; M: xor.b32 x, x, 0x55; J: mov.b32 y, x;");
    controlCase(
        m, "loop by way" + name,
        p + "mov.b32 k, 0; @p mov.b32 k, 5; L: add.u32 k, k, 1; add.u32 x, x, a; setp.lt.u32 q, k, 9; @q bra L; "
            "mov.b32 y, k;");
    controlCase(m, "guarded exit" + name, p + "@p exit; add.u32 x, a, b; mov.b32 y, 1;");
    controlCase(m, "guarded ret" + name, p + "@!p ret; xor.b32 x, a, b; mov.b32 y, 2;");
    controlCase(m, "exit after stores" + name,
                p + "@!p bra L; st.global.u32 [pout], a; exit; L: mov.b32 x, b; mov.b32 y, 3;");
    controlCase(m, "vote behind exits" + name,
                p + "@p exit; activemask.b32 x; setp.lt.s32 q, a, 0; "
                    "vote.sync.ballot.b32 y, q, x;");
  }
  // The trip counts of lanes differ.
  controlCase(m, "loop by data",
              "and.b32 k, a, 15; L: mad.lo.u32 x, x, 31, k; add.u32 y, y, 1; sub.u32 k, k, 1; "
              "setp.ge.s32 p, k, 0; @p bra L;");
  controlCase(
      m, "loop with its test before",
      "and.b32 k, a, 15; L: setp.eq.u32 p, k, 0; @p bra J; mad.lo.u32 x, x, 7, b; sub.u32 k, k, 1; bra.uni L; J: "
      "mov.b32 y, k;");
  controlCase(m, "loop in a loop",
              "and.b32 k, a, 7; L: and.b32 n, b, 3; M: mad.lo.u32 x, x, 5, n; add.u32 y, y, 1; sub.u32 n, n, 1; "
              "setp.ge.s32 p, n, 0; @p bra M; sub.u32 k, k, 1; setp.ge.s32 q, k, 0; @q bra L;");
  controlCase(
      m, "loop left in its middle",
      "mov.b32 k, 0; L: add.u32 k, k, 1; mad.lo.u32 x, x, 3, a; and.b32 n, x, 12; setp.eq.u32 p, n, 0; @p bra J; "
      "add.u32 y, y, 2; setp.lt.u32 q, k, 20; @q bra L; mov.b32 y, 99; J: add.u32 y, y, k;");
  controlCase(m, "loop gone on with in its middle",
              "mov.b32 k, 0; L: add.u32 k, k, 1; setp.gt.u32 r, k, 20; @r bra J; shr.u32 n, a, k; and.b32 n, n, 1; "
              "setp.eq.u32 p, n, 0; @p bra L; mad.lo.u32 x, x, 11, k; bra L; J: mov.b32 y, k;");
  controlCase(
      m, "loop left from its inner one",
      "mov.b32 k, 0; L: mov.b32 n, 0; M: add.u32 y, y, 1; mad.lo.u32 x, x, 13, b; and.b32 t, x, 31; setp.eq.u32 "
      "p, t, 3; @p bra J; add.u32 n, n, 1; setp.lt.u32 q, n, 4; @q bra M; add.u32 k, k, 1; setp.lt.u32 q, k, 6; "
      "@q bra L; J: add.u32 x, x, k;");
  controlCase(
      m, "outer loop gone on with from its inner one",
      "mov.b32 k, 0; L: add.u32 k, k, 1; setp.gt.u32 r, k, 6; @r bra J; mov.b32 n, 0; M: add.u32 n, n, 1; mad.lo.u32 "
      "x, x, 3, n; shr.u32 t, a, n; and.b32 t, t, 1; setp.eq.u32 p, t, 0; @p bra L; shr.u32 t, b, n; and.b32 t, t, "
      "1; setp.eq.u32 q, t, 0; @q bra M; mad.lo.u32 x, x, 5, k; add.u32 y, y, n; bra L; J: add.u32 y, y, k;");
  controlCase(
      m, "loop that ends or goes on in its middle",
      "mov.b32 k, 0; L: add.u32 k, k, 1; setp.gt.u32 r, k, 25; @r bra J; shr.u32 t, a, k; and.b32 t, t, 3; "
      "setp.eq.u32 p, t, 3; @p bra J; setp.eq.u32 q, t, 1; @q bra L; mad.lo.u32 x, x, 7, k; setp.eq.u32 p, t, 2; @p "
      "bra L; add.u32 y, y, k; bra L; J: mad.lo.u32 y, y, 3, k;");
  controlCase(
      m, "loop that ends behind or goes on",
      "mov.b32 k, 0; L: add.u32 k, k, 1; and.b32 n, k, 31; shr.u32 t, a, n; and.b32 t, t, 1; mad.lo.u32 x, x, 3, t; "
      "setp.ge.u32 r, k, 20; @r bra J; setp.eq.u32 p, t, 0; @p bra L; xor.b32 y, y, k; shr.u32 t, b, n; and.b32 t, "
      "t, 1; setp.eq.u32 q, t, 0; @q bra L; J: mad.lo.u32 y, y, 3, k;");
  controlCase(
      m, "loop gone on with by a table",
      "T: .branchtargets L, A, B, J; mov.b32 k, 0; L: add.u32 k, k, 1; setp.gt.u32 r, k, 18; @r bra J; shr.u32 n, a, "
      "k; and.b32 n, n, 3; add.u32 y, y, n; setp.eq.u32 p, n, 3; @p mov.b32 n, 1; brx.idx n, T; A: mad.lo.u32 x, x, "
      "3, k; B: mad.lo.u32 x, x, 5, k; bra L; J: add.u32 y, y, k;");
  controlCase(m, "loop with two entries",
              "and.b32 n, a, 1; setp.eq.u32 p, n, 0; and.b32 k, b, 7; @p bra M; L: mad.lo.u32 x, x, 3, 1; M: "
              "mad.lo.u32 x, x, 5, 2; add.u32 y, y, 1; sub.u32 k, k, 1; setp.ge.s32 q, k, 0; @q bra L;");
  controlCase(
      m, "loop with two entries, by warp",
      "and.b32 n, lane, 32; setp.eq.u32 p, n, 0; mov.b32 k, 6; @p bra M; L: mad.lo.u32 x, x, 3, a; M: mad.lo.u32 "
      "x, x, 5, b; add.u32 y, y, 1; sub.u32 k, k, 1; setp.ge.s32 q, k, 0; @q bra L;");
  controlCase(
      m, "loop with three entries",
      "T: .branchtargets A, B, C; and.b32 n, a, 3; min.u32 n, n, 2; and.b32 k, b, 15; brx.idx n, T; A: mad.lo.u32 "
      "x, x, 3, 1; B: mad.lo.u32 x, x, 5, 2; and.b32 t, x, 4; setp.eq.u32 p, t, 0; @p bra J; C: mad.lo.u32 x, x, "
      "7, 3; add.u32 y, y, 1; sub.u32 k, k, 1; setp.ge.s32 q, k, 0; @q bra A; J: xor.b32 y, y, k;");
  controlCase(
      m, "loop with two entries in such a loop",
      "and.b32 n, a, 1; setp.eq.u32 p, n, 0; and.b32 k, b, 7; @p bra M; L: mad.lo.u32 x, x, 3, 1; and.b32 w, x, 3; "
      "and.b32 t, x, 16; setp.eq.u32 r, t, 0; @r bra O; N: mad.lo.u32 x, x, 11, w; O: mad.lo.u32 x, x, 13, 5; "
      "sub.u32 w, w, 1; setp.ge.s32 q, w, 0; @q bra N; M: mad.lo.u32 x, x, 5, 2; add.u32 y, y, 1; sub.u32 k, k, 1; "
      "setp.ge.s32 q, k, 0; @q bra L; add.u32 y, y, x;");
  controlCase(
      m, "loop that lanes return from",
      "and.b32 k, a, 15; L: mad.lo.u32 x, x, 17, k; st.global.u32 [pout], x; setp.eq.u32 p, k, 0; @p ret; sub.u32 "
      "k, k, 1; bra L;");
  controlCase(
      m, "loop that a ballot ends",
      "and.b32 k, a, 7; L: setp.gt.s32 p, k, 0; vote.sync.ballot.b32 n, p, -1; add.u32 y, y, n; sub.u32 k, k, 1; "
      "setp.ne.u32 q, n, 0; add.u32 x, x, 1; @q bra.uni L;");
  controlCase(m, "bra.uni", "bra.uni L; mov.b32 x, 1; L: mov.b32 y, a;");
  controlCase(m, "bra.uni by block",
              "mov.u32 n, %ctaid.x; and.b32 n, n, 1; setp.eq.u32 p, n, 0; @p bra.uni L; mov.b32 "
              "x, a; L: mov.b32 y, n;");
}

inline void branchTables(Builder& m) {
  const std::string table = "T: .branchtargets A0, A1, A2, A3; ";
  const std::string targets =
      "A0: add.u32 x, a, 10; bra J; A1: mul.lo.u32 x, a, 20; bra J; A2: xor.b32 x, a, 30; A3: sub.u32 x, x, b; J: "
      "mov.b32 y, n;";
  controlCase(m, "brx.idx by data", table + "and.b32 n, b, 3; brx.idx n, T; " + targets);
  controlCase(m, "brx.idx by warp", table + "shr.u32 n, lane, 5; brx.idx n, T; " + targets);
  controlCase(m, "brx.idx by half", table + "shr.u32 n, lane, 4; and.b32 n, n, 3; brx.idx n, T; " + targets);
  controlCase(m, "brx.idx.uni", table + "mov.u32 n, %ctaid.x; and.b32 n, n, 3; brx.idx.uni n, T; " + targets);
  controlCase(m, "brx.idx of some lanes",
              table + "setp.lt.s32 p, a, 0; mov.b32 n, 7; @p bra J; and.b32 n, b, 3; brx.idx n, T; " + targets);
  controlCase(m, "brx.idx, guarded",
              table + "setp.lt.s32 p, a, 0; and.b32 n, b, 3; @p brx.idx n, T; mov.b32 x, 1; bra J; " + targets);
  controlCase(
      m, "brx.idx in a loop",
      "T: .branchtargets A0, A1, A2, A3; and.b32 n, b, 3; mov.b32 k, 0; L: brx.idx n, T; A0: add.u32 x, x, a; "
      "mov.b32 n, 2; bra J; A1: mul.lo.u32 x, x, 5; mov.b32 n, 3; bra J; A2: xor.b32 x, x, 77; mov.b32 n, 1; bra "
      "J; A3: add.u32 x, x, k; mov.b32 n, 0; J: add.u32 k, k, 1; and.b32 t, a, 7; setp.lt.u32 p, k, t; @p bra L; "
      "mov.b32 y, k;");
}

inline void calls(Builder& m) {
  const std::string one = "(.param .b32 r) ", two = "(.param .b32 a, .param .b32 b)";
  const auto function = [&](const std::string& name, const std::string& body) {
    return ".func " + one + "$" + name + two +
           "\n{ .reg .pred p, q; .reg .b32 x, y, z, n; ld.param.b32 x, [a]; ld.param.b32 y, [b]; " + body +
           " st.param.b32 [r], z; ret; }\n";
  };
  const auto call = [](const std::string& what, const std::string& result, const std::string& guard = "",
                       const std::string& tail = "", const std::string& behind = "") {
    return "{ .param .b32 f; .param .b32 g; .param .b32 h; st.param.b32 [f], a; st.param.b32 [g], b; " + guard +
           "call" + tail + " (h), " + what + ", (f, g)" + behind + "; ld.param.b32 " + result + ", [h]; } ";
  };
  const std::string mix = function("mix", "mad.lo.u32 z, x, 3, y;");
  const std::string early =
      function("early", "setp.lt.s32 p, x, 0; mov.b32 z, 11; @!p bra L; st.param.b32 [r], y; ret; L: add.u32 z, z, x;");
  const std::string looping = function("looping",
                                       "and.b32 n, x, 15; mov.b32 z, 0; L: mad.lo.u32 z, z, 7, y; sub.u32 n, n, 1; "
                                       "setp.ge.s32 p, n, 0; @p bra L;");
  const std::string other = function("other", "sub.u32 z, x, y;");
  controlCase(m, "call", call("$mix", "x") + "mov.b32 y, a;", mix);
  controlCase(m, "call.uni", call("$mix", "x", "", ".uni") + "mov.b32 y, a;", mix);
  controlCase(m, "call with an early ret", call("$early", "x") + "mov.b32 y, b;", early);
  controlCase(m, "call with a loop", call("$looping", "x") + "mov.b32 y, b;", looping);
  for (const Way& way : kWays) {
    const std::string p = std::string(way.text) + " ", name = std::string(", ") + way.name;
    controlCase(m, "call of some lanes" + name, p + "@!p bra L; " + call("$early", "x") + "L: add.u32 y, x, 1;", early);
    controlCase(m, "calls of both ways" + name,
                p + "@p bra L; " + call("$looping", "x") + "bra J; L: " + call("$mix", "x") + "J: mov.b32 y, x;",
                looping + mix);
    controlCase(m, "call by address" + name,
                p +
                    "{ .reg .b64 f1, f2, at; mov.u64 f1, $mix; mov.u64 f2, $other; selp.b64 at, f1, f2, p; "
                    "P: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _); " +
                    call("at", "x", "", "", ", P") + "} mov.b32 y, a;",
                mix + other);
    controlCase(m, "call by address of some lanes" + name,
                p +
                    "@p bra L; { .reg .b64 f1, f2, at; mov.u64 f1, $early; mov.u64 f2, $looping; setp.lt.s32 q, b, 0; "
                    "selp.b64 at, f1, f2, q; P: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b32 _); " +
                    call("at", "x", "", "", ", P") + "} L: mov.b32 y, a;",
                early + looping);
    controlCase(m, "exit inside a call" + name, p + "selp.b32 a, 1, 0, p; " + call("$leaves", "x") + "mov.b32 y, 5;",
                function("leaves", "setp.ne.u32 p, x, 0; @p exit; add.u32 z, y, 9;"));
  }
  // A function that calls itself, as deep as each lane's data say.
  controlCase(
      m, "recursion", "and.b32 a, a, 7; " + call("$down", "x") + "mov.b32 y, a;",
      ".func " + one + "$down" + two +
          "\n{ .reg .pred p; .reg .b32 x, y, z; ld.param.b32 x, [a]; ld.param.b32 y, [b]; setp.eq.u32 p, x, 0; "
          "mov.b32 z, y; @p bra L; sub.u32 z, x, 1; { .param .b32 f; .param .b32 g; .param .b32 h; st.param.b32 "
          "[f], z; st.param.b32 [g], y; call (h), $down, (f, g); ld.param.b32 z, [h]; } mad.lo.u32 z, z, 3, x; L: "
          "st.param.b32 [r], z; ret; }\n");
  controlCase(m, "call of a function without result",
              "{ .param .b64 f; .param .b32 g; st.param.b64 [f], gslot; st.param.b32 [g], a; call $put, (f, g); } "
              "ld.global.u32 x, [gslot]; mov.b32 y, b;",
              ".func $put(.param .b64 at, .param .b32 what)\n{ .reg .b64 p; .reg .b32 v; ld.param.b64 p, [at]; "
              "ld.param.b32 v, [what]; st.global.u32 [p], v; ret; }\n");
}

// What lanes say to each other that have taken the same way.
inline void divergedWarps(Builder& m) {
  for (const Way& way : kWays) {
    const std::string before = std::string(way.text) + " vote.sync.ballot.b32 w, p, -1; @!p bra L; ",
                      name = std::string(", ") + way.name, after = " L:";
    const auto inside = [&](const std::string& what, const std::string& text) {
      controlCase(m, what + name, before + text + after);
    };
    inside("activemask", "activemask.b32 x; mov.b32 y, w;");
    inside("vote.sync.ballot", "setp.lt.s32 q, a, 0; vote.sync.ballot.b32 x, q, w;");
    inside("vote.sync.all", "setp.lt.s32 q, a, 0; vote.sync.all.pred r, q, w; selp.b32 x, 2, 1, r;");
    inside("vote.sync.any", "setp.lt.s32 q, a, 0; vote.sync.any.pred r, !q, w; selp.b32 x, 2, 1, r;");
    inside("vote.sync.uni",
           "and.b32 n, lane, 16; setp.ne.u32 q, n, 0; vote.sync.uni.pred r, q, w; selp.b32 x, 2, 1, r;");
    inside("shfl.sync.idx of the first",
           "brev.b32 n, w; clz.b32 n, n; min.u32 n, n, 31; bfind.u32 n, w; "
           "shfl.sync.idx.b32 x|q, a, n, 31, w; selp.b32 y, 2, 1, q;");
    inside("shfl.sync.bfly of own lane", "shfl.sync.bfly.b32 x|q, a, 0, 31, w; selp.b32 y, 2, 1, q;");
    for (const char* op : {"add.u32", "min.s32", "xor.b32"})
      inside(std::string("redux.sync.") + op, std::string("redux.sync.") + op + " x, a, w;");
    inside("match.any.sync", "and.b32 n, a, 3; match.any.sync.b32 x, n, w;");
    inside("match.all.sync", "and.b32 n, lane, 16; match.all.sync.b32 x|q, n, w; selp.b32 y, 2, 1, q;");
    inside("elect.sync", "elect.sync x|q, w; selp.b32 y, 2, 1, q;");
    inside("bar.warp.sync",
           "st.shared.u32 [sslot], a; bar.warp.sync w; bfind.u32 n, w; and.b32 k, lane, 96; add.u32 n, n, "
           "k; shl.b32 n, n, 3; and.b32 t, lane, 127; shl.b32 t, t, 3; sub.u32 t, sslot, t; add.u32 t, t, "
           "n; ld.shared.u32 x, [t];");
    // The two ways meet again.
    controlCase(m, "shfl.sync behind the ways" + name,
                std::string(way.text) +
                    " mov.b32 n, a; @!p bra L; xor.b32 n, n, 85; L: bar.warp.sync -1; "
                    "shfl.sync.bfly.b32 x|q, n, 5, 31, -1; selp.b32 y, 2, 1, q;");
  }
}

// Before compute capability 7.0 votes and shuffles had no mask: all lanes that are there take part.
inline void votesWithoutMask(Builder& m) {
  for (const char* mode : {"up", "down", "bfly", "idx"}) {
    const std::string shuffle = str("shfl.@.b32 x|q, a, c, ", mode) + (mode[0] == 'u' ? "0" : "31") + "; ";
    controlCase(m, str("shfl.@ without mask", mode), shuffle + "selp.b32 y, 2, 1, q;");
    controlCase(m, str("shfl.@ without mask or predicate", mode),
                str("shfl.@.b32 x, a, c, ", mode) + (mode[0] == 'u' ? "0;" : "31;"));
  }
  for (const Way& way : kWays) {
    const std::string name = std::string(", ") + way.name;
    for (const char* mode : {"all", "any", "uni"})
      controlCase(
          m, str("vote.@ without mask", mode) + name,
          std::string(way.text) + str(" vote.@.pred q, p; vote.@.pred r, !p; selp.b32 x, 2, 1, q; selp.b32 y, 2, 1, "
                                      "r;",
                                      mode, mode));
    controlCase(m, "vote.ballot without mask" + name, std::string(way.text) + " vote.ballot.b32 x, p;");
    controlCase(m, "vote.ballot without mask, some lanes" + name,
                std::string(way.text) + " @!p bra L; setp.lt.s32 q, a, 0; vote.ballot.b32 x, q; L:");
  }
}

// Barriers that part of a block takes part in.
inline void partialBarriers(Builder& m) {
  const std::string give = "st.shared.u32 [sslot], a; ";
  // What the thread wrote that is so many behind, in its own block of threads.
  const auto take = [](const char* distance, const char* threads) {
    return std::string("add.u32 n, lane, ") + distance + "; rem.u32 n, n, " + threads + "; div.u32 k, lane, " +
           threads + "; mad.lo.u32 n, k, " + threads +
           ", n; shl.b32 n, n, 3; shl.b32 t, lane, 3; sub.u32 t, sslot, t; add.u32 t, t, "
           "n; ld.shared.u32 x, [t]; ";
  };
  const std::string pair = "shr.u32 w, lane, 6; add.u32 w, w, 1; ";  // 1 or 2, by two warps
  for (const char* bar : {"bar.sync", "barrier.sync", "barrier.sync.aligned", "barrier.cta.sync", "bar.cta.sync",
                          "barrier.cta.sync.aligned"}) {
    controlCase(m, std::string(bar) + " of all", give + bar + " 0; " + take("37", "128"));
    controlCase(m, std::string(bar) + " of all, counted", give + bar + " 5, 128; " + take("70", "128"));
    controlCase(m, std::string(bar) + " by register",
                give + "mov.b32 u, 9; mov.b32 w, 128; " + bar + " u, w; " + take("90", "128"));
    controlCase(m, std::string(bar) + " of two warps", pair + give + bar + " w, 64; " + take("33", "64"));
    controlCase(
        m, std::string(bar) + " of one way",
        give + "setp.lt.u32 p, lane, 64; @!p bra L; " + bar + " 3, 64; " + take("40", "64") + "L: " + bar + " 0;");
    controlCase(m, std::string(bar) + " in both ways",
                give + "setp.lt.u32 p, lane, 64; @!p bra L; " + bar + " 3, 64; " + take("40", "64") +
                    "bra J; L: " + bar + " 4, 64; " + take("50", "64") + "J: mov.b32 y, x;");
    controlCase(m, std::string(bar) + " in a loop",
                "mov.b32 k, 0; mov.b32 y, a; B: st.shared.u32 [sslot], y; " + std::string(bar) + " 0; { .reg .b32 k; " +
                    take("33", "128") + "} " + bar +
                    " 0; mad.lo.u32 y, y, 3, x; add.u32 k, k, 1; setp.lt.u32 p, k, 4; @p "
                    "bra B;");
  }
  for (const char* kind : {"bar", "barrier", "barrier.cta", "bar.cta"}) {
    const std::string arrive = std::string(kind) + ".arrive", sync = std::string(kind) + ".sync",
                      red = std::string(kind) + ".red";
    // Two warps tell the other two that they have written.
    controlCase(m, arrive + " of producers",
                give + "setp.lt.u32 p, lane, 64; @!p bra L; " + arrive + " 1, 128; bra J; L: " + sync +
                    " 1, 128; sub.u32 t, sslot, 512; ld.shared.u32 x, [t]; J: mov.b32 y, 1;");
    controlCase(
        m, arrive + " and back",
        "setp.lt.u32 p, lane, 64; @!p bra L; " + give + arrive + " 1, 128; " + sync +
            " 2, 128; add.u32 t, sslot, 512; ld.shared.u32 x, [t]; bra J; L: " + sync +
            " 1, 128; sub.u32 t, sslot, 512; ld.shared.u32 n, [t]; add.u32 n, n, b; st.shared.u32 [sslot], n; mov.b32 "
            "x, n; " +
            arrive + " 2, 128; J: mov.b32 y, 1;");
    for (const Way& way : kWays) {
      const std::string name = std::string(", ") + way.name, p = std::string(way.text) + " ";
      controlCase(m, red + ".popc" + name, p + red + ".popc.u32 x, 0, p; " + red + ".popc.u32 y, 1, !p;");
      controlCase(
          m, red + ".and" + name,
          p + red + ".and.pred q, 2, p; " + red + ".and.pred r, 3, 128, !p; selp.b32 x, 2, 1, q; selp.b32 y, 2, 1, r;");
      controlCase(m, red + ".or of two warps" + name,
                  p + pair + red + ".or.pred q, w, 64, p; " + red + ".popc.u32 y, w, 64, !p; selp.b32 x, 2, 1, q;");
    }
    for (const char* aligned : {".aligned"}) {
      if (kind[3] == '\0' || kind[3] == '.') continue;
      controlCase(m, red + ".popc" + aligned, "setp.lt.s32 p, a, 0; " + red + ".popc" + aligned + ".u32 x, 6, 128, p;");
      controlCase(m, arrive + aligned,
                  give + "setp.lt.u32 p, lane, 64; @!p bra L; " + arrive + aligned + " 1, 128; bra J; L: " + sync +
                      aligned + " 1, 128; sub.u32 t, sslot, 512; ld.shared.u32 x, [t]; J: mov.b32 y, 1;");
    }
  }
  // Warps that have ended count no more.
  controlCase(m, "bar.sync behind exits of warps",
              give + "setp.ge.u32 p, lane, 96; @p exit; bar.sync 0; " + take("40", "96"));
}

inline void controlFlow(Builder& m) {
  branches(m);
  branchTables(m);
  calls(m);
  divergedWarps(m);
  votesWithoutMask(m);
  partialBarriers(m);
}

}  // namespace vg::ptx::matrix
