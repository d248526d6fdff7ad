// Control flow and shapes in every combination that the code generator treats differently.
#include "kernel.h"

KERNEL early_exit(ARGS) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[i] = in[i] * 3 + 1;
}
KERNEL early_exit_data(ARGS) {
  const int i = linear();
  const unsigned v = in[i % n];
  if (v & 1) return;
  out[8 * i] = v;
  if (v & 2) return;
  out[8 * i + 1] = v * 5;
  if (v % 7 == 3) return;
  out[8 * i + 2] = v ^ 0x55;
}
KERNEL nested_if(ARGS) {
  const int i = linear();
  unsigned v = in[i % n], r = 0;
  if (v & 1) {
    r = v * 3;
    if (v & 2) {
      r ^= 0x1234;
      if (v & 4)
        r += in[(i * 7) % n];
      else
        r -= 9;
    } else {
      r = r * r;
    }
    r += 5;
  } else if (v & 8) {
    r = v >> 3;
  } else {
    r = in[(v >> 4) % n];
  }
  out[8 * i] = r;
}
KERNEL data_loop(ARGS) {
  const int i = linear();
  unsigned v = in[i % n], steps = 0;
  while (v > 1 && steps < 60) {
    v = v & 1 ? 3 * (v & 0xffff) + 1 : v / 2;
    ++steps;
  }
  out[8 * i] = steps;
  out[8 * i + 1] = v;
}
KERNEL break_continue(ARGS) {
  const int i = linear();
  unsigned sum = 0, last = 7;
  for (int k = 0; k < 20; ++k) {
    const unsigned v = in[(i + k * 13) % n];
    if (v % 5 == 0) continue;
    if (v % 23 == 1) break;
    last = v;
    sum += v * k;
  }
  out[8 * i] = sum;
  out[8 * i + 1] = last;
}
KERNEL nested_loops(ARGS) {
  const int i = linear();
  const unsigned v = in[i % n];
  unsigned sum = 0;
  for (unsigned a = 0; a < v % 9; ++a) {
    for (unsigned b = a; b < (v >> 4) % 7; ++b) {
      if (((a * b) ^ v) & 1) continue;
      sum += a * 100 + b;
      if (sum > 500) break;
    }
    if (sum % 11 == 10) break;
  }
  out[8 * i] = sum;
}
KERNEL uniform_loop_in_if(ARGS) {
  const int i = linear();
  unsigned r = 1;
  if (in[i % n] & 1) {
    for (int k = 0; k < n % 17 + 3; ++k) r = r * 5 + in[(i + k) % n];
  } else {
    for (int k = 0; k < 4; ++k) r += in[k % n];
  }
  out[8 * i] = r;
}
KERNEL return_in_loop(ARGS) {
  const int i = linear();
  for (int k = 0; k < 30; ++k) {
    const unsigned v = in[(i * 3 + k) % n];
    out[8 * i + 1] = k;
    if (v % 13 == 5) {
      out[8 * i] = v;
      return;
    }
  }
  out[8 * i + 2] = 77;
}
KERNEL switch_cases(ARGS) {
  const int i = linear();
  const unsigned v = in[i % n];
  unsigned r;
  switch (v % 9) {
    case 0:
      r = v + 1;
      break;
    case 1:
      r = v * 2;  // falls through
    case 2:
      r = v * 3 + 1;
      break;
    case 3:
      r = in[(v >> 3) % n];
      break;
    case 4:
      r = ~v;
      break;
    case 6:
      r = v << 3;
      break;
    case 7:
      r = __popc(v);
      break;
    default:
      r = 99;
  }
  out[8 * i] = r;
}
KERNEL grid_stride(ARGS) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = in[i] + i;
}
KERNEL loop_values_after(ARGS) {
  const int i = linear();
  int k = 0;
  unsigned a = 1, b = 2;
  for (; k < 40; ++k) {
    const unsigned t = a;
    a = b;
    b = t + k;
    if ((in[(i + k) % n] & 15) == 3) break;
  }
  out[8 * i] = k;
  out[8 * i + 1] = a;
  out[8 * i + 2] = b;
}
KERNEL unsigned_wrap(ARGS) {
  const unsigned x = threadIdx.x - 1u;  // lane 0 wraps
  const unsigned i = linear();
  unsigned r = 5;
  if (x < (unsigned)n) r = in[x];
  out[8 * i] = r;
  out[8 * i + 1] = (unsigned)((unsigned long long)x >> 8);
  const int y = 0x7ffffff8 + (int)threadIdx.x;  // wraps inside the first warp
  const long long wide = (long long)(int)(0x7ffffff8u + threadIdx.x);
  out[8 * i + 2] = (unsigned)(wide >> 16);
  out[8 * i + 3] = (unsigned)y;
}
KERNEL strided(ARGS) {
  const int i = linear();
  out[8 * i] = in[(2 * i) % n];
  const int t = threadIdx.x % 64;
  if (n >= 256) {
    out[8 * i + 1] = in[2 * t];
    out[8 * i + 2] = in[3 * t + 1];
    out[8 * i + 3] = in[200 - t];
    const uint4 v = reinterpret_cast<const uint4*>(in)[t % 32];
    out[8 * i + 4] = v.x + v.y * 3 + v.z * 5 + v.w * 7;
    const uint2 w = reinterpret_cast<const uint2*>(in)[t];
    reinterpret_cast<uint2*>(out)[4 * i + 3] = make_uint2(w.y, w.x);
  }
}
KERNEL narrow_types(ARGS) {
  const int i = linear();
  const unsigned char* bytes = reinterpret_cast<const unsigned char*>(in);
  const short* halves = reinterpret_cast<const short*>(in);
  const int t = (threadIdx.x + 3 * threadIdx.y) % (2 * n);
  out[8 * i] = bytes[t];
  out[8 * i + 1] = halves[t];
  reinterpret_cast<unsigned char*>(out)[32 * i + 8] = bytes[(t * 5) % (4 * n)];
  reinterpret_cast<short*>(out)[16 * i + 5] = halves[(t * 3) % (2 * n)];
  if (bytes[t] & 1) reinterpret_cast<unsigned char*>(out)[32 * i + 13] = 1;
}
KERNEL shared_reverse(ARGS) {
  __shared__ unsigned tile[1024];
  const int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const int count = blockDim.x * blockDim.y * blockDim.z;
  tile[t] = in[linear() % n];
  __syncthreads();
  out[8 * linear()] = tile[count - 1 - t];
  __syncthreads();
  if (t % 3 == 0) tile[t] += 7;
  __syncthreads();
  out[8 * linear() + 1] = tile[(t * 5) % count];
}
KERNEL shared_reduce(ARGS) {
  __shared__ unsigned sums[1024];
  const int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const int count = blockDim.x * blockDim.y * blockDim.z;
  sums[t] = in[linear() % n];
  __syncthreads();
  for (int step = 512; step > 0; step >>= 1) {
    if (t < step && t + step < count) sums[t] += sums[t + step];
    __syncthreads();
  }
  if (t == 0) out[8 * linear()] = sums[0];
}
KERNEL shared_atomics(ARGS) {
  __shared__ unsigned bins[32];
  const int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  if (t < 32) bins[t] = 0;
  if (blockDim.x * blockDim.y * blockDim.z < 32 && t == 0)
    for (int k = 0; k < 32; ++k) bins[k] = 0;
  __syncthreads();
  atomicAdd(&bins[in[linear() % n] & 31], 1u);
  __syncthreads();
  if (t < 32) out[8 * linear()] = bins[t];
}
KERNEL global_atomics(ARGS) {
  const int i = linear();
  const unsigned v = in[i % n];
  unsigned* area = out;
  atomicAdd(&area[0], v);
  atomicMax(&area[1], v);
  atomicMin(reinterpret_cast<int*>(&area[2]), (int)v);
  atomicXor(&area[3 + (v & 3)], v);
  if (v & 1) atomicOr(&area[7], 1u << (v >> 27));
}
KERNEL warp_operations(ARGS) {
  const int i = linear();
  const unsigned v = in[i % n];
  const unsigned live = __activemask();
  if (live == 0xffffffffu) {
    unsigned s = v;
    for (int d = 16; d > 0; d >>= 1) s += __shfl_down_sync(0xffffffffu, s, d);
    out[8 * i] = s;
    out[8 * i + 1] = __shfl_sync(0xffffffffu, v, v & 31);
    out[8 * i + 2] = __shfl_xor_sync(0xffffffffu, v, 5, 16);
    out[8 * i + 3] = __shfl_up_sync(0xffffffffu, v, (v >> 8) & 31, 8);
    out[8 * i + 4] = __ballot_sync(0xffffffffu, v & 1);
    out[8 * i + 5] = __any_sync(0xffffffffu, v == 17) + 2 * __all_sync(0xffffffffu, v != 17);
    out[8 * i + 6] = __match_any_sync(0xffffffffu, v & 7);
    out[8 * i + 7] = __reduce_add_sync(0xffffffffu, v & 0xff);
  } else {
    out[8 * i] = __ballot_sync(live, v & 1);
  }
}
KERNEL votes_in_branch(ARGS) {
  const int i = linear();
  const unsigned v = in[i % n];
  unsigned r = 0;
  if (v & 1) {
    const unsigned who = __activemask();
    r = __ballot_sync(who, v & 2);
    r += __shfl_sync(who, v, __ffs(who) - 1);
  }
  out[8 * i] = r;
}
__device__ __noinline__ unsigned helper(unsigned a, unsigned b) {
  unsigned r = a;
  for (unsigned k = 0; k < b % 6; ++k) {
    r = r * 1664525u + 1013904223u;
    if ((r >> 28) == 3) return r ^ b;
  }
  return r + b;
}
struct Pair {
  unsigned a;
  unsigned long long b;
};
__device__ __noinline__ Pair pairOf(unsigned v) { return {v * 3, (unsigned long long)v * v}; }
KERNEL calls(ARGS) {
  const int i = linear();
  const unsigned v = in[i % n];
  unsigned r = helper(v, i);
  if (v & 1) r = helper(r, v);
  const Pair p = pairOf(r);
  out[8 * i] = r;
  out[8 * i + 1] = p.a;
  reinterpret_cast<unsigned long long*>(out)[4 * i + 1] = p.b;
}
KERNEL local_array(ARGS) {
  const int i = linear();
  unsigned a[16];
  for (int k = 0; k < 16; ++k) a[k] = in[(i + k) % n];
  for (int k = 0; k < 12; ++k) {
    const unsigned x = a[(a[k] >> 3) & 15];
    a[(x >> 2) & 15] += k + x;
  }
  unsigned r = 0;
  for (int k = 0; k < 16; ++k) r = r * 31 + a[k];
  out[8 * i] = r;
}
KERNEL divisions(ARGS) {
  const int i = linear();
  const unsigned a = in[i % n], b = in[(i * 5 + 1) % n] >> (i & 31);
  out[8 * i] = b ? a / b : 1;
  out[8 * i + 1] = b ? a % b : 2;
  out[8 * i + 2] = b ? (int)a / (int)b : 3;
  out[8 * i + 3] = (int)a % 1000;
  const unsigned long long x = ((unsigned long long)a << 32) | b, y = (unsigned long long)b * 77 + 1;
  reinterpret_cast<unsigned long long*>(out)[4 * i + 2] = x / y;
  reinterpret_cast<unsigned long long*>(out)[4 * i + 3] = x % (unsigned)(n + 5) + a / (unsigned)n;
}
KERNEL floats(ARGS) {
  const int i = linear();
  const float x = (int)in[i % n] * 1e-5f, y = (int)(in[(i + 1) % n] & 0xffff) * 0.01f + 1.0f;
  float* f = reinterpret_cast<float*>(out);
  f[8 * i] = x / y + sqrtf(fabsf(x));
  f[8 * i + 1] = fmaf(x, y, -x) > 3.0f ? fminf(x, y) : fmaxf(x, y);
  out[8 * i + 2] = __float2int_rn(x) + __float2uint_rz(y);
  reinterpret_cast<double*>(out)[4 * i + 2] = (double)x * (double)y + rint((double)x);
  f[8 * i + 6] = floorf(x) + ceilf(y) + truncf(x);
}
KERNEL two_dimensional(ARGS) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  const int width = n / 8;
  if (x > 0 && y > 0 && x < width - 1 && y < 7) {
    const unsigned* p = in + y * width + x;
    out[y * width + x] = p[0] + p[1] + p[-1] + p[width] + p[-width];
  }
}
KERNEL pointer_walk(ARGS) {
  const int i = linear();
  const unsigned* p = in + threadIdx.x % n;
  unsigned sum = 0;
  for (int k = 0; k < 6; ++k, p += blockDim.x) {
    if (p >= in + n) break;
    sum = sum * 3 + *p;
  }
  out[8 * i] = sum;
}
KERNEL lock_free(ARGS) {
  const int i = linear();
  const float v = (float)(in[i % n] & 0xfff);
  int* address = reinterpret_cast<int*>(out);
  int old = *address, assumed;
  do {
    assumed = old;
    if (__int_as_float(assumed) >= v) break;
    old = atomicCAS(address, assumed, __float_as_int(v));
  } while (assumed != old);
}
KERNEL dynamic_shared(ARGS) {
  extern __shared__ unsigned pool[];
  __shared__ unsigned fixed[64];
  const int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  pool[t] = in[linear() % n];
  fixed[t & 63] = t;
  __syncthreads();
  out[8 * linear()] = pool[t ^ (t > 0)];
}
__constant__ unsigned table[16] = {1, 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47};
__device__ unsigned counter[4] = {10, 20, 30, 40};
KERNEL module_variables(ARGS) {
  const int i = linear();
  const unsigned v = in[i % n];
  out[8 * i] = table[v & 15] + table[3];
  out[8 * i + 1] = counter[(v >> 4) & 3];
}
KERNEL generic_pointers(ARGS) {
  __shared__ unsigned tile[1024];
  const int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const int i = linear();
  tile[t] = in[i % n] * 3;
  __syncthreads();
  unsigned mine[4] = {1, 2, 3, (unsigned)t};
  const unsigned* p = (in[i % n] & 1) ? &tile[t] : (in[i % n] & 2) ? &mine[t & 3] : &in[i % n];
  out[8 * i] = *p;
}
KERNEL carry_chain(ARGS) {
  const int i = linear();
  const unsigned a = in[i % n], b = in[(i + 3) % n], c = in[(i + 5) % n];
  unsigned lo, mid, hi;
  asm("add.cc.u32 %0, %3, %4; addc.cc.u32 %1, %4, %5; addc.u32 %2, %5, %3;"
      : "=r"(lo), "=r"(mid), "=r"(hi)
      : "r"(a), "r"(b), "r"(c));
  out[8 * i] = lo;
  out[8 * i + 1] = mid;
  out[8 * i + 2] = hi;
  out[8 * i + 3] = __umulhi(a, b);
  reinterpret_cast<unsigned long long*>(out)[4 * i + 2] =
      __umul64hi((unsigned long long)a << 29 | b, (unsigned long long)c << 31 | a);
}
KERNEL guarded_operations(ARGS) {
  const int i = linear();
  const unsigned v = in[i % n];
  unsigned r = 11;
  asm volatile(
      "{ .reg .pred p, q; setp.gt.u32 p, %1, 0x40000000; setp.lt.and.u32 q, %1, 0xc0000000, p;\n"
      "@p add.u32 %0, %0, 5; @!p mul.lo.u32 %0, %0, 3; @q xor.b32 %0, %0, 0xff; @q ld.global.u32 %0, [%2]; @!q "
      "st.global.u32 [%3], %0; }"
      : "+r"(r)
      : "r"(v), "l"(in + (v % n)), "l"(out + 8 * i + 1));
  out[8 * i] = r;
}
// A look-back scan of columns: lanes poll what earlier blocks write, each its own column, and stop on their own.
__device__ unsigned columns[8 * 256];
KERNEL column_scan(ARGS) {
  const int block = blockIdx.x + gridDim.x * blockIdx.y;
  if (threadIdx.y || threadIdx.z) return;
  const unsigned value = in[(block * 7 + threadIdx.x) % n] & 0xffff;
  volatile unsigned* const column = columns + threadIdx.x;
  column[block * 256] = value | (block % 2 ? 1u << 30 : 1u << 31);
  unsigned sum = 0;
  volatile unsigned* earlier = column + block * 256;
  for (int b = block; b > 0; --b) {
    unsigned state;
    earlier -= 256;
    do state = *earlier;
    while (!state);
    sum += state & 0x3fffffff;
    if (state >> 31 && (state & 1)) break;
  }
  column[block * 256] = (sum + value) | 1u << 31;
  out[8 * linear()] = sum;
}
