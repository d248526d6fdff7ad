#!/usr/bin/env python3
"""What must be true of pages for people: README.md and docs/architecture.md stay short, links lead to files that are
there, and the changelog has a heading for the version that the project has, newer ones above older ones.

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


def unnamed_releases(root):
    version = re.search(r"project\(verdigris VERSION ([\d.]+)", (root / "CMakeLists.txt").read_text()).group(1)
    headings = re.findall(r"^## (.*)$", (root / "CHANGELOG.md").read_text(), re.MULTILINE)
    releases = headings[1:] if headings[:1] == ["Unreleased"] else headings
    if wrong := [heading for heading in releases if not re.fullmatch(r"\d+\.\d+\.\d+", heading)]:
        yield f"CHANGELOG.md: {', '.join(wrong)}: headings are releases, what is unreleased stands first"
        return
    order = [tuple(map(int, release.split("."))) for release in releases]
    if order != sorted(order, reverse=True):
        yield "CHANGELOG.md: newer releases stand above older ones"
    if version not in releases:
        yield f"CHANGELOG.md: no heading for {version}, the version of CMakeLists.txt"


def main():
    root = pathlib.Path(sys.argv[1])
    found = [*too_long(root), *dead_links(root), *unnamed_releases(root)]
    print("\n".join(found) if found else "pages are short, links lead somewhere, releases are named")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
