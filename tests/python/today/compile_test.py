"""torch.compile, which makes Triton kernels of functions and models: each against PyTorch on the processor."""

import pytest
import torch
import torch.nn.functional as F

device = "cuda"
torch.manual_seed(7)


def compare(function, *inputs, **tolerances):
    got = torch.compile(function)(*(each.to(device) for each in inputs))
    torch.testing.assert_close(got.cpu(), function(*inputs), **tolerances)


def test_pointwise():
    compare(lambda x, y: torch.relu(x) * torch.sin(y) + x**2, torch.randn(1000, 33), torch.randn(1000, 33))


def test_softmax():
    compare(lambda x: torch.softmax(x, -1), torch.randn(64, 300))


def test_layer_norm():
    compare(lambda x, w, b: F.layer_norm(x, (256,), w, b), torch.randn(40, 256), torch.rand(256), torch.rand(256))


def test_sums_and_extremes():
    compare(lambda x: x.sum(0) + x.amax(0) - x.mean(), torch.randn(500, 70), rtol=1e-4, atol=1e-4)


def test_running_sums_and_gathers():
    compare(lambda x, i: torch.gather(x.cumsum(1), 1, i), torch.randn(20, 100), torch.randint(0, 100, (20, 30)), rtol=1e-4,
            atol=1e-4)


# Products of matrices are cuBLAS's there: of its kernels those of float and double hold PTX.
@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_matrix_products(kind):
    a, b = torch.randn(128, 64, dtype=kind), torch.randn(64, 96, dtype=kind)
    compare(torch.mm, a, b, rtol=1e-4, atol=1e-4)
    compare(torch.bmm, a[None].repeat(3, 1, 1), b[None].repeat(3, 1, 1), rtol=1e-4, atol=1e-4)


class Block(torch.nn.Module):
    """A block of a transformer."""

    def __init__(self, width=32, heads=2):
        super().__init__()
        self.heads = heads
        self.first, self.second = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.up, self.down = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in self.qkv(self.first(x)).chunk(3, -1))
        weights = torch.softmax(q @ k.transpose(-1, -2) / (width / self.heads) ** 0.5, -1)
        x = x + self.out((weights @ v).transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.second(x))))


def run(block, x):
    out = block(x)
    out.backward(out.detach())
    return [out, *(parameter.grad for parameter in block.parameters())]


def test_a_transformer_block_forward_and_backward():
    block, x = Block(), torch.randn(2, 16, 32)
    want = [each.detach().clone() for each in run(block, x)]
    block.zero_grad()
    got = run(torch.compile(block.to(device)), x.to(device))
    for one, other in zip(got, want):
        torch.testing.assert_close(one.detach().cpu(), other, rtol=1e-3, atol=1e-4)
