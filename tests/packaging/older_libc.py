#!/usr/bin/env python3
"""Takes from the C library of a root file system what is newer than glibc 2.28: programs no longer find it, neither by
linking nor by dlsym. What still runs there wants no newer interface. A few stay that the library's own files use.

    older_libc.py FOLDER
"""

import pathlib
import re
import struct
import sys

NEWEST = (2, 28)
RELA, DYNSYM, VERSYM, VERDEF = 4, 11, 0x6FFFFFFF, 0x6FFFFFFD
SYMBOL_BYTES = RELA_BYTES = 24
LIBRARIES = ("libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "ld-linux-x86-64.so.2")


def string(data, at):
    return data[at:data.index(b"\0", at)].decode()


def sections(data):
    offset, = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    rows = [struct.unpack_from("<IIQQQQIIQQ", data, offset + i * size) for i in range(count)]
    return [(row[1], row[4], row[5], rows[row[6]][4]) for row in rows]  # type, offset, size, offset of what it belongs to


def section(data, kind):
    return next(row[1:] for row in sections(data) if row[0] == kind)


def used_names(data):
    """The symbols that relocations of the file name."""
    symbols, _, strings = section(data, DYNSYM)
    for kind, offset, size, _ in sections(data):
        for at in range(offset, offset + size, RELA_BYTES) if kind == RELA else ():
            symbol = struct.unpack_from("<Q", data, at + 8)[0] >> 32
            if symbol:
                yield string(data, strings + struct.unpack_from("<I", data, symbols + symbol * SYMBOL_BYTES)[0])


def newer_versions(data, offset, strings):
    """The numbers of the versions of symbols that are newer."""
    while True:
        _, _, number, _, _, names, following = struct.unpack_from("<HHHHIII", data, offset)
        name = string(data, strings + struct.unpack_from("<I", data, offset + names)[0])
        version = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(\.\d+)?", name)
        if version and (int(version[1]), int(version[2])) > NEWEST:
            yield number
        if not following:
            return
        offset += following


def make_older(path, kept):
    data = bytearray(path.read_bytes())
    newer = set(newer_versions(data, section(data, VERDEF)[0], section(data, VERDEF)[2]))
    symbols, size, strings = section(data, DYNSYM)
    versions = section(data, VERSYM)[0]
    removed = []
    for i in range(size // SYMBOL_BYTES):
        name, _, _, where = struct.unpack_from("<IBBH", data, symbols + i * SYMBOL_BYTES)
        version = struct.unpack_from("<H", data, versions + 2 * i)[0] & 0x7FFF
        if where and version in newer and string(data, strings + name) not in kept:
            removed.append(string(data, strings + name))
            struct.pack_into("<I", data, symbols + i * SYMBOL_BYTES, 0)  # without a name
    path.write_bytes(data)
    return removed


def main():
    paths = [path for name in LIBRARIES for path in pathlib.Path(sys.argv[1]).rglob(name)]
    kept = {name for path in paths for name in used_names(path.read_bytes())}
    removed = {name for path in paths for name in make_older(path, kept)}
    print(f"{len(removed)} symbols are newer than glibc {NEWEST[0]}.{NEWEST[1]}, and are gone")
    return 0 if removed else 1


if __name__ == "__main__":
    sys.exit(main())
