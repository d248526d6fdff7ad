"""What activate() and the pytest plugin take, as the environment variables that the library reads."""

import os
import subprocess

from verdigris import _files

VARIABLES = {
    "devices": "VERDIGRIS_DEVICES",
    "memory": "VERDIGRIS_MEMORY",
    "capability": "VERDIGRIS_COMPUTE_CAPABILITY",
    "profile": "VERDIGRIS_PROFILE",
    "workers": "VERDIGRIS_WORKERS",
    "timeout": "VERDIGRIS_LAUNCH_TIMEOUT",
    "seed": "VERDIGRIS_SEED",
    "log": "VERDIGRIS_LOG",
    "log_file": "VERDIGRIS_LOG_FILE",
    "trace": "VERDIGRIS_TRACE",
    "check": "VERDIGRIS_CHECK",
}
# Those that the command takes, too, which says what it expects: as its options.
OPTIONS = {"devices": "--devices", "memory": "--memory", "capability": "--capability", "profile": "--profile",
           "timeout": "--timeout", "seed": "--seed", "log": "--log", "check": "--tools"}


def apply(settings):
    """Puts settings into the environment; None leaves what is there. A value that no setting can have is refused."""
    for name in settings:
        if name not in VARIABLES:
            raise TypeError(f"verdigris has no setting {name!r}; there are {', '.join(VARIABLES)}")
    given = {name: _word(name, value) for name, value in settings.items() if value is not None}
    _refuse_what_the_command_refuses(given)
    os.environ.update({VARIABLES[name]: value for name, value in given.items()})


def _refuse_what_the_command_refuses(given):
    words = [f"{OPTIONS[name]}={value}" for name, value in given.items() if name in OPTIONS]
    if words:  # the program that it starts is itself; with a device given it looks for no others
        started = [_files.command(), "check" if "check" in given else "run", *words, "--", _files.command(), "--version"]
        answer = subprocess.run(started, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False,
                                env={**os.environ, "VERDIGRIS_DEVICES": "cpu:1", "LD_AUDIT": ""})
        _, refused, reason = answer.stderr.partition(": --")
        if answer.returncode == 2 and refused:
            raise ValueError("verdigris: " + reason.strip())


def _word(name, value):
    return str(value) if value is not True else "all" if name == "check" else "1"


def differing(settings):
    """Those settings that the environment does not have yet."""
    return [name for name, value in settings.items()
            if value is not None and os.environ.get(VARIABLES.get(name, "")) != _word(name, value)]
