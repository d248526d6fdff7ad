// PTX that the tests of modules and libraries load.
#pragma once

// add(out, n): out[0] = counter += step; read(out): out[0] = counter.
inline constexpr char kCounterText[] = R"(
.version 7.0
.target sm_50
.address_size 64
.visible .global .align 4 .u32 counter = 100;
.visible .const .align 4 .u32 step = 5;
.visible .entry add(.param .u64 out, .param .u32 times)
{
  .reg .u64 %a, %c;
  .reg .u32 %v, %s, %n;
  ld.param.u64 %a, [out];
  ld.param.u32 %n, [times];
  cvta.to.global.u64 %a, %a;
  ld.const.u32 %s, [step];
  mul.lo.u32 %s, %s, %n;
  ld.global.u32 %v, [counter];
  add.u32 %v, %v, %s;
  st.global.u32 [counter], %v;
  st.global.u32 [%a], %v;
  ret;
}
.visible .entry read(.param .u64 out)
{
  .reg .u64 %a;
  .reg .u32 %v;
  ld.param.u64 %a, [out];
  cvta.to.global.u64 %a, %a;
  ld.global.u32 %v, [counter];
  st.global.u32 [%a], %v;
  ret;
}
)";

inline constexpr char kManagedText[] = R"(
.version 7.0
.target sm_50
.address_size 64
.visible .global .attribute(.managed) .align 4 .u32 shared_value = 41;
.visible .entry bump()
{
  .reg .u32 %v;
  ld.global.u32 %v, [shared_value];
  add.u32 %v, %v, 1;
  st.global.u32 [shared_value], %v;
  ret;
}
)";

inline constexpr char kCallerText[] = R"(
.version 7.0
.target sm_50
.address_size 64
.extern .func (.param .u32 result) triple(.param .u32 value);
.visible .entry work(.param .u64 out, .param .u32 value)
{
  .reg .u64 %a;
  .reg .u32 %v;
  ld.param.u64 %a, [out];
  ld.param.u32 %v, [value];
  cvta.to.global.u64 %a, %a;
  {
    .param .u32 p;
    .param .u32 r;
    st.param.u32 [p], %v;
    call (r), triple, (p);
    ld.param.u32 %v, [r];
  }
  st.global.u32 [%a], %v;
  ret;
}
)";

inline constexpr char kCalleeText[] = R"(
.version 7.0
.target sm_50
.address_size 64
.visible .func (.param .u32 result) triple(.param .u32 value)
{
  .reg .u32 %v;
  ld.param.u32 %v, [value];
  mul.lo.u32 %v, %v, 3;
  st.param.u32 [result], %v;
  ret;
}
)";
