#!/usr/bin/env python3
"""Times NVIDIA's libraries, through PyTorch, on the libcuda.so.1 that the process finds: a line for each case, name, value
and unit, tab-separated. bench/run starts it with our library and with the vendor's."""

import torch

torch.backends.cuda.matmul.allow_tf32 = True
torch.manual_seed(1)


def microseconds(work, repeats):
    """The best of five rows of `repeats`, each."""
    for _ in range(3):
        work()
    torch.cuda.synchronize()
    best = float("inf")
    for _ in range(5):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(repeats):
            work()
        end.record()
        torch.cuda.synchronize()
        best = min(best, begin.elapsed_time(end) / repeats)
    return best * 1000


def tell(name, work, repeats, each=1):
    print(f"{name}\t{microseconds(work, repeats) / each:.2f}\tus", flush=True)


def noise(*shape, kind=torch.bfloat16):
    return torch.randn(*shape, device="cuda").to(kind)


def products():
    for name, kind in (("bf16", torch.bfloat16), ("f16", torch.float16), ("tf32", torch.float32)):
        for n in (2048, 3072, 4096, 8192):
            a, b = noise(n, n, kind=kind), noise(n, n, kind=kind)
            tell(f"{name} product, n = {n}", lambda: a @ b, max(5, min(100, int(4e12 / n**3))))
    one = torch.tensor(1.0, device="cuda")
    a, b = noise(4096, 4096, kind=torch.float8_e4m3fn), noise(4096, 4096, kind=torch.float8_e4m3fn).t()
    tell("fp8 product, n = 4096", lambda: torch._scaled_mm(a, b, one, one, out_dtype=torch.bfloat16), 30)


def graph_of_products():
    a, graph = noise(1024, 1024), torch.cuda.CUDAGraph()
    a @ a
    with torch.cuda.graph(graph):
        for _ in range(20):
            a @ a
    tell("graph of 20 bf16 products, n = 1024, each", graph.replay, 20, each=20)


def layers():
    q = noise(4, 16, 2048, 64).requires_grad_()

    def attend():
        return torch.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True)

    tell("attention, forward", attend, 20)
    tell("attention, forward and backward", lambda: attend().backward(q), 20)
    convolution = torch.nn.Conv2d(128, 128, 3, padding=1).cuda().bfloat16().to(memory_format=torch.channels_last)
    picture = noise(32, 128, 56, 56).to(memory_format=torch.channels_last)
    tell("convolution of 3 x 3, 128 channels", lambda: convolution(picture), 50)


products()
graph_of_products()
layers()
