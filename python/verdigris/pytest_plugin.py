"""pytest --verdigris runs tests on Verdigris; --verdigris-check makes a test fail whose kernels have faults.

The library is chosen before conftest files and test modules are imported, so that they may import CUDA packages. Workers of
pytest-xdist get the same options, each a device of its own process.
"""

import ctypes
import os
import re

import pytest

import verdigris
from verdigris import _driver


def pytest_addoption(parser):
    group = parser.getgroup("verdigris", "CUDA without a GPU (verdigris)")
    group.addoption("--verdigris", nargs="?", const="cpu:1", metavar="DEVICES",
                    help="run on Verdigris, on emulated devices unless DEVICES says otherwise (default: cpu:1)")
    group.addoption("--verdigris-check", nargs="?", const="all", metavar="TOOLS",
                    help="also fail tests whose kernels have faults: memory, race, sync, init, exits, or all (default)")


def _is_list_of(item):
    return re.compile(f"{item}(,{item})*").fullmatch


# Options whose value may be left out, that value, and whether a word is one.
OPTIONS = {"--verdigris": ("cpu:1", _is_list_of(r"(auto|(cpu|gpu)(:(\d+|all))?)")),
           "--verdigris-check": ("all", _is_list_of("(memory|race|sync|init|exits|all)"))}


def _give_back_paths(args, options):
    """argparse takes any word after such an option for its value; `--verdigris tests` means the folder."""
    for at, (option, word) in enumerate(zip(args, args[1:])):
        default, is_value = OPTIONS.get(option, (None, None))
        if default and not word.startswith("-") and not is_value(word):
            args[at] = f"{option}={default}"
            setattr(options, option.strip("-").replace("-", "_"), default)
            options.file_or_dir.append(word)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config, args):
    options = early_config.known_args_namespace
    _give_back_paths(args, options)
    if options.verdigris is None and options.verdigris_check is None:
        return
    check = options.verdigris_check
    if check:
        os.environ["VERDIGRIS_CHECK_EXIT_CODE"] = "0"  # which tests failed is pytest's to say
    try:
        # Tests go on after a fault of memory: each has its own.
        verdigris.activate(options.verdigris or "cpu:1", check=check and check + ",continue")
    except (RuntimeError, ValueError) as error:
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

    # Wrappers of the old form, which every version of pytest takes: the package must not stand in the way of any.
    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_setup(self, item):
        self._look(item, "setup", (yield))

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item):
        self._look(item, "call", (yield))

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_teardown(self, item):
        self._look(item, "teardown", (yield))

    def _look(self, item, phase, outcome):
        faults = self._faults()
        if faults and outcome.excinfo is not None:
            item.add_report_section(phase, "verdigris", faults)
        elif faults:
            _fail(outcome, faults)

    def _faults(self):
        """Waits for the kernels of the current device; what was found since the last time, as text."""
        context = ctypes.c_void_p()
        if self._driver.cuCtxGetCurrent(ctypes.byref(context)) == 0 and context:
            self._driver.cuCtxSynchronize()
        return "\n".join(_words(*fault) for fault in _driver.take_new_faults(self._driver))


def _fail(outcome, text):
    """Makes a hook fail that went well. Raising here would keep the other wrappers of the hook from their work."""
    try:
        pytest.fail(text, pytrace=False)
    except pytest.fail.Exception as error:
        if hasattr(outcome, "force_exception"):
            outcome.force_exception(error)
        else:  # before pluggy 1.1
            outcome._excinfo = (type(error), error, error.__traceback__)


def _words(tool, text, times):
    return f"verdigris check: {tool}: {text}" + (f"\n    met {times} times" if times > 1 else "")
