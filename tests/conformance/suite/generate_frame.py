#!/usr/bin/env python3
"""Makes the two generated sources of the conformance suite.

usage: generate_frame.py SYMBOLS RULES FOLDER

FOLDER/trampolines.S: one function a driver symbol that jumps through a table, so that tests may call any cu* function
although the executable links no libcuda; the table is filled when the library under test is opened (library.cpp).
FOLDER/generated_tables.cpp: the names in the table's order, and the rules that PROVES may name.
"""

import json
import pathlib
import re
import sys

MACROS = """  .text
#ifdef __aarch64__
  .macro through offset
  adrp x16, suiteEntries+\\offset
  ldr x16, [x16, #:lo12:suiteEntries+\\offset]
  br x16
  .endm
  .macro absent index
  mov w0, #\\index
  b suiteAbsentSymbol
  .endm
#else
  .macro through offset
  jmp *suiteEntries+\\offset(%rip)
  .endm
  .macro absent index
  movl $\\index, %edi
  jmp suiteAbsentSymbol
  .endm
#endif
"""
TRAMPOLINE = """  .globl {name}
  .type {name}, %function
  .p2align 4
{name}:
  through {offset}
  .size {name}, .-{name}
.Labsent{index}:
  absent {index}
"""


def trampolines(names):
    text = MACROS + "".join(TRAMPOLINE.format(name=n, offset=8 * i, index=i) for i, n in enumerate(names))
    text += "  .data\n  .globl suiteEntries\n  .p2align 4\nsuiteEntries:\n"
    text += "".join(f"  .quad .Labsent{i}\n" for i in range(len(names)))
    return text + '  .section .note.GNU-stack,"",@progbits\n'


def tables(names, rules):
    text = '#include "library.h"\n#include "rules.h"\n\nnamespace suite {\n\n'
    text += f"const size_t kSymbolCount = {len(names)};\nconst char* const kSymbolNames[] = {{\n"
    text += "".join(f'    "{name}",\n' for name in names)
    text += f"}};\n\nconst size_t kRuleCount = {len(rules)};\nconst Rule kRules[] = {{\n"
    text += "".join("    {" + ", ".join(json.dumps(cell, ensure_ascii=False) for cell in rule) + "},\n" for rule in rules)
    return text + "};\n\n}  // namespace suite\n"


def main():
    symbols, rules_file, folder = (pathlib.Path(argument) for argument in sys.argv[1:])
    names = [name for name in symbols.read_text().split() if re.match(r"cu[A-Z]", name)]
    rows = [line.split("\t") for line in rules_file.read_text().splitlines()[1:]]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "trampolines.S").write_text(trampolines(names))
    (folder / "generated_tables.cpp").write_text(tables(names, sorted(rows)))


main()
