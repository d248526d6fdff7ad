"""The order of streams: what was given to the current stream before an operator is done before it runs."""

import ctypes

import torch

_driver = ctypes.CDLL("libcuda.so.1")
_synchronize = _driver.cuStreamSynchronize
_synchronize.argtypes = [ctypes.c_void_p]
_status = _driver.cuStreamIsCapturing
_status.argtypes = [ctypes.c_void_p, ctypes.POINTER(ctypes.c_int)]


class CapturedError(RuntimeError):
    pass


def wait(index, operator):
    """Waits for the current stream of a device."""
    stream = torch._C._cuda_getCurrentRawStream(index)
    if _captures(stream):
        raise CapturedError(f"verdigris: {operator} cannot be captured into a CUDA graph on an emulated device: PyTorch's operators "
                            "run on the CPU there, at once. Kernels of torch.compile and Triton can.")
    # The default stream is that of the device that is current.
    if (stream or torch._C._cuda_getDevice() == index) and not _synchronize(stream):
        return
    torch.cuda.current_stream(index).synchronize()  # and tells of errors


def _captures(stream):
    state = ctypes.c_int()
    return bool(stream) and not _status(stream, ctypes.byref(state)) and state.value != 0


def wait_all(indices, operator):
    for index in indices:
        wait(index, operator)
