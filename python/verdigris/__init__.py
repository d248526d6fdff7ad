"""Runs CUDA programs on machines without a GPU.

    import verdigris
    verdigris.activate(devices="cpu:2")      # before anything loads CUDA

From then on numba-cuda, CuPy, cuda-python and every other library of this process use Verdigris's libcuda.so.1. The
`verdigris` command does the same for whole programs, and `pytest --verdigris` for tests.
"""

from verdigris._activation import activate, is_active
from verdigris._files import VERSION as __version__
from verdigris._files import command, library
from verdigris._information import info

__all__ = ["activate", "command", "info", "is_active", "library", "__version__"]
