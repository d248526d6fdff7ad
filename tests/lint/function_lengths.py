#!/usr/bin/env python3
"""Refuses functions of more than 60 lines in src/.

    function_lengths.py FOLDER
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import source_functions

MOST = 60


def main():
    wrong = []
    for function in source_functions.all_functions(pathlib.Path(sys.argv[1])):
        lines = function.body.count("\n") + 1
        if lines > MOST:
            wrong.append(f"{function.file} {function.name}: {lines} lines, of {MOST} at most; divide it by what it does")
    print("\n".join(wrong))
    sys.exit(bool(wrong))


main()
