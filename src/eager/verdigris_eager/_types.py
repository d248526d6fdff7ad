"""Types of half precision, and the wider ones that stand in for them while something is computed."""

import torch

WIDER = {torch.float16: torch.float32, torch.bfloat16: torch.float32, torch.complex32: torch.complex64}


def wide(tensor):
    return tensor.to(WIDER[tensor.dtype]) if tensor.dtype in WIDER else tensor
