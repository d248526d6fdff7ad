"""The wheel as its users have it: in a virtual environment, with numba-cuda and CuPy. Run without pytest's plugin of it."""

import pathlib
import re
import subprocess
import sys
import textwrap

import pytest

BIN = pathlib.Path(sys.executable).parent


def run(*command, folder=None):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          cwd=folder, check=False)
    return done.returncode, done.stdout


def python(program, folder=None):
    """Runs a program whose parts may be indented differently."""
    lines = [textwrap.dedent(part) for part in ([program] if isinstance(program, str) else program)]
    return run(sys.executable, "-W", "ignore", "-c", "\n".join(lines), folder=folder)


def test_command_is_on_the_path_and_in_the_package():
    for command in ([BIN / "verdigris"], [sys.executable, "-m", "verdigris"]):
        status, text = run(*command, "run", "--devices", "cpu:3", "--", sys.executable, "-c",
                           "import ctypes; d = ctypes.CDLL('libcuda.so.1'); n = ctypes.c_int(); d.cuInit(0); "
                           "d.cuDeviceGetCount(ctypes.byref(n)); print('count', n.value)")
        assert status == 0 and "count 3" in text, text
        assert run(*command, "run", "false")[0] == 1


def test_doctor_finds_nothing_wrong():
    status, text = run(BIN / "verdigris", "doctor")
    assert status == 0 and "the kernel compiler is there" in text, text


def test_info_starts_no_cuda():
    status, text = python("""
        import verdigris
        found = verdigris.info()
        assert found["version"] == verdigris.__version__ and not found["active"], found
        assert found["devices"][0]["memory"] > 0 and "." in found["devices"][0]["capability"], found
        assert "libcuda" not in open("/proc/self/maps").read()
    """)
    assert status == 0, text


NUMBA = """
    import numpy as np
    from numba import cuda
    @cuda.jit
    def twice(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] *= 2
    x = cuda.to_device(np.arange(100, dtype=np.float32))
    twice[4, 32](x)
    assert (x.copy_to_host() == 2 * np.arange(100)).all()
"""
CUPY = """
    import cupy
    x = cupy.arange(1000, dtype=cupy.float32)
    assert float((x * 2 + 1).sum()) == 1000 * 1000
"""


def test_activation_serves_numba_and_cupy_in_one_process():
    status, text = python(["""
        import verdigris
        verdigris.activate(devices="cpu:2", memory="1GiB")
        assert verdigris.is_active() and verdigris.info()["active"]
    """, NUMBA, "assert len(cuda.gpus) == 2", CUPY, """
        assert cupy.cuda.runtime.memGetInfo()[1] == 1 << 30
        maps = open("/proc/self/maps").read()
        assert "verdigris/lib/libcuda.so.1" in maps and "libverdigris_ptx" in maps
        print("OK")
    """])
    assert status == 0 and text.endswith("OK\n"), text


def test_activation_is_refused_when_it_is_too_late():
    status, text = python("""
        import verdigris
        verdigris.activate("cpu:1")
        import ctypes
        ctypes.CDLL("libcuda.so.1").cuInit(0)
        verdigris.activate("cpu:1")  # asks for what there is
        verdigris.activate()
        try:
            verdigris.activate("cpu:2")
        except RuntimeError as error:
            assert "too late to set devices" in str(error), error
            print("refused")
    """)
    assert status == 0 and text.endswith("refused\n"), text


def test_activation_is_refused_beside_another_driver(tmp_path):
    other = tmp_path / "libcuda.so.1"
    (tmp_path / "other.c").write_text("int cuInit(unsigned flags) { return 100; }\n")
    if run("cc", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", tmp_path / "other.c", "-o", other)[0] != 0:
        pytest.skip("no C compiler")
    status, text = python(f"""
        import ctypes, verdigris
        ctypes.CDLL({str(other)!r})
        try:
            verdigris.activate()
        except RuntimeError as error:
            assert {str(other)!r} in str(error), error
            print("refused")
    """)
    assert status == 0 and text.endswith("refused\n"), text


def test_a_setting_that_is_not_there_is_named():
    status, text = python("import verdigris; verdigris.activate(memry='1GiB')")
    assert status == 1 and "no setting 'memry'" in text, text


KERNELS = """
    import numpy as np
    import pytest
    from numba import cuda

    @cuda.jit
    def fill(x, count):
        i = cuda.grid(1)
        if i < count:
            x[i] = 1

    @pytest.mark.parametrize("count", [100, 101, 100, 101])
    def test_fill(count):
        x = cuda.device_array(100, np.int32)
        fill[4, 32](x, count)
        assert (x.copy_to_host() == 1).all()

    def test_one_device():
        assert len(cuda.gpus) == DEVICES
"""


def pytest_run(folder, *options, devices=1):
    (folder / "test_kernels.py").write_text(textwrap.dedent(KERNELS).replace("DEVICES", str(devices)))
    return run(sys.executable, "-m", "pytest", "-W", "ignore", "-p", "no:cacheprovider", "-rA", *options, folder=folder)


def test_plugin_runs_tests_on_emulated_devices(tmp_path):
    status, text = pytest_run(tmp_path, "--verdigris", "cpu:2", devices=2)
    assert status == 0 and "5 passed" in text and "verdigris: " in text, text


def test_plugin_fails_tests_whose_kernels_have_faults_and_no_others(tmp_path):
    status, text = pytest_run(tmp_path, "--verdigris-check")
    assert status == 1 and "2 failed, 3 passed" in text, text
    outcomes = re.findall(r"^(PASSED|FAILED) \S*test_fill\[(\d{3})", text, re.MULTILINE)
    assert sorted(outcomes) == [("FAILED", "101")] * 2 + [("PASSED", "100")] * 2, text
    assert text.count("verdigris check: memory: a store of 4 bytes") >= 2, text


def test_plugin_does_nothing_unasked(tmp_path):
    (tmp_path / "test_nothing.py").write_text("import os\ndef test_maps():\n"
                                              "    assert 'libcuda' not in open('/proc/self/maps').read()\n")
    status, text = run(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", folder=tmp_path)
    assert status == 0 and "verdigris:" not in text, text
