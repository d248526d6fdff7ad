"""JAX, whose compiler makes the kernels: its quick-start, a training loop, and the operations that programs lean on. Each
against NumPy or JAX on the processor."""

import collections
import gzip
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

jax.config.update("jax_default_matmul_precision", "highest")  # not tf32


def both(function, *inputs, rtol=1e-4, atol=1e-4):
    """What the device and the processor make of it."""
    got = jax.jit(function)(*inputs)
    with jax.default_device(jax.devices("cpu")[0]):
        want = jax.jit(function)(*inputs)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=rtol, atol=atol), got, want)


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def test_the_device_is_found():
    assert [device.platform for device in jax.devices()] == ["gpu"]


def test_quick_start_selu_and_its_gradient():
    def selu(x, alpha=1.67, scale=1.05):
        return scale * jnp.where(x > 0, x, alpha * jnp.exp(x) - alpha)

    both(selu, numbers(10_000))
    both(jax.grad(lambda x: jnp.sum(1 / (1 + jnp.exp(-x)))), numbers(30))
    both(jax.jacfwd(jax.jacrev(lambda x: jnp.sum(x**3))), numbers(6))


def test_vmap():
    both(jax.vmap(lambda v, m: m @ v, in_axes=(0, None)), numbers(10, 100), numbers(150, 100))


@pytest.mark.parametrize("kind", [jnp.float32, jnp.float16, jnp.bfloat16])
def test_matrix_products(kind):
    a, b = numbers(96, 64).astype(kind), numbers(64, 80).astype(kind)
    got = jax.jit(jnp.matmul)(a, b)
    np.testing.assert_allclose(np.asarray(got, np.float32), a.astype(np.float32) @ b.astype(np.float32), rtol=3e-2, atol=2e-1)


@pytest.mark.parametrize("function", [jnp.sort, jnp.cumsum, jnp.sum, jnp.max, jnp.argmax, jax.nn.softmax, jnp.var])
def test_reductions_scans_and_sorts(function):
    both(function, numbers(3000))


def test_random_numbers_are_those_of_the_processor():
    both(lambda key: (jax.random.uniform(key, (1000,)), jax.random.normal(key, (1000,)),
                      jax.random.permutation(key, 100)), jax.random.key(7))


def test_loops_and_conditions():
    both(lambda x: jax.lax.fori_loop(0, 10, lambda i, v: jnp.where(i % 2 == 0, v * 1.5, v - 1), x), numbers(64))
    both(lambda x: jax.lax.scan(lambda carry, v: (carry + v, carry * v), 0.0, x), numbers(64))
    both(lambda x: jax.lax.while_loop(lambda v: jnp.sum(v) < 100, lambda v: v * 2 + 1, x), jnp.ones(8))


def test_gathers_and_scatters():
    at = np.random.default_rng(1).integers(0, 50, 200)
    both(lambda x: x[at], numbers(50))
    both(lambda x: jnp.zeros(50).at[at].add(x), numbers(200))


def test_a_fast_fourier_transform():
    both(lambda x: jnp.abs(jnp.fft.fft(x)), numbers(256), rtol=1e-3, atol=1e-3)


def test_a_linear_system():
    both(jnp.linalg.solve, numbers(20, 20) + 20 * np.eye(20, dtype=np.float32), numbers(20, seed=1), rtol=1e-3, atol=1e-3)


def test_a_convolution():
    both(lambda x, w: jax.lax.conv(x, w, (1, 1), "SAME"), numbers(2, 3, 16, 16), numbers(4, 3, 3, 3, seed=1), rtol=1e-3,
         atol=1e-3)


def train(steps=20):
    """A network of two layers learns a sine; the losses."""
    def loss(parameters, x, y):
        w1, b1, w2, b2 = parameters
        return jnp.mean((jnp.tanh(x * w1 + b1) @ w2 + b2 - y) ** 2)

    @jax.jit
    def step(parameters, x, y):
        value, slopes = jax.value_and_grad(loss)(parameters, x, y)
        return jax.tree.map(lambda p, g: p - 0.1 * g, parameters, slopes), value

    x = np.linspace(-3, 3, 128, dtype=np.float32)[:, None]
    parameters = [numbers(1, 16), np.zeros(16, np.float32), numbers(16, 1, seed=1), np.zeros(1, np.float32)]
    losses = []
    for _ in range(steps):
        parameters, value = step(parameters, x, np.sin(x))
        losses.append(float(value))
    return losses


def test_a_training_loop_has_the_losses_of_the_processor():
    got = train()
    with jax.default_device(jax.devices("cpu")[0]):
        want = train()
    np.testing.assert_allclose(got, want, rtol=1e-3)
    assert got[-1] < got[0] / 2


def test_the_profiler_sees_the_kernels(tmp_path):
    function = jax.jit(lambda x: jnp.sin(x) @ x.T + 1)
    x = jnp.asarray(numbers(8, 8))
    function(x).block_until_ready()
    with jax.profiler.trace(tmp_path):
        for _ in range(3):
            function(x).block_until_ready()
    (file,) = tmp_path.rglob("*.trace.json.gz")
    events = json.loads(gzip.decompress(file.read_bytes()))["traceEvents"]
    devices = {event["pid"] for event in events if event.get("name") == "process_name" and "/device:GPU" in event["args"]["name"]}
    kernels = collections.Counter(event["name"] for event in events if event.get("ph") == "X" and event["pid"] in devices)
    assert 3 in kernels.values(), kernels
