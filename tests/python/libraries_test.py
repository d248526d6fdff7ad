"""The vendor's closed libraries on the emulated device, called by CuPy; each result against NumPy's or SciPy's."""

import cupy as cp
import cupyx.scipy.sparse
import numpy as np
import pytest
import scipy.sparse

rng = np.random.default_rng(7)


def same(device, host, **tolerances):
    np.testing.assert_allclose(cp.asnumpy(device), host, **tolerances)


def numbers(shape, kind):
    values = rng.random(shape)
    return (values + 1j * rng.random(shape) if np.issubdtype(kind, np.complexfloating) else values).astype(kind)


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("shape", [(120, 70, 90), (33, 129, 65)])
def test_cublas_products_of_matrices(kind, shape):
    rows, inner, columns = shape
    a, b = numbers((rows, inner), kind), numbers((inner, columns), kind)
    exact = a.astype(np.complex128) @ b.astype(np.complex128)
    same(cp.asarray(a) @ cp.asarray(b), exact, rtol=1e-2 if kind == np.float16 else 1e-4)


def test_cublas_vectors_and_batches():
    a, x = rng.random((50, 60)), rng.random(60)
    same(cp.asarray(a) @ cp.asarray(x), a @ x)
    same(cp.dot(cp.asarray(x), cp.asarray(x)), x @ x)
    b, c = rng.random((5, 20, 30)), rng.random((5, 30, 10))
    same(cp.matmul(cp.asarray(b), cp.asarray(c)), b @ c)


@pytest.mark.parametrize("length", [8, 64, 100, 997, 1024, 4096])
def test_cufft_one_dimension(length):
    x = numbers(length, np.complex128)
    same(cp.fft.fft(cp.asarray(x)), np.fft.fft(x), rtol=1e-8, atol=1e-8)
    same(cp.fft.ifft(cp.fft.fft(cp.asarray(x))), x, rtol=1e-8, atol=1e-8)


def test_cufft_real_and_two_dimensions():
    x = rng.random((64, 48))
    same(cp.fft.rfft2(cp.asarray(x)), np.fft.rfft2(x), rtol=1e-8, atol=1e-8)


def test_curand_generators():
    state = cp.random.RandomState(3)
    normal, uniform = state.normal(size=100_000), state.uniform(size=100_000, dtype=cp.float32)
    assert abs(float(normal.mean())) < 0.02 and abs(float(normal.std()) - 1) < 0.02
    assert abs(float(uniform.mean()) - 0.5) < 0.01 and 0 <= float(uniform.min()) and float(uniform.max()) <= 1


def test_cusparse_products():
    a, x, b = scipy.sparse.random(100, 80, 0.1, format="csr", random_state=1), rng.random(80), rng.random((80, 30))
    on_device = cupyx.scipy.sparse.csr_matrix(a)
    same(on_device @ cp.asarray(x), a @ x)
    same(on_device @ cp.asarray(b), a @ b)


def test_cusolver_systems():
    a, b = rng.random((50, 50)) + 50 * np.eye(50), rng.random(50)
    same(cp.linalg.solve(cp.asarray(a), cp.asarray(b)), np.linalg.solve(a, b))
    same(cp.linalg.svd(cp.asarray(a))[1], np.linalg.svd(a)[1])
