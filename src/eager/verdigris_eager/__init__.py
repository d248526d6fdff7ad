"""PyTorch on an emulated device: its CUDA operators, of whose kernels its packages hold native GPU code only, are replaced by its
own CPU operators, which work on the same memory.

Memory of an emulated device is memory of the process. Each call of an operator on CUDA tensors waits for the current stream, runs
PyTorch's CPU operator on the bytes of these tensors, and gives CUDA tensors back. Allocation, views, copies, streams, events and
whatever is compiled to PTX (torch.compile, Triton) stay as they are.

VERDIGRIS_EAGER=off leaves PyTorch alone.
"""

import os
import sys

from verdigris_eager import _import_hook


def wait_for_torch():
    """Replaces the operators when this process first uses CUDA through PyTorch. Does nothing twice."""
    if os.environ.get("VERDIGRIS_EAGER", "") == "off":
        return
    if "torch" in sys.modules:
        _prepare()
    else:
        _import_hook.after_import("torch", _prepare)


def _prepare():
    import torch

    if not torch.version.cuda or not hasattr(torch.cuda, "_lazy_call"):
        return
    torch.cuda._lazy_call(_replace)


def _replace():
    writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # a package's folder holds what it brought
    try:
        from verdigris_eager import _replacements

        _replacements.replace()
    except Exception as error:  # a PyTorch that is too old or too new: CUDA starts all the same
        print(f"[verdigris] PyTorch's operators could not all be replaced by its CPU operators: {error}", file=sys.stderr)
    finally:
        sys.dont_write_bytecode = writes
