#!/usr/bin/env python3
"""Bounds what every process pays for loading libcuda.so.1 before it calls anything: words that the dynamic linker relocates,
and functions that run at load.

    load_cost.py LIBRARY

A constant table with pointers to text or functions is relocated in each process, whether or not anyone reads it; base/text/
inline_text.h and functions with a `switch` (api/entry/exports.cpp) do without. Needs a library with its symbols.
"""

import re
import subprocess
import sys

MOST_RELOCATIONS = 5600  # 5,093 with GCC 12, most of them tables of virtual functions and types, half of those of the C++ library
MOST_IN_TABLE = 120      # of one constant table of this project
NOT_HERE = 77            # what ctest takes for "skipped"


def readelf(option):
    return subprocess.run(["readelf", "-W", option, sys.argv[1]], capture_output=True, text=True, check=True).stdout


def symbols():
    """(address, size, kind, name) of what lies in the file."""
    found = []
    for line in readelf("-s").splitlines():
        words = line.split()
        if len(words) == 8 and words[3] in ("OBJECT", "FUNC") and words[6] != "UND":
            found.append((int(words[1], 16), int(words[2], 0), words[3], words[7]))
    return found


def relocations():
    """(place, what is added to the address of the library) of each, the latter None for those of symbols."""
    for line in readelf("-r").splitlines():
        words = line.split()
        if len(words) > 3 and words[2].startswith("R_X86_64_"):
            yield int(words[0], 16), int(words[3], 16) if words[2] == "R_X86_64_RELATIVE" else None


def problems(known, relocated):
    if len(relocated) > MOST_RELOCATIONS:
        yield f"{len(relocated)} relocations: at most {MOST_RELOCATIONS}"
    constructors = re.search(r"\.init_array\s+INIT_ARRAY\s+(\w+) \w+ (\w+)", readelf("-S"))
    begin = int(constructors[1], 16) if constructors else 0
    end = begin + int(constructors[2], 16) if constructors else 0
    functions = {address: name for address, _, kind, name in known if kind == "FUNC"}
    for place, target in relocated:
        name = functions.get(target, "?")
        if begin <= place < end and name != "frame_dummy" and not re.fullmatch(r"_GLOBAL__sub_I_\w+\.cc", name):
            yield f"{name} runs when the library is loaded"  # sources of the C++ library end with .cc, ours with .cpp
    places = sorted(place for place, _ in relocated)
    for address, size, kind, name in known:
        if kind == "OBJECT" and size >= 8 * MOST_IN_TABLE and re.match("_ZNK?2vg|_ZL", name):
            inside = sum(address <= place < address + size for place in places)
            if inside > MOST_IN_TABLE:
                yield f"{name}: {inside} words are relocated, of one table at most {MOST_IN_TABLE}"


def main():
    known = symbols()
    if not any(kind == "FUNC" and name == "frame_dummy" for _, _, kind, name in known):
        print("the library has no symbols")
        sys.exit(NOT_HERE)
    relocated = list(relocations())
    found = list(problems(known, relocated))
    print(*found or [f"{len(relocated)} relocations"], sep="\n")
    sys.exit(1 if found else 0)


main()
