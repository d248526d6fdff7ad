"""Runs every case of races.cu, or of managed.cu or idioms.cu, in checked mode, compiled and interpreted.

    races.py PROGRAM SOURCE EXPECTED [--tools TOOLS] [--without WORD] [CASE...]

Cases whose name holds WORD are left out.
A faulty case must be found, with the lines of both sides as expected.tsv says; a case whose name begins with "fine" must
give no record. Exit status 0 when all is so.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

PREFIX = "verdigris check: "
EXIT_CODE = 9  # that checked mode is told to end the program with


def marked_lines(source):
    """("HERE" or "OTHER", case) -> the line of the source that is marked so."""
    lines = {}
    for number, line in enumerate(source.read_text().splitlines(), start=1):
        for mark in re.findall(r"(HERE|OTHER) (\w+)", line.partition("//")[2]):
            lines[mark] = number
    return lines


def records(text):
    """The records of a run: the headline and what is indented below it, one text each."""
    found = []
    for line in text.splitlines():
        if line.startswith(PREFIX + "    ") and found:
            found[-1] += "\n" + line
        elif line.startswith(PREFIX):
            found.append(line)
    return [record for record in found if not re.match(rf"{PREFIX}\d+ fault", record)]


def run(folder, program, case, kernels, tools):
    log = folder / f"{case}.{kernels}.log"
    environment = dict(os.environ, VERDIGRIS_CHECK=tools, VERDIGRIS_CHECK_EXIT_CODE=str(EXIT_CODE),
                       VERDIGRIS_KERNELS=kernels, VERDIGRIS_LOG_FILE=str(log))
    done = subprocess.run([program, case], env=environment, capture_output=True, text=True, timeout=60)
    return done, log.read_text() if log.exists() else ""


def problem_of_fault(said, wanted, lines, source):
    tool, headline = re.fullmatch(r"(?:(sync|init|memory): )?(.*)", wanted[0]).groups()
    sides = [lines[tuple(side.split())] for side in wanted[1:]]
    for record in records(said):
        first = record.splitlines()[0]
        named = {int(number) for number in re.findall(rf"{source}:(\d+)", record)}
        if first.startswith(f"{PREFIX}{tool or 'race'}: ") and headline in first and named >= set(sides):
            return None
    return f"no record with '{headline}' and lines {sides} in\n{said}"


def problem(folder, program, case, kernels, tools, expected, lines, source):
    try:
        done, said = run(folder, program, case, kernels, tools)
    except subprocess.TimeoutExpired:
        return "does not end"
    if "end: cudaSuccess" not in done.stdout:
        return f"the program ends with {done.returncode}: {done.stdout}{done.stderr}"
    if case in expected:
        wrong = problem_of_fault(said, expected[case], lines, source)
        return wrong or (None if done.returncode == EXIT_CODE else f"exit status {done.returncode}")
    return f"false alarm:\n{said}" if done.returncode or records(said) else None


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("table", type=pathlib.Path)
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--tools", default="race")
    parser.add_argument("--without", metavar="WORD")
    return parser.parse_intermixed_args()


def main():
    options = arguments()
    program, source, table = options.program, options.source, options.table
    expected = {}
    for row in table.read_text().splitlines():
        if row and not row.startswith("#"):
            case, *wanted = row.split("\t")
            expected[case] = wanted
    lines = marked_lines(source)
    cases = list(expected) + sorted(set(re.findall(r'is\("(fine\w+)"\)', source.read_text())))
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            if (options.cases and case not in options.cases) or (options.without and options.without in case):
                continue
            for kernels in ("compile", "interpret"):
                wrong = problem(pathlib.Path(folder), program, case, kernels, options.tools, expected, lines,
                                re.escape(source.name))
                print(f"{case}, {kernels}: {wrong or 'as expected'}", flush=True)
                failed += bool(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
