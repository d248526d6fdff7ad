#!/usr/bin/env python3
"""All operators that PyTorch's own tests know (its table op_db), on device="cuda" against device="cpu".

    torch_operators.py OUT.tsv [MOST_SAMPLES]      under `verdigris run`

For each operator float32 (or the first type that it takes) and some of PyTorch's own samples of arguments, forward, and backward
where it has a gradient. A line of OUT.tsv: operator, samples, passed, then what was said of the first that did not pass. Operators that
are there already are not tried again, so that a run that was cut off goes on. Prints the counts.
"""

import itertools
import pathlib
import sys

import torch
from torch.testing._internal.common_methods_invocations import op_db

# What cannot be compared by value: random results, memory that nobody has written, vectors that are unique up to their sign.
_NO_VALUES = {"bernoulli", "cauchy", "empty", "empty_like", "empty_permuted", "empty_strided", "exponential", "geometric", "log_normal",
              "multinomial", "new_empty", "new_empty_strided", "normal", "rand_like", "randint", "randint_like", "randn", "randn_like",
              "svd", "svd_lowrank", "pca_lowrank", "uniform", "linalg.eig", "linalg.eigh", "linalg.svd", "geqrf", "ormqr",
              "nn.functional.dropout", "nn.functional.dropout2d", "nn.functional.dropout3d", "nn.functional.alpha_dropout",
              "nn.functional.feature_alpha_dropout", "nn.functional.fractional_max_pool2d", "nn.functional.fractional_max_pool3d",
              "nn.functional.rrelu", "nn.functional.scaled_dot_product_attention", "nn.functional.multi_head_attention_forward",
              "torch.ops.aten._safe_softmax.default", "linalg.qr", "qr", "rand", "randperm"}


def moved(value, device):
    if isinstance(value, torch.Tensor):
        return moved_tensor(value.detach(), device).requires_grad_(value.requires_grad)
    if isinstance(value, (list, tuple)):
        kind = type(value)
        return kind(*(moved(each, device) for each in value)) if hasattr(value, "_fields") else kind(
            moved(each, device) for each in value)
    if isinstance(value, dict):
        return {key: moved(each, device) for key, each in value.items()}
    if isinstance(value, (torch.device, str)) and str(value) == "cpu":
        return type(value)(device)
    return value


def moved_tensor(tensor, device):
    """With all memory that it is a part of, which some operators look at."""
    if tensor.layout is not torch.strided or tensor.untyped_storage().nbytes() == tensor.nbytes:
        return tensor.to(device)
    whole = torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage()).to(device)
    return whole.as_strided(tensor.size(), tensor.stride(), tensor.storage_offset())


def tensors(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [one for each in value for one in tensors(each)] if isinstance(value, (list, tuple)) else []


def results(operator, sample, device, backward):
    arguments = moved((sample.input, sample.args, sample.kwargs), device)
    out = operator(arguments[0], *arguments[1], **arguments[2])
    found = tensors(out)
    assert all(each.device.type == device for each in found if each.dim()), "a result is on another device"
    leaves = [each for each in tensors(arguments) if each.requires_grad]
    ends = [each for each in found if each.requires_grad and (each.is_floating_point() or each.is_complex())]
    if backward and leaves and ends:
        found += [each for each in torch.autograd.grad(ends, leaves, [torch.ones_like(each) for each in ends], allow_unused=True)
                  if each is not None]
    return [each.detach().to_dense().cpu() if each.layout is not torch.strided else each.detach().resolve_conj().resolve_neg().cpu()
            for each in found]


def compare(operator, sample, backward):
    try:
        want = results(operator, sample, "cpu", backward)
    except Exception:
        return None  # PyTorch's CPU operator does not take it either
    torch.manual_seed(0)
    got = results(operator, sample, "cuda", backward)
    assert len(got) == len(want), f"{len(got)} results for {len(want)}"
    for one, other in zip(got, want):
        assert one.shape == other.shape and one.dtype == other.dtype, f"{one.dtype} {one.shape} for {other.dtype} {other.shape}"
        if operator.name not in _NO_VALUES:
            if one.dtype.itemsize == 1 and one.is_floating_point():
                one, other = one.float(), other.float()
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5, equal_nan=True)
    return True


def try_operator(operator, most):
    taken = operator.supported_dtypes("cpu") or operator.supported_dtypes("cuda")
    kind = torch.float32 if torch.float32 in taken else sorted(taken, key=str)[0]
    backward = operator.supports_autograd and kind.is_floating_point
    count = passed = 0
    said = ""
    for sample in itertools.islice(operator.sample_inputs("cpu", kind, requires_grad=backward), most):
        try:
            good = compare(operator, sample, backward)
        except Exception as error:
            good, text = False, f"{type(error).__name__}: {error}".strip()
            said = said or " ".join(text.split())[:300]
        if good is not None:
            count, passed = count + 1, passed + bool(good)
    return count, passed, said


def main():
    path, most = pathlib.Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 2
    text = path.read_text() if path.exists() else ""
    done = {line.split("\t")[0] for line in text.splitlines()}
    with path.open("a") as out:
        if text and not text.endswith("\n"):
            out.write("1\t0\tended the process\n")
        for operator in op_db:
            name = operator.name + (f".{operator.variant_test_name}" if operator.variant_test_name else "")
            if name in done:
                continue
            out.write(f"{name}\t")
            out.flush()
            torch.manual_seed(0)
            count, passed, said = try_operator(operator, most)
            out.write(f"{count}\t{passed}\t{said}\n")
            out.flush()
    rows = [line.split("\t") for line in path.read_text().splitlines()]
    good = sum(row[1] == row[2] for row in rows)
    print(f"{len(rows)} operators: {good} as on the CPU, {len(rows) - good} not; {sum(int(row[1]) for row in rows)} samples, "
          f"{sum(int(row[2]) for row in rows)} as on the CPU")


if __name__ == "__main__":
    main()
