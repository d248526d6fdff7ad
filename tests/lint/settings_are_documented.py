#!/usr/bin/env python3
"""The README's table of settings must list the variables of src/base/settings.h, all of them and no others.

    settings_are_documented.py SOURCE_ROOT
"""

import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
declared = set(re.findall(r'^\s*X\(\w+,\s*"(\w+)"', (root / "src/base/settings.h").read_text(), re.MULTILINE))
documented = set(re.findall(r"^\| `((?:VERDIGRIS|CUDA)_\w+)` \|", (root / "README.md").read_text(), re.MULTILINE))
for name in sorted(declared - documented):
    print(f"{name} is missing in the README's table of settings")
for name in sorted(documented - declared):
    print(f"{name} is in the README but not in src/base/settings.h")
print(f"{len(declared & documented)} settings are declared and documented")
sys.exit(not declared or declared != documented)
