#!/usr/bin/env python3
"""Compares our cuda.h with the vendor's, fact by fact.

usage: compare_headers.py OUR_INCLUDE_DIR VENDOR_INCLUDE_DIR CXX

In each of the three modes (a program's, per-thread default streams, every ABI symbol) the names that either header
declares are listed: enumerators, types, fields, functions, macros. One probe program, compiled against each header in
turn, prints what every name means: values, sizes, alignments, offsets and C++ types. The two outputs must agree.

A vendor's header of an earlier minor version need not have all that ours has, but what it has must mean the same: a
program compiled against it meets our library. What did change is listed, name by name, in header_changes.tsv; a row that
no longer names a difference is an error too. Exits with 77 where there is no vendor's header.
"""

import os
import re
import subprocess
import sys
import tempfile

MODES = {
    "program": [],
    "per-thread": ["-DCUDA_API_PER_THREAD_DEFAULT_STREAM"],
    "internal": ["-D__CUDA_API_VERSION_INTERNAL"],
}
MACRO = re.compile(r"^(CU|cu|RESOURCE_ABI_)")
# Ours alone: nothing yet. Names of the vendor's that describe its own header, not the interface.
NOT_INTERFACE = {"CUDA_API_PER_THREAD_DEFAULT_STREAM"}


def run(command, **kwargs):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, universal_newlines=True, **kwargs).stdout


def declarations(cxx, include, mode):
    """The header after preprocessing, without what the C library's headers bring in."""
    text = run([cxx, "-E", "-x", "c++", "-std=c++17", *MODES[mode], "-I", include, os.path.join(include, "cuda.h")])
    kept, ours = [], False
    for line in text.splitlines():
        marker = re.match(r'# \d+ "([^"]*)"', line)
        if marker:
            ours = marker.group(1) == os.path.join(include, "cuda.h")
        elif ours and not line.startswith("#"):
            kept.append(line)
    text = " ".join(kept)
    text = re.sub(r"__attribute__\s*\(\(.*?\)\)", "", text)
    return re.sub(r"\balignas\s*\(\w+\)", "", text)


def tokens(text):
    return re.findall(r"[A-Za-z_]\w*|\d[\w.]*|<<|>>|\S", text)


def closing(t, start):
    """Index of the bracket that closes the one at `start`."""
    pairs, depth = {"{": "}", "(": ")"}, 0
    for i in range(start, len(t)):
        if t[i] == t[start]:
            depth += 1
        elif t[i] == pairs[t[start]]:
            depth -= 1
            if depth == 0:
                return i
    raise ValueError("unbalanced " + " ".join(t[start : start + 20]))


def fields(body):
    """Access paths of all members, nested ones included."""
    paths, i = [], 0
    while i < len(body):
        if body[i] in ("struct", "union"):
            brace = i + 1 if body[i + 1] == "{" else i + 2
            if brace < len(body) and body[brace] == "{":
                end = closing(body, brace)
                inner = fields(body[brace + 1 : end])
                semicolon = body.index(";", end)
                names = [x for x in body[end + 1 : semicolon] if re.match(r"[A-Za-z_]", x)]
                paths += names
                for name in names or [None]:
                    paths += [f"{name}.{x}" if name else x for x in inner]
                i = semicolon + 1
                continue
        semicolon = body.index(";", i)
        member = body[i:semicolon]
        if "(" in member and member[member.index("(") + 1] == "*":
            paths.append(member[member.index("(") + 2])
        else:
            end = member.index("[") if "[" in member else len(member)
            paths.append(member[end - 1])
        i = semicolon + 1
    return paths


class Names:
    def __init__(self, text):
        self.enumerators, self.types, self.fields, self.functions = set(), set(), set(), set()
        self.tags, self.named = {}, {}  # fields by the tag of a structure; names that stand for a tag
        t, i = tokens(text), 0
        while i < len(t):
            if t[i] == "extern":
                i += 4  # extern "C" {
            elif t[i] == "typedef":
                i = self.typedef(t, i)
            elif t[i] == "CUresult":
                self.functions.add(t[i + 1])
                i = closing(t, i + 2) + 2
            elif t[i] == "struct" and t[i + 2] == "{":  # defined apart from its names
                end = closing(t, i + 2)
                self.tags[t[i + 1]] = fields(t[i + 3 : end])
                i = end + 2
            elif t[i] == "static":  # an inline helper
                name = next(k for k in range(i, len(t)) if t[k] == "(") - 1
                brace = t.index("{", name)
                i = closing(t, brace) + 1
            else:
                i += 1
        for name, tag in self.named.items():
            self.fields.update((name, path) for path in self.tags.get(tag, ()))

    def typedef(self, t, i):
        kind = t[i + 1]
        semicolon = t.index(";", i)
        brace = next((k for k in range(i, semicolon) if t[k] == "{"), None)
        if brace is None:
            if t[semicolon - 1] == ")":  # a pointer to a function
                self.types.add(t[t.index("*", i) + 1])
            else:
                self.types.add(t[semicolon - 1])
                if kind == "struct" and semicolon == i + 4:
                    self.named[t[semicolon - 1]] = t[i + 2]
                if semicolon == i + 3:  # another name for a type
                    self.fields.update((t[semicolon - 1], path) for x, path in list(self.fields) if x == kind)
                    if kind in self.named:
                        self.named[t[semicolon - 1]] = self.named[kind]
            return semicolon + 1
        end = closing(t, brace)
        semicolon = t.index(";", end)
        names = [x for x in t[end + 1 : semicolon] if re.match(r"[A-Za-z_]", x)]
        self.types.update(names)
        if kind == "enum":
            depth, expect = 0, True
            for x in t[brace + 1 : end]:
                depth += x == "("
                depth -= x == ")"
                if expect and re.match(r"[A-Za-z_]", x):
                    self.enumerators.add(x)
                expect = x == "," and depth == 0
        else:
            for name in names:
                self.fields.update((name, path) for path in fields(t[brace + 1 : end]))
        return semicolon + 1


PROBE = """
#include <cuda.h>
#include <cstddef>
#include <cstdio>
template <class T> const char* type() { return __PRETTY_FUNCTION__; }
#define ENUMERATOR(name) std::printf("enumerator " #name " = %lld of %s\\n", (long long)(name), type<decltype(name)>());
#define TYPE(name) std::printf("type " #name ": size %zu, alignment %zu, is %s\\n", sizeof(name), alignof(name), type<name>());
#define FIELD(t, path) \\
  std::printf("field " #t "." #path ": offset %zu, size %zu, %s\\n", offsetof(t, path), sizeof(((t*)0)->path), \\
              type<decltype(((t*)0)->path)>());
#define FUNCTION(name) std::printf("function " #name ": %s\\n", type<decltype(name)>());
int main() {
"""


def probe(cxx, include, mode, names, directory, label):
    source = os.path.join(directory, f"{label}_{mode}.cpp")
    with open(source, "w") as f:
        f.write(PROBE)
        f.writelines(f"  ENUMERATOR({x})\n" for x in sorted(names.enumerators))
        f.writelines(f"  TYPE({x})\n" for x in sorted(names.types))
        f.writelines(f"  FIELD({x}, {y})\n" for x, y in sorted(names.fields))
        f.writelines(f"  FUNCTION({x})\n" for x in sorted(names.functions))
        f.write("}\n")
    program = source[:-4]
    run([cxx, "-std=c++17", "-O0", "-w", *MODES[mode], "-I", include, source, "-o", program])
    return run([program]).splitlines()


def macros(cxx, include, mode):
    header = os.path.join(include, "cuda.h")
    found = set()
    for line in run([cxx, "-E", "-dM", "-x", "c++", *MODES[mode], header]).splitlines():
        match = re.match(r"#define (\w+)(?!\()(?: |$)", line)
        if match and MACRO.match(match.group(1)):
            found.add(match.group(1))
    return found - NOT_INTERFACE


def expansions(cxx, include, mode, names):
    text = "#include <cuda.h>\n" + "".join(f"@{i}@ {name}\n" for i, name in enumerate(names))
    out = run([cxx, "-E", "-P", "-x", "c++", *MODES[mode], "-I", include, "-"], input=text)
    lines = out[out.index("@0@") :] if names else ""
    parts = re.split(r"@ ?(\d+) ?@", lines)
    return [f"macro {names[int(k)]} = {re.sub(r'[ ()]', '', v.strip())}" for k, v in zip(parts[1::2], parts[2::2])]


def version_of(folder):
    with open(os.path.join(folder, "cuda.h")) as header:
        return int(re.search(r"#define\s+CUDA_VERSION\s+(\d+)", header.read()).group(1))


class Changes:
    """What may differ between a header of an earlier version and ours: names and the version that changed them."""

    def __init__(self, ours, theirs):
        self.older = theirs < ours
        self.used, self.declared = set(), set()
        self.rows = {}
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "header_changes.tsv")) as table:
            for line in table:
                if line.startswith("#") or not line.strip():
                    continue
                name, since = line.rstrip("\n").split("\t")[:2]
                if theirs < int(since):
                    self.rows[name] = int(since)

    def explain(self, name):
        """Whether `name` (a type, an enumerator, "type.field") is known to have changed."""
        for known in (name, name.split(".")[0]):
            if known in self.rows:
                self.used.add(known)
                return True
        return False

    def stale(self):
        rows = sorted((set(self.rows) - self.used) & self.declared)
        for name in rows:
            print(f"header_changes.tsv: {name} has not changed since that version")
        return len(rows)


def label(name):
    return name if isinstance(name, str) else ".".join(name)


def list_names(mode, kind, a, b, changes):
    """Names that one of the two headers lacks: how many of them are not explained."""
    failures = 0
    if not a:
        print(f"{mode}: no {kind} found in our header: the comparison is broken")
        failures += 1
    for name in sorted(b - a):
        if not changes.explain(label(name)):
            print(f"{mode}: {kind}: {name} is missing from ours")
            failures += 1
    for name in sorted(a - b):
        if not changes.older:
            print(f"{mode}: {kind}: {name} is in ours alone")
            failures += 1
    return failures


def compare(cxx, ours, vendors, mode, directory, changes):
    listed = {d: Names(declarations(cxx, d, mode)) for d in (ours, vendors)}
    failures, shared = 0, Names("")
    for kind in ("enumerators", "types", "fields", "functions"):
        a, b = getattr(listed[ours], kind), getattr(listed[vendors], kind)
        failures += list_names(mode, kind, a, b, changes)
        changes.declared.update(label(name) for name in b)
        setattr(shared, kind, a & b)
    a = probe(cxx, ours, mode, shared, directory, "ours")
    b = probe(cxx, vendors, mode, shared, directory, "vendors")
    if mode != "internal":  # there, both headers undefine names, each in its own way
        theirs = macros(cxx, vendors, mode)
        names = sorted(theirs if changes.older else theirs | macros(cxx, ours, mode))
        a += expansions(cxx, ours, mode, names)
        b += expansions(cxx, vendors, mode, names)
    failures += len(a) != len(b)
    for x, y in zip(a, b):
        if x != y and not changes.explain(re.match(r"\w+ ([\w.]+)", x).group(1)):
            print(f"{mode}:\n  ours     {x}\n  vendor's {y}")
            failures += 1
    print(f"{mode}: compared {len(a)} facts")
    return failures


def main():
    ours, vendors, cxx = sys.argv[1:4]
    if not os.path.exists(os.path.join(vendors, "cuda.h")):
        print("skipped: no CUDA toolkit, so no vendor's cuda.h to compare with")
        return 77
    changes = Changes(version_of(ours), version_of(vendors))
    failures = 0
    with tempfile.TemporaryDirectory() as directory:
        for mode in MODES:
            failures += compare(cxx, ours, vendors, mode, directory, changes)
    failures += changes.stale()
    print("the headers agree" if not failures else f"{failures} differences")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
