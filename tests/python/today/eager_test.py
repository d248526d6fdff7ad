"""PyTorch's operators on device="cuda" without torch.compile: networks that are trained, against the CPU's losses, and what is
particular about operators of a device."""

import copy
import io
import json
import os
import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

STEPS = 12


class Convolutional(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
                                  nn.Conv2d(8, 16, 3, stride=2, groups=2), nn.GroupNorm(4, 16), nn.GELU(), nn.AdaptiveAvgPool2d(2))
        self.head = nn.Linear(64, 5)

    def forward(self, x):
        return self.head(self.body(x).flatten(1))


class Transformer(nn.Module):
    def __init__(self, words=40, width=32):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        layer = nn.TransformerEncoderLayer(width, 4, 64, dropout=0.0, batch_first=True, activation="gelu")
        self.body, self.head = nn.TransformerEncoder(layer, 2), nn.Linear(width, words)

    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(x.size(1), device=x.device)
        return self.head(self.body(self.embedding(x), mask=mask, is_causal=True)).flatten(0, 1)


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.body, self.head = kind(6, 16, num_layers=2, bidirectional=True, batch_first=True), nn.Linear(32, 5)

    def forward(self, x):
        return self.head(self.body(x)[0][:, -1])


def pictures():
    return torch.randn(64, 3, 12, 12), torch.randint(0, 5, (64,))


def sentences():
    words = torch.randint(0, 40, (64, 11))
    return words[:, :-1], words[:, 1:]


def sequences():
    return torch.randn(64, 7, 6), torch.randint(0, 5, (64,))


def losses(model, data, device, optimizer, **loader):
    model = copy.deepcopy(model).to(device)
    step, out = optimizer(model.parameters()), []
    batches = DataLoader(TensorDataset(*data), batch_size=16, **loader)
    while len(out) < STEPS:
        for x, y in batches:
            x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
            step.zero_grad()
            loss = F.cross_entropy(model(x), y.flatten())
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            step.step()
            out.append(loss.item())
    return torch.tensor(out)


OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, 0.05, momentum=0.9),
    "adamw": lambda p: torch.optim.AdamW(p, 1e-3),
    "adam_fused": lambda p: torch.optim.Adam(p, 1e-3, fused=True),
    "rmsprop": lambda p: torch.optim.RMSprop(p, 1e-3),
}
MODELS = {
    "convolutional": (Convolutional, pictures),
    "transformer": (Transformer, sentences),
    "lstm": (lambda: Recurrent(nn.LSTM), sequences),
    "gru": (lambda: Recurrent(nn.GRU), sequences),
}


@pytest.fixture(autouse=True)
def seeds():
    torch.manual_seed(11)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("model", MODELS)
def test_training_has_the_losses_of_the_cpu(model, optimizer):
    make, data = MODELS[model]
    model, data, optimizer = make(), data(), OPTIMIZERS[optimizer]
    want, got = (losses(model, data, device, optimizer) for device in ("cpu", "cuda"))
    torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-4)
    assert got[-1] < got[0]


def test_loaders_with_workers_and_pinned_memory():
    model, data = Convolutional(), pictures()
    want = losses(model, data, "cpu", OPTIMIZERS["sgd"])
    got = losses(model, data, "cuda", OPTIMIZERS["sgd"], num_workers=2, pin_memory=True)
    torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("model", MODELS)
def test_mixed_precision(model, kind):
    make, data = MODELS[model]
    model, (x, y) = make().cuda(), (each.cuda() for each in data())
    step, scaler, seen = torch.optim.AdamW(model.parameters(), 3e-3), torch.amp.GradScaler("cuda"), []
    for _ in range(STEPS):
        step.zero_grad()
        with torch.autocast("cuda", dtype=kind):
            loss = F.cross_entropy(model(x), y.flatten())
        scaler.scale(loss).backward()
        scaler.step(step)
        scaler.update()
        seen.append(loss.item())
    assert seen[-1] < seen[0] and all(each == each for each in seen)


@pytest.mark.parametrize("backend", ["FLASH_ATTENTION", "EFFICIENT_ATTENTION", "CUDNN_ATTENTION", "MATH"])
@pytest.mark.parametrize("causal", [False, True])
def test_each_way_of_attention(backend, causal):
    from torch.nn.attention import SDPBackend, sdpa_kernel

    inputs = [torch.randn(2, 4, 10, 16) for _ in range(3)]

    def run(device, kind):
        given = [each.to(device, kind).requires_grad_() for each in inputs]
        out = F.scaled_dot_product_attention(*given, is_causal=causal)
        out.backward(torch.ones_like(out))
        return [each.detach().float().cpu() for each in (out, *(each.grad for each in given))]

    with sdpa_kernel(getattr(SDPBackend, backend)):
        got = run("cuda", torch.bfloat16)
    for one, other in zip(got, run("cpu", torch.float32)):
        torch.testing.assert_close(one, other, rtol=5e-2, atol=5e-2)


def test_dropout_in_attention_has_one_mask_both_ways():
    q, k, v = (torch.randn(1, 2, 8, 16, device="cuda", requires_grad=True) for _ in range(3))
    out, *_, seed, offset = torch.ops.aten._scaled_dot_product_efficient_attention(q, k, v, None, True, 0.5)
    (grad,) = torch.autograd.grad(out.sum(), v)
    torch.testing.assert_close((grad * v).sum(), out.sum())  # out is linear in v


def test_seeds_and_states_of_generators():
    torch.cuda.manual_seed(5)
    first = torch.randn(9, device="cuda"), F.dropout(torch.ones(40, device="cuda")), torch.randperm(12, device="cuda")
    state = torch.cuda.get_rng_state()
    second = torch.rand(9, device="cuda")
    torch.cuda.set_rng_state(state)
    assert torch.equal(torch.rand(9, device="cuda"), second)
    torch.cuda.manual_seed(5)
    again = torch.randn(9, device="cuda"), F.dropout(torch.ones(40, device="cuda")), torch.randperm(12, device="cuda")
    assert all(torch.equal(one, other) for one, other in zip(first, again))
    own = torch.Generator("cuda").manual_seed(5)
    assert torch.equal(torch.randn(9, device="cuda", generator=own), first[0])


def test_numbers_of_the_device_leave_those_of_the_cpu_alone():
    torch.manual_seed(1)
    want = torch.rand(3)
    torch.manual_seed(1)
    F.dropout(torch.randn(5, device="cuda"))
    assert torch.equal(torch.rand(3), want)


def test_checkpoints_of_activations_draw_the_same_mask_again():
    from torch.utils.checkpoint import checkpoint

    x = torch.ones(200, device="cuda", requires_grad=True)
    out = checkpoint(lambda each: F.dropout(each, 0.5), x, use_reentrant=False)
    out.sum().backward()
    assert torch.equal(out.detach(), x.grad)


def test_views_strides_and_places():
    x = torch.arange(24.0, device="cuda").view(4, 6)
    x.t()[1:3].mul_(2)
    x[:, ::2] += 1
    x[x > 20] = 0
    x[[0, 2], 1:3] = torch.tensor([7.0, 8.0], device="cuda")
    want = torch.arange(24.0).view(4, 6)
    want.t()[1:3].mul_(2)
    want[:, ::2] += 1
    want[want > 20] = 0
    want[[0, 2], 1:3] = torch.tensor([7.0, 8.0])
    assert torch.equal(x.cpu(), want)
    out = torch.empty(0, device="cuda")
    assert torch.add(x, x, out=out) is out and torch.equal(out.cpu(), want * 2)
    into = torch.zeros(6, 4, device="cuda").t()
    torch.mul(x, 3, out=into)
    assert torch.equal(into.cpu(), want * 3) and into.stride() == (1, 4)


@pytest.mark.parametrize("name", ["add", "mul", "div", "remainder", "fmod", "pow", "maximum", "eq", "lt", "bitwise_and", "copysign"])
def test_numbers_of_python_beside_tensors(name):
    function = getattr(torch.Tensor, name)
    for x in (torch.arange(6), torch.arange(6.0).half(), torch.tensor(3), torch.tensor(3.0).half()):
        for number in (5, 2.5):
            try:
                want = function(x, number)
            except (RuntimeError, TypeError):
                continue
            torch.testing.assert_close(function(x.cuda(), number).cpu(), want)


def test_numbers_that_become_tensors_within_an_operator():
    x, places = torch.randn(5, 4), torch.tensor([[-1, 2, 0, 1]])
    assert torch.equal(torch.take_along_dim(x.cuda(), places.cuda(), 0).cpu(), torch.take_along_dim(x, places, 0))


def test_complex_numbers_and_transforms():
    x = torch.randn(4, 4, dtype=torch.complex64)
    got = (x.cuda().conj().t() @ x.cuda(), torch.fft.fft2(x.cuda()), x.cuda().imag, torch.linalg.eigh(x.cuda() @ x.cuda().mH)[0])
    want = (x.conj().t() @ x, torch.fft.fft2(x), x.imag, torch.linalg.eigh(x @ x.mH)[0])
    for one, other in zip(got, want):
        torch.testing.assert_close(one.cpu(), other, rtol=1e-4, atol=1e-4)


def test_operators_wait_for_their_stream():
    side, x = torch.cuda.Stream(), torch.zeros(1 << 20, device="cuda")
    with torch.cuda.stream(side):
        y = (x + 1).copy_(x + 2, non_blocking=True)
        event = side.record_event()
    torch.cuda.current_stream().wait_event(event)
    assert (y + 1).sum().item() == 3 * (1 << 20)


def test_compiled_functions_beside_operators():
    model = Convolutional().cuda().eval()
    x = pictures()[0].cuda()
    torch.testing.assert_close(torch.compile(model)(x), model(x), rtol=1e-4, atol=1e-4)


def test_gradients_by_several_threads():
    from torch.nn.parallel import parallel_apply

    if torch.cuda.device_count() < 2:
        pytest.skip("two devices are wanted")
    models = [nn.Linear(4, 4).to(f"cuda:{i}") for i in range(2)]
    outs = parallel_apply(models, [torch.ones(2, 4, device=f"cuda:{i}") for i in range(2)])
    assert [each.device.index for each in outs] == [0, 1]


def test_what_is_on_two_devices_is_refused():
    with pytest.raises(RuntimeError, match="same device"):
        torch.ones(3, device="cuda") + torch.ones(3)


def test_what_has_no_cpu_operator_says_so():
    q = torch.randn(1, 8, 2, 16, device="cuda", dtype=torch.float16)
    with pytest.raises(RuntimeError, match="verdigris: _flash_attention_forward"):
        torch.ops.aten._flash_attention_forward(q, q, q, None, None, 8, 8, 0.0, False, False)


def test_models_are_kept_and_loaded():
    model, kept = Convolutional().cuda(), io.BytesIO()
    torch.save(model.state_dict(), kept)
    kept.seek(0)
    for name, value in torch.load(kept).items():
        assert value.is_cuda and torch.equal(value, model.state_dict()[name])


def test_the_profiler_sees_calls_and_copies(tmp_path):
    there = torch.ones(1 << 20, device="cuda")
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profiler:
        for _ in range(3):
            there.cpu().cuda()
        torch.cuda.synchronize()
    profiler.export_chrome_trace(str(tmp_path / "trace.json"))
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    names = [event["name"] for event in events if event.get("cat") == "gpu_memcpy"]
    assert names.count("Memcpy DtoH (Device -> Pageable)") == 3 and names.count("Memcpy HtoD (Pageable -> Device)") == 3, names
    calls = {event["name"] for event in events if event.get("cat") == "cuda_runtime"}
    assert {"cudaMemcpyAsync", "cudaDeviceSynchronize"} <= calls, calls


CHECKED = """
import torch
import triton
import triton.language as tl

@triton.jit
def double(x, y, count: tl.constexpr):
    at = tl.arange(0, count)
    tl.store(y + at, tl.load(x + at) * 2)

new, random = torch.arange(128, device="cuda", dtype=torch.float32), torch.rand(128, device="cuda")
into, part = torch.empty(128, device="cuda"), torch.empty(256, device="cuda")
torch.add(new, random, out=into)
part[64:192].copy_(into.flip(0))
for x in new, random, new + 1, into, part[64:192]:
    y = torch.empty_like(x)
    double[(1,)](x, y, count=128)
    assert torch.equal(y, x * 2)
print("compared")
fresh = torch.empty(128, device="cuda")
double[(1,)](part, fresh, count=128)
"""


def test_checked_mode_knows_what_operators_have_written(tmp_path):
    """All but the last kernel read what operators have written; it reads 64 elements that nobody has."""
    (tmp_path / "program.py").write_text(CHECKED)
    done = subprocess.run([sys.executable, str(tmp_path / "program.py")], env={**os.environ, "VERDIGRIS_CHECK": "init"},
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.stdout.count("reads what nobody has written in kernel double") == 1, done.stdout
    assert done.stdout.index("compared") < done.stdout.index("reads what nobody has written"), done.stdout
