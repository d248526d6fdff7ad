#!/usr/bin/env python3
"""Makes the wheel of an installation.

usage: wheel.py SOURCE_ROOT INSTALLATION VERSION OUT

The Python files are those of SOURCE_ROOT/python; libraries and the command go to verdigris/lib of the package. A wheel is a
zip file with a list of its files, each with its checksum.
"""

import base64
import hashlib
import os
import pathlib
import sys
import time
import zipfile

TAG = "py3-none-manylinux_2_28_x86_64"
LIMIT = 25 * 1000 * 1000  # bytes

# In the package -> in the installation.
BINARIES = {
    "verdigris": "bin/verdigris",
    "libcuda.so.1": "lib/verdigris/libcuda.so.1",
    "libcuda.so.1-gdb.py": "lib/verdigris/libcuda.so.1-gdb.py",
    "libverdigris_ptx.so": "lib/verdigris/libverdigris_ptx.so",
    "libverdigris_redirect.so": "lib/verdigris/libverdigris_redirect.so",
    "cupti/libcupti.so.13": "lib/verdigris/cupti/libcupti.so.13",
    "record/libcuda.so.1": "lib/verdigris/record/libcuda.so.1",
    "nvml/libnvidia-ml.so.1": "lib/verdigris/nvml/libnvidia-ml.so.1",
    "libnvcuvid.so.1": "lib/verdigris/libnvcuvid.so.1",
    "libnvidia-encode.so.1": "lib/verdigris/libnvidia-encode.so.1",
    "libnvidia-ptxjitcompiler.so.1": "lib/verdigris/libnvidia-ptxjitcompiler.so.1",
    "path/nvidia-smi": "lib/verdigris/path/nvidia-smi",
    "conformance_suite": "lib/verdigris/conformance_suite",
}
OPTIONAL = {"conformance_suite"}

METADATA = """\
Metadata-Version: 2.1
Name: verdigris
Version: {version}
Summary: Drop-in replacement for the CUDA driver library: CUDA programs on machines without a GPU
License: Apache-2.0
Classifier: Framework :: Pytest
Classifier: License :: OSI Approved :: Apache Software License
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3
Requires-Python: >=3.8
Description-Content-Type: text/markdown

{description}"""
WHEEL = f"Wheel-Version: 1.0\nGenerator: verdigris packaging/wheel.py\nRoot-Is-Purelib: false\nTag: {TAG}\n"
ENTRY_POINTS = """\
[console_scripts]
verdigris = verdigris.__main__:main

[pytest11]
verdigris = verdigris.pytest_plugin
"""


class Wheel:
    def __init__(self, path, when):
        self._zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9)
        self._when = when
        self._record = []

    def add(self, name, content, mode=0o644):
        entry = zipfile.ZipInfo(name, self._when)
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = (0o100000 | mode) << 16
        self._zip.writestr(entry, content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        self._record.append(f"{name},sha256={digest},{len(content)}\n")

    def close(self, record):
        self._record.append(f"{record},,\n")
        entry = zipfile.ZipInfo(record, self._when)
        entry.external_attr = 0o100644 << 16
        self._zip.writestr(entry, "".join(self._record))
        self._zip.close()


def main():
    if len(sys.argv) != 5:
        print(__doc__.strip())
        return 2
    root, installation, version, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3], sys.argv[4]
    path = pathlib.Path(out) / f"verdigris-{version}-{TAG}.whl"
    wheel = Wheel(path, time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())))[:6])
    for source in sorted((root / "python").rglob("*.py")):
        wheel.add(source.relative_to(root / "python").as_posix(), source.read_bytes())
    wheel.add("verdigris/VERSION", f"{version}\n".encode())
    for name, source in BINARIES.items():
        if (installation / source).exists() or name not in OPTIONAL:
            wheel.add(f"verdigris/lib/{name}", (installation / source).read_bytes(), 0o755)
    for source in sorted((installation / "lib/verdigris/python").rglob("*.py")):
        wheel.add(f"verdigris/lib/{source.relative_to(installation / 'lib/verdigris').as_posix()}", source.read_bytes())
    info = f"verdigris-{version}.dist-info"
    for licence in sorted((installation / "share/doc/verdigris/third-party").glob("*")):
        wheel.add(f"{info}/licenses/third-party/{licence.name}", licence.read_bytes())
    wheel.add(f"{info}/licenses/LICENSE", (root / "LICENSE").read_bytes())
    description = (root / "python/README.md").read_text()
    wheel.add(f"{info}/METADATA", METADATA.format(version=version, description=description).encode())
    wheel.add(f"{info}/WHEEL", WHEEL.encode())
    wheel.add(f"{info}/entry_points.txt", ENTRY_POINTS.encode())
    wheel.close(f"{info}/RECORD")
    if path.stat().st_size > LIMIT:
        print(f"{path} has {path.stat().st_size} bytes, more than {LIMIT}", file=sys.stderr)
        return 1
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
