"""Operators that PyTorch has for CUDA devices only, as functions of CPU tensors."""

import torch

from verdigris_eager import _attention, _cells, _norms

_aten = torch.ops.aten


def _convolution(input, weight, padding, stride, dilation, groups, benchmark, deterministic, allow_tf32):
    return _aten.convolution(input, weight, None, stride, padding, dilation, False, [0] * len(padding), groups)


def _transposed(input, weight, padding, output_padding, stride, dilation, groups, benchmark, deterministic, allow_tf32):
    return _aten.convolution(input, weight, None, stride, padding, dilation, True, output_padding, groups)


def _convolution_relu(input, weight, bias, stride, padding, dilation, groups):
    return _aten.convolution(input, weight, bias, stride, padding, dilation, False, [0] * len(padding), groups).relu()


def _convolution_add_relu(input, weight, z, alpha, bias, stride, padding, dilation, groups):
    out = _aten.convolution(input, weight, bias, stride, padding, dilation, False, [0] * len(padding), groups)
    return (out + z * (1 if alpha is None else alpha)).relu()


def _depthwise(input, weight, kernel_size, bias, stride, padding, dilation):
    return _aten.convolution(input, weight, bias, stride, padding, dilation, False, [0] * len(padding), input.size(1))


def _fused_dropout(input, p, generator=None):
    mask = torch.empty_like(input).bernoulli_(p, generator=generator)
    return input * mask / p, mask.to(torch.uint8)


def _masked_scale(input, mask, scale):
    return input * mask * scale


def _product(name):
    """A product of matrices whose result has another type."""
    function = getattr(torch, name)

    def run(*args, **kwargs):
        *matrices, kind = args
        return function(*(each.to(kind) for each in matrices), **kwargs)

    return run


FUNCTIONS = {
    "_scaled_dot_product_flash_attention": _attention.flash,
    "_scaled_dot_product_flash_attention_backward": _attention.flash_backward,
    "_scaled_dot_product_efficient_attention": _attention.efficient,
    "_scaled_dot_product_efficient_attention_backward": _attention.efficient_backward,
    "_scaled_dot_product_cudnn_attention": _attention.cudnn,
    "_scaled_dot_product_cudnn_attention_backward": _attention.cudnn_backward,
    "_thnn_fused_lstm_cell": _cells.lstm,
    "_thnn_fused_lstm_cell_backward_impl": _cells.lstm_backward,
    "_thnn_fused_gru_cell": _cells.gru,
    "_thnn_fused_gru_cell_backward": _cells.gru_backward,
    "cudnn_batch_norm": _norms.cudnn_batch_norm,
    "cudnn_batch_norm_backward": _norms.cudnn_batch_norm_backward,
    "batch_norm_stats": _norms.stats,
    "batch_norm_elemt": _norms.apply,
    "batch_norm_gather_stats": _norms.gather,
    "batch_norm_gather_stats_with_counts": _norms.gather_with_counts,
    "batch_norm_backward_reduce": _norms.reduce_gradients,
    "batch_norm_backward_elemt": _norms.input_gradient,
    "_fused_rms_norm_backward": _norms.rms_backward,
    "cudnn_convolution": _convolution,
    "cudnn_convolution_transpose": _transposed,
    "cudnn_convolution_relu": _convolution_relu,
    "cudnn_convolution_add_relu": _convolution_add_relu,
    "_conv_depthwise2d": _depthwise,
    "conv_depthwise3d": _depthwise,
    "_fused_dropout": _fused_dropout,
    "_masked_scale": _masked_scale,
    "mm.dtype": _product("mm"),
    "bmm.dtype": _product("bmm"),
    "addmm.dtype": _product("addmm"),
    "baddbmm.dtype": _product("baddbmm"),
}
