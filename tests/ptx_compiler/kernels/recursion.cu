// Calls through registers, virtual functions, and functions that call themselves.
#include "kernel.h"

// Function pointers: of a table, of the same function in all lanes, and guarded ones.
using Operation = unsigned (*)(unsigned, unsigned);
__device__ unsigned plus(unsigned a, unsigned b) { return a + b; }
__device__ unsigned times(unsigned a, unsigned b) { return a * b; }
__device__ unsigned mixed(unsigned a, unsigned b) {
  unsigned r = a;
  for (unsigned k = 0; k < (b & 7); ++k) r = r * 33 ^ (b >> k);
  return r;
}
__device__ Operation operations[4] = {plus, times, mixed, plus};
KERNEL table_of_functions(ARGS) {
  const int i = linear();
  const unsigned v = in[i % n];
  unsigned r = operations[v & 3](v, i);
  if (v & 4) r = operations[blockIdx.x % 3](r, v);
  if (v & 8) r = (v & 16 ? plus : mixed)(r, 77);
  out[8 * i] = r;
}
// Barriers in a function that all threads call through a pointer.
__device__ unsigned throughShared(unsigned v, unsigned) {
  __shared__ unsigned all[1024];
  const int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const int threads = blockDim.x * blockDim.y * blockDim.z;
  all[thread] = v;
  __syncthreads();
  const unsigned other = all[threads - 1 - thread];
  __syncthreads();
  return other * 3;
}
__device__ Operation meetings[2] = {throughShared, throughShared};
KERNEL barrier_through_pointer(ARGS) {
  const int i = linear();
  out[8 * i] = meetings[blockIdx.x & 1](in[i % n], 5);
}

struct Shape {
  unsigned size;
  __device__ virtual unsigned area(unsigned scale, unsigned more) const { return size * scale + more; }
  __device__ virtual unsigned sides() const { return 0; }
};
struct Box : Shape {
  unsigned width;
  __device__ unsigned area(unsigned scale, unsigned more) const override { return size * width * scale ^ more; }
  __device__ unsigned sides() const override { return 4; }
};
struct Ring : Shape {
  __device__ unsigned area(unsigned scale, unsigned more) const override { return 3 * size * size + scale * more; }
};
KERNEL virtual_functions(ARGS) {
  const int i = linear();
  const unsigned v = in[i % n];
  Box box;
  Ring ring;
  Shape plain;
  box.width = v & 15;
  box.size = ring.size = plain.size = v % 100;
  const Shape* const shapes[3] = {&box, &ring, &plain};
  unsigned sum = 0;
  for (unsigned k = 0; k < (v & 3) + 1; ++k)
    sum = sum * 5 + shapes[(v + k) % 3]->area(k + 1, v) + shapes[k % 3]->sides();
  out[8 * i] = sum;
}

__device__ __noinline__ unsigned fibonacci(unsigned n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
KERNEL fibonacci_numbers(ARGS) {
  const int i = linear();
  out[8 * i] = fibonacci(in[i % n] % 9);
  if (i & 1) out[8 * i + 1] = fibonacci(6);
}
__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n) {
  if (m == 0) return n + 1;
  if (n == 0) return ackermann(m - 1, 1);
  return ackermann(m - 1, ackermann(m, n - 1));
}
KERNEL ackermann_numbers(ARGS) {
  const int i = linear();
  out[8 * i] = ackermann(in[i % n] % 3, i % 3);
}
// Two that call each other, with values of several widths across the calls.
__device__ unsigned long long odd(unsigned n, double weight, bool flag);
__device__ __noinline__ unsigned long long even(unsigned n, double weight, bool flag) {
  if (n == 0) return flag ? 1 : 2;
  const unsigned long long deeper = odd(n - 1, weight * 0.5, !flag);
  return deeper * 3 + (flag ? 7 : 9) + (unsigned long long)(weight * 16);
}
__device__ __noinline__ unsigned long long odd(unsigned n, double weight, bool flag) {
  if (n == 0) return flag ? 1000000007ull << 20 : 4;
  return even(n - 1, weight + n, n & 2) ^ (flag ? 0x55ull << 33 : 0) ^ n;
}
KERNEL in_turns(ARGS) {
  const int i = linear();
  const unsigned long long r = even(in[i % n] % 12, i, i & 1);
  out[8 * i] = (unsigned)r;
  out[8 * i + 1] = (unsigned)(r >> 32);
}
// Loops round calls, with and without a call in each pass: trees, and permutations in local memory of each call.
__device__ __noinline__ unsigned tree(const unsigned* in, unsigned node, unsigned depth, unsigned n) {
  unsigned sum = in[node % n] & 0xff;
  for (unsigned k = 0; k < 3; ++k) {
    if (!(in[(node * 7 + k) % n] & 1)) continue;
    if (depth == 0) break;
    sum = sum * 31 + tree(in, node * 3 + k, depth - 1, n);
  }
  return sum;
}
KERNEL walk_tree(ARGS) {
  const int i = linear();
  out[8 * i] = tree(in, i, i % 5, n);
}
__device__ __noinline__ unsigned orders(const unsigned char* left, int count) {
  if (count == 0) return 1;
  unsigned char rest[5];
  unsigned sum = 0;
  for (int k = 0; k < count; ++k) {
    for (int m = 0, at = 0; m < count; ++m)
      if (m != k) rest[at++] = left[m];
    sum = sum * 3 + left[k] * orders(rest, count - 1);
  }
  return sum;
}
KERNEL permutations(ARGS) {
  const int i = linear();
  unsigned char all[5];
  for (int k = 0; k < 5; ++k) all[k] = in[(i + k) % n] % 10;
  out[8 * i] = orders(all, i % 5);
}
// A recursion inside a recursion, and one through a virtual function.
__device__ __noinline__ unsigned power(unsigned base, unsigned n) {
  if (n == 0) return 1;
  const unsigned half = power(base, n / 2);
  return n & 1 ? half * half * base : half * half;
}
__device__ __noinline__ unsigned polynomial(const unsigned* in, unsigned x, unsigned degree) {
  if (degree == 0) return in[0];
  return polynomial(in, x, degree - 1) + (in[degree] & 7) * power(x, degree);
}
KERNEL polynomials(ARGS) {
  const int i = linear();
  out[8 * i] = polynomial(in, in[i % n], i % 6);
}
struct Node {
  __device__ virtual unsigned value(unsigned x) const = 0;
};
struct Leaf : Node {
  unsigned number;
  __device__ unsigned value(unsigned x) const override { return number + x; }
};
struct Sum : Node {
  const Node *left, *right;
  __device__ unsigned value(unsigned x) const override { return left->value(x + 1) + right->value(x) * 3; }
};
struct Product : Node {
  const Node *left, *right;
  __device__ unsigned value(unsigned x) const override {
    const unsigned first = left->value(x ^ 5);
    return x & 1 ? first : first * right->value(x + 2);
  }
};
KERNEL expressions(ARGS) {
  const int i = linear();
  const unsigned v = in[i % n];
  Leaf a, b;
  a.number = v & 31;
  b.number = i;
  Sum sum;
  sum.left = &a;
  sum.right = &b;
  Product product;
  product.left = v & 1 ? (const Node*)&sum : (const Node*)&b;
  product.right = &sum;
  Sum whole;
  whole.left = &product;
  whole.right = v & 2 ? (const Node*)&product : (const Node*)&a;
  const Node* const trees[4] = {&whole, &product, &sum, &a};
  out[8 * i] = trees[(v >> 4) & 3]->value(v & 7);
}
