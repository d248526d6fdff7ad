"""Normalisations that PyTorch has as operators of their own on GPUs (cuDNN's, those of synchronised batches, of root mean
squares), of CPU tensors."""

import torch

from verdigris_eager._types import wide

_aten = torch.ops.aten


def cudnn_batch_norm(input, weight, bias, running_mean, running_var, training, exponential_average_factor, epsilon):
    out = _aten.native_batch_norm(input, weight, bias, running_mean, running_var, training, exponential_average_factor, epsilon)
    return *out, torch.empty(0, dtype=torch.uint8)


def cudnn_batch_norm_backward(input, grad_output, weight, running_mean, running_var, save_mean, save_var, epsilon, reserveSpace):
    return _aten.native_batch_norm_backward(grad_output, input, weight, running_mean, running_var, save_mean, save_var, True,
                                            epsilon, [True, True, True])


def stats(input, eps):
    channels = wide(input).transpose(0, 1).flatten(1)
    variance, mean = torch.var_mean(channels, 1, correction=0)
    return mean, (variance + eps).rsqrt()


def apply(input, weight, bias, mean, invstd, eps):
    out = (wide(input) - _along(mean, input)) * _along(invstd, input)
    out = out if weight is None else out * _along(weight, input)
    return (out if bias is None else out + _along(bias, input)).to(input.dtype)


def gather(input, mean, invstd, running_mean, running_var, momentum, eps, count):
    return gather_with_counts(input, mean, invstd, running_mean, running_var, momentum, eps,
                              torch.full((mean.size(0),), count, dtype=mean.dtype))


def gather_with_counts(input, mean, invstd, running_mean, running_var, momentum, eps, counts):
    counts, total = counts.to(mean.dtype)[:, None], counts.sum().to(mean.dtype)
    whole = (mean * counts).sum(0) / total
    variance = ((invstd**-2 - eps + (mean - whole) ** 2) * counts).sum(0) / total
    if running_mean is not None:
        running_mean.lerp_(whole.to(running_mean.dtype), momentum)
    if running_var is not None:
        running_var.lerp_((variance * total / (total - 1)).to(running_var.dtype), momentum)
    return whole, (variance + eps).rsqrt()


def reduce_gradients(grad_out, input, mean, invstd, weight, input_g, weight_g, bias_g):
    grad = wide(grad_out)
    sums = grad.transpose(0, 1).flatten(1).sum(1)
    products = (grad * (wide(input) - _along(mean, input))).transpose(0, 1).flatten(1).sum(1)
    kind = input.dtype if weight is None else weight.dtype
    return (sums if input_g else None, products if input_g else None, (products * invstd).to(kind) if weight_g else None,
            sums.to(kind) if bias_g else None)


def input_gradient(grad_out, input, mean, invstd, weight, sum_dy, sum_dy_xmu, count):
    total = count.sum().to(mean.dtype)
    factor = invstd if weight is None else invstd * weight.to(invstd.dtype)
    centred = wide(input) - _along(mean, input)
    grad = wide(grad_out) - _along(sum_dy / total, input) - centred * _along(invstd**2 * sum_dy_xmu / total, input)
    return (grad * _along(factor, input)).to(input.dtype)


def rms_backward(grad_out, input, normalized_shape, rstd, weight, output_mask):
    inner = list(range(input.dim() - len(normalized_shape), input.dim()))
    grad, values, factor = wide(grad_out), wide(input), rstd.to(wide(input).dtype)
    scaled, normal = grad if weight is None else grad * weight, values * factor
    of_input = factor * (scaled - normal * (scaled * normal).mean(inner, keepdim=True))
    of_weight = (grad * normal).sum_to_size(normalized_shape) if weight is not None and output_mask[1] else None
    return (of_input.to(input.dtype) if output_mask[0] else None,
            None if of_weight is None else of_weight.reshape(normalized_shape).to(weight.dtype))


def _along(values, input):
    """A value for each channel, to go with tensors of batches and channels."""
    return values.reshape(1, -1, *[1] * (input.dim() - 2))
