#!/usr/bin/env python3
"""Refuses variables of the libraries that are destroyed when the process exits.

    exit_handlers.py BUILD

Programs call the library while they exit, from handlers and destructors of their own, and its threads run until the end: what a
destructor has freed is used then. base/undying.h has what to use. Looks at the objects of a build for calls of __cxa_atexit; the
command, which is a program of its own, may have such variables.
"""

import json
import pathlib
import subprocess
import sys

NOT_HERE = 77  # what ctest takes for "skipped"


def objects(build):
    """The objects of src/ that the build makes now, without the command's."""
    for entry in json.loads((build / "compile_commands.json").read_text()):
        source = pathlib.Path(entry["file"]).as_posix()
        if "/src/" in source and "/src/tools/" not in source and source.endswith(".cpp"):
            words = entry["command"].split()
            yield source, pathlib.Path(entry["directory"]) / words[words.index("-o") + 1]


def main():
    build = pathlib.Path(sys.argv[1])
    made = {path: source for source, path in objects(build) if path.exists()}
    if not made:
        print("nothing has been built here")
        sys.exit(NOT_HERE)
    listed = subprocess.run(["nm", "-A", "--undefined-only", *made], capture_output=True, text=True, check=False).stdout
    found = sorted({made[pathlib.Path(line.split(":")[0])] for line in listed.splitlines() if line.endswith(" __cxa_atexit")})
    for source in found:
        print(f"{source}: a variable is destroyed when the process exits: base/undying.h")
    sys.exit(1 if found else 0)


main()
