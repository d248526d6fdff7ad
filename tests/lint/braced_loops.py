#!/usr/bin/env python3
"""Refuses loops over braces in sources that include nothing that brings <initializer_list> along.

    braced_loops.py FOLDER

`for (int n : {1, 2})` needs that header. Older compilers bring it by way of others, so a source compiles with one
compiler and not with the next. Looks at all sources below FOLDER/src, tests and bench, and at their own headers.
"""

import pathlib
import re
import sys

LOOP = re.compile(r"\bfor \([^;(){}]*: \{")
INCLUDE = re.compile(r'^#include (?:<([^>]+)>|"([^"]+)")', re.M)
# Of the standard library, what declares something that takes such a list.
BRINGS = set("""algorithm any array bitset deque filesystem fstream functional future initializer_list iostream iterator list
map memory mutex numeric optional queue random ranges regex set span sstream stack string string_view thread tuple
unordered_map unordered_set utility valarray variant vector""".split())
LIBRARIES = ("llvm/", "spdlog/", "CLI/", "gtest/", "benchmark/")
FOLDERS = ("src", "tests", "bench")


def own_header(root, name, beside):
    places = [beside, *(root / folder for folder in (*FOLDERS, "tests/support", "include"))]
    return next((place / name for place in places if (place / name).is_file()), None)


def lacks_header(root, source):
    """Whether the source, with its own headers, has such a loop and includes none of them."""
    waiting, seen, loops = [source], set(), False
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        text = path.read_text(errors="replace")
        loops = loops or bool(LOOP.search(text))
        for standard, own in INCLUDE.findall(text):
            if standard in BRINGS or standard.startswith(LIBRARIES):
                return False
            header = own_header(root, own, path.parent) if own else None
            if header:
                waiting.append(header)
    return loops


def main():
    root = pathlib.Path(sys.argv[1])
    found = [f"{path}: a loop over braces needs #include <initializer_list>"
             for folder in FOLDERS for path in sorted((root / folder).rglob("*.cpp")) if lacks_header(root, path)]
    print("\n".join(found))
    sys.exit(1 if found else 0)


main()
