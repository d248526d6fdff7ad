"""Random numbers: what an operator draws depends on the seed and the offset of the CUDA generator alone, so that seeds, states
that are kept and put back, and checkpoints of activations work. The numbers are not a GPU's."""

import contextlib
import threading

import torch

_STEP = 4  # offsets of CUDA generators are multiples of it
_lock = threading.RLock()


def on_host(generator, index):
    """A CPU generator that stands for the next numbers of a CUDA generator: of the given one, or that of the device."""
    if generator is None:
        generator = torch.cuda.default_generators[index]
    elif generator.device.type != "cuda":
        raise RuntimeError(f"Expected a 'cuda' device type for generator but found '{generator.device.type}'")
    with _lock:
        offset = generator.get_offset()
        generator.set_offset(offset + _STEP)
    result = torch.Generator()
    result.manual_seed(mixed(generator.initial_seed(), offset))
    return result


def mixed(seed, offset):
    """The seed itself at first, so that the first numbers are those of a CPU generator of that seed."""
    return (seed + 0x9E3779B97F4A7C15 * (offset // _STEP)) % 2**64


@contextlib.contextmanager
def as_default(generator):
    """For operators that take no generator: the CPU's own draws from this one meanwhile, and is then as it was."""
    with _lock:
        kept = torch.default_generator.get_state()
        torch.default_generator.set_state(generator.get_state())
        try:
            yield
        finally:
            torch.default_generator.set_state(kept)
