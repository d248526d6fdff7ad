// Cases of forms that programs use and no other list has: vectors in every space, cache operators, orders and scopes,
// generic addresses, modifiers in another order. Included by opcode_matrix.h, whose Builder it fills.
#pragma once

namespace vg::ptx::matrix {

struct Element {
  const char* type;
  int bits, registerBits;
};
inline const Element kElements[] = {{"u8", 8, 16},   {"s8", 8, 32},   {"b8", 8, 16},   {"u16", 16, 16}, {"s16", 16, 32},
                                    {"b16", 16, 16}, {"u32", 32, 32}, {"s32", 32, 32}, {"b32", 32, 32}, {"f32", 32, 32},
                                    {"u64", 64, 64}, {"s64", 64, 64}, {"b64", 64, 64}, {"f64", 64, 64}};

// A thread's 16 bytes in a space, at [at]; a space without a name is a generic address of shared memory.
inline std::string placeIn(const std::string& space) {
  const std::string variables =
      "{ .shared .align 16 .b8 rows[2048]; .local .align 16 .b8 own[16]; .reg .b64 at, wide1; ";
  if (space == "global") return variables + "mov.b64 at, gslot; ";
  if (space == "local") return variables + "mov.u64 at, own; ";
  return variables + "mov.u64 at, rows; mul.wide.u32 wide1, lane, 16; add.u64 at, at, wide1; " +
         (space.empty() ? "cvta.shared.u64 at, at; " : "");
}
inline std::string dotted(const std::string& name) { return name.empty() ? "" : "." + name; }

struct MemoryForm {
  std::string space, load, store;  // the mnemonics, without vector and type; an empty one is not tried
  std::string before = {};         // instructions before the load
  std::string after = {};          // operands behind the address
};

inline void memoryForm(Builder& m, const MemoryForm& form, const Element& e, int width, const std::string& loadName,
                       const std::string& storeName) {
  const std::string s = dotted(form.space), v = width > 1 ? ".v" + std::to_string(width) : "",
                    type = std::string(".") + e.type;
  const std::string plainStore = "st" + s + ".v2.b64 [at], {a, b}; ", plainLoad = "ld" + s + ".v2.b64 {x, y}, [at]; }";
  std::string names = "r0", widened;
  for (int k = 1; k < width; ++k) names += ", r" + std::to_string(k);
  for (int k = 0; k < width; ++k) {
    const std::string n = std::to_string(k);
    widened += e.registerBits == 64 ? "mov.b64 w" + n + ", r" + n + "; "
                                    : "cvt.u64.u" + std::to_string(e.registerBits) + " w" + n + ", r" + n + "; ";
  }
  const std::string registers =
      ".reg .b" + std::to_string(e.registerBits) + " r0, r1, r2, r3; .reg .b64 w0, w1, w2, w3; ";
  const std::string operand = width > 1 ? "{" + names + "}" : names;
  const std::vector<Domain> four(4, Domain::Int64);
  const std::vector<std::pair<int, Match>> out{{64, Match::Bits}, {64, Match::Bits}};
  std::string fold = "mov.b64 x, w0; mov.b64 y, 0; ";
  if (width > 1) fold = "mov.b64 x, w0; mov.b64 y, w1; ";
  if (width > 2) fold += "mad.lo.u64 x, x, 1099511628211, w2; mad.lo.u64 y, y, 1099511628211, w3; ";
  if (!form.load.empty())
    m.add(loadName,
          placeIn(form.space) + registers + plainStore + form.before + form.load + v + type + " " + operand + ", [at]" +
              form.after + "; " + widened + fold + "}",
          four, out);
  if (form.store.empty()) return;
  const char* const sources[] = {"c", "d", "a", "b"};
  std::string given;
  for (int k = 0; k < width; ++k)
    given += e.registerBits == 64
                 ? "mov.b64 r" + std::to_string(k) + ", " + sources[k] + "; "
                 : "cvt.u" + std::to_string(e.registerBits) + ".u64 r" + std::to_string(k) + ", " + sources[k] + "; ";
  m.add(storeName,
        placeIn(form.space) + registers + given + plainStore + form.store + v + type + " [at], " + operand + "; " +
            plainLoad,
        four, out);
}

inline void memoryForm(Builder& m, const std::string& space, const std::string& loadTail, const std::string& storeTail,
                       const Element& e, int width) {
  const std::string s = dotted(space), tail = s + (width > 1 ? ".v" + std::to_string(width) : "") + "." + e.type;
  const bool stores = loadTail.empty() || !storeTail.empty();
  memoryForm(m, {space, "ld" + s + loadTail, stores ? "st" + s + storeTail : ""}, e, width,
             "ld" + loadTail + tail + " form", "st" + storeTail + tail + " form");
}
// By mnemonics that are complete but for vector and type.
inline void memoryForm(Builder& m, const MemoryForm& form, const Element& e, int width) {
  const std::string tail = (width > 1 ? ".v" + std::to_string(width) : "") + "." + e.type;
  memoryForm(m, form, e, width, form.load + tail + " form", form.store + tail + " form");
}

inline void memoryForms(Builder& m) {
  for (const char* space : {"global", "shared", "local", ""})
    for (const Element& e : kElements)
      for (int width : {1, 2, 4})
        if (e.bits * width <= 128 && (width > 1 || !*space)) memoryForm(m, space, "", "", e, width);
  // What a cache is told, by the space in which it may be said.
  const Element word = kElements[6], number = kElements[9], wide = kElements[13], half = kElements[5];
  for (const Element& e : {word, number, wide, half}) {
    for (const char* load : {".ca", ".cg", ".cs", ".lu", ".cv"}) {
      const std::string store = load[2] == 'g' || load[2] == 's' ? load : load[2] == 'a' ? ".wb" : "";
      memoryForm(m, "global", load, store, e, e.bits == 16 ? 1 : 2);
    }
    memoryForm(m, "global", ".L2::128B", ".wt", e, 1);
    for (const char* space : {"global", "shared", ""}) {
      if (e.bits < 32 && !*space) continue;
      for (const char* order : {"relaxed.gpu", "relaxed.sys", "acquire.cta", "acquire.gpu"}) {
        const std::string acquire = order, release = acquire[0] == 'r' ? acquire : "release" + acquire.substr(7);
        m.add("ld." + acquire + dotted(space) + "." + e.type + " form",
              placeIn(space) + "st" + dotted(space) + ".v2.b64 [at], {a, b}; ld." + acquire + dotted(space) + "." +
                  e.type + " x, [at]; }",
              {Domain::Int64, Domain::Int64}, {{e.bits, Match::Bits}});
        m.add("st." + release + dotted(space) + "." + e.type + " form",
              placeIn(space) + ".reg .b" + std::to_string(e.bits) + " r0; " +
                  (e.bits == 64 ? "mov.b64 r0, c; " : "cvt.u" + std::to_string(e.bits) + ".u64 r0, c; ") + "st" +
                  dotted(space) + ".v2.b64 [at], {a, b}; st." + release + dotted(space) + "." + e.type +
                  " [at], r0; ld" + dotted(space) + ".v2.b64 {x, y}, [at]; }",
              std::vector<Domain>(3, Domain::Int64), {{64, Match::Bits}, {64, Match::Bits}});
      }
    }
  }
  for (const char* space : {"global", "shared"})
    for (const Element& e : kElements)
      for (int width : {1, 2})
        m.add(
            "ld.volatile." + std::string(space) + (width > 1 ? ".v2." : ".") + e.type + " form",
            placeIn(space) + ".reg .b" + std::to_string(e.registerBits) + " r0, r1; st." + space +
                ".v2.b64 [at], {a, b}; ld.volatile." + space + (width > 1 ? ".v2." : ".") + e.type +
                (width > 1 ? " {r0, r1}, [at]; " : " r0, [at]; mov.b" + std::to_string(e.registerBits) + " r1, r0; ") +
                (e.registerBits == 64 ? "mov.b64 x, r0; mov.b64 y, r1; "
                                      : "cvt.u64.u" + std::to_string(e.registerBits) + " x, r0; cvt.u64.u" +
                                            std::to_string(e.registerBits) + " y, r1; ") +
                "}",
            {Domain::Int64, Domain::Int64}, {{64, Match::Bits}, {64, Match::Bits}});
  // Memory that nobody writes: the inputs of the kernel.
  for (const Element& e : kElements)
    for (int width : {1, 2, 4}) {
      if (e.bits * width > 128) continue;
      std::string names = "r0";
      for (int k = 1; k < width; ++k) names += ", r" + std::to_string(k);
      m.add("ld.global.nc" + std::string(width > 1 ? ".v" + std::to_string(width) : "") + "." + e.type + " form",
            "{ .reg .b" + std::to_string(e.registerBits) + " r0, r1, r2, r3; ld.global.nc" +
                (width > 1 ? ".v" + std::to_string(width) : "") + "." + e.type + " " +
                (width > 1 ? "{" + names + "}" : names) + ", [pin]; mov.b" + std::to_string(e.registerBits) + " x, r" +
                std::to_string(width - 1) + "; mov.b" + std::to_string(e.registerBits) + " y, r0; }",
            {Domain::Int64, Domain::Int64}, {{e.registerBits, Match::Bits}, {e.registerBits, Match::Bits}});
    }
}

inline void atomicForms(Builder& m) {
  struct Form {
    const char* tail;
    Domain domain;
    int bits;
    Match match;
  };
  std::vector<Form> list;
  for (const char* t : {"add.u32", "min.u32", "min.s32", "max.u32", "max.s32", "inc.u32", "dec.u32", "and.b32",
                        "or.b32", "xor.b32", "exch.b32", "cas.b32"})
    list.push_back({t, Domain::Int32, 32, Match::Bits});
  for (const char* t :
       {"add.u64", "min.u64", "min.s64", "max.u64", "max.s64", "and.b64", "or.b64", "xor.b64", "exch.b64", "cas.b64"})
    list.push_back({t, Domain::Int64, 64, Match::Bits});
  list.push_back({"add.f32", Domain::F32, 32, Match::F32});
  list.push_back({"add.f64", Domain::F64, 64, Match::F64});
  const auto add = [&](const std::string& name, const std::string& space, const Form& f) {
    const bool swaps = std::string(f.tail).rfind("cas", 0) == 0;
    const std::string b = ".b" + std::to_string(f.bits), s = dotted(space);
    m.add(name + " form",
          placeIn(space) + "st" + s + b + " [at], a; " + name + " x, [at], b" + (swaps ? ", c" : "") + "; ld" + s + b +
              " y, [at]; }",
          std::vector<Domain>(3, f.domain), {{f.bits, f.match}, {f.bits, f.match}});
  };
  for (const Form& f : list) {
    for (const char* scope : {"cta", "sys"})
      for (const char* space : {"global", "shared"})
        add(std::string("atom.") + space + "." + scope + "." + f.tail, space, f);
    // Generic addresses: whether subnormals count then depends on where an address leads, and is left out here.
    if (f.domain == Domain::F32) continue;
    add(std::string("atom.") + f.tail, "", f);
    const std::string tail = f.tail, operation = tail.substr(0, tail.find('.')), type = tail.substr(tail.find('.'));
    for (const char* order : {"relaxed.gpu", "acquire.gpu", "release.gpu", "acq_rel.cta"})
      add("atom." + operation + "." + order + type, "", f);
  }
  for (const char* order : {"relaxed", "acquire", "release", "acq_rel"})
    for (const Form& f :
         {Form{"cas.b32", Domain::Int32, 32, Match::Bits}, Form{"cas.b64", Domain::Int64, 64, Match::Bits}})
      add(std::string("atom.") + order + ".gpu.shared." + f.tail, "shared", f);
  for (const char* order : {"relaxed.gpu", "release.cta", "release.sys"})
    for (const char* operation : {"and", "or", "xor"})
      m.add("red." + std::string(operation) + "." + order + ".b32 form",
            placeIn("") + "st.b32 [at], a; red." + operation + "." + order + ".b32 [at], b; ld.b32 x, [at]; }",
            {Domain::Int32, Domain::Int32}, {{32, Match::Bits}});
}

inline void otherForms(Builder& m) {
  const std::pair<int, Match> out32{32, Match::Bits}, out64{64, Match::Bits};
  const Domain f = Domain::F32, i32 = Domain::Int32, i64 = Domain::Int64;
  for (const char* cmp : {"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"}) {
    m.plain(str("set.@.f32.f32", cmp), {f, f}, out32);
    m.plain(str("set.@.s32.f32", cmp), {f, f}, out32);
    m.plain(str("set.@.f32.f64", cmp), {Domain::F64, Domain::F64}, out32);
  }
  m.add("add.cc addc.cc addc.s64", "add.cc.s64 x, a, b; addc.cc.s64 x, x, c; addc.s64 y, c, d;", {i64, i64, i64, i64},
        {out64, out64});
  m.add("sub.cc subc.cc subc.s64", "sub.cc.s64 x, a, b; subc.cc.s64 x, x, c; subc.s64 y, c, d;", {i64, i64, i64, i64},
        {out64, out64});
  for (const char* t : {"u32", "s32"}) {
    m.add(str("mad.hi.cc madc.hi.cc.@", t),
          str("mad.hi.cc.@ x, a, b, c; madc.hi.cc.@ x, a, x, d; addc.@ y, c, d;", t, t, t), {i32, i32, i32, i32},
          {out32, out32});
    m.add(str("madc.lo.cc.@", t), str("mad.lo.cc.@ x, a, b, c; madc.lo.cc.@ x, a, x, d; addc.@ y, c, d;", t, t, t),
          {i32, i32, i32, i32}, {out32, out32});
  }
  m.add("mad.hi.cc.u64", "mad.hi.cc.u64 x, a, b, c; addc.u64 y, c, d;", {i64, i64, i64, i64}, {out64, out64});
  for (const char* to : {"s16", "u16", "s32", "u32", "s64", "u64"})
    for (const char* round : {"rzi", "rmi", "rpi"}) {
      const std::string name = str("cvt.@.@.bf16", round, to);
      m.plain(name, {Domain::Bf16}, {to[1] == '6' ? 64 : to[1] == '1' ? 16 : 32, Match::Bits});
    }
  for (const char* t : {"s16", "s32", "s64", "u16", "u32", "f32", "f64"})
    m.plain(str("mov.@", t),
            {t[1] == '1'   ? Domain::Int16
             : t[1] == '3' ? i32
                           : i64},
            {t[1] == '1'   ? 16
             : t[1] == '3' ? 32
                           : 64,
             Match::Bits});
  for (const char* bits : {"b32", "b64"})
    m.add(str("match.all.sync.@ form", bits),
          str("{ .reg .pred p; and.@ a, a, 1; match.all.sync.@ x|p, a, 0xffffffff; selp.b32 y, 1, 0, p; }", bits, bits),
          {bits[1] == '3' ? i32 : i64}, {out32, out32});
  for (const char* fence :
       {"membar.cta", "membar.gl", "membar.sys", "fence.sc.cta", "fence.sc.gpu", "fence.sc.sys", "fence.acq_rel.cta",
        "fence.acq_rel.gpu", "griddepcontrol.wait", "griddepcontrol.launch_dependents", "nanosleep.u32 1",
        "barrier.sync 1", "bar.sync 2, 128", "barrier.cluster.arrive; barrier.cluster.wait", "pmevent 3"})
    m.add(std::string(fence) + " form",
          "st.shared.b32 [sslot], a; " + std::string(fence) + "; ld.shared.b32 x, [sslot];", {i32}, {out32});
  m.add("cvta.to.shared.u64", "cvta.shared.u64 sgen, sslot64; cvta.to.shared.u64 sgen, sgen; sub.u64 x, sgen, sslot64;",
        {i64}, {out64});
}

// What programs write in other ways than the lists above.
inline void moreMemoryForms(Builder& m) {
  const auto element = [](const std::string& type) -> const Element& {
    for (const Element& e : kElements)
      if (e.type == type) return e;
    std::abort();
  };
  const auto each = [&](const MemoryForm& form, const std::vector<const char*>& types, const std::vector<int>& widths) {
    for (const char* type : types)
      for (int width : widths)
        if (element(type).bits * width <= 128) memoryForm(m, form, element(type), width);
  };
  for (const char* space : {"global", "shared", "local"})
    each({space, std::string("ld.") + space, std::string("st.") + space}, {"u64", "b64"}, {1});
  each({"global", "", "st.volatile.global"}, {"u16", "u32", "f32", "u64", "f64", "b32", "b64"}, {1, 2});
  each({"shared", "", "st.volatile.shared"}, {"u8", "u16", "u32", "f32", "u64", "f64"}, {1, 2});
  each({"", "ld.volatile", "st.volatile"}, {"u8", "u32", "f32", "f64", "b64"}, {1, 2});
  each({"global", "ld.volatile.global", "st.volatile.global"}, {"u32", "f32"}, {4});
  each({"", "ld.volatile", "st.volatile"}, {"u32"}, {4});
  each({"global", "ld.global.ca", "st.global.wb"}, {"s32", "b64"}, {1});
  each({"global", "ld.global.cg", "st.global.cg"}, {"s32", "f32", "s64", "f64", "b32", "b64"}, {1});
  each({"global", "ld.global.cg", ""}, {"b64"}, {2});
  each({"global", "ld.global.cs", "st.global.cs"}, {"s8", "b16", "u32", "s32", "f32", "s64", "f64"}, {1, 2});
  each({"global", "ld.global.cs", "st.global.cs"}, {"s32"}, {4});
  each({"global", "ld.global.cs.nc", "", "mov.b64 at, pin; "}, {"s32"}, {1, 2});
  each({"global", "ld.global.lu", "st.global.wt"}, {"s32"}, {1});
  each({"global", "ld.global.cv", ""}, {"s32", "f32", "f64"}, {1});
  each({"", "ld.ca", "st.wb"}, {"u32"}, {1});
  each({"", "ld.cg", "st.cg"}, {"u32"}, {1});
  each({"global", "ld.global.L2::128B", ""}, {"u16", "u32"}, {1, 2});
  each({"global", "ld.global.L2::cache_hint", "",
        ".reg .b64 policy; createpolicy.fractional.L2::evict_first.b64 policy, 1.0; ", ", policy"},
       {"f32", "f64"}, {1, 2});
  each({"", "ld.relaxed.gpu", "st.relaxed.gpu"}, {"u32", "u64"}, {2});
  each({"global", "ld.relaxed.gpu.global", "st.relaxed.gpu.global"}, {"u32", "u64"}, {2});
  each({"", "ld.acquire.sys", "st.release.sys"}, {"b32", "b64"}, {1});
  each({"", "ld.acquire.gpu", "st.release.gpu"}, {"b32", "b64"}, {1});
  each({"", "ld.acquire.cta", "st.relaxed.cta"}, {"b32", "b64"}, {1});
  each({"", "ld.relaxed.sys", "st.relaxed.sys"}, {"b32", "b64"}, {1});
  each({"", "ld.relaxed.gpu", "st.relaxed.gpu"}, {"b32", "b64"}, {1});
  each({"", "ld.relaxed.cta", ""}, {"b32"}, {1});
  each({"global", "ld.acquire.sys.global", "st.release.sys.global"}, {"u8"}, {1});
}

inline void moreAtomicForms(Builder& m) {
  struct Form {
    const char *name, *space;
    Domain domain;
    int bits;
    Match match;
  };
  const Domain i32 = Domain::Int32, i64 = Domain::Int64;
  for (const Form& f : {Form{"atom.relaxed.global.cas.b32", "global", i32, 32, Match::Bits},
                        {"atom.relaxed.shared.cas.b32", "shared", i32, 32, Match::Bits},
                        {"atom.relaxed.global.cas.b64", "global", i64, 64, Match::Bits},
                        {"atom.relaxed.shared.cas.b64", "shared", i64, 64, Match::Bits},
                        {"atom.add.relaxed.cta.u32", "", i32, 32, Match::Bits},
                        {"atom.add.acquire.cta.u32", "", i32, 32, Match::Bits},
                        {"atom.add.relaxed.cta.u64", "", i64, 64, Match::Bits},
                        {"atom.add.relaxed.gpu.s32", "", i32, 32, Match::Bits},
                        {"atom.max.acq_rel.gpu.s32", "", i32, 32, Match::Bits},
                        {"atom.or.acquire.sys.b64", "", i64, 64, Match::Bits},
                        {"atom.add.acquire.cta.f64", "", Domain::F64, 64, Match::F64},
                        {"atom.add.noftz.f16", "", Domain::F16, 16, Match::F16},
                        {"atom.add.noftz.bf16", "", Domain::Bf16, 16, Match::Bf16},
                        {"atom.add.noftz.f16x2", "", Domain::F16x2, 32, Match::F16x2},
                        {"atom.add.noftz.bf16x2", "", Domain::Bf16x2, 32, Match::Bf16x2}}) {
    const std::string name = f.name, bits = ".b" + std::to_string(f.bits), s = dotted(f.space);
    const bool swaps = name.find("cas") != std::string::npos;
    m.add(name + " form",
          placeIn(f.space) + "st" + s + bits + " [at], a; " + name + " x, [at], b" + (swaps ? ", c" : "") + "; ld" + s +
              bits + " y, [at]; }",
          std::vector<Domain>(3, f.domain), {{f.bits, f.match}, {f.bits, f.match}});
  }
}

// Opcodes that nothing else has: uniform loads, ranks of addresses, memory from a lane's stack.
inline void rareForms(Builder& m) {
  const std::pair<int, Match> out32{32, Match::Bits}, out64{64, Match::Bits};
  for (const char* type : {"b32", "u32", "s32", "f32"})
    m.add(str("ldu.global.@", type), str("ldu.global.@ x, [pin];", type), {Domain::Int32}, {out32});
  m.add("ldu.b64", "ldu.b64 x, [pin];", {Domain::Int64}, {out64});
  m.add("ldu.global.v2.b32", "ldu.global.v2.b32 {x, y}, [pin];", {Domain::Int64}, {out32, out32});
  m.addInCluster("getctarank.u64", "cvta.shared.u64 sgen, sslot64; getctarank.u64 x, sgen;", {Domain::Int32}, {out32});
  m.addInCluster("getctarank.shared::cluster.u32", "getctarank.shared::cluster.u32 x, sslot;", {Domain::Int32},
                 {out32});
  for (const char* name : {"alloca.u64", "stacksave.u64", "stackrestore.u64"})
    m.add(name,
          "{ .reg .u64 top, first, second; stacksave.u64 top; alloca.u64 first, 16; st.local.b64 [first+8], a; "
          "ld.local.b64 x, [first+8]; stackrestore.u64 top; alloca.u64 second, 16; sub.u64 y, second, first; }",
          {Domain::Int64}, {out64, out64});
}

inline void moreForms(Builder& m) {
  moreMemoryForms(m);
  rareForms(m);
  moreAtomicForms(m);
  const std::pair<int, Match> out64{64, Match::Bits};
  for (const char* op : {"rcp", "rsqrt", "ex2"})
    m.plain(str("@.approx.f32.ftz", op), {Domain::F32}, {32, Match::ApproxF32}, 0x1p-21);
  m.plain("lg2.approx.f32.ftz", {Domain::F32}, {32, Match::ApproxF32}, 0x1p-21, 0x1p-21);
  m.add("vote.ballot.sync.b32", "vote.ballot.sync.b32 x, a, -1;", {Domain::Pred}, {{32, Match::Bits}});
  m.add("add.cc addc.cc addc.u32", "add.cc.u32 x, a, b; addc.cc.u32 x, x, c; addc.u32 y, c, d;",
        std::vector<Domain>(4, Domain::Int32), {{32, Match::Bits}, {32, Match::Bits}});
  m.addInCluster("mapa.u64",
                 "st.shared.b32 [sslot], a; cvta.shared.u64 sgen, sslot64; mapa.u64 sgen, sgen, 0; ld.b32 x, [sgen];",
                 {Domain::Int32}, {{32, Match::Bits}});
  m.add("cvta.global.u64", "cvta.global.u64 sgen, gslot; cvta.to.global.u64 sgen, sgen; sub.u64 x, sgen, gslot;",
        {Domain::Int64}, {out64});
  m.add("cvta.local.u64",
        "st.local.b64 [lslot], a; cvta.local.u64 sgen, lslot; ld.b64 x, [sgen]; cvta.to.local.u64 sgen, sgen; "
        "ld.local.b64 y, [sgen];",
        {Domain::Int64}, {out64, out64});
  m.add("bar.arrive",
        "st.shared.b32 [sslot], a; setp.lt.u32 p, lane, 64; @p bar.arrive 3, 128; @!p bar.sync 3, 128; "
        "bar.sync 0; ld.shared.b32 x, [sslot];",
        {Domain::Int32}, {{32, Match::Bits}});
  m.cases.back().text = "{ .reg .pred p; " + m.cases.back().text + " }";
}

}  // namespace vg::ptx::matrix
