"""What activate() and the pytest plugin take, as the environment variables that the library reads."""

import os

VARIABLES = {
    "devices": "VERDIGRIS_DEVICES",
    "memory": "VERDIGRIS_MEMORY",
    "capability": "VERDIGRIS_COMPUTE_CAPABILITY",
    "profile": "VERDIGRIS_PROFILE",
    "workers": "VERDIGRIS_WORKERS",
    "timeout": "VERDIGRIS_LAUNCH_TIMEOUT",
    "log": "VERDIGRIS_LOG",
    "log_file": "VERDIGRIS_LOG_FILE",
    "trace": "VERDIGRIS_TRACE",
    "check": "VERDIGRIS_CHECK",
}
EMULATED_ONLY = ("check", "profile", "memory", "capability", "workers")


def apply(settings):
    """Puts settings into the environment; None leaves what is there."""
    for name, value in settings.items():
        if name not in VARIABLES:
            raise TypeError(f"verdigris has no setting {name!r}; there are {', '.join(VARIABLES)}")
        if value is not None:
            os.environ[VARIABLES[name]] = "1" if value is True else str(value)


def differing(settings):
    """Those settings that the environment does not have yet."""
    return [name for name, value in settings.items()
            if value is not None and os.environ.get(VARIABLES.get(name, "")) != ("1" if value is True else str(value))]
