"""Python imports this at its start where `verdigris run` has put this folder into PYTHONPATH: it readies the hook that waits for
PyTorch, and then does what the system's own sitecustomize would have done."""

import contextlib
import importlib.machinery
import importlib.util
import os
import sys

_here = os.path.dirname(os.path.abspath(__file__))


def _run_the_next():
    """The sitecustomize that this one hides, if there is one."""
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", [each for each in sys.path if not _is_here(each)])
    if spec and spec.loader:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


def _is_here(folder):
    return os.path.abspath(folder or ".") == _here


def _wait_for_torch():
    writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # a package's folder holds what it brought
    try:
        import verdigris_eager

        verdigris_eager.wait_for_torch()
    except Exception as error:  # a Python of another age: PyTorch is then as it was
        print(f"[verdigris] PyTorch's operators are left alone: {error}", file=sys.stderr)
    finally:
        sys.dont_write_bytecode = writes


def _leave_no_bytecode():
    """Python has written this file's, which nobody would remove with the package."""
    cached = __spec__.cached or ""
    if os.path.dirname(os.path.dirname(cached)) == _here:
        with contextlib.suppress(OSError):
            os.remove(cached)
            os.rmdir(os.path.dirname(cached))


_wait_for_torch()
_leave_no_bytecode()
_run_the_next()
