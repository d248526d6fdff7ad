#!/usr/bin/env python3
"""Refuses classes in src/ with more than 60 members.

    class_sizes.py FOLDER

Data and functions are counted; types, aliases and friends are not. A class that grows beyond is two: divide it by what its
members are about.
"""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import source_functions

MOST = 60
HEAD = re.compile(r"\b(?:class|struct|union)\s+(?:\w+\([^()]*\)\s*|\[\[[^\]]*\]\]\s*)*([A-Za-z_]\w*)\s*(?:final\s*)?(?::[^;{}()]*)?$")
NO_MEMBER = re.compile(r"^(?:using|typedef|friend|static_assert|enum|class|struct|union)\b")


def statements(code, start, end):
    """The statements of a block, bodies of functions and initialisers left out, and the blocks of types in it as (head, place)."""
    ends = source_functions.ends_of_blocks(code)
    at = begin = start
    while at < end:
        if code[at] == ";":
            yield code[begin:at], None
            begin = at + 1
        elif code[at] == "{":
            head, close = code[begin:at], ends.get(at, end)
            if HEAD.search(head) or re.search(r"\b(?:enum|union|struct|class)\b[^;()]*$", head):
                yield head, (at, close)
                at, begin = close, close + 1
                if code[begin:begin + 1] == ";":
                    at, begin = begin, begin + 1
            elif re.search(r"\)[^()]*$", head) and "=" not in re.sub(r"\([^()]*\)", "", head.split("(")[0]):
                rest = re.match(r"\s*[,{]", code[close + 1:close + 20])
                at = close
                if not rest:  # of a function; else an initialiser of members in front of its body
                    yield head, None
                    begin = close + 1
            else:
                at = close  # an initialiser
        at += 1


def members_of(statement):
    statement = re.sub(r"\[\[.*?\]\]", " ", statement, flags=re.S)
    statement = re.sub(r"\b(?:public|private|protected)\s*:(?!:)", " ", statement).strip()
    statement = re.sub(r"^template\s*<(?:[^<>]|<[^<>]*>)*>", "", statement, flags=re.S).strip()
    if not statement or NO_MEMBER.match(statement):
        return 0
    flat = statement
    while (less := re.sub(r"\([^()]*\)|<[^<>]*>|\{[^{}]*\}|\[[^\[\]]*\]", "@", flat)) != flat:
        flat = less
    if re.search(r"\w\s*@[^,]*$", flat) and "(" in statement:
        return 1  # a function
    return 1 + flat.count(",")  # several variables of one type


def classes_in(path, root):
    code = source_functions.without_comments_and_texts(path.read_text())

    def visit(start, end, owner):
        for statement, block in statements(code, start, end):
            if block is None:
                continue
            if found := HEAD.search(statement):
                name = f"{owner}::{found.group(1)}" if owner else found.group(1)
                inner = list(statements(code, block[0] + 1, block[1]))
                yield f"{path.relative_to(root)} {name}", sum(members_of(text) for text, inside in inner if inside is None)
                yield from visit(block[0] + 1, block[1], name)

    # Namespaces are looked through: their blocks are those of their contents.
    code = re.sub(r"\b(?:inline\s+)?namespace\b[\s\w:]*\{|\bextern\s*\{", lambda m: " " * (len(m.group()) - 1) + ";", code)
    yield from visit(0, len(code), "")


def main():
    root = pathlib.Path(sys.argv[1])
    paths = [path for path in sorted((root / "src").rglob("*")) if path.suffix in {".h", ".cpp"}]
    sizes = [row for path in paths for row in classes_in(path, root)]
    wrong = [f"{name}: {members} members, of {MOST} at most" for name, members in sizes if members > MOST]
    print("\n".join(wrong))
    sys.exit(bool(wrong))


main()
