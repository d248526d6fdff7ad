// Kernels that get an address in one of several ways and touch what is there in one of several.
#pragma once

#include <cstdint>
#include <string>

namespace reach {

// Every kernel has the parameters p0: the address; p1: a record of device memory, which holds the address at 0, the
// address of a word with the address at 8, and 32 addresses of device memory at 64, of which the sixth is the address;
// p2: the address with a number added, p3: the number; p4: 16 bytes of device memory.
struct Origin {
  const char* name;
  const char* text;  // leaves the address in %rd1
};
struct Access {
  const char* name;
  const char* text;  // to [%rd1]
  bool writes;
};

inline constexpr Origin kOrigins[] = {
    {"parameter", "ld.param.u64 %rd1, [p0];\n"},
    {"loaded", "ld.param.u64 %rd2, [p1];\nld.global.u64 %rd1, [%rd2];\n"},
    {"list", "ld.param.u64 %rd2, [p1];\nld.global.u64 %rd3, [%rd2+8];\nld.u64 %rd1, [%rd3];\n"},
    {"table",
     "ld.param.u64 %rd2, [p1];\nmov.u32 %r1, %laneid;\nmul.wide.u32 %rd3, %r1, 8;\nadd.u64 %rd2, %rd2, %rd3;\n"
     "ld.global.u64 %rd1, [%rd2+64];\n"},
    {"packed",
     "ld.param.u64 %rd2, [p1];\nld.global.u32 %r1, [%rd2];\nld.global.u32 %r2, [%rd2+4];\ncvt.u64.u32 %rd1, %r2;\n"
     "shl.b64 %rd1, %rd1, 32;\ncvt.u64.u32 %rd3, %r1;\nor.b64 %rd1, %rd1, %rd3;\n"},
    {"packed_by_insertion",
     "ld.param.u64 %rd2, [p1];\nld.global.u32 %r1, [%rd2];\nld.global.u32 %r2, [%rd2+4];\ncvt.u64.u32 %rd1, %r1;\n"
     "cvt.u64.u32 %rd3, %r2;\nbfi.b64 %rd1, %rd3, %rd1, 32, 32;\n"},
    {"packed_by_products",
     "ld.param.u64 %rd2, [p1];\nld.global.u32 %r1, [%rd2];\nld.global.u32 %r2, [%rd2+4];\ncvt.u64.u32 %rd1, %r1;\n"
     "cvt.u64.u32 %rd3, %r2;\nmad.lo.u64 %rd1, %rd3, 4294967296, %rd1;\n"},
    {"packed_of_bytes",
     "ld.param.u64 %rd2, [p1];\nadd.u64 %rd2, %rd2, 7;\nmov.u64 %rd1, 0;\nmov.u32 %r1, 0;\n"
     "BYTE: ld.global.u8 %r2, [%rd2];\ncvt.u64.u32 %rd3, %r2;\nshl.b64 %rd1, %rd1, 8;\nor.b64 %rd1, %rd1, %rd3;\n"
     "sub.u64 %rd2, %rd2, 1;\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 8;\n@%p1 bra BYTE;\n"},
    {"constant", "ld.const.u64 %rd1, [held];\n"},
    {"shared", "ld.param.u64 %rd2, [p0];\nst.shared.u64 [room], %rd2;\nbar.sync 0;\nld.shared.u64 %rd1, [room];\n"},
    {"local",
     "ld.param.u64 %rd2, [p0];\nmov.u32 %r1, %laneid;\nand.b32 %r1, %r1, 3;\nmul.wide.u32 %rd3, %r1, 8;\n"
     "mov.u64 %rd4, frame;\nadd.u64 %rd4, %rd4, %rd3;\nst.local.u64 [%rd4], %rd2;\nld.local.u64 %rd1, [%rd4];\n"},
    {"computed", "ld.param.u64 %rd2, [p2];\nld.param.u64 %rd3, [p3];\nsub.u64 %rd1, %rd2, %rd3;\n"},
    {"guarded",
     "ld.param.u64 %rd1, [p4];\nld.param.u64 %rd2, [p0];\nmov.u32 %r1, %laneid;\nsetp.eq.u32 %p1, %r1, 7;\n"
     "@%p1 mov.u64 %rd1, %rd2;\n"},
    {"around_a_loop",
     "ld.param.u64 %rd1, [p2];\nld.param.u64 %rd3, [p3];\nshr.u64 %rd3, %rd3, 2;\nmov.u32 %r1, 0;\n"
     "AGAIN: sub.u64 %rd1, %rd1, %rd3;\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 4;\n@%p1 bra AGAIN;\n"},
    // Of device memory; the access adds how far the address is from it.
    {"displaced", "ld.param.u64 %rd1, [p4];\n"},
};
// Those whose address is a parameter.
inline constexpr const char* kParameters[] = {"parameter", "guarded"};
inline constexpr char kPlace[] = "[%rd1]";  // in texts of accesses

inline constexpr Access kAccesses[] = {
    {"load", "ld.global.u32 %r2, [%rd1];\nadd.u32 %r3, %r2, 1;\n", false},
    {"load_byte", "ld.global.u8 %r3, [%rd1+3];\n", false},
    {"load_generic", "ld.u64 %rd5, [%rd1];\ncvt.u32.u64 %r3, %rd5;\n", false},
    {"load_vector", "ld.global.v4.u32 {%r2, %r3, %r4, %r5}, [%rd1];\nadd.u32 %r3, %r3, %r5;\n", false},
    {"load_read_only", "ld.global.nc.u32 %r3, [%rd1];\n", false},
    {"load_volatile", "ld.volatile.global.u32 %r3, [%rd1];\n", false},
    {"load_as_constant", "ld.const.u32 %r3, [%rd1];\n", false},
    {"load_as_local", "ld.local.u32 %r3, [%rd1];\n", false},
    {"load_by_few", "mov.u32 %r6, %laneid;\nsetp.lt.u32 %p2, %r6, 9;\n@%p2 ld.global.u32 %r3, [%rd1];\n", false},
    {"load_an_element",
     "mov.u32 %r6, %laneid;\nshr.u32 %r6, %r6, 4;\nmul.wide.u32 %rd5, %r6, 4;\nadd.u64 %rd5, %rd1, %rd5;\n"
     "ld.global.u32 %r3, [%rd5];\n",
     false},
    {"store", "mov.u32 %r2, 5;\nst.global.u32 [%rd1], %r2;\n", true},
    {"store_generic", "mov.u64 %rd5, 5;\nst.u64 [%rd1+8], %rd5;\n", true},
    {"store_vector", "mov.u32 %r2, 5;\nst.global.v2.u32 [%rd1], {%r2, %r2};\n", true},
    {"store_byte", "mov.u32 %r2, 5;\nst.u8 [%rd1], %r2;\n", true},
    {"sum", "mov.u32 %r2, 5;\nred.global.add.u32 [%rd1], %r2;\n", true},
    {"sum_of_floats", "mov.f32 %f1, 0f3f800000;\nred.global.add.f32 [%rd1], %f1;\n", true},
    {"exchange", "mov.u32 %r2, 5;\natom.global.exch.b32 %r3, [%rd1], %r2;\n", true},
    {"compare", "mov.u64 %rd5, 0;\nmov.u64 %rd6, 5;\natom.cas.b64 %rd7, [%rd1], %rd5, %rd6;\n", true},
    {"exchange_wide",
     "{ .reg .b128 %q<2>;\nmov.u64 %rd5, 5;\nmov.b128 %q0, {%rd5, %rd5};\natom.exch.b128 %q1, [%rd1], %q0; }\n", true},
    {"copy_async",
     "cp.async.ca.shared.global [room+16], [%rd1], 16;\ncp.async.wait_all;\nld.shared.u32 %r3, [room+16];\n", false},
    {"copy_async_part",
     "mov.u32 %r6, %laneid;\nand.b32 %r6, %r6, 15;\ncp.async.ca.shared.global [room+16], [%rd1], 16, %r6;\n"
     "cp.async.wait_all;\n",
     false},
    {"copy_bulk",
     "mov.u32 %r2, 5;\nst.shared.u32 [room+32], %r2;\ncp.async.bulk.global.shared::cta.bulk_group [%rd1], [room+32], "
     "16;\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n",
     true},
    {"matrix", "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {%r2, %r3, %r4, %r5, %r6, %r7, %r8, %r9}, [%rd1];\n",
     false},
};

// One matrix has one address for all lanes.
inline bool fit(const Origin& origin, const Access& access) {
  const std::string from = origin.name;
  if (from == "displaced") return std::string(access.text).find(kPlace) != std::string::npos;
  return std::string(access.name) != "matrix" || (from != "table" && from != "guarded");
}

// `distance`: from the memory of p4 to the address.
inline std::string moduleOf(const Origin& origin, const Access& access, int64_t distance) {
  std::string body = std::string(origin.text) + access.text;
  if (std::string(origin.name) == "displaced")
    for (size_t at = 0; (at = body.find(kPlace, at)) != std::string::npos; ++at)
      body.replace(at, sizeof kPlace - 1, "[%rd1+" + std::to_string(distance) + "]");
  return ".version 8.3\n.target sm_90\n.address_size 64\n.const .u64 held;\n.visible .entry kernel(.param .u64 p0, "
         ".param .u64 p1, .param .u64 p2, .param .u64 p3, .param .u64 p4)\n{\n.reg .pred %p<4>;\n.reg .b32 %r<12>;\n"
         ".reg .f32 %f<4>;\n.reg .b64 %rd<12>;\n.shared .align 16 .b8 room[64];\n.local .align 16 .b8 frame[64];\n"
         "mov.u32 %r3, 0;\n" +
         body + "ld.param.u64 %rd10, [p4];\nst.global.u32 [%rd10], %r3;\nret;\n}\n";
}

}  // namespace reach
