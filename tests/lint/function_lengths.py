#!/usr/bin/env python3
"""Refuses functions of more than 60 lines in src/ that long_functions.txt does not list, and any that has grown.

    function_lengths.py FOLDER [--write]

The list may only shrink: a function that is listed and not that long any more has to go from it. --write makes it anew.
"""

import collections
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import source_functions

MOST = 60
LIST = pathlib.Path(__file__).with_name("long_functions.txt")


def long_ones(folder):
    found = collections.defaultdict(int)
    for function in source_functions.all_functions(folder):
        found[f"{function.file} {function.name}"] = max(found[f"{function.file} {function.name}"], function.body.count("\n") + 1)
    return {key: lines for key, lines in found.items() if lines > MOST}


def main():
    found = long_ones(pathlib.Path(sys.argv[1]))
    if sys.argv[2:] == ["--write"]:
        LIST.write_text("".join(f"{key} {lines}\n" for key, lines in sorted(found.items())))
        return
    known = {key: int(lines) for key, lines in (row.rsplit(" ", 1) for row in LIST.read_text().splitlines())}
    wrong = [f"{key}: {lines} lines, of {MOST} at most" for key, lines in found.items() if key not in known]
    wrong += [f"{key}: {lines} lines, {known[key]} before" for key, lines in found.items() if lines > known.get(key, lines)]
    wrong += [f"{key}: is not that long any more; take it from {LIST.name}" for key in known if key not in found]
    print("\n".join(wrong))
    sys.exit(bool(wrong))


main()
