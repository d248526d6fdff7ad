"""The wheel as its users have it: in a virtual environment, with numba-cuda and CuPy. Run without pytest's plugin of it."""

import pathlib
import re
import shutil
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


@pytest.mark.parametrize("setting", ["devices='foo'", "memory='999TiB'", "capability='99.9'", "profile='h300'", "check='memry'",
                                     "log='loud'", "timeout='soon'", "seed='x'"])
def test_a_value_that_no_setting_can_have_is_refused(setting):
    status, text = python(f"import verdigris; verdigris.activate({setting})")
    assert status == 1 and re.search(r"ValueError: verdigris: \w+ \S+: expected ", text), text


def test_every_tool_is_meant_by_true():
    status, text = python("import os, verdigris; verdigris.activate('cpu:1', check=True); print(os.environ['VERDIGRIS_CHECK'])")
    assert status == 0 and text == "all\n", text


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


PROGRAM = (pathlib.Path(__file__).parent / "plugin_program.py").read_text()


@pytest.mark.parametrize("options, failed", [
    (["--verdigris", "test_it.py"], 0), (["--verdigris-check", "test_it.py"], 1), (["--verdigris-check", "test_it.py", "--mine"], 1),
    (["--verdigris", "cpu:2", "--verdigris-check", "memory,race", "test_it.py"], 1), (["--verdigris-check=sync", "test_it.py"], 0)])
def test_plugin_takes_no_path_for_a_value(tmp_path, options, failed):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/test_it.py").write_text(PROGRAM)
    (tmp_path / "sub/conftest.py").write_text("def pytest_addoption(parser):\n    parser.addoption('--mine', action='store_true')\n")
    (tmp_path / "test_other.py").write_text("def test_other():\n    assert False\n")
    options = [option.replace("test_it.py", "sub/test_it.py") for option in options]
    status, text = run(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options, folder=tmp_path)
    assert status == failed and f"{3 - failed} passed" in text and ("1 failed" in text) == bool(failed), text


@pytest.mark.parametrize("option", ["--verdigris=foo", "--verdigris-check=memry"])
def test_plugin_refuses_what_it_does_not_know(tmp_path, option):
    (tmp_path / "test_nothing.py").write_text("def test_nothing():\n    pass\n")
    status, text = run(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", option, folder=tmp_path)
    assert status == 4 and "expected" in text and "passed" not in text, text


def test_plugin_does_nothing_unasked(tmp_path):
    (tmp_path / "test_nothing.py").write_text("import os\ndef test_maps():\n"
                                              "    assert 'libcuda' not in open('/proc/self/maps').read()\n")
    status, text = run(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", folder=tmp_path)
    assert status == 0 and "verdigris:" not in text, text


# Before pluggy 1.2 hooks had one form of wrappers only; pytest loads our plugin in every run of everybody.
@pytest.mark.parametrize("version", [["pytest==6.2.5", "pluggy==0.13.1"], ["pytest==7.1.3", "pluggy==1.0.0"]])
def test_plugin_stands_in_the_way_of_no_older_pytest(tmp_path, version):
    status, text = run(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", tmp_path / "old", *version)
    assert status == 0, text
    (tmp_path / "test_faults.py").write_text(PROGRAM)
    (tmp_path / "test_nothing.py").write_text("def test_nothing():\n    pass\n")

    def run_old(*arguments):
        return run("env", f"PYTHONPATH={tmp_path / 'old'}", sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments,
                   folder=tmp_path)

    assert version[0].partition("==")[2] in run_old("--version")[1]
    assert run_old("test_nothing.py")[0] == 0
    status, text = run_old("--verdigris-check", "-rA", "test_faults.py")
    assert status == 1 and "1 failed, 2 passed" in text and "FAILED test_faults.py::test_put[4096]" in text, text


def test_package_works_in_any_folder(tmp_path):
    package = pathlib.Path(run(sys.executable, "-c", "import verdigris; print(verdigris.__path__[0])")[1].strip())
    for name in ("a b", "\u00fc \u043a\u043b\u044e\u0447", "a:b"):  # the last one the dynamic linker cannot be sent to
        folder = tmp_path / name
        shutil.copytree(package, folder / "verdigris")
        status, text = run(sys.executable, "-W", "error" if name != "a:b" else "ignore", "-c",
                           "import sys; sys.path.insert(0, sys.argv[1]); import ctypes, verdigris; verdigris.activate('cpu:2')\n"
                           "d = ctypes.CDLL('libcuda.so.1'); n = ctypes.c_int()\n"
                           "assert d.cuInit(0) == 0 and d.cuDeviceGetCount(ctypes.byref(n)) == 0 and n.value == 2\n"
                           "print(verdigris.library())", folder)
        assert status == 0 and text == f"{folder}/verdigris/lib/libcuda.so.1\n", text
        status, text = run(folder / "verdigris/lib/verdigris", "run", "--devices", "cpu:3", "nvidia-smi", "-L")
        if name == "a:b":
            assert status == 2 and "the dynamic linker ends the name" in text and "ld.so" not in text, text
        else:
            assert status == 0 and text.count("GPU ") == 3 and "ld.so" not in text, text
        shutil.rmtree(folder)
