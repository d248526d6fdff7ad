"""Runs every case of faults.cu in checked mode and compares the records with expected.tsv.

    compare.py PROGRAM SOURCE EXPECTED [CASE...]

Each case runs with its own tool only; those of kernels also in the interpreter, which must say the same. Exit status 0
when all records are as expected.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

EXIT_CODE = 9  # that checked mode is told to end the program with
PREFIX = "verdigris check: "

# Where a record must say that the fault lies.
SURROUNDINGS = {
    "storeBehind": "directly behind an allocation of 400 bytes",
    "storeOfOne": ", faults.cu:",
    "loadBefore": "4 bytes before an allocation of 128 bytes",
    "afterFree": "memory that was freed",
    "variableOverrun": "directly behind variable table of 40 bytes",
    "heapOverrun": "directly behind a piece that a kernel allocated of 40 bytes",
    "heapAfterFree": "which was freed",
    "negativeIndex": "bytes before an allocation of 128 bytes",
    "partOfVector": "directly behind an allocation of 480 bytes",
    "doubleFree": "memory that was freed",
    "freeInside": "at byte 16 of an allocation of 64 bytes",
    "leaks": "made by cu",
    "heapLeak": "allocated in kernel heapLeak(int**) at",
    "heapLeakOfContext": ", 32 times",
    "neverWritten": "at byte 64 of an allocation of 128 bytes",
}

# Tools whose records of a kernel are the same compiled and interpreted. Of races, the order in which warps run decides
# which side of one is found first.
OF_KERNELS = ("memory", "sync", "init", "exits")

# What only compiled code knows.
COMPILED_ONLY = ("sharedIntoOther",)

# Checked mode has no pageable access by default, a profile of a GPU neither.
SETTINGS = {"pageable": {"VERDIGRIS_PROFILE": "h200"}}


def source_lines(source):
    """Case -> the line of the source that is marked with it."""
    lines = {}
    for number, line in enumerate(source.read_text().splitlines(), start=1):
        marked = re.search(r"// HERE (\w+)", line)
        if marked:
            lines[marked.group(1)] = number
    return lines


def records(text):
    """The records of a run: the headline and what is indented below it, one text each."""
    found = []
    for line in text.splitlines():
        if not line.startswith(PREFIX):
            continue
        line = line[len(PREFIX):]
        if line.startswith("    ") and found:
            found[-1] += "\n" + line
        else:
            found.append(line)
    return found


def run_case(folder, case, tool, program, kernels):
    """The process of a case, and what checked mode said of it."""
    log = folder / f"{case}.{kernels}.log"
    log.unlink(missing_ok=True)
    environment = dict(os.environ, VERDIGRIS_CHECK=tool, VERDIGRIS_CHECK_EXIT_CODE=str(EXIT_CODE),
                       VERDIGRIS_KERNELS=kernels, VERDIGRIS_LOG_FILE=str(log), **SETTINGS.get(case, {}))
    run = subprocess.run([program, case], env=environment, capture_output=True, text=True, timeout=60)
    return run, log.read_text() if log.exists() else ""


def comparable(text):
    """The list at the end, which stands for all records, without addresses."""
    listed = [line for line in text.splitlines() if re.match(rf"{PREFIX}(    \d+ x |\d+ fault)", line)]
    return sorted(re.sub(r"0x[0-9a-f]{6,}", "ADDRESS", line) for line in listed)


def problems(folder, case, tool, end, headline, line, program):
    run, said = run_case(folder, case, tool, program, "compile")
    if run.returncode == 77:
        return "skipped"
    if tool.split(",")[0] in OF_KERNELS and case not in COMPILED_ONLY:
        _, interpreted = run_case(folder, case, tool, program, "interpret")
        if comparable(said) != comparable(interpreted):
            return f"compiled:\n{said}interpreted:\n{interpreted}"
    wanted = [record for record in records(said) if record.startswith(f"{tool.split(',')[0]}: ") and headline in record]
    if not wanted:
        return f"no record of {tool} with '{headline}' in\n{said}{run.stderr}"
    if line and not any(re.search(rf"faults\.cu:{line}\b", record) for record in wanted):
        return f"line {line} is not named in\n{said}"
    if case in SURROUNDINGS and not any(SURROUNDINGS[case] in record for record in wanted):
        return f"'{SURROUNDINGS[case]}' is missing in\n{said}"
    if f"end: {end}" not in run.stdout:
        return f"the program does not end with {end}: {run.stdout}"
    if run.returncode != EXIT_CODE:
        return f"exit status {run.returncode}, not {EXIT_CODE}"
    if not re.search(r"^verdigris check: \d+ faults?, met \d+ times?$", said, re.MULTILINE):
        return f"no summary in\n{said}"
    return None


def main():
    program, source, expected = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    lines = source_lines(source)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for row in expected.read_text().splitlines():
            if not row or row.startswith("#"):
                continue
            case, tool, end, headline = row.split("\t")
            if len(sys.argv) > 4 and case not in sys.argv[4:]:
                continue
            problem = problems(pathlib.Path(folder), case, tool, end, headline, lines.get(case), program)
            print(f"{case}: {problem or 'as expected'}")
            failed += bool(problem) and problem != "skipped"
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
