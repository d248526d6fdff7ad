"""The kernels of Triton's tutorials, as its users write them: each against PyTorch on the processor."""

import pytest
import torch
import triton
import triton.language as tl

device = "cuda"


def on_host(result):
    return result.cpu()


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


def test_vector_add():
    x, y = torch.rand(98_432), torch.rand(98_432)
    out = torch.empty(98_432, device=device)
    add_kernel[(triton.cdiv(98_432, 1024),)](x.to(device), y.to(device), out, 98_432, BLOCK=1024)
    assert torch.equal(on_host(out), x + y)


@triton.jit
def softmax_kernel(out, x, stride, rows, columns, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=STAGES):
        at = tl.arange(0, BLOCK)
        inside = at < columns
        value = tl.load(x + row * stride + at, mask=inside, other=-float("inf"))
        value = tl.exp(value - tl.max(value, axis=0))
        tl.store(out + row * stride + at, value / tl.sum(value, axis=0), mask=inside)


@pytest.mark.parametrize("columns", [64, 781, 2048])
def test_fused_softmax(columns):
    x = torch.randn(173, columns)
    out = torch.empty(173, columns, device=device)
    softmax_kernel[(32,)](out, x.to(device), columns, 173, columns, BLOCK=triton.next_power_of_2(columns), STAGES=2,
                          num_warps=8)
    torch.testing.assert_close(on_host(out), torch.softmax(x, 1))


@triton.jit
def matmul_kernel(a, b, c, M, N, K, sam, sak, sbk, sbn, scm, scn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
                  GROUP: tl.constexpr):
    program, across = tl.program_id(0), tl.cdiv(N, BN)
    in_group = GROUP * across
    first = program // in_group * GROUP
    size = min(tl.cdiv(M, BM) - first, GROUP)
    m, n = first + program % in_group % size, program % in_group // size
    rows, columns, depth = (m * BM + tl.arange(0, BM)) % M, (n * BN + tl.arange(0, BN)) % N, tl.arange(0, BK)
    at_a, at_b = a + rows[:, None] * sam + depth[None, :] * sak, b + depth[:, None] * sbk + columns[None, :] * sbn
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        left = tl.load(at_a, mask=depth[None, :] < K - k * BK, other=0.0)
        right = tl.load(at_b, mask=depth[:, None] < K - k * BK, other=0.0)
        total = tl.dot(left, right, total)
        at_a += BK * sak
        at_b += BK * sbk
    rows, columns = m * BM + tl.arange(0, BM), n * BN + tl.arange(0, BN)
    tl.store(c + scm * rows[:, None] + scn * columns[None, :], total.to(c.dtype.element_ty),
             mask=(rows[:, None] < M) & (columns[None, :] < N))


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("shape", [(128, 96, 64), (200, 130, 75)])
def test_matrix_product(kind, shape):
    M, N, K = shape
    a, b = torch.randn(M, K, dtype=kind), torch.randn(K, N, dtype=kind)
    c, left, right = torch.empty(M, N, device=device, dtype=kind), a.to(device), b.to(device)
    grid = (triton.cdiv(M, 64) * triton.cdiv(N, 32),)
    matmul_kernel[grid](left, right, c, M, N, K, *left.stride(), *right.stride(), *c.stride(), BM=64, BN=32, BK=32, GROUP=8)
    torch.testing.assert_close(on_host(c).float(), a.float() @ b.float(), rtol=2e-2, atol=1e-1)


@triton.jit
def dropout_kernel(x, out, n, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    keep = tl.rand(seed, at) > p
    tl.store(out + at, tl.where(keep, tl.load(x + at, mask=inside) / (1 - p), 0.0), mask=inside)


def test_dropout_repeats_by_its_seed():
    x = torch.ones(10_000).to(device)
    results = [torch.empty_like(x) for _ in range(3)]
    for result, seed in zip(results, [123, 123, 512]):
        dropout_kernel[(triton.cdiv(10_000, 1024),)](x, result, 10_000, 0.5, seed, BLOCK=1024)
    first, again, other = map(on_host, results)
    assert torch.equal(first, again) and not torch.equal(first, other)
    assert set(first.unique().tolist()) == {0.0, 2.0} and abs(first.mean().item() - 1) < 0.05


@triton.jit
def norm_forward(x, y, w, b, mean_out, rstd_out, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < N
    value = tl.load(x + row * N + at, mask=inside, other=0.0)
    mean = tl.sum(value, axis=0) / N
    centred = tl.where(inside, value - mean, 0.0)
    rstd = 1 / tl.sqrt(tl.sum(centred * centred, axis=0) / N + eps)
    tl.store(mean_out + row, mean)
    tl.store(rstd_out + row, rstd)
    tl.store(y + row * N + at, centred * rstd * tl.load(w + at, mask=inside) + tl.load(b + at, mask=inside), mask=inside)


@triton.jit
def norm_backward(dx, dy, dw, db, x, w, mean_in, rstd_in, lock, count, N, GROUP: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < N
    value, grad = tl.load(x + row * N + at, mask=inside, other=0.0), tl.load(dy + row * N + at, mask=inside, other=0.0)
    weight, mean, rstd = tl.load(w + at, mask=inside), tl.load(mean_in + row), tl.load(rstd_in + row)
    xhat, wdy = (value - mean) * rstd, weight * grad
    xhat, wdy = tl.where(inside, xhat, 0.0), tl.where(inside, wdy, 0.0)
    c1, c2 = tl.sum(xhat * wdy, axis=0) / N, tl.sum(wdy, axis=0) / N
    tl.store(dx + row * N + at, (wdy - (xhat * c1 + c2)) * rstd, mask=inside)
    # Rows of a group add up under a lock.
    group = row % GROUP
    while tl.atomic_cas(lock + group, 0, 1) == 1:
        pass
    seen = tl.load(count + group)
    part_w, part_b = grad * xhat, grad
    if seen != 0:
        part_w += tl.load(dw + group * N + at, mask=inside)
        part_b += tl.load(db + group * N + at, mask=inside)
    tl.store(count + group, 1)
    tl.store(dw + group * N + at, part_w, mask=inside)
    tl.store(db + group * N + at, part_b, mask=inside)
    tl.debug_barrier()
    tl.atomic_xchg(lock + group, 0)


def test_layer_norm_forward_and_backward():
    M, N, group = 151, 512, 16
    x, w, b, dy = torch.randn(M, N), torch.rand(N), torch.rand(N), torch.randn(M, N)
    for each in (x, w, b):
        each.requires_grad_()
    want = torch.nn.functional.layer_norm(x, (N,), w, b)
    want.backward(dy)
    dx, dw, db = (torch.zeros(shape, device=device) for shape in ((M, N), (group, N), (group, N)))
    y, mean, rstd = torch.empty(M, N, device=device), torch.empty(M, device=device), torch.empty(M, device=device)
    gx, gw, gb = x.detach().to(device), w.detach().to(device), b.detach().to(device)
    norm_forward[(M,)](gx, y, gw, gb, mean, rstd, N, 1e-5, BLOCK=512)
    torch.testing.assert_close(on_host(y), want.detach(), rtol=1e-4, atol=1e-4)
    locks, counts = (torch.zeros(group, dtype=torch.int32, device=device) for _ in range(2))
    norm_backward[(M,)](dx, dy.to(device), dw, db, gx, gw, mean, rstd, locks, counts, N, GROUP=group, BLOCK=512)
    torch.testing.assert_close(on_host(dx), x.grad, rtol=1e-3, atol=1e-4)
    torch.testing.assert_close(on_host(dw).sum(0), w.grad, rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(on_host(db).sum(0), b.grad, rtol=1e-3, atol=1e-3)


@triton.jit
def attention_kernel(q, k, v, out, scale, N, CAUSAL: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    rows, depth = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    head = tl.program_id(1) * N * D
    query = tl.load(q + head + rows[:, None] * D + depth[None, :])
    most, total = tl.full((BM,), float("-inf"), tl.float32), tl.zeros((BM,), tl.float32)
    result = tl.zeros((BM, D), tl.float32)
    end = (tl.program_id(0) + 1) * BM if CAUSAL else N
    for start in range(0, end, BN):
        columns = start + tl.arange(0, BN)
        score = tl.dot(query, tl.load(k + head + columns[None, :] * D + depth[:, None])) * scale
        if CAUSAL:
            score = tl.where(rows[:, None] >= columns[None, :], score, float("-inf"))
        higher = tl.maximum(most, tl.max(score, 1))
        weight, fade = tl.exp2(score - higher[:, None]), tl.exp2(most - higher)
        total = total * fade + tl.sum(weight, 1)
        value = tl.load(v + head + columns[:, None] * D + depth[None, :])
        result = tl.dot(weight.to(value.dtype), value, result * fade[:, None])
        most = higher
    tl.store(out + head + rows[:, None] * D + depth[None, :], (result / total[:, None]).to(out.dtype.element_ty))


@pytest.mark.parametrize("causal", [False, True])
def test_fused_attention(causal):
    q, k, v = (torch.randn(2, 128, 32, dtype=torch.float16) for _ in range(3))
    out = torch.empty(2, 128, 32, dtype=torch.float16, device=device)
    attention_kernel[(2, 2)](q.to(device), k.to(device), v.to(device), out, 32**-0.5 * 1.44269504, 128, CAUSAL=causal,
                             BM=64, BN=32, D=32)
    want = torch.nn.functional.scaled_dot_product_attention(q.float(), k.float(), v.float(), is_causal=causal)
    torch.testing.assert_close(on_host(out).float(), want, rtol=1e-2, atol=1e-2)


@triton.jit
def scan_kernel(x, sums, places, N: tl.constexpr):
    at = tl.arange(0, N)
    value = tl.load(x + at)
    tl.store(sums + at, tl.cumsum(value, 0))
    tl.store(places + at, tl.sort(value))


def test_scans_and_sorts():
    x = torch.randint(0, 1000, (512,), dtype=torch.int32)
    sums, places = (torch.empty(512, dtype=torch.int32, device=device) for _ in range(2))
    scan_kernel[(1,)](x.to(device), sums, places, N=512)
    assert torch.equal(on_host(sums), x.cumsum(0).int()) and torch.equal(on_host(places), x.sort().values)


@triton.jit
def histogram_kernel(x, bins, N: tl.constexpr):
    tl.atomic_add(bins + tl.load(x + tl.program_id(0) * N + tl.arange(0, N)), 1)


def test_atomics():
    x = torch.randint(0, 37, (8192,), dtype=torch.int32)
    bins = torch.zeros(37, dtype=torch.int32, device=device)
    histogram_kernel[(32,)](x.to(device), bins, N=256)
    assert torch.equal(on_host(bins), x.bincount(minlength=37).int())


@triton.jit
def wrong_kernel(x):
    tl.inline_asm_elementwise("no.such.instruction $0, $1;", "=r,r", [tl.load(x)], dtype=tl.int32, is_pure=False, pack=1)


def test_ptx_that_is_refused_says_why(capfd):
    with pytest.raises(Exception, match="no.such.instruction"):
        wrong_kernel[(1,)](torch.zeros(1, dtype=torch.int32, device=device))
