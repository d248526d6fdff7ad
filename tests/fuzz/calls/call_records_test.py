"""What of two transcripts is a difference, and of which kind."""
import lzma
import pathlib
import tempfile
import unittest

import call_records
from call_records import Kind

GOOD, BAD = "CUDA_SUCCESS", "CUDA_ERROR_INVALID_VALUE"


def record(*rows):
    """Rows of (seed, place, function, result, outputs)."""
    text = "".join(f"{seed}\t{place}\t{function}\t\tx=1\t{result}\t{outputs}\n" for seed, place, function, result, outputs in rows)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "record.tsv.xz"
        path.write_bytes(lzma.compress(text.encode()))
        return call_records.read(path)


def kinds(theirs, ours):
    return {kind: len(pairs) for kind, pairs in call_records.compare(record(*theirs), record(*ours)).kinds.items()}


class CallRecords(unittest.TestCase):
    def test_equal_answers_are_alike(self):
        rows = [(0, 0, "cuMemAlloc", GOOD, "off=0"), (1, 0, "cuMemFree", BAD, "")]
        result = call_records.compare(record(*rows), record(*rows))
        self.assertEqual((result.seeds, result.alike, result.calls, result.kinds), (2, 2, 2, {}))

    def test_a_sequence_ends_at_another_result(self):
        theirs = [(0, 0, "cuMemAlloc", GOOD, ""), (0, 1, "cuMemFree", GOOD, "")]
        ours = [(0, 0, "cuMemAlloc", BAD, ""), (0, 1, "cuMemFree", BAD, "")]
        self.assertEqual(kinds(theirs, ours), {Kind("cuMemAlloc", "", GOOD, BAD, ""): 1})

    def test_a_question_ends_no_sequence(self):
        theirs = [(0, 0, "cuStreamGetFlags", GOOD, ""), (0, 1, "cuMemFree", GOOD, "")]
        ours = [(0, 0, "cuStreamGetFlags", BAD, ""), (0, 1, "cuMemFree", BAD, "")]
        self.assertEqual(len(kinds(theirs, ours)), 2)

    def test_finding_a_function_is_no_question(self):
        theirs = [(0, 0, "cuModuleGetFunction", GOOD, ""), (0, 1, "cuMemFree", GOOD, "")]
        ours = [(0, 0, "cuModuleGetFunction", BAD, ""), (0, 1, "cuMemFree", BAD, "")]
        self.assertEqual(len(kinds(theirs, ours)), 1)

    def test_outputs_differ_by_name(self):
        theirs = [(0, 0, "cuMemGetAddressRange", GOOD, "size=4 own range=1 as=device 1"), (0, 1, "cuMemGetAddressRange", GOOD, "size=4")]
        ours = [(0, 0, "cuMemGetAddressRange", GOOD, "size=4 own range=0 as=device 1"), (0, 1, "cuMemGetAddressRange", GOOD, "")]
        self.assertEqual(
            kinds(theirs, ours),
            {Kind("cuMemGetAddressRange", "", GOOD, GOOD, "own range"): 1, Kind("cuMemGetAddressRange", "", GOOD, GOOD, "size"): 1},
        )

    def test_another_call_is_a_difference_of_its_own(self):
        self.assertEqual(
            kinds([(0, 0, "cuMemAlloc", GOOD, "")], [(0, 0, "cuMemFree", GOOD, "")]),
            {Kind("cuMemAlloc", "", "", "", "another call"): 1},
        )

    def test_where_they_crash_any_answer_is_right(self):
        self.assertEqual(kinds([(0, 0, "cuMemAlloc", "killed: Aborted", "")], [(0, 0, "cuMemAlloc", BAD, "")]), {})

    def test_our_crash_is_a_difference(self):
        self.assertEqual(len(kinds([(0, 0, "cuMemAlloc", BAD, "")], [(0, 0, "cuMemAlloc", "killed: Aborted", "")])), 1)

    def test_the_most_frequent_comes_first(self):
        theirs = [(seed, 0, name, GOOD, "") for seed, name in enumerate(["cuA", "cuB", "cuB"])]
        ours = [(seed, 0, name, BAD, "") for seed, name in enumerate(["cuA", "cuB", "cuB"])]
        result = call_records.compare(record(*theirs), record(*ours))
        self.assertEqual([kind.function for kind, _ in call_records.by_frequency(result.kinds)], ["cuB", "cuA"])


if __name__ == "__main__":
    unittest.main()
