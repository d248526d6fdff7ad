"""Cells of recurrent networks, which PyTorch has as one operator each on GPUs, of CPU tensors."""

import torch


def lstm(input_gates, hidden_gates, cx, input_bias=None, hidden_bias=None):
    gates = _with_bias(input_gates, input_bias) + _with_bias(hidden_gates, hidden_bias)
    i, f, g, o = gates.chunk(4, 1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    cy = f * cx + i * g
    return o * cy.tanh(), cy, torch.cat([i, f, g, o], 1)


def lstm_backward(grad_hy, grad_cy, cx, cy, workspace, has_bias):
    if grad_hy is None and grad_cy is None:
        return None, None, None
    i, f, g, o = workspace.chunk(4, 1)
    out = cy.tanh()
    grad_hy = torch.zeros_like(cy) if grad_hy is None else grad_hy
    grad = grad_hy * o * (1 - out * out) + (0 if grad_cy is None else grad_cy)
    gates = torch.cat([grad * g * i * (1 - i), grad * cx * f * (1 - f), grad * i * (1 - g * g), grad_hy * out * o * (1 - o)], 1)
    return gates, grad * f, gates.sum(0) if has_bias else None


def gru(input_gates, hidden_gates, hx, input_bias=None, hidden_bias=None):
    ir, iz, inew = _with_bias(input_gates, input_bias).chunk(3, 1)
    hr, hz, hnew = _with_bias(hidden_gates, hidden_bias).chunk(3, 1)
    r, z = (ir + hr).sigmoid(), (iz + hz).sigmoid()
    n = (inew + r * hnew).tanh()
    return (hx - n) * z + n, torch.cat([r, z, n, hx, hnew], 1)


def gru_backward(grad_hy, workspace, has_bias):
    r, z, n, hx, hnew = workspace.chunk(5, 1)
    of_n = grad_hy * (1 - z) * (1 - n * n)
    of_z = grad_hy * (hx - n) * z * (1 - z)
    of_r = of_n * hnew * r * (1 - r)
    of_input, of_hidden = torch.cat([of_r, of_z, of_n], 1), torch.cat([of_r, of_z, of_n * r], 1)
    return of_input, of_hidden, grad_hy * z, of_input.sum(0) if has_bias else None, of_hidden.sum(0) if has_bias else None


def _with_bias(gates, bias):
    return gates if bias is None else gates + bias
