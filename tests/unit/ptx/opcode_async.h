// Cases of barrier objects and of copies that complete on their own. Included by opcode_matrix.h, whose Builder it
// fills. Every thread has a barrier object of its own (sslot), 32 bytes of shared memory (tile) and the 16 bytes of
// global memory that its results go to (gslot), and waits for what it started before it looks.
//
// What goes to shared memory of the cluster is an illegal instruction on a GPU where the grid has none: such cases run
// in clusters of one block. States of barrier objects are opaque: cases show what they tell about counts and phases.
#pragma once

namespace vg::ptx::matrix {

using Outputs = std::vector<std::pair<int, Match>>;

// Registers of the cases, and the thread's part of shared memory.
inline const char* const kAsyncBegin =
    "{ .shared .align 16 .b8 tiles[4096]; .reg .b64 st, st2, bulk; .reg .b32 tile, n, k, t; .reg .pred p, q; "
    "shl.b32 tile, lane, 5; mov.u32 t, tiles; add.u32 tile, tile, t; ";

inline std::string asyncText(const std::string& body) { return kAsyncBegin + body + " }"; }

// Counts of arrivals: n in 64 .. 127 of operand a, k in 1 .. 63 of operand b.
inline const char* const kCounts =
    "and.b32 n, a, 63; add.u32 n, n, 64; and.b32 k, b, 63; max.u32 k, k, 1; mbarrier.init.shared.b64 [sslot], n; ";

inline void barrierObjects(Builder& m) {
  const std::vector<Domain> two{Domain::Int32, Domain::Int32};
  const Outputs counts{{32, Match::Bits}, {32, Match::Bits}}, answers{{1, Match::Bits}, {1, Match::Bits}};
  const std::string left = "mbarrier.pending_count.b64 ";
  const auto count = [&](const std::string& name, const std::string& body) {
    m.add(name, asyncText(kCounts + body), two, counts);
  };
  const auto answer = [&](const std::string& name, const std::string& body) {
    m.add(name, asyncText(kCounts + body), two, answers);
  };
  const std::string arrive = "mbarrier.arrive.shared.b64 ";
  // What arriving leaves, as the next arrival sees it.
  const std::string see = left + "x, st; " + arrive + "st2, [sslot]; " + left + "y, st2;";
  for (const char* space : {"shared", "shared::cta"}) {
    const std::string s = std::string(".") + space + ".b64 ";
    count("mbarrier.arrive." + std::string(space), "mbarrier.arrive" + s + "st, [sslot]; " + see);
    count("mbarrier.arrive.count." + std::string(space), "mbarrier.arrive" + s + "st, [sslot], k; " + see);
    count("mbarrier.arrive_drop." + std::string(space), "mbarrier.arrive_drop" + s + "st, [sslot]; " + see);
    count("mbarrier.arrive.noComplete." + std::string(space),
          "mbarrier.arrive.noComplete" + s + "st, [sslot], k; " + see);
  }
  count("mbarrier.arrive.release.cta", "mbarrier.arrive.release.cta.shared.b64 st, [sslot], k; " + see);
  count("mbarrier.arrive.cluster, no state",
        "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [sslot], k; " + arrive + "st, [sslot]; " + see);
  count("mbarrier.arrive_drop.count", "mbarrier.arrive_drop.shared.b64 st, [sslot], k; " + see);
  count("mbarrier.arrive_drop.noComplete", "mbarrier.arrive_drop.noComplete.shared.b64 st, [sslot], k; " + see);
  // The next phase expects those that have not dropped out.
  count("mbarrier.arrive_drop, next phase", "mbarrier.arrive_drop.shared.b64 st, [sslot], k; sub.u32 n, n, k; " +
                                                arrive + "st, [sslot], n; " + arrive + "st, [sslot]; " + see);
  count("mbarrier.arrive, next phase", arrive + "st, [sslot], n; " + arrive + "st, [sslot]; " + see);
  count("mbarrier.inval", "mbarrier.inval.shared.b64 [sslot]; mbarrier.init.shared.b64 [sslot], k; " + arrive +
                              "st, [sslot]; " + left + "x, st; " + arrive + "st2, [sslot]; " + left + "y, st2;");
  count("mbarrier.pending_count", "mbarrier.init.shared.b64 [sslot], 1048575; " + arrive + "st, [sslot], n; " + see);

  for (const char* wait : {"test_wait", "try_wait"}) {
    const std::string w = std::string("mbarrier.") + wait;
    for (const char* order : {".shared.b64 ", ".acquire.cta.shared::cta.b64 ", ".acquire.cluster.shared.b64 "}) {
      const std::string ask = w + order, parity = w + ".parity" + order;
      answer(w + order + "by state", arrive + "st, [sslot]; " + ask + "x, [sslot], st; sub.u32 n, n, 1; " + arrive +
                                         "st2, [sslot], n; " + ask + "y, [sslot], st;");
      // k arrivals of k end a phase each time: its parity counts the phases.
      const std::string phase = arrive + "st, [sslot]; ";
      answer(parity + "by parity", "mbarrier.init.shared.b64 [sslot], 1; and.b32 t, a, 1; setp.ne.u32 q, t, 0; " +
                                       std::string("@q mbarrier.arrive.shared.b64 st, [sslot]; ") + parity +
                                       "x, [sslot], 0; " + parity + "y, [sslot], 1;");
      answer(parity + "of a register", "mbarrier.init.shared.b64 [sslot], 1; " + phase + "and.b32 t, b, 1; " + parity +
                                           "x, [sslot], t; " + phase + parity + "y, [sslot], t;");
    }
  }
  answer("mbarrier.try_wait with a hint", arrive +
                                              "st, [sslot]; mbarrier.try_wait.shared.b64 x, [sslot], st, 20; "
                                              "sub.u32 n, n, 1; mbarrier.arrive.shared.b64 st2, [sslot], n; "
                                              "mbarrier.try_wait.shared.b64 y, [sslot], st, 20;");

  // Bytes that are still to come hold a phase back.
  const std::string one = "mbarrier.init.shared.b64 [sslot], 1; ";
  const std::string come = "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [sslot], n; ";
  const std::string ask = "mbarrier.test_wait.parity.shared.b64 ";
  answer("mbarrier.expect_tx", one + "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [sslot], n; " + arrive +
                                   "st, [sslot]; " + ask + "x, [sslot], 0; " + come + ask + "y, [sslot], 0;");
  answer("mbarrier.arrive.expect_tx", one + "mbarrier.arrive.expect_tx.shared.b64 st, [sslot], n; " + ask +
                                          "x, [sslot], 0; " + come + ask + "y, [sslot], 0;");
  answer("mbarrier.arrive_drop.expect_tx",
         "mbarrier.arrive_drop.expect_tx.shared.b64 st, [sslot], n; sub.u32 t, n, 1; " + arrive + "st, [sslot], t; " +
             ask + "x, [sslot], 0; " + come + ask + "y, [sslot], 0;");
  answer("mbarrier.complete_tx in parts", one +
                                              "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 st, [sslot], n; "
                                              "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [sslot], k; " +
                                              ask + "x, [sslot], 0; sub.u32 n, n, k; " + come + ask + "y, [sslot], 0;");
  answer("mbarrier.complete_tx first", one + come + "mbarrier.arrive.expect_tx.shared.b64 st, [sslot], n; " + ask +
                                           "x, [sslot], 0; " + ask + "y, [sslot], 1;");
  answer("cp.async.mbarrier.arrive", one + "cp.async.mbarrier.arrive.shared.b64 [sslot]; cp.async.wait_all; " + ask +
                                         "x, [sslot], 0; mbarrier.arrive.shared.b64 st, [sslot]; W: " + ask +
                                         "y, [sslot], 0; @!y bra W;");
  answer("cp.async.mbarrier.arrive.noinc", one + "cp.async.mbarrier.arrive.noinc.shared.b64 [sslot]; W: " + ask +
                                               "x, [sslot], 0; @!x bra W; " + ask + "y, [sslot], 1;");
}

// What a thread does around a bulk copy: the object hears of 16 bytes; generic accesses come before it.
inline const char* const kExpect16 =
    "mbarrier.init.shared.b64 [sslot], 1; fence.mbarrier_init.release.cluster; "
    "mbarrier.arrive.expect_tx.shared.b64 st, [sslot], 16; fence.proxy.async; ";
inline const char* const kAwait = "W: mbarrier.try_wait.parity.shared.b64 p, [sslot], 0; @!p bra W; ";
inline const char* const kAwaitGroup = "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ";

inline void asyncCopies(Builder& m) {
  const std::vector<Domain> four(4, Domain::Int32), wide(4, Domain::Int64);
  const Outputs words{{32, Match::Bits}, {32, Match::Bits}}, doubles{{64, Match::Bits}, {64, Match::Bits}};
  const std::string clear = "st.shared.v4.b32 [tile], {d, c, b, a}; ", done = "cp.async.wait_all; ";
  for (const char* size : {"4", "8", "16"}) {
    const std::string way = std::string(size) == "16" ? "cg" : "ca", name = "cp.async." + way + " " + size;
    const std::string copy = "cp.async." + way + ".shared.global [tile], [pin], " + size;
    const std::string get = "ld.shared.b32 x, [tile]; ld.shared.b32 y, [tile+8];";
    m.add(name, asyncText(clear + copy + "; " + done + get), four, words);
    m.add(name + " in groups", asyncText(clear + copy + "; cp.async.commit_group; cp.async.wait_group 0; " + get), four,
          words);
    // The source size is a register: what it leaves is zero.
    m.add(
        name + " of fewer bytes",
        asyncText(clear + "and.b32 n, a, " + std::to_string(std::atoi(size) - 1) + "; " + copy + ", n; " + done + get),
        four, words);
    m.add(name + " ignored", asyncText(clear + "and.b32 n, a, 1; setp.ne.u32 p, n, 0; " + copy + ", p; " + done + get),
          four, words);
  }
  const std::string get = "ld.shared.v2.b64 {x, y}, [tile];";
  m.add("cp.async.bulk.shared::cluster.global",
        asyncText(std::string(kExpect16) +
                  "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [pin], 16, [sslot]; " +
                  kAwait + get),
        wide, doubles);
  m.add("cp.async.bulk.shared::cluster.global of 32 bytes",
        asyncText("mbarrier.init.shared.b64 [sslot], 1; fence.mbarrier_init.release.cluster; mov.u32 n, 32; "
                  "mbarrier.arrive.expect_tx.shared.b64 st, [sslot], n; "
                  "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [pin], n, [sslot]; " +
                  std::string(kAwait) + "ld.shared.b64 x, [tile+16]; ld.shared.b64 y, [tile+24];"),
        wide, doubles);
  m.addInCluster(
      "cp.async.bulk.shared::cluster.shared::cta",
      asyncText("st.shared.v2.b64 [tile], {a, b}; add.u32 t, tile, 16; st.shared.v2.b64 [t], {c, d}; " +
                std::string(kExpect16) +
                "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [tile], [t], 16, [sslot]; " +
                kAwait + get),
      wide, doubles);
  m.add("cp.async.bulk.global.shared::cta",
        asyncText("st.shared.v2.b64 [tile], {c, d}; st.global.v2.b64 [gslot], {a, b}; fence.proxy.async; "
                  "cp.async.bulk.global.shared::cta.bulk_group [gslot], [tile], 16; " +
                  std::string(kAwaitGroup) + "ld.global.v2.b64 {x, y}, [gslot];"),
        wide, doubles);
  m.add("cp.async.bulk.wait_group.read",
        asyncText("st.shared.v2.b64 [tile], {c, d}; fence.proxy.async; "
                  "cp.async.bulk.global.shared::cta.bulk_group [gslot], [tile], 16; cp.async.bulk.commit_group; "
                  "cp.async.bulk.wait_group.read 0; st.shared.v2.b64 [tile], {a, b}; cp.async.bulk.wait_group 0; "
                  "ld.global.v2.b64 {x, y}, [gslot];"),
        wide, doubles);
  m.add("cp.async.bulk.prefetch.L2",
        asyncText("cp.async.bulk.prefetch.L2.global [pin], 16; mov.b64 x, a; mov.b64 y, b;"), wide, doubles);
}

// st.async and red.async to the thread's own block.
inline void asyncStores(Builder& m) {
  const auto expect = [](const char* bytes) {
    return std::string(
               "mbarrier.init.shared.b64 [sslot], 1; fence.mbarrier_init.release.cluster; "
               "mbarrier.arrive.expect_tx.shared.b64 st, [sslot], ") +
           bytes + "; ";
  };
  const std::string end = ", [sslot]; ", to = ".shared::cluster.mbarrier::complete_tx::bytes";
  const Outputs words{{32, Match::Bits}, {32, Match::Bits}}, doubles{{64, Match::Bits}, {64, Match::Bits}};
  for (const char* t : {"b32", "u32", "s32", "f32"}) {
    const std::string type = std::string(".") + t, value = type == ".f32" ? "v" : "c";
    const std::string set =
        std::string(".reg .f32 v, w; mov.b32 v, c; mov.b32 w, d; st.shared.v2.b32 [tile], {a, b}; ");
    const std::string second = type == ".f32" ? "w" : "d";
    m.addInCluster("st.async" + type,
                   asyncText(set + expect("4") + "st.async.weak" + to + type + " [tile], " + value + end + kAwait +
                             "ld.shared.v2.b32 {x, y}, [tile];"),
                   std::vector<Domain>(4, Domain::Int32), words);
    m.addInCluster("st.async.v2" + type,
                   asyncText(set + expect("8") + "st.async.weak" + to + ".v2" + type + " [tile], {" + value + ", " +
                             second + "}" + end + kAwait + "ld.shared.v2.b32 {x, y}, [tile];"),
                   std::vector<Domain>(4, Domain::Int32), words);
    m.addInCluster("st.async.v4" + type,
                   asyncText(set + expect("16") + "st.async.weak" + to + ".v4" + type + " [tile], {" + value + ", " +
                             value + ", " + second + ", " + second + "}" + end + kAwait +
                             "ld.shared.b32 x, [tile+4]; ld.shared.b32 y, [tile+8];"),
                   std::vector<Domain>(4, Domain::Int32), words);
  }
  for (const char* t : {"b64", "u64", "s64"})
    m.addInCluster(std::string("st.async.v2.") + t,
                   asyncText("st.shared.v2.b64 [tile], {a, b}; " + expect("16") + "st.async.weak" + to + ".v2." + t +
                             " [tile], {c, d}" + end + kAwait + "ld.shared.v2.b64 {x, y}, [tile];"),
                   std::vector<Domain>(4, Domain::Int64), doubles);
  for (const char* op : {"inc.u32", "dec.u32", "min.s32", "min.u32", "max.s32", "max.u32", "and.b32", "or.b32",
                         "xor.b32", "add.s32", "add.u32"})
    m.addInCluster(std::string("red.async.") + op,
                   asyncText("st.shared.v2.b32 [tile], {a, b}; " + expect("4") + "red.async.relaxed.cluster" + to +
                             "." + op + " [tile], c" + end + kAwait + "ld.shared.v2.b32 {x, y}, [tile];"),
                   std::vector<Domain>(3, Domain::Int32), words);
  m.addInCluster("red.async.add.u64",
                 asyncText("st.shared.v2.b64 [tile], {a, b}; " + expect("8") + "red.async.relaxed.cluster" + to +
                           ".add.u64 [tile], c" + end + kAwait + "ld.shared.v2.b64 {x, y}, [tile];"),
                 std::vector<Domain>(3, Domain::Int64), doubles);
}

// Two words of what memory held (a, b) and of what comes (c, d), in 16 bytes of each.
inline void asyncReductions(Builder& m) {
  const auto add = [&](const std::string& tail, Domain d, int bits, Match match, bool toShared) {
    const std::string b = ".b" + std::to_string(bits);
    const std::string twice = bits == 64 ? ".v2.b64 [" : ".v4.b32 [",
                      e = bits == 64 ? "], {c, d}; " : "], {c, d, c, d}; ";
    const std::string old = bits == 64 ? "], {a, b}; " : "], {a, b, a, b}; ";
    const Outputs out{{bits, match}, {bits, match}};
    m.add("cp.reduce.async.bulk.global." + tail,
          asyncText("st.shared" + twice + "tile" + e + "st.global" + twice + "gslot" + old + "fence.proxy.async; " +
                    "cp.reduce.async.bulk.global.shared::cta.bulk_group." + tail + " [gslot], [tile], 16; " +
                    kAwaitGroup + "ld.global.v2" + b + " {x, y}, [gslot];"),
          std::vector<Domain>(4, d), out);
    if (!toShared) return;
    m.addInCluster(
        "cp.reduce.async.bulk.shared." + tail,
        asyncText("add.u32 t, tile, 16; st.shared" + twice + "t" + e + "st.shared" + twice + "tile" + old + kExpect16 +
                  "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes." + tail +
                  " [tile], [t], 16, [sslot]; " + kAwait + "ld.shared.v2" + b + " {x, y}, [tile];"),
        std::vector<Domain>(4, d), out);
  };
  for (const char* t : {"add.u32", "add.s32", "inc.u32", "dec.u32", "min.u32", "min.s32", "max.u32", "max.s32",
                        "and.b32", "or.b32", "xor.b32"})
    add(t, Domain::Int32, 32, Match::Bits, true);
  add("add.u64", Domain::Int64, 64, Match::Bits, true);
  for (const char* t : {"min.u64", "min.s64", "max.u64", "max.s64", "and.b64", "or.b64", "xor.b64"})
    add(t, Domain::Int64, 64, Match::Bits, false);
  add("add.f32", Domain::F32, 32, Match::F32, false);
  add("add.f64", Domain::F64, 64, Match::F64, false);
  for (const char* op : {"add.noftz", "min", "max"}) {
    add(std::string(op) + ".f16", Domain::F16x2, 32, Match::F16x2, false);
    add(std::string(op) + ".bf16", Domain::Bf16x2, 32, Match::Bf16x2, false);
  }
}

}  // namespace vg::ptx::matrix
