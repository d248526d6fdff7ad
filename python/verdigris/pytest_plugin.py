"""pytest --verdigris runs tests on Verdigris; --verdigris-check makes a test fail whose kernels have faults.

The library is chosen before conftest files and test modules are imported, so that they may import CUDA packages. Workers of
pytest-xdist get the same options, each a device of its own process.
"""

import ctypes
import os

import pytest

import verdigris
from verdigris import _driver


def pytest_addoption(parser):
    group = parser.getgroup("verdigris", "CUDA without a GPU (verdigris)")
    group.addoption("--verdigris", nargs="?", const="cpu:1", metavar="DEVICES",
                    help="run on Verdigris, on emulated devices unless DEVICES says otherwise (default: cpu:1)")
    group.addoption("--verdigris-check", nargs="?", const="all", metavar="TOOLS",
                    help="also fail tests whose kernels have faults: memory, race, sync, init, exits, or all (default)")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config):
    options = early_config.known_args_namespace
    if options.verdigris is None and options.verdigris_check is None:
        return
    check = options.verdigris_check
    if check:
        os.environ["VERDIGRIS_CHECK_EXIT_CODE"] = "0"  # which tests failed is pytest's to say
    try:
        # Tests go on after a fault of memory: each has its own.
        verdigris.activate(options.verdigris or "cpu:1", check=check and check + ",continue")
    except RuntimeError as error:
        raise pytest.UsageError(str(error)) from error


def pytest_configure(config):
    if config.getoption("verdigris_check") is not None:
        config.pluginmanager.register(FaultCheck(), "verdigris-faults")


def pytest_report_header(config):
    if config.getoption("verdigris") is not None or config.getoption("verdigris_check") is not None:
        check = config.getoption("verdigris_check")
        return f"verdigris: {verdigris.__version__}, {verdigris.library()}" + (f", checking {check}" if check else "")


class FaultCheck:
    """Looks after each phase of a test at what its kernels did."""

    def __init__(self):
        self._driver = ctypes.CDLL("libcuda.so.1")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item):
        return (yield from self._watch(item, "setup"))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item):
        return (yield from self._watch(item, "call"))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item):
        return (yield from self._watch(item, "teardown"))

    def _watch(self, item, phase):
        try:
            result = yield
        except BaseException:
            if faults := self._faults():
                item.add_report_section(phase, "verdigris", faults)
            raise
        if faults := self._faults():
            pytest.fail(faults, pytrace=False)
        return result

    def _faults(self):
        """Waits for the kernels of the current device; what was found since the last time, as text."""
        context = ctypes.c_void_p()
        if self._driver.cuCtxGetCurrent(ctypes.byref(context)) == 0 and context:
            self._driver.cuCtxSynchronize()
        return "\n".join(_words(*fault) for fault in _driver.take_new_faults(self._driver))


def _words(tool, text, times):
    return f"verdigris check: {tool}: {text}" + (f"\n    met {times} times" if times > 1 else "")
