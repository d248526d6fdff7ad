"""Which operators are replaced, and how they are registered with PyTorch."""

import os
import sys
import warnings

import torch

from verdigris_eager import _device_only, _host_operator

_KEYS = ("CUDA", "SparseCUDA", "SparseCsrCUDA")
_SPACES = ("aten", "quantized", "torchvision", "torchaudio")

# These run no kernels: they make, describe and copy memory, or choose.
_STAY = {"empty", "empty_strided", "resize_", "set_", "is_set_to", "record_stream", "_local_scalar_dense", "_efficientzerotensor",
         "is_pinned", "_pin_memory", "_has_compatible_shallow_copy_type", "_fused_sdp_choice", "_use_cudnn_ctc_loss",
         "_use_miopen_ctc_loss", "_cudnn_init_dropout_state", "_debug_has_internal_overlap", "_resize_output_",
         "_sparse_coo_tensor_with_dims", "_sparse_coo_tensor_with_dims_and_tensors", "_sparse_coo_tensor_unsafe", "sparse_dim",
         "dense_dim", "_dimI", "_dimV", "_nnz", "_indices", "_values", "indices", "values", "crow_indices", "col_indices",
         "ccol_indices", "row_indices", "is_coalesced", "_coalesced_", "sparse_resize_", "sparse_resize_and_clear_",
         "resize_as_sparse_", "_is_strictly_coalesced"}

# PyTorch has one kernel for all devices of these, which calls kernels of the device by other ways than the dispatcher.
_SHARED = ("convolution", "convolution_backward", "_convolution")

_libraries = []  # what they registered goes when they go
_replaced = set()


def replace():
    """Replaces the CUDA operators of all libraries that are loaded. May be called again when there are more."""
    first = not _libraries
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a kernel is replaced is what is wanted
        for key in _KEYS:
            _replace_key(key)
    if first:
        _choose_plain_ways()
        _again_after_libraries()
        _say()


def _replace_key(key):
    names = torch._C._dispatch_get_registrations_for_dispatch_key(key)
    wanted = [each for each in names if each.partition("::")[0] in _SPACES and (key, each) not in _replaced]
    if key == "CUDA" and not _replaced:
        wanted += [f"aten::{each}" for each in _SHARED]
        _replace_copy()
    for space in {each.partition("::")[0] for each in wanted}:
        library = torch.library.Library(space, "IMPL")
        _libraries.append(library)
        for name in wanted:
            if name.startswith(space + "::") and _is_replaceable(name):
                library.impl(name, _lazily(name), key)
                _replaced.add((key, name))


def _is_replaceable(name):
    return name.partition("::")[2].partition(".")[0] not in _STAY and not _is_view(_operator(name))


def _is_view(operator):
    returns = operator._schema.returns
    return bool(returns) and all(each.alias_info and not each.alias_info.is_write for each in returns)


def _operator(name):
    space, _, rest = name.partition("::")
    base, _, overload = rest.partition(".")
    return getattr(getattr(getattr(torch.ops, space), base), overload or "default")


def _lazily(name):
    """The replacement of an operator, made when it is first called."""
    made = None

    def call(*args, **kwargs):
        nonlocal made
        if made is None:
            made = _host_operator.HostOperator(_operator(name), _device_only.FUNCTIONS.get(name.partition("::")[2]))
        return made(*args, **kwargs)

    return call


def _replace_copy():
    """Plain copies stay the driver's, in the order of their stream and in graphs; what converts or rearranges is the CPU's."""
    library = torch.library.Library("aten", "IMPL")
    _libraries.append(library)
    native = torch.library.get_kernel("aten::copy_", "CUDA") if hasattr(torch.library, "get_kernel") else None
    on_host = _host_operator.HostOperator(torch.ops.aten.copy_.default)

    def copy(keys, self, source, non_blocking=False):
        if native and _is_plain_copy(self, source):
            return native.call_boxed(keys, self, source, non_blocking)
        return on_host(self, source, non_blocking)

    library.impl("copy_", copy, "CUDA", with_keyset=True)


def _is_plain_copy(one, other):
    return (one.dtype == other.dtype and one.layout is other.layout is torch.strided and one.size() == other.size()
            and one.is_contiguous() and other.is_contiguous() and one.is_conj() == other.is_conj()
            and one.is_neg() == other.is_neg() and {one.device.type, other.device.type} <= {"cpu", "cuda"})


def _choose_plain_ways():
    """cuDNN and fused attention would only be asked for what is computed plainly anyway. Programs may choose them again."""
    for name in ("_set_cudnn_enabled", "_set_sdp_use_flash", "_set_sdp_use_mem_efficient", "_set_sdp_use_cudnn"):
        if hasattr(torch._C, name):
            getattr(torch._C, name)(False)


def _again_after_libraries():
    """Libraries of operators that are loaded later, such as torchvision's."""
    load = torch.ops.load_library

    def load_library(path):
        load(path)
        replace()

    torch.ops.load_library = load_library


def _say():
    if os.environ.get("VERDIGRIS_LOG", "warn") in ("error", "critical", "off"):
        return
    print("[verdigris] PyTorch's own CUDA kernels hold no PTX: on this emulated device its operators run as PyTorch's CPU operators "
          "(VERDIGRIS_EAGER=off leaves them alone)", file=sys.stderr)
