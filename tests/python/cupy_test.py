"""CuPy on the emulated device: arrays, its kernel templates, sorting, raw kernels; each against NumPy."""

import cupy as cp
import numpy as np

rng = np.random.default_rng(7)


def same(device, host, **tolerances):
    np.testing.assert_allclose(cp.asnumpy(device), host, **tolerances)


def test_arithmetic_and_reductions():
    a, b = rng.random((300, 200)), rng.random((300, 200))
    x, y = cp.asarray(a), cp.asarray(b)
    same(cp.sin(x) * y + cp.sqrt(x) / 3, np.sin(a) * b + np.sqrt(a) / 3)
    same(x.sum(axis=0), a.sum(axis=0))
    same(x.mean(), a.mean())
    same(cp.maximum(x, y).max(axis=1), np.maximum(a, b).max(axis=1))
    assert int(x.argmax()) == int(a.argmax())


def test_types():
    for kind in (np.int8, np.uint16, np.int32, np.int64, np.float16, np.float32, np.complex64, np.bool_):
        values = rng.integers(0, 2, 1000).astype(kind)
        same(cp.asarray(values) + cp.asarray(values), values + values)


def test_indexing_and_shapes():
    a = rng.random((20, 30, 4))
    x = cp.asarray(a)
    same(x[3:15:2, ::-1, 1], a[3:15:2, ::-1, 1])
    same(x[x > 0.5], a[a > 0.5])
    same(x.transpose(2, 0, 1).reshape(-1), a.transpose(2, 0, 1).reshape(-1))
    chosen = rng.integers(0, 20, 50)
    same(x[cp.asarray(chosen)], a[chosen])
    same(cp.concatenate([x, x], axis=1), np.concatenate([a, a], axis=1))


def test_sorting_and_searching():
    a = rng.integers(0, 1000, 10_000).astype(np.int32)
    x = cp.asarray(a)
    same(cp.sort(x), np.sort(a))
    same(cp.cumsum(x), np.cumsum(a))
    same(cp.unique(x), np.unique(a))
    same(cp.bincount(x), np.bincount(a))
    same(a[cp.asnumpy(cp.argsort(x))], np.sort(a))


def test_element_and_reduction_kernels():
    squared = cp.ElementwiseKernel("T x, T y", "T z", "z = (x - y) * (x - y)", "squared_difference")
    norm = cp.ReductionKernel("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0", "norm")
    a, b = rng.random(1000), rng.random(1000)
    same(squared(cp.asarray(a), cp.asarray(b)), (a - b) ** 2)
    same(norm(cp.asarray(a)), np.linalg.norm(a))


SOURCE = r"""
extern "C" __global__ void scale(const float* in, float* out, float by, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * by;
}
template <class T> __global__ void negate(T* values) { values[threadIdx.x] = -values[threadIdx.x]; }
"""


def test_raw_kernels():
    a = rng.random(1000, np.float32)
    out = cp.zeros(1000, np.float32)
    module = cp.RawModule(code=SOURCE, options=("-std=c++17",), name_expressions=["negate<double>"])
    module.get_function("scale")((4,), (256,), (cp.asarray(a), out, np.float32(3), np.int32(1000)))
    same(out, a * 3)
    values = cp.arange(10, dtype=cp.float64)
    module.get_function("negate<double>")((1,), (10,), (values,))
    same(values, -np.arange(10.0))


@cp.fuse()
def fused(x, y):
    return cp.exp(-x) + y * y


def test_fusion():
    a, b = rng.random(500), rng.random(500)
    same(fused(cp.asarray(a), cp.asarray(b)), np.exp(-a) + b * b)


def test_random_numbers_and_streams():
    with cp.cuda.Stream(non_blocking=True) as stream:
        x = cp.random.default_rng(3).standard_normal(100_000)
        mean, deviation = float(x.mean()), float(x.std())
        stream.synchronize()
    assert abs(mean) < 0.02 and abs(deviation - 1) < 0.02


def test_memory_pool():
    pool = cp.get_default_memory_pool()
    x = cp.zeros(1 << 20, np.uint8)
    assert pool.used_bytes() >= 1 << 20
    del x
    pool.free_all_blocks()
    assert cp.cuda.runtime.memGetInfo()[0] > 0
