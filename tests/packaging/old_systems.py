#!/usr/bin/env python3
"""Checks that files run on every x86-64 Linux with glibc 2.28: what they need of other libraries.

usage: old_systems.py PATH...       files, or folders whose ELF files are all looked at

Each may need nothing but glibc's own libraries and no symbol that is newer than 2.28, has no path of the machine that built
it, no executable stack, and the usual dynamic linker.
"""

import pathlib
import re
import subprocess
import sys

NEWEST = (2, 28)
C_LIBRARY = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "ld-linux-x86-64.so.2"}
OWN = {"libcuda.so.1"}
LINKER = "/lib64/ld-linux-x86-64.so.2"


def readelf(path, *options):
    return subprocess.run(["readelf", "-W", *options, path], check=True, stdout=subprocess.PIPE, text=True).stdout


def problems_of(path):
    dynamic, programs = readelf(path, "-d"), readelf(path, "-l")
    for name in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic):
        if name not in C_LIBRARY | OWN:
            yield f"needs {name}"
    if re.search(r"\((RPATH|RUNPATH)\)", dynamic):
        yield "has a search path of its own"
    if not re.search(r"GNU_STACK\s+\S+ \S+ \S+ \S+ \S+ RW ", programs):
        yield "wants an executable stack"
    for linker in re.findall(r"program interpreter: (.*)\]", programs):
        if linker != LINKER:
            yield f"is started by {linker}"
    needs = readelf(path, "-V").partition("Version needs section")[2]
    for version in sorted(set(re.findall(r"Name: (\S+)", needs))):
        number = re.fullmatch(r"GLIBC_(\d+(?:\.\d+)+)", version)
        if not number:
            yield f"needs symbols of {version}"
        elif tuple(map(int, number.group(1).split("."))) > NEWEST:
            yield f"needs symbols of {version}: {', '.join(symbols_of(path, version))}"


def symbols_of(path, version):
    return re.findall(rf" (\S+)@{re.escape(version)}\b", readelf(path, "--dyn-syms"))


def elf_files(names):
    for name in map(pathlib.Path, names):
        for path in sorted(name.rglob("*")) if name.is_dir() else [name]:
            if path.is_file() and not path.is_symlink() and path.open("rb").read(4) == b"\x7fELF":
                yield path


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print(__doc__.strip())
        return 2
    found = looked = 0
    for path in elf_files(sys.argv[1:]):
        looked += 1
        for problem in problems_of(path):
            found += 1
            print(f"{path}: {problem}")
    print(f"{looked} files, {found} problems")
    return 1 if found or not looked else 0


if __name__ == "__main__":
    sys.exit(main())
