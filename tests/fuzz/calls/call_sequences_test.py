"""That no seed ends the process, that each result is a CUresult, and that a seed repeats its calls and answers.

    call_sequences_test.py CALL_SEQUENCES LIBRARY RESULTS FIRST END
"""
import pathlib
import subprocess
import sys
import tempfile

import call_records

LEAST_FUNCTIONS = 250  # that succeed somewhere in 300 seeds: fewer would prove little


def main():
    program, library, results, first, end = sys.argv[1:]
    names = {line.split("\t")[1] for line in open(results) if "\t" in line}
    with tempfile.TemporaryDirectory() as folder:
        paths = [pathlib.Path(folder) / name for name in ("first.tsv", "second.tsv")]
        for path in paths:
            subprocess.run([program, library, first, end, path], check=True)
        once, again = map(call_records.read, paths)
    lines = [line for seed in once.values() for line in seed]
    assert list(once) == list(range(int(first), int(end))), "a seed left no line"
    for line in lines:
        assert line.result in names, f"no CUresult: {line}"
    for seed, theirs in once.items():
        for a, b in zip(theirs, again[seed], strict=True):
            assert a == b, f"differs from run to run: {a} {b}"
    succeeded = {line.function for line in lines if line.result == "CUDA_SUCCESS"}
    assert len(succeeded) >= LEAST_FUNCTIONS, f"only {len(succeeded)} functions succeed"
    print(f"{len(once)} seeds, {len(lines)} calls, {len(succeeded)} functions succeed somewhere")


main()
