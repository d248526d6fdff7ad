#!/usr/bin/env python3
"""Checks that the calls of call_paths.tsv take the way that is written there.

    call_paths.py SOURCE_ROOT

Each function must be in its file and call the next one. A path passes no more files than it may, comes back to none, and goes
from a layer only to itself or to one below it (the order of src/CMakeLists.txt), but for roles.
"""

import importlib.machinery
import importlib.util
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(ROOT / "scripts"))
import source_functions  # noqa: E402  in scripts/


def check_layers():
    loader = importlib.machinery.SourceFileLoader("check_layers", str(ROOT / "scripts" / "check-layers"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_layers", loader))
    loader.exec_module(module)
    return module


def paths():
    """[(name, most files, [(file, function, calls next, role or None)])]"""
    found = []
    for line in (ROOT / "tests" / "lint" / "call_paths.tsv").read_text().splitlines():
        fields = line.split("\t")
        if line.startswith("= "):
            found.append((fields[0][2:], int(fields[1]), []))
        elif line and not line.startswith("#"):
            found[-1][2].append((fields[0], fields[1], fields[2], fields[3] if len(fields) > 3 else None))
    return found


def calls(file, function, name):
    """Whether a function of that name is in the file, and whether one of them calls `name`."""
    if not (ROOT / "src" / file).exists():
        return False, False
    there = [f for f in source_functions.functions_in(ROOT / "src" / file, ROOT)
             if f.name == function or f.name.endswith(f"::{function}")]
    return bool(there), any(re.search(rf"\b{name}\s*(?:<[^<>();]*>)?\(", f.code) for f in there)


def problems_of_steps(steps, layers):
    for (file, function, name, role), after in zip(steps, steps[1:] + [None]):
        there, called = calls(file, function, name)
        if not called:
            yield f"src/{file}: {function} " + (f"does not call {name}" if there else "is not there")
        if after and after[1].rpartition("::")[2] != name and name != "kHandler":
            yield f"{function} calls {name}, but the next row is {after[1]}"
        if not after or after[0] == file:
            continue
        here, below = layers.layer_of(file), layers.layer_of(after[0])
        declared = role and re.search(rf"virtual [^;]*\b{name}\(", (ROOT / "src" / role).read_text())
        if role and not (declared and layers.layer_of(role) in {here, *layers.LAYERS[here]}):
            yield f"src/{role}: no virtual function {name} that {here} may call"
        if not role and below != here and below not in layers.LAYERS[here]:
            yield f"src/{file}: from {here} up to {below} ({after[0]})"


def problems_of_path(most, steps):
    files = [file for file, before in zip([s[0] for s in steps], [None] + [s[0] for s in steps]) if file != before]
    if len(files) > most:
        yield f"{len(files)} files, at most {most}: {' '.join(files)}"
    for file in sorted({file for file in files if files.count(file) > 1}):
        yield f"comes back to {file}"


def main():
    layers = check_layers()
    found = [f"{name}: {problem}" for name, most, steps in paths()
             for problem in [*problems_of_steps(steps, layers), *problems_of_path(most, steps)]]
    print("\n".join(found) if found else f"{len(paths())} calls take the way that call_paths.tsv says")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
