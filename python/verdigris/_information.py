"""verdigris.info(): what this installation offers."""

import json
import os
import subprocess
import sys

from verdigris import _activation, _files


def info():
    """A dict: version, library, command, active (whether this process uses it) and devices.

    Asks in another process, so that CUDA does not start in this one.
    """
    answer = subprocess.run([sys.executable, "-m", "verdigris._driver", _files.library()], stdout=subprocess.PIPE, text=True, check=True,
                            env={**os.environ, "VERDIGRIS_CHECK": ""})
    return {"version": _files.VERSION, "library": _files.library(), "command": _files.command(),
            "active": _activation.is_active(), "devices": json.loads(answer.stdout)}
