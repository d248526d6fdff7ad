"""The functions that src/ defines, found by their form: names, files, bodies, and the reasons that they hand to the log."""

import collections
import pathlib
import re

Function = collections.namedtuple("Function", "file name header body code")  # `code`: the body without comments and texts
Call = collections.namedtuple("Call", "receiver qualifier name")

KEYWORDS = set("if for while switch return sizeof alignof decltype static_cast reinterpret_cast const_cast dynamic_cast catch "
               "defined noexcept alignas assert static_assert throw new delete operator".split())


def without_comments_and_texts(text):
    """Of the same length, so that places in one are places in the other."""
    blank = lambda match: re.sub(r"[^\n]", " ", match.group())
    pattern = r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*'
    return re.sub(pattern, blank, text, flags=re.S | re.M)


def ends_of_blocks(code):
    """The place of each opening brace -> that of its closing one."""
    ends, open_ = {}, []
    for brace in re.finditer("[{}]", code):
        if brace.group() == "{":
            open_.append(brace.start())
        elif open_:
            ends[open_.pop()] = brace.start()
    return ends


def name_of(header):
    """The name in front of the parameters, or None when the header is not that of a function."""
    header = re.sub(r"\[\[.*?\]\]", " ", header, flags=re.S)
    header = re.sub(r"^\s*(?:(?:public|private|protected)\s*:\s*)*", "", header)
    header = re.sub(r"^\s*template\s*<(?:[^<>]|<[^<>]*>)*>", " ", header, flags=re.S)
    if "(" not in header or re.match(r"\s*(?:namespace|class|struct|enum|union)\b", header):
        return None
    found = re.search(r"((?:\w+(?:<[^<>]*>)?::)*~?\w+)\s*\(", header)
    if not found or found.group(1) in KEYWORDS or "=" in header[:found.start()]:
        return None
    return found.group(1)


def is_initialiser(header):
    """Of a member, in front of a constructor's body."""
    return re.search(r"\)[^()]*:.*\w\s*$", header, re.S) and not re.search(r"\b(?:const|noexcept|override)\s*$", header)


def functions_in(path, root):
    text = path.read_text()
    code = without_comments_and_texts(text)
    ends = ends_of_blocks(code)
    marks = [mark.start() for mark in re.finditer("[;{}]", code)]
    file = str(path.relative_to(root))
    found = []
    owners = []  # (where its block ends, name), innermost last
    start = skip = 0  # of a header; before `skip` nothing is looked at
    for at in marks:
        while owners and owners[-1][0] <= at:
            owners.pop()
        if at < skip:
            continue
        if code[at] != "{":
            start = at + 1
            continue
        header, close = code[start:at], ends.get(at, len(code))
        owner = owners[-1][1] if owners else ""
        scope = re.search(r"\b(?:class|struct|union)\s+(?:alignas\([^)]*\)\s*)?([\w:]*)[^();=]*$", header)
        if re.search(r"\bnamespace\b[\s\w:]*$|\bextern\s*$", header) or scope:
            owners.append((close, scope.group(1) if scope else owner))
            start = at + 1
        elif is_initialiser(header):
            skip = close + 1
        else:
            if name := name_of(header):
                qualified = f"{owner}::{name}" if owner and "::" not in name else name
                found.append(Function(file, qualified, header, text[at:close + 1], code[at:close + 1]))
            start = skip = close + 1
    return found


def all_functions(root):
    paths = [path for path in sorted((root / "src").rglob("*")) if path.suffix in {".h", ".cpp"}]
    return [function for path in paths for function in functions_in(path, root)]


def reasons_in(function):
    """(the code or None, the format) of each fail() and unsupported() in it."""
    pattern = r"\b(?:fail\(\s*([A-Z_]\w*|[\w.:()]+)\s*,|unsupported\()\s*((?:\"(?:\\.|[^\"\\])*\"\s*)+)"
    for call in re.finditer(pattern, function.body):
        text = "".join(re.findall(r'"((?:\\.|[^"\\])*)"', call.group(2)))
        yield call.group(1), text


def includes_of(path):
    return re.findall(r'^#include "([^"]+)"', path.read_text(), re.M)


def called_in(code):
    """The functions that are called, in order and once each."""
    calls = re.findall(r"(?:(\w+|\))\s*(?:\.|->)\s*)?\b((?:\w+::)*)(\w+)\s*(?:<[^<>();]*>)?\(", code)
    found = [Call(receiver, qualifiers.removesuffix("::").rpartition("::")[2], name) for receiver, qualifiers, name in calls]
    return list(dict.fromkeys(call for call in found if call.name not in KEYWORDS))


def types_in(code):
    """Variable -> its type without namespaces, of references and pointers that are declared there."""
    return {variable: type_ for type_, variable in re.findall(r"\b([A-Z]\w+)\s*[&*]+\s*(?:const\s+)?(\w+)", code)}
