#!/usr/bin/env python3
"""docs/settings.md must list the variables of src/base/settings.h, all of them and no others, and the
library must read each of them. The settings that make an emulated device the default are those that only emulated devices
follow, and the page names them.

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
REPORT_ONLY = {"VERDIGRIS_STUCK_AFTER", "VERDIGRIS_DUMP", "VERDIGRIS_CHECK_HOST", "VERDIGRIS_EXIT_WAIT"}  # of emulated devices too, but nobody means the device by them
sources = {path: path.read_text() for path in (root / "src").rglob("*") if path.suffix in {".h", ".cpp"} and path != table}
registry = sources.pop(root / "src/backend/registry.cpp")
emulating = set(re.findall(r'"(VERDIGRIS_\w+)"', registry[registry.index("wantsEmulation()"):registry.index("chooseDevices(")]))
row = re.search(r"only emulated devices follow \(([^)]*)\)", (root / "docs/settings.md").read_text()).group(1)
named = {"VERDIGRIS" + name.removeprefix("VERDIGRIS") for name in re.findall(r"`(\w+)`", row)}


def only_emulated(field):
    readers = [str(path.relative_to(root / "src")) for path, text in sources.items()
               if re.search(rf"\.{field}\b", text) and re.search(r"\bsettings\(\)|\bSettings\b", text)]
    return readers and all(reader.startswith(("backend/cpu/", "check/", "ptx/")) for reader in readers)


sources[root / "src/backend/registry.cpp"] = registry
# A field of another structure may have the same name.
text = "\n".join(source for source in sources.values() if re.search(r"\bsettings\(\)|\bSettings\b", source))
unread = {variable for field, variable in fields.items() if not re.search(rf"\.{field}\b", text)}
for name in sorted(declared - documented):
    print(f"{name} is missing in the docs/settings.md")
for name in sorted(documented - declared):
    print(f"{name} is in docs/settings.md but not in src/base/settings.h")
for name in sorted(unread):
    print(f"{name} is in src/base/settings.h but nothing reads it")
ignored = {variable for field, variable in fields.items() if only_emulated(field)} - emulating - REPORT_ONLY
for name in sorted(ignored):
    print(f"only emulated devices read {name}, but wantsEmulation() of src/backend/registry.cpp does not name it")
for name in sorted(emulating ^ named):
    print(f"{name}: wantsEmulation() of src/backend/registry.cpp and the row of VERDIGRIS_DEVICES differ")
print(f"{len(declared & documented)} settings are declared and documented")
sys.exit(not declared or declared != documented or bool(unread or ignored or emulating != named))
