"""Makes the running process use Verdigris: its libraries are loaded first, under the names that CUDA programs ask for.

The dynamic linker gives one library to all who ask for the same name, so that loading ours before anybody asks is enough.
Run-time compilers (NVRTC, nvJitLink) make native GPU code, which no emulated device runs; they are loaded here, too, and
made to give out the PTX instead, as under `verdigris run`. So are ptxas and nvlink when this process starts them.
"""

import ctypes
import glob
import os
import re
import subprocess
import sys
import threading
import warnings

from verdigris import _files, _settings

_lock = threading.Lock()
_loaded = {}
NOT_INITIALIZED = 3


def is_active():
    """Whether this process uses Verdigris: by activate(), or because `verdigris run` started it."""
    return bool(_loaded) or _mapped("libcuda.so.1") == [os.path.realpath(_files.library())]


def activate(devices=None, *, redirect=True, **settings):
    """Makes this process use Verdigris. Call it before CUDA is loaded; later calls may change nothing.

    devices    what to offer, as "cpu:2"; by default what VERDIGRIS_DEVICES says, or else real GPUs, or else "cpu:1"
    redirect   make NVRTC, nvJitLink, ptxas and nvlink give out PTX, which emulated devices need
    others     memory, capability, profile, workers, timeout, seed, log, log_file, trace, check: as the options of `verdigris run`
               and `verdigris check`, and the VERDIGRIS_ variables of the environment
    """
    settings = {"devices": devices, **settings}
    with _lock:
        if _is_running():
            if late := _settings.differing(settings):
                raise RuntimeError(f"CUDA has started in this process: it is too late to set {', '.join(late)}; "
                                   "call verdigris.activate() before anything uses CUDA")
            return
        _refuse_another_driver()
        _settings.apply(settings)
        _load()
        if not _runs_native_code():
            _ready_libraries()
            _ready_torch()
            if redirect:
                _redirect_compilers()
                _redirect_started_compilers()


def _load():
    for name in ("libcuda.so.1", "nvml/libnvidia-ml.so.1", "cupti/libcupti.so.13"):
        _loaded[name] = ctypes.CDLL(str(_files.FOLDER / name))


def _ready_libraries():
    """What `verdigris run` sets for emulated devices, also without redirection: src/tools/run.cpp says why."""
    os.environ.setdefault("CUDA_FORCE_PTX_JIT", "1")
    if "xla_gpu_autotune_level" not in os.environ.get("XLA_FLAGS", ""):
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_gpu_autotune_level=0".strip()
    os.environ.setdefault("TRITON_LIBCUDA_PATH", str(_files.FOLDER))  # Triton links a helper with it


def _ready_torch():
    """PyTorch's operators, whose own kernels hold no PTX, run as its CPU operators: docs/pytorch.md."""
    folder = str(_files.FOLDER / "python")
    if os.path.isdir(folder):
        if folder not in sys.path:
            sys.path.append(folder)
        import verdigris_eager

        verdigris_eager.wait_for_torch()


def _is_running():
    """Whether cuInit has been called on our library: settings have been read then."""
    driver = _loaded.get("libcuda.so.1")
    if driver is None and is_active():
        driver = ctypes.CDLL("libcuda.so.1")
    count = ctypes.c_int()
    return driver is not None and driver.cuDeviceGetCount(ctypes.byref(count)) != NOT_INITIALIZED


def _refuse_another_driver():
    for path in _mapped("libcuda.so.1"):
        if path != os.path.realpath(_files.library()):
            raise RuntimeError(f"{path} is loaded in this process already; call verdigris.activate() before anything loads "
                               "CUDA, or start the program with `verdigris run`")


def _mapped(name):
    """The files of this name that are mapped into the process."""
    found = set()
    try:
        with open("/proc/self/maps") as maps:
            for line in maps:
                path = line.rstrip("\n").partition("/")[2]
                base = os.path.basename(path)
                # The vendor's file is libcuda.so.580.95.05.
                if base == name or base.startswith(name[:-len("1")]):
                    found.add(os.path.realpath("/" + path))
    except OSError:
        pass
    return sorted(found)


def _runs_native_code():
    """Whether a real GPU is among the devices. Asked in another process, which has the same settings: here it would settle
    them."""
    devices = os.environ.get("VERDIGRIS_DEVICES", "auto")
    if devices != "auto":
        return "gpu" in devices
    # Of a profile, which only emulated devices follow, devices have the name of another.
    if not os.path.exists("/dev/nvidiactl") or os.environ.get("VERDIGRIS_PROFILE"):
        return False
    answer = subprocess.run([_files.command(), "info"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return answer.returncode == 0 and "Verdigris Emulated Device" not in answer.stdout


def _compiler_files():
    """NVRTC and nvJitLink of packages from PyPI or conda, and of a toolkit."""
    folders = [os.path.join(path, "nvidia", "*", "lib") for path in sys.path if path]
    folders += [os.path.join(root, "lib") for root in (os.environ.get("CONDA_PREFIX"),) if root]
    folders += [os.path.join(root, "lib64") for root in
                (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda") if root]
    seen = set()
    for name in ("libnvrtc.so.[0-9]*", "libnvJitLink.so.[0-9]*"):
        for folder in folders:
            for path in sorted(glob.glob(os.path.join(folder, name))):
                if os.path.realpath(path) not in seen and ".alt." not in path:
                    seen.add(os.path.realpath(path))
                    yield path


def _redirect_started_compilers():
    """ptxas and nvlink, which Triton starts: the dynamic linker gives them our library, and they become a stand-in."""
    if found := re.search(r":|\$\{?(ORIGIN|LIB|PLATFORM)", _redirect_library()):  # not as written for the dynamic linker
        warnings.warn(f"ptxas and nvlink, when this process starts them, make native code: the dynamic linker cannot be sent to "
                      f"{_files.FOLDER}, because of {found[0]}; install verdigris in a folder of another name", stacklevel=3)
        return
    old = os.environ.get("LD_AUDIT", "").split(":")
    if _redirect_library() not in old:
        os.environ["LD_AUDIT"] = ":".join([_redirect_library(), *filter(None, old)])
    os.environ["VERDIGRIS_REDIRECT"] = "all"  # also where `verdigris run` has found real GPUs: src/redirect/audit.cpp


def _redirect_library():
    return str(_files.FOLDER / "libverdigris_redirect.so")


def _redirect_compilers():
    redirect = ctypes.CDLL(_redirect_library())
    for path in _compiler_files():
        try:
            compiler = ctypes.CDLL(path)
        except OSError:  # of another machine, or incomplete: nobody else can load it either
            continue
        if redirect.verdigrisRedirect(ctypes.c_void_p(compiler._handle)) > 0:
            _loaded[path] = compiler
