#!/usr/bin/env python3
"""Checks the dynamic symbols and dependencies of the built library.

usage: check_symbols.py LIBRARY EXPECTED_SYMBOLS... [--sanitized]

The library must define exactly the symbols of the lists and need nothing but the C library's own libraries. A library
built with sanitizers needs their run-time libraries too; then only the symbols are checked.
"""

import re
import subprocess
import sys

C_LIBRARY = re.compile(r"^(libc|libm|libdl|libpthread|librt)\.so\.\d+$|^ld-linux.*\.so\.\d+$")


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, universal_newlines=True).stdout


def main():
    library, *expected = [argument for argument in sys.argv[1:] if argument != "--sanitized"]
    wanted = {symbol for one in expected for symbol in open(one).read().split()}
    defined = set()
    for line in output("nm", "-D", "--defined-only", library).splitlines():
        name = line.split()[-1].split("@")[0]
        defined.add(name)
    problems = [f"missing: {name}" for name in sorted(wanted - defined)]
    problems += [f"must not be exported: {name}" for name in sorted(defined - wanted)]
    if "--sanitized" not in sys.argv:
        for line in output("readelf", "-d", library).splitlines():
            match = re.search(r"\(NEEDED\).*\[(.*)\]", line)
            if match and not C_LIBRARY.match(match.group(1)):
                problems.append(f"needs {match.group(1)}: only the C library's own libraries are allowed")
    for problem in problems:
        print(problem)
    print(f"{len(defined)} symbols, {len(problems)} problems")
    return 1 if problems or len(wanted) < 700 else 0


if __name__ == "__main__":
    sys.exit(main())
