"""numba-cuda on the emulated device: what its documentation shows first, each against NumPy."""

import math

import numpy as np
from numba import cuda, float32, int32, vectorize
from numba.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float32

rng = np.random.default_rng(7)


@cuda.jit
def saxpy(out, a, x, y):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a * x[i] + y[i]


def test_elementwise():
    n = 100_003
    x, y = rng.random(n, np.float32), rng.random(n, np.float32)
    out = cuda.device_array(n, np.float32)
    saxpy[(n + 255) // 256, 256](out, np.float32(2), cuda.to_device(x), cuda.to_device(y))
    np.testing.assert_allclose(out.copy_to_host(), 2 * x + y, rtol=1e-6)


TILE = 16


@cuda.jit
def multiply(a, b, c):
    left, right = cuda.shared.array((TILE, TILE), float32), cuda.shared.array((TILE, TILE), float32)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for tile in range(a.shape[1] // TILE):
        left[ty, tx] = a[y, tx + tile * TILE]
        right[ty, tx] = b[ty + tile * TILE, x]
        cuda.syncthreads()
        for k in range(TILE):
            total += left[ty, k] * right[k, tx]
        cuda.syncthreads()
    c[y, x] = total


def test_shared_memory():
    a, b = rng.random((96, 64), np.float32), rng.random((64, 128), np.float32)
    c = np.zeros((96, 128), np.float32)
    multiply[(8, 6), (TILE, TILE)](a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)


@cuda.reduce
def add(a, b):
    return a + b


def test_reduction():
    values = rng.random(10_000)
    np.testing.assert_allclose(add(values), values.sum())


@cuda.jit
def count(values, bins):
    i = cuda.grid(1)
    if i < values.size:
        cuda.atomic.add(bins, values[i], 1)


def test_atomics():
    values = rng.integers(0, 10, 5000).astype(np.int32)
    bins = np.zeros(10, np.int32)
    count[20, 256](values, bins)
    np.testing.assert_array_equal(bins, np.bincount(values, minlength=10))


@cuda.jit(device=True)
def wave(x):
    return math.sin(x) + math.exp(-x) + math.sqrt(abs(x)) + math.pow(x, 1.5)


@cuda.jit
def waves(values):
    i = cuda.grid(1)
    if i < values.size:
        values[i] = wave(values[i])


def test_mathematics_and_device_functions():
    values = rng.random(1000)
    expected = np.sin(values) + np.exp(-values) + np.sqrt(values) + values**1.5
    waves[4, 256](values)
    np.testing.assert_allclose(values, expected, rtol=1e-12)


@vectorize(["float64(float64, float64)"], target="cuda")
def hypotenuse(a, b):
    return math.sqrt(a * a + b * b)


def test_ufunc():
    a, b = rng.random((30, 40)), rng.random((30, 40))
    np.testing.assert_allclose(hypotenuse(a, b), np.hypot(a, b))


@cuda.jit
def warp_sums(values, sums):
    i = cuda.grid(1)
    value = values[i]
    for step in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, step)
    if cuda.laneid == 0:
        sums[i // 32] = value


def test_warp_intrinsics():
    values = rng.integers(0, 100, 256).astype(np.int32)
    sums = np.zeros(8, np.int32)
    warp_sums[1, 256](values, sums)
    np.testing.assert_array_equal(sums, values.reshape(8, 32).sum(axis=1))


@cuda.jit
def insertion_sort(rows):
    i = cuda.grid(1)
    scratch = cuda.local.array(16, int32)
    if i < rows.shape[0]:
        for k in range(16):
            value, at = rows[i, k], k
            while at > 0 and scratch[at - 1] > value:
                scratch[at] = scratch[at - 1]
                at -= 1
            scratch[at] = value
        for k in range(16):
            rows[i, k] = scratch[k]


def test_local_arrays():
    rows = rng.integers(0, 1000, (100, 16)).astype(np.int32)
    expected = np.sort(rows, axis=1)
    insertion_sort[2, 64](rows)
    np.testing.assert_array_equal(rows, expected)


@cuda.jit
def estimate_pi(states, rounds, out):
    i = cuda.grid(1)
    inside = 0
    for _ in range(rounds):
        x, y = xoroshiro128p_uniform_float32(states, i), xoroshiro128p_uniform_float32(states, i)
        inside += x * x + y * y <= 1
    out[i] = 4.0 * inside / rounds


def test_random_numbers():
    states = create_xoroshiro128p_states(64 * 24, seed=1)
    out = np.zeros(64 * 24, np.float32)
    estimate_pi[24, 64](states, 200, out)
    assert abs(out.mean() - math.pi) < 0.02


def test_streams_and_events():
    stream, begin, end = cuda.stream(), cuda.event(), cuda.event()
    values = np.arange(1 << 16, dtype=np.float32)
    begin.record(stream)
    on_device = cuda.to_device(values, stream=stream)
    saxpy[256, 256, stream](on_device, np.float32(1), on_device, on_device)
    back = on_device.copy_to_host(stream=stream)
    end.record(stream)
    end.synchronize()
    assert cuda.event_elapsed_time(begin, end) >= 0
    np.testing.assert_array_equal(back, 2 * values)


def test_mapped_and_managed_memory():
    mapped = cuda.mapped_array(100, dtype=np.float32)
    managed = cuda.managed_array(100, dtype=np.float32)
    mapped[:], managed[:] = 3, 4
    saxpy[1, 128](managed, np.float32(2), mapped, managed)
    cuda.synchronize()
    assert (managed == 10).all()
