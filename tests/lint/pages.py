#!/usr/bin/env python3
"""What must be true of pages for people: README.md and docs/architecture.md stay short, links lead to files that are
there, tables of times and speeds have a date and a commit beside them, and the changelog has a heading for the version that the project has, newer ones above older ones.

    pages.py ROOT
"""

import pathlib
import re
import sys

MOST_LINES = {"README.md": 150, "docs/architecture.md": 250}


def too_long(root):
    for name, most in MOST_LINES.items():
        lines = len((root / name).read_text().splitlines())
        if lines > most:
            yield f"{name}: {lines} lines, more than {most}"


def dead_links(root):
    for page in [*root.glob("*.md"), *root.glob("docs/**/*.md")]:
        for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
            if "://" not in link and not link.startswith("mailto:") and not (page.parent / link).exists():
                yield f"{page.relative_to(root)}: {link} is not there"


FIGURE = re.compile(r"\d(?:\.\d+)? (?:ns|us|ms|s|GB/s|MB/s|GFLOP/s|TFLOP/s)\b")
DATE, COMMIT = re.compile(r"20\d\d-\d\d-\d\d"), re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{7,8}\b")
WITHOUT_DATES = {"docs/driver-behaviour.md"}  # facts with their evidence, some of them times


def undated_tables(root):
    for page in [root / "README.md", *root.glob("docs/**/*.md")]:
        name, parts = str(page.relative_to(root)), re.split(r"\n\n", re.sub(r"<!--.*?-->\n?", "", page.read_text()))
        for at, part in enumerate(parts):
            rows = [row for row in part.splitlines() if row.startswith("|")]
            if name in WITHOUT_DATES or sum(len(FIGURE.findall(row)) for row in rows) < 4:
                continue
            beside = "\n".join(parts[max(at - 2, 0):at + 2])  # a table of causes may refer to that before it
            if not (DATE.search(beside) and COMMIT.search(beside)):
                yield f"{name}: the table {rows[0][:60]!r} has figures, and no date or commit beside it"


def unnamed_releases(root):
    version = re.search(r"project\(verdigris VERSION ([\d.]+)", (root / "CMakeLists.txt").read_text()).group(1)
    headings = re.findall(r"^## (.*)$", (root / "CHANGELOG.md").read_text(), re.MULTILINE)
    releases = headings[1:] if headings[:1] == ["Unreleased"] else headings
    if wrong := [heading for heading in releases if not re.fullmatch(r"\d+\.\d+\.\d+, \d{4}-\d\d-\d\d", heading)]:
        yield f"CHANGELOG.md: {', '.join(wrong)}: headings are releases with their day, what is unreleased stands first"
        return
    releases = [heading.split(",")[0] for heading in releases]
    order = [tuple(map(int, release.split("."))) for release in releases]
    if order != sorted(order, reverse=True):
        yield "CHANGELOG.md: newer releases stand above older ones"
    if version not in releases:
        yield f"CHANGELOG.md: no heading for {version}, the version of CMakeLists.txt"


def main():
    root = pathlib.Path(sys.argv[1])
    found = [*too_long(root), *dead_links(root), *undated_tables(root), *unnamed_releases(root)]
    print("\n".join(found) if found else "pages are short, links lead somewhere, releases are named")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
