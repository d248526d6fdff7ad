"""Warp, which makes PTX where the driver is as new as its compiler: kernels, arrays, and kernels captured into a graph."""

import numpy as np
import warp as wp


@wp.kernel
def add_scaled(x: wp.array(dtype=float), y: wp.array(dtype=float), scale: float):
    i = wp.tid()
    y[i] = scale * x[i] + y[i]


def start(count):
    return wp.array(np.arange(count, dtype=np.float32), device="cuda:0"), wp.ones(count, dtype=float, device="cuda:0")


def test_a_kernel_runs_on_the_device():
    x, y = start(1000)
    wp.launch(add_scaled, dim=1000, inputs=[x, y, 2.0], device="cuda:0")
    assert np.array_equal(y.numpy(), 2 * np.arange(1000, dtype=np.float32) + 1)


def test_captured_kernels_run_with_their_graph():
    x, y = start(1000)
    wp.load_module(device="cuda:0")
    with wp.ScopedCapture(device="cuda:0") as capture:
        wp.launch(add_scaled, dim=1000, inputs=[x, y, 1.0], device="cuda:0")
    for _ in range(3):
        wp.capture_launch(capture.graph)
    assert np.array_equal(y.numpy(), 3 * np.arange(1000, dtype=np.float32) + 1)
