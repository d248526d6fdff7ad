#!/usr/bin/env python3
"""Refuses functions of more than 60 lines in src/ that long_functions.txt does not list, and any that has grown.

    function_lengths.py FOLDER [--write]

The list may only shrink: a function that is listed and not that long any more has to go from it. --write makes it anew.
"""

import pathlib
import re
import sys

MOST = 60
LIST = pathlib.Path(__file__).with_name("long_functions.txt")
SCOPE = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b[^()=]*$")
# What is no code: comments, raw and plain strings, characters.
QUIET = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])\'', re.S)


def quiet(text):
    return QUIET.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)


def name_of(head):
    """The name before the parameters: Emitter::emitStore."""
    found = re.search(r"([\w:~]+(?:operator\W+)?)\s*\(", head)
    return found.group(1) if found else " ".join(head.split())[-40:]


def functions(text):
    """(name, lines) of each function."""
    text = re.sub(r"^[ \t]*#[^\n]*(?:\\\n[^\n]*)*", "", quiet(text), flags=re.M)
    stack, head, line = [], "", 1
    for c in text:
        line += c == "\n"
        if c == "{":
            inside = any(kind == "function" for kind, _, _ in stack)
            is_scope = SCOPE.search(head.strip()) is not None
            is_function = not inside and not is_scope and "(" in head and not head.rstrip().endswith(("=", ",", "("))
            stack.append(("scope" if is_scope else "function" if is_function else "block", name_of(head), line))
            head = ""
        elif c == "}":
            if not stack:
                return
            kind, name, start = stack.pop()
            if kind == "function":
                yield name, line - start + 1
            head = ""
        elif c == ";":
            head = ""
        else:
            head += c


def long_ones(folder):
    found = {}
    for path in sorted((folder / "src").rglob("*")):
        if path.suffix in (".cpp", ".h"):
            for name, lines in functions(path.read_text(errors="replace")):
                if lines > MOST:
                    found[f"{path.relative_to(folder)} {name}"] = lines
    return found


def main():
    found = long_ones(pathlib.Path(sys.argv[1]))
    if sys.argv[2:] == ["--write"]:
        LIST.write_text("".join(f"{key} {lines}\n" for key, lines in found.items()))
        return
    known = {key: int(lines) for key, lines in (row.rsplit(" ", 1) for row in LIST.read_text().splitlines())}
    wrong = [f"{key}: {lines} lines, of {MOST} at most" for key, lines in found.items() if key not in known]
    wrong += [f"{key}: {lines} lines, {known[key]} before" for key, lines in found.items() if lines > known.get(key, lines)]
    wrong += [f"{key}: is not that long any more; take it from {LIST.name}" for key in known if key not in found]
    print("\n".join(wrong))
    sys.exit(bool(wrong))


main()
