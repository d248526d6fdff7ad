#!/usr/bin/env python3
"""Writes and checks the tables of packages: all rows in docs/packages.md, and one a kind at the top of README.md.

    tables.py record SOURCE ROWS     ROWS as tests/packaging/systems writes them: KIND SYSTEM SIZE PHOTOGRAPH RESULT WHAT_WAS_DONE;
                                     rows of other systems stay
    tables.py check SOURCE           that README.md says what docs/packages.md says, begins with it, and is short
"""

import pathlib
import re
import sys

from old_systems import NEWEST

BEGIN, END = "<!-- tests/packaging/systems begins -->\n", "<!-- tests/packaging/systems ends -->\n"
LINES_OF_README = 150
README_SYSTEM = "Debian 12"  # whose sizes and times README.md gives
IMAGE = "OCI image"
HEAD = ["package", "system", "size", "photograph", "package to first result", "what was done"]
USE = {
    "wheel": "`pip install out/packages/verdigris-*.whl`",
    "deb": "`apt install ./out/packages/verdigris_*.deb`",
    "tarball": "`tar xf out/packages/verdigris-*-linux-x86_64.tar.gz`, anywhere",
    "OCI image": "`podman load -i out/packages/verdigris-*-oci.tar`, or the folder `rootfs` for `chroot`",
    "dbgsym": "beside the deb: functions and lines in gdb",
}


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(cell or "-" for cell in line) + " |\n" for line in lines)


def inside(page):
    return page.partition(BEGIN)[2].partition(END)[0]


def with_table(page, new):
    assert page.count(BEGIN) == page.count(END) == 1, "the page must have one place for the table"
    return page.replace(BEGIN + inside(page) + END, BEGIN + new + END)


def rows_of(text):
    rows = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in text.splitlines()]
    assert rows[0] == HEAD, rows[0]
    return [dict(zip(HEAD, row)) for row in rows[2:]]


def oldest(rows):
    """What the files need (tests/packaging/old_systems.py), and the oldest whole system that they were used in."""
    if rows[0]["package"] == "dbgsym":
        return "-"
    glibc = [row["system"].rpartition(", ")[2] for row in rows]
    if rows[0]["package"] == IMAGE:
        return "any; has " + glibc[0]
    names = [row["system"].partition(",")[0] for row in rows]
    return f"glibc {NEWEST[0]}.{NEWEST[1]}; used in " + ", ".join(name for name, its in zip(names, glibc) if its == glibc[0])


def short_table(rows):
    """Of each kind one row; the size and the time are those of one system."""
    lines = []
    for kind in USE:
        of_kind = [row for row in rows if row["package"] == kind]
        told = [row for row in of_kind if kind == IMAGE or row["system"].startswith(README_SYSTEM + ",")]
        assert told, f"nothing is known of {kind}"
        size = told[-1]["size"] if kind != "dbgsym" or "lines of ours" in told[-1]["what was done"] else ""  # too small without
        lines.append([kind, USE[kind], size, oldest(of_kind), told[-1]["package to first result"]])
    return table(["package", "how to use it", "size", "oldest system", f"to the first result, {README_SYSTEM}"], lines)


def age(row):
    """Sorts rows by the C library of their systems; the image, which has its own, comes last."""
    system = row["system"]
    return row["package"] == IMAGE, [int(part) for part in system.rpartition(" ")[2].split(".")], system


def merged(rows, new):
    """The rows, with all of the new ones' systems in place of what was there."""
    again = {row["system"] for row in new}
    return sorted([row for row in rows if row["system"] not in again] + new, key=age)


def record(source, rows):
    page, readme = source / "docs/packages.md", source / "README.md"
    new = [dict(zip(HEAD, line.split("\t"))) for line in pathlib.Path(rows).read_text().splitlines()]
    all_rows = merged(rows_of(inside(page.read_text())), new)
    page.write_text(with_table(page.read_text(), table(HEAD, [list(row.values()) for row in all_rows])))
    readme.write_text(with_table(readme.read_text(), short_table(rows_of(inside(page.read_text())))))


def check(source):
    readme = (source / "README.md").read_text()
    wanted = short_table(rows_of(inside((source / "docs/packages.md").read_text())))
    assert inside(readme) == wanted, f"README.md says\n{inside(readme)}and docs/packages.md wants\n{wanted}"
    begins = readme.partition(BEGIN)[0]
    assert re.findall(r"^## .*", begins, re.MULTILINE) == ["## Install"] and "|" not in begins, "README.md begins with something else"
    assert readme.count("\n") < LINES_OF_README, f"README.md has {readme.count(chr(10))} lines"
    print(inside(readme), end="")


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ["record"] and len(arguments) == 3:
        record(pathlib.Path(arguments[1]), arguments[2])
    elif arguments[:1] == ["check"] and len(arguments) == 2:
        check(pathlib.Path(arguments[1]))
    else:
        print(__doc__.strip())
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
