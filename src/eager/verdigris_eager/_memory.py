"""The bytes of CUDA tensors of an emulated device as CPU tensors, and the way back."""

import ctypes
import os
import threading

import torch

_MOST = 4096
_bases = {}  # (address, bytes, type) -> a CPU tensor over these bytes; it owns nothing, so it may outlive what was there
_lock = threading.Lock()
_written = ctypes.CDLL("libcuda.so.1").verdigris_written
_written.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_written.restype = None
_is_checked = bool(os.environ.get("VERDIGRIS_CHECK"))


def on_host(tensor):
    """A CPU tensor over the memory of a CUDA tensor, of the same shape and strides."""
    if tensor.layout is not torch.strided:
        return _sparse_of(tensor, on_host)
    storage = tensor.untyped_storage()
    key = (storage.data_ptr(), storage.nbytes(), tensor.dtype)
    base = _bases.get(key)
    if base is None:
        base = _make_base(*key)
    view = base.as_strided(tensor.size(), tensor.stride(), tensor.storage_offset())
    if tensor.is_conj():
        view = view.conj()
    return torch._neg_view(view) if tensor.is_neg() else view


def _make_base(address, size, kind):
    count = size // kind.itemsize
    with torch.inference_mode(False):  # one made in inference mode could not be changed outside
        if count:
            base = torch.frombuffer((ctypes.c_char * size).from_address(address), dtype=kind, count=count)
        else:
            base = torch.empty(0, dtype=kind, device="cpu")
    with _lock:
        if len(_bases) >= _MOST:
            _bases.clear()
        _bases[(address, size, kind)] = base
    return base


def _sparse_of(tensor, move):
    """A sparse tensor of the same form, of whose parts `move` has made others."""
    if tensor.layout is torch.sparse_coo:
        return torch.sparse_coo_tensor(move(tensor._indices()), move(tensor._values()), tensor.size(),
                                       is_coalesced=tensor.is_coalesced(), check_invariants=False)
    rows = tensor.layout in (torch.sparse_csr, torch.sparse_bsr)
    outer, inner = (tensor.crow_indices(), tensor.col_indices()) if rows else (tensor.ccol_indices(), tensor.row_indices())
    return torch.sparse_compressed_tensor(move(outer), move(inner), move(tensor.values()), tensor.size(), layout=tensor.layout,
                                          check_invariants=False)


def on_device(tensor, device):
    """A CUDA tensor with the content of a CPU tensor. A copy: device memory is given back in the order of streams, which
    memory of the host is not."""
    if tensor.layout is not torch.strided:
        return _sparse_of(tensor, lambda part: on_device(part, device))
    if tensor.is_conj() or tensor.is_neg():
        tensor = tensor.resolve_conj().resolve_neg()
    result = torch.empty_like(tensor, device=device, requires_grad=False)
    on_host(result).copy_(tensor)
    tell_written(result)
    return result


def tell_written(tensor):
    """Checked mode does not see what the CPU writes to memory of a device."""
    if not _is_checked or tensor.device.type != "cuda":
        return
    if tensor.layout is not torch.strided:
        _sparse_of(tensor, lambda part: tell_written(part) or part)
    elif tensor.numel():
        last = sum((size - 1) * stride for size, stride in zip(tensor.size(), tensor.stride()))
        _written(tensor.data_ptr(), (last + 1) * tensor.element_size())
