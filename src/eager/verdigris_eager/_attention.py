"""Attention as PyTorch's GPU operators have it (flash, memory-efficient, cuDNN), of CPU tensors. Only the results that their
backward functions and callers read are computed; random masks are those of the seed that is returned."""

import math

import torch

from verdigris_eager._types import wide

_FAR = float("-inf")


def flash(query, key, value, dropout_p=0.0, is_causal=False, return_debug_mask=False, *, scale=None):
    out, sums, seed = _forward(query, key, value, None, dropout_p, is_causal, scale)
    rng = torch.tensor([seed, 0], dtype=torch.int64).view(torch.uint64)
    none = torch.empty(0, dtype=torch.int64)
    return out, sums, none, none.clone(), query.size(2), key.size(2), rng, torch.empty(0, dtype=torch.uint64), \
        torch.empty(0, dtype=query.dtype)


def flash_backward(grad_out, query, key, value, out, logsumexp, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p, is_causal,
                   philox_seed, philox_offset, *, scale=None):
    return _backward(grad_out, query, key, value, None, dropout_p, is_causal, scale, philox_seed)[:3]


def efficient(query, key, value, attn_bias, compute_log_sumexp, dropout_p=0.0, is_causal=False, *, scale=None):
    out, sums, seed = _forward(query, key, value, attn_bias, dropout_p, is_causal, scale)
    length = (query.size(2) + 31) // 32 * 32 if compute_log_sumexp else 0
    padded = torch.full((query.size(0), query.size(1), length), float("inf"))
    padded[..., : min(length, query.size(2))] = sums if length else sums[..., :0]
    return out, padded, torch.tensor(seed), torch.tensor(0)


def efficient_backward(grad_out_, query, key, value, attn_bias, out, logsumexp, philox_seed, philox_offset, dropout_p,
                       grad_input_mask, is_causal=False, *, scale=None):
    bias = attn_bias if attn_bias is not None and attn_bias.numel() else None
    grads = _backward(grad_out_, query, key, value, bias, dropout_p, is_causal, scale, philox_seed)
    return tuple(each if wanted else torch.empty(0) for each, wanted in zip(grads, grad_input_mask))


def cudnn(query, key, value, attn_bias, compute_log_sumexp, dropout_p=0.0, is_causal=False, return_debug_mask=False, *,
          scale=None):
    out, sums, seed = _forward(query, key, value, attn_bias, dropout_p, is_causal, scale)
    none = torch.empty(0, dtype=torch.int64)
    return out, sums.unsqueeze(-1), none, none.clone(), query.size(2), key.size(2), torch.tensor(seed), torch.tensor(0), \
        torch.empty(0, dtype=query.dtype)


def cudnn_backward(grad_out, query, key, value, out, logsumexp, philox_seed, philox_offset, attn_bias, cum_seq_q, cum_seq_k,
                   max_q, max_k, dropout_p, is_causal, *, scale=None):
    bias = attn_bias if attn_bias is not None and attn_bias.numel() else None
    return _backward(grad_out, query, key, value, bias, dropout_p, is_causal, scale, philox_seed)[:3]


def _weights(query, key, bias, is_causal, scale):
    """Logarithms of what is summed, in float; (batch, heads of queries, queries, keys)."""
    scale = 1 / math.sqrt(query.size(-1)) if scale is None else scale
    scores = torch.matmul(wide(query), _as_many(wide(key), query.size(1)).transpose(-2, -1)) * scale
    if is_causal:
        below = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
        scores = scores.masked_fill(~below, _FAR)
    return scores if bias is None else scores + wide(bias)


def _forward(query, key, value, bias, dropout, is_causal, scale):
    scores = _weights(query, key, bias, is_causal, scale)
    weights = torch.softmax(scores, -1).nan_to_num(0.0)
    seed = int(torch.randint(2**62, ())) if dropout else 0
    weights = weights * _mask(weights, dropout, seed)
    out = torch.matmul(weights, _as_many(wide(value), query.size(1))).to(query.dtype)
    # As the GPU's operators lay it out: (batch, queries, heads, width).
    return out.transpose(1, 2).contiguous().transpose(1, 2), torch.logsumexp(scores, -1).float(), seed


def _backward(grad, query, key, value, bias, dropout, is_causal, scale, seed):
    """By hand: operators are called where derivatives are off."""
    heads, factor = query.size(1), 1 / math.sqrt(query.size(-1)) if scale is None else scale
    weights = torch.softmax(_weights(query, key, bias, is_causal, scale), -1).nan_to_num(0.0)
    mask = _mask(weights, dropout, _seed_in(seed) if dropout else 0)
    grad, q, k, v = wide(grad), wide(query), _as_many(wide(key), heads), _as_many(wide(value), heads)
    of_weights = torch.matmul(grad, v.transpose(-2, -1)) * mask
    of_scores = weights * (of_weights - (of_weights * weights).sum(-1, keepdim=True))
    grads = [torch.matmul(of_scores, k) * factor,
             _as_few(torch.matmul(of_scores.transpose(-2, -1), q) * factor, key.size(1)),
             _as_few(torch.matmul((weights * mask).transpose(-2, -1), grad), value.size(1))]
    of_bias = torch.empty(0) if bias is None else of_scores.sum_to_size(bias.shape).to(bias.dtype)
    return [each.to(query.dtype) for each in grads] + [of_bias]


def _mask(weights, dropout, seed):
    if not dropout:
        return 1
    keep = torch.empty_like(weights).bernoulli_(1 - dropout, generator=torch.Generator().manual_seed(seed))
    return keep / (1 - dropout)


def _seed_in(tensor):
    return int(tensor.view(torch.int64).reshape(-1)[0])


def _as_many(tensor, heads):
    """Keys and values of groups of heads, once for each head."""
    return tensor if tensor.size(1) == heads else tensor.repeat_interleave(heads // tensor.size(1), 1)


def _as_few(tensor, heads):
    """The sums over heads that share keys and values."""
    return tensor if tensor.size(1) == heads else tensor.unflatten(1, (heads, -1)).sum(2)
