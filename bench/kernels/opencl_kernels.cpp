// The kernels in OpenCL C, with the work-groups of the CUDA version; run by whatever platform has a CPU device.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "kernels.h"

using namespace kernels;

static const char* const kSource = R"(
kernel void vectorAdd(global const float* a, global const float* b, global float* c, int n) {
  const int i = get_global_id(0);
  if (i < n) c[i] = a[i] + b[i];
}
kernel void saxpyPositive(global const float* x, global float* y, float a, int n) {
  const int i = get_global_id(0);
  if (i < n && x[i] > 0) y[i] = a * x[i] + y[i];
}
kernel void stencil(global const float* in, global float* out, int n) {
  const int x = get_global_id(0), y = get_global_id(1);
  if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1) return;
  const int i = y * n + x;
  out[i] = 0.2f * (in[i] + in[i - 1] + in[i + 1] + in[i - n] + in[i + n]);
}
kernel __attribute__((reqd_work_group_size(32, 32, 1)))
void sgemm(global const float* a, global const float* b, global float* c, int n) {
  local float tileA[32][32], tileB[32][32];
  const int tx = get_local_id(0), ty = get_local_id(1);
  const int row = get_group_id(1) * 32 + ty, column = get_group_id(0) * 32 + tx;
  float sum = 0;
  for (int start = 0; start < n; start += 32) {
    tileA[ty][tx] = a[row * n + start + tx];
    tileB[ty][tx] = b[(start + ty) * n + column];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < 32; ++k) sum += tileA[ty][k] * tileB[k][tx];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[row * n + column] = sum;
}
kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void blockReduce(global const float* in, global float* out) {
  local float partial[256];
  const int t = get_local_id(0);
  partial[t] = in[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int half_ = 128; half_ > 0; half_ /= 2) {
    if (t < half_) partial[t] += partial[t + half_];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (t == 0) out[get_group_id(0)] = partial[0];
}
kernel void histogramShared(global const uint* in, global uint* bins, int n) {
  local uint own[256];
  for (int bin = get_local_id(0); bin < 256; bin += get_local_size(0)) own[bin] = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = get_global_id(0); i < n; i += get_global_size(0)) atomic_inc(&own[in[i]]);
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int bin = get_local_id(0); bin < 256; bin += get_local_size(0)) atomic_add(&bins[bin], own[bin]);
}
kernel void histogramGlobal(global const uint* in, global uint* bins, int n) {
  const int i = get_global_id(0);
  if (i < n) atomic_inc(&bins[in[i]]);
}
kernel void gather(global const float* table, global const uint* index, global float* out, int n) {
  const int i = get_global_id(0);
  if (i < n) out[i] = table[index[i]];
}
kernel void mandelbrot(global int* out, int side, int limit) {
  const int px = get_global_id(0), py = get_global_id(1);
  if (px >= side || py >= side) return;
  const float cx = -2.0f + px * (3.0f / side), cy = -1.5f + py * (3.0f / side);
  float x = 0, y = 0;
  int round = 0;
  for (; round < limit && x * x + y * y <= 4; ++round) {
    const float next = x * x - y * y + cx;
    y = 2 * x * y + cy;
    x = next;
  }
  out[py * side + px] = round;
}
)";

static void check(cl_int code, int line) {
  if (code != CL_SUCCESS) giveUp("OpenCL error; line and code follow", size_t(line) * 10000 + size_t(-code));
}
#define CHECK(call) check(call, __LINE__)

static cl_context context;
static cl_command_queue queue;
static cl_program program;

static void start() {
  cl_platform_id platforms[8];
  cl_uint count = 0;
  if (clGetPlatformIDs(8, platforms, &count) != CL_SUCCESS || count == 0) {
    std::fprintf(stderr, "no OpenCL platform here\n");
    std::exit(77);
  }
  cl_device_id device = nullptr;
  for (cl_uint i = 0; i < count && !device; ++i)
    if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_CPU, 1, &device, nullptr) != CL_SUCCESS) device = nullptr;
  if (!device) std::exit(77);
  cl_int code;
  context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &code);
  CHECK(code);
  queue = clCreateCommandQueue(context, device, 0, &code);
  CHECK(code);
  const char* source = kSource;
  program = clCreateProgramWithSource(context, 1, &source, nullptr, &code);
  CHECK(code);
  CHECK(clBuildProgram(program, 1, &device, "", nullptr, nullptr));
}

template <class T>
struct Array {
  cl_mem memory;
  size_t size;
  explicit Array(size_t n) : Array(std::vector<T>(n)) {}
  explicit Array(const std::vector<T>& values) : size(values.size()) {
    cl_int code;
    memory = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, size * sizeof(T),
                            const_cast<T*>(values.data()), &code);
    CHECK(code);
  }
  ~Array() { clReleaseMemObject(memory); }
  std::vector<T> host() const {
    std::vector<T> values(size);
    CHECK(clEnqueueReadBuffer(queue, memory, CL_TRUE, 0, size * sizeof(T), values.data(), 0, nullptr, nullptr));
    return values;
  }
};

struct Range {
  size_t global[2], local[2];
};

// A kernel with its arguments set; each call runs it and waits.
template <class... Arguments>
auto bind(const char* name, Range range, const Arguments&... arguments) {
  cl_int code;
  cl_kernel kernel = clCreateKernel(program, name, &code);
  CHECK(code);
  cl_uint index = 0;
  (CHECK(clSetKernelArg(kernel, index++, sizeof arguments, &arguments)), ...);
  return [kernel, range] {
    CHECK(clEnqueueNDRangeKernel(queue, kernel, 2, nullptr, range.global, range.local, 0, nullptr, nullptr));
    CHECK(clFinish(queue));
  };
}

static Range linear(size_t size) { return {{size, 1}, {256, 1}}; }

static void timeVectorAdd() {
  const auto a = floats(kAddSize, 1), b = floats(kAddSize, 2);
  Array<float> deviceA(a), deviceB(b), c(kAddSize);
  report("vectorAdd", kAddBytes, "GB/s",
         bind("vectorAdd", linear(kAddSize), deviceA.memory, deviceB.memory, c.memory, kAddSize));
}

static void timeDivergentSaxpy() {
  Array<float> x(floats(kSaxpySize, 3)), y(floats(kSaxpySize, 4));
  report("divergentSaxpy", kSaxpySize, "Gelem/s",
         bind("saxpyPositive", linear(kSaxpySize), x.memory, y.memory, kSaxpyFactor, kSaxpySize));
}

static void timeStencil() {
  const auto in = floats(kStencilSide * kStencilSide, 5);
  Array<float> deviceIn(in), out(in.size());
  const auto run = bind("stencil", {{kStencilSide, kStencilSide}, {32, 8}}, deviceIn.memory, out.memory, kStencilSide);
  run();
  expectNear("stencil", out.host(), stencilOf(in), 1e-6);
  report("stencil", kStencilFlops, "GFLOP/s", run);
}

static void timeSgemm() {
  const auto a = floats(kGemmSide * kGemmSide, 6), b = floats(kGemmSide * kGemmSide, 7);
  Array<float> deviceA(a), deviceB(b), c(a.size());
  const auto run =
      bind("sgemm", {{kGemmSide, kGemmSide}, {32, 32}}, deviceA.memory, deviceB.memory, c.memory, kGemmSide);
  run();
  expectNear("sgemm", c.host(), productOf(a, b), 1e-3);
  report("sgemm", kGemmFlops, "GFLOP/s", run);
}

static void timeBlockReduction() {
  const auto in = floats(kReduceSize, 8);
  Array<float> deviceIn(in), out(kReduceSize / kReduceBlock);
  const auto run = bind("blockReduce", linear(kReduceSize), deviceIn.memory, out.memory);
  run();
  expectNear("blockReduction", out.host(), blockSums(in), 1e-3);
  report("blockReduction", kReduceBytes, "GB/s", run);
}

static void timeHistogram() {
  for (bool shared : {true, false}) {
    const auto in = words(kHistogramSize, kBins, 9);
    Array<unsigned> deviceIn(in), bins(kBins);
    const auto run = bind(shared ? "histogramShared" : "histogramGlobal", linear(shared ? 64 * 256 : kHistogramSize),
                          deviceIn.memory, bins.memory, kHistogramSize);
    run();
    expectNear("histogram", bins.host(), histogramOf(in), 0);
    report(shared ? "histogramShared" : "histogramGlobal", kHistogramSize, "Gelem/s", run);
  }
}

static void timeGather() {
  Array<float> table(floats(kGatherSize, 10)), out(kGatherSize);
  Array<unsigned> index(words(kGatherSize, kGatherSize, 11));
  report("gather", kGatherSize, "Gelem/s",
         bind("gather", linear(kGatherSize), table.memory, index.memory, out.memory, kGatherSize));
}

static void timeMandelbrot() {
  Array<int> out(kMandelbrotSide * kMandelbrotSide);
  const auto run =
      bind("mandelbrot", {{kMandelbrotSide, kMandelbrotSide}, {32, 8}}, out.memory, kMandelbrotSide, kMandelbrotRounds);
  run();
  const auto picture = out.host();
  expectMandelbrot(picture);
  report("mandelbrot", roundsOf(picture), "Giter/s", run);
}

int main() {
  start();
  timeVectorAdd();
  timeDivergentSaxpy();
  timeStencil();
  timeSgemm();
  timeBlockReduction();
  timeHistogram();
  timeGather();
  timeMandelbrot();
  return 0;
}
