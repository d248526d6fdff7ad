#!/usr/bin/env python3
"""Compares our cuda.h with the vendor's, fact by fact.

usage: compare_headers.py OUR_INCLUDE_DIR VENDOR_INCLUDE_DIR CXX

In each of the three modes (a program's, per-thread default streams, every ABI symbol) the names that either header
declares are listed: enumerators, types, fields, functions, macros. One probe program, compiled against each header in
turn, prints what every name means: values, sizes, alignments, offsets and C++ types. The two outputs must agree.
Exits with 77 where there is no vendor's header.
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
        t, i = tokens(text), 0
        while i < len(t):
            if t[i] == "extern":
                i += 4  # extern "C" {
            elif t[i] == "typedef":
                i = self.typedef(t, i)
            elif t[i] == "CUresult":
                self.functions.add(t[i + 1])
                i = closing(t, i + 2) + 2
            elif t[i] == "static":  # an inline helper
                name = next(k for k in range(i, len(t)) if t[k] == "(") - 1
                brace = t.index("{", name)
                i = closing(t, brace) + 1
            else:
                i += 1

    def typedef(self, t, i):
        kind = t[i + 1]
        semicolon = t.index(";", i)
        brace = next((k for k in range(i, semicolon) if t[k] == "{"), None)
        if brace is None:
            if t[semicolon - 1] == ")":  # a pointer to a function
                self.types.add(t[t.index("*", i) + 1])
            else:
                self.types.add(t[semicolon - 1])
                if semicolon == i + 3:  # another name for a type
                    self.fields.update((t[semicolon - 1], path) for x, path in list(self.fields) if x == kind)
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


def main():
    ours, vendors, cxx = sys.argv[1:4]
    if not os.path.exists(os.path.join(vendors, "cuda.h")):
        print("skipped: no CUDA toolkit, so no vendor's cuda.h to compare with")
        return 77
    version = re.search(r"#define\s+CUDA_VERSION\s+(\d+)", open(os.path.join(vendors, "cuda.h")).read()).group(1)
    if int(version) // 10 != 1300:
        print(f"skipped: the toolkit's cuda.h is of version {version}, ours of 13000")
        return 77
    failures = 0
    with tempfile.TemporaryDirectory() as directory:
        for mode in MODES:
            listed = {d: Names(declarations(cxx, d, mode)) for d in (ours, vendors)}
            for kind in ("enumerators", "types", "fields", "functions"):
                a, b = getattr(listed[ours], kind), getattr(listed[vendors], kind)
                if not a:
                    print(f"{mode}: no {kind} found in our header: the comparison is broken")
                    failures += 1
                for name in sorted(b - a):
                    print(f"{mode}: {kind}: {name} is missing from ours")
                for name in sorted(a - b):
                    print(f"{mode}: {kind}: {name} is in ours alone")
                failures += len(a ^ b)
            a = probe(cxx, ours, mode, listed[ours], directory, "ours")
            b = probe(cxx, vendors, mode, listed[ours], directory, "vendors")
            if mode != "internal":  # there, both headers undefine names, each in its own way
                names = sorted(macros(cxx, ours, mode) | macros(cxx, vendors, mode))
                a += expansions(cxx, ours, mode, names)
                b += expansions(cxx, vendors, mode, names)
            different = [(x, y) for x, y in zip(a, b) if x != y]
            for x, y in different:
                print(f"{mode}:\n  ours     {x}\n  vendor's {y}")
            failures += len(different) + (len(a) != len(b))
            print(f"{mode}: compared {len(a)} facts")
    print("the headers agree" if not failures else f"{failures} differences")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
