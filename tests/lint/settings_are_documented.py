#!/usr/bin/env python3
"""docs/settings.md must list the variables of src/base/settings.h, all of them and no others, and the
library must read each of them.

    settings_are_documented.py SOURCE_ROOT
"""

import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
table = root / "src/base/settings.h"
fields = dict(re.findall(r'^\s*X\((\w+),\s*"(\w+)"', table.read_text(), re.MULTILINE))
declared = set(fields.values())
documented = set(re.findall(r"^\| `((?:VERDIGRIS|CUDA)_\w+)` \|", (root / "docs/settings.md").read_text(), re.MULTILINE))
text = "\n".join(path.read_text() for path in (root / "src").rglob("*") if path.suffix in {".h", ".cpp"} and path != table)
unread = {variable for field, variable in fields.items() if not re.search(rf"\.{field}\b", text)}
for name in sorted(declared - documented):
    print(f"{name} is missing in the docs/settings.md")
for name in sorted(documented - declared):
    print(f"{name} is in docs/settings.md but not in src/base/settings.h")
for name in sorted(unread):
    print(f"{name} is in src/base/settings.h but nothing reads it")
print(f"{len(declared & documented)} settings are declared and documented")
sys.exit(not declared or declared != documented or bool(unread))
