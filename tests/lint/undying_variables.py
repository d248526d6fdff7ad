#!/usr/bin/env python3
"""Refuses variables of functions that are allocated at their first use.

    undying_variables.py FOLDER

`static T* const t = new T` takes memory at a time that nobody chose, and throws there where there is none: base/undying.h
has what to use. Looks at all sources below FOLDER/src.
"""

import pathlib
import re
import sys

# A static variable whose initializer, a lambda's body included, allocates. `new (place)` does not.
ALLOCATED = re.compile(
    r"\bstatic\b(?:(?![;{}(]).)*?=\s*(?:\*\s*)?(?:\[\]\s*(?:\(\)[^{]*)?\{(?:(?!\}\(\)).){0,800}?\breturn\s+)?new\b(?!\s*\()", re.S)


def comments_blanked(text):
    return re.sub(r"//[^\n]*", "", text)


def main():
    source = pathlib.Path(sys.argv[1]) / "src"
    found = []
    for path in sorted(source.rglob("*")):
        if path.suffix in (".cpp", ".h", ".inc"):
            text = comments_blanked(path.read_text(errors="replace"))
            found += [f"{path}:{text.count(chr(10), 0, match.start()) + 1}: allocated at the first use: base/undying.h"
                      for match in ALLOCATED.finditer(text)]
    print("\n".join(found))
    sys.exit(1 if found else 0)


main()
