// Objects with virtual functions, made and used on the device: a tree of expressions that threads build with new and
// evaluate by recursion, shapes behind pointers to their base, function pointers in tables and in parameters.
#include "check.h"

struct Node {
  __device__ virtual ~Node() {}
  __device__ virtual float value(float x) const = 0;
};

struct Constant : Node {
  float number;
  __device__ explicit Constant(float n) : number(n) {}
  __device__ float value(float) const override { return number; }
};

struct Variable : Node {
  __device__ float value(float x) const override { return x; }
};

struct Binary : Node {
  Node *left, *right;
  __device__ Binary(Node* l, Node* r) : left(l), right(r) {}
  __device__ ~Binary() override {
    delete left;
    delete right;
  }
};

struct Sum : Binary {
  using Binary::Binary;
  __device__ float value(float x) const override { return left->value(x) + right->value(x); }
};

struct Product : Binary {
  using Binary::Binary;
  __device__ float value(float x) const override { return left->value(x) * right->value(x); }
};

// 1 + x (1 + x (1 + ...)): as deep as the thread's number in its group of four.
__device__ Node* nested(int depth) {
  Node* node = new Constant(1);
  for (int i = 0; i < depth; ++i) node = new Sum(new Constant(1), new Product(new Variable, node));
  return node;
}

__global__ void evaluate(float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  Node* tree = nested(i % 4);
  out[i] = tree->value(0.5f);
  delete tree;
}

struct Shape {
  __device__ virtual float area() const = 0;
};
struct Circle : Shape {
  float radius;
  __device__ explicit Circle(float r) : radius(r) {}
  __device__ float area() const override { return 3.0f * radius * radius; }
};
struct Box : Shape {
  float width, height;
  __device__ Box(float w, float h) : width(w), height(h) {}
  __device__ float area() const override { return width * height; }
};

// One kernel makes the objects, another uses them.
__global__ void make(Shape** shapes, int size) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  if (i % 3 == 0)
    shapes[i] = new Circle(float(i));
  else
    shapes[i] = new Box(float(i), 2);
}

__global__ void areas(Shape* const* shapes, float* out, int size) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < size) out[i] = shapes[i]->area();
}

using Operation = int (*)(int, int);
__device__ int add(int a, int b) { return a + b; }
__device__ int subtract(int a, int b) { return a - b; }
__device__ int multiply(int a, int b) { return a * b; }
__device__ Operation operations[3] = {add, subtract, multiply};

__global__ void apply(Operation given, int* out) {
  const int i = threadIdx.x;
  out[i] = operations[i % 3](i, 7) + given(i, 2);
}

int main() {
  constexpr int kSize = 1000;
  DeviceArray<float> values(256), sizes(kSize);
  evaluate<<<4, 64>>>(values);
  CHECK_LAUNCH();
  const float expected[4] = {1, 1.5f, 1.75f, 1.875f};
  const std::vector<float> got = values.host();
  for (int i = 0; i < 256; ++i) EXPECT(got[i] == expected[i % 4]);

  DeviceArray<Shape*> shapes(kSize);
  make<<<(kSize + 127) / 128, 128>>>(shapes, kSize);
  areas<<<(kSize + 127) / 128, 128>>>(shapes, sizes, kSize);
  CHECK_LAUNCH();
  const std::vector<float> areasGot = sizes.host();
  for (int i = 0; i < kSize; ++i) EXPECT(areasGot[i] == (i % 3 ? 2.0f * float(i) : 3.0f * float(i) * float(i)));

  Operation first;
  CHECK(cudaMemcpyFromSymbol(&first, operations, sizeof first, sizeof first));  // subtract
  DeviceArray<int> results(96);
  apply<<<1, 96>>>(first, results);
  CHECK_LAUNCH();
  const std::vector<int> numbers = results.host();
  for (int i = 0; i < 96; ++i) {
    const int operation = i % 3 == 0 ? i + 7 : i % 3 == 1 ? i - 7 : i * 7;
    EXPECT(numbers[i] == operation + i - 2);
  }
  return passed();
}
