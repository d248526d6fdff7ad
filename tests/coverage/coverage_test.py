#!/usr/bin/env python3
"""Coverage of device code as a user gets it.

    coverage_test.py VERDIGRIS SUBJECT SOURCES [--programs FOLDER]

FOLDER has the programs that nvcc made of the sources, whose lines say in comments how many lanes run them.
"""

import html.parser
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

VERDIGRIS, SUBJECT = sys.argv[1:3]
SOURCES = pathlib.Path(sys.argv[3])
PROGRAMS = pathlib.Path(sys.argv[5]) if len(sys.argv) > 5 else None
LINES = "/nowhere/lines.cu"


def cover(folder, *command, expect=0, options=(), environment=None):
    done = subprocess.run([VERDIGRIS, "cover", "--output", str(folder), *options, *map(str, command)], capture_output=True,
                          text=True, timeout=120, env={**os.environ, **(environment or {})}, check=False)
    assert done.returncode == expect, (command, done.returncode, done.stdout, done.stderr)
    return done


class Record:
    """One source file of an .info file."""

    def __init__(self):
        self.lines, self.branches, self.functions, self.totals = {}, {}, {}, {}


def load(folder):
    records = {}
    for line in (folder / "coverage.info").read_text().splitlines():
        tag, _, rest = line.partition(":")
        fields = rest.split(",")
        if tag == "SF":
            record = records[rest] = Record()
        elif tag == "DA":
            record.lines[int(fields[0])] = int(fields[1])
        elif tag == "BRDA":
            lanes = None if fields[3] == "-" else int(fields[3])
            record.branches.setdefault(int(fields[0]), {}).setdefault(int(fields[1]), []).append(lanes)
        elif tag == "FNDA":
            record.functions[fields[1]] = int(fields[0])
        elif tag in ("LF", "LH", "BRF", "BRH", "FNF", "FNH"):
            record.totals[tag] = int(rest)
    return records


def expected_lines(path):
    """{line: (lanes, has a branch)} by the comments of a source."""
    found = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if match := re.search(r"// lanes: (\d+)(, branch)?$", line):
            found[number] = int(match[1]), bool(match[2])
    return found


class Page(html.parser.HTMLParser):
    """Whether every element that is opened is closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.links = [], []
        self.feed(text)
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        if tag != "meta":
            self.open.append(tag)
        self.links += [value for name, value in attributes if name in ("href", "src")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag


class Coverage(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = pathlib.Path(self.temporary.name) / "coverage"

    def check_once(self, record, times=1):
        self.assertEqual(record.lines, {1: 64 * times, 2: 64 * times, 3: 54 * times, 4: 10 * times, 5: 64 * times, 6: 0})
        self.assertEqual(record.branches, {2: {0: [10 * times, 54 * times]}, 5: {0: [0, 64 * times]}})
        self.assertEqual(record.functions, {"kernel": 64 * times, "other": 0})
        self.assertEqual(record.totals, {"LF": 6, "LH": 5, "BRF": 4, "BRH": 3, "FNF": 2, "FNH": 1})

    def test_lines_branches_and_functions_are_counted(self):
        done = cover(self.folder, SUBJECT, "run")
        self.check_once(load(self.folder)[LINES])
        self.assertIn("83.3 % of 6 lines, 75.0 % of 4 ways of branches, 50.0 % of 2 functions", done.stderr)

    def test_interpreted_kernels_count_the_same(self):
        cover(self.folder, SUBJECT, "run", environment={"VERDIGRIS_KERNELS": "interpret"})
        self.check_once(load(self.folder)[LINES])

    def test_checked_kernels_count_the_same(self):
        cover(self.folder, SUBJECT, "run", environment={"VERDIGRIS_CHECK": "all"})
        self.check_once(load(self.folder)[LINES])

    def test_vectors_of_all_widths_count_the_same(self):
        for isa in ("baseline", "avx2"):
            with self.subTest(isa):
                cover(self.folder, SUBJECT, "run", options=["--anew"], environment={"VERDIGRIS_ISA": isa})
                self.check_once(load(self.folder)[LINES])

    def test_runs_add_up_until_they_are_forgotten(self):
        cover(self.folder, SUBJECT, "run")
        cover(self.folder, SUBJECT, "run")
        cover(self.folder, SUBJECT, "run")
        self.check_once(load(self.folder)[LINES], 3)
        counts = list((self.folder / "data").glob("*.counts"))
        self.assertEqual(len(counts), 1, "the counts of runs that have ended are one file")
        cover(self.folder)
        self.check_once(load(self.folder)[LINES], 3)
        cover(self.folder, SUBJECT, "run", options=["--anew"])
        self.check_once(load(self.folder)[LINES])

    def test_processes_that_go_on_keep_their_files(self):
        cover(self.folder, SUBJECT, "run")
        with subprocess.Popen([SUBJECT, "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              env={**os.environ, "VERDIGRIS_COVERAGE": str(self.folder / "data")}) as going_on:
            self.assertEqual(going_on.stdout.readline(), b"ready\n")
            cover(self.folder, SUBJECT, "run")
            self.check_once(load(self.folder)[LINES], 3)
            self.assertEqual(len(list((self.folder / "data").glob("*.counts"))), 2)
            going_on.communicate(b"\n", timeout=60)
        cover(self.folder)
        self.check_once(load(self.folder)[LINES], 4)
        self.assertEqual(len(list((self.folder / "data").glob("*.counts"))), 1)

    def test_threads_and_streams_lose_no_count(self):
        cover(self.folder, SUBJECT, "threads")
        self.check_once(load(self.folder)[LINES], 400)

    def test_children_are_counted(self):
        cover(self.folder, SUBJECT, "child")
        self.check_once(load(self.folder)[LINES], 2)

    def test_killed_processes_are_counted(self):
        cover(self.folder, SUBJECT, "kill", expect=128 + signal.SIGKILL)
        self.check_once(load(self.folder)[LINES])

    def test_kernels_that_fault_are_counted_up_to_there(self):
        cover(self.folder, SUBJECT, "fault")
        self.assertGreaterEqual(load(self.folder)[LINES].lines[1], 32)

    def test_without_line_information_the_text_is_the_source(self):
        cover(self.folder, SUBJECT, "plain")
        (path, record), = load(self.folder).items()
        text = pathlib.Path(path).read_text().splitlines()
        self.assertEqual(pathlib.Path(path).parent, self.folder / "ptx")
        for line, lanes in record.lines.items():
            if "atom.global.add.u32 %t3, [%p], 2" in text[line - 1]:
                self.assertEqual(lanes, 10)
            if "@%q1 bra LOW" in text[line - 1]:
                self.assertEqual(record.branches[line], {0: [10, 54]})
        self.assertEqual(record.functions, {"kernel": 64, "other": 0})

    def test_pages_need_nothing_from_elsewhere(self):
        cover(self.folder, SUBJECT, "plain")
        pages = sorted(self.folder.glob("*.html"))
        self.assertEqual([page.name for page in pages], ["file1.html", "index.html"])
        for page in pages:
            for link in Page(page.read_text()).links:
                self.assertTrue(link.startswith("#") or (self.folder / link).exists(), link)
        self.assertIn("<b>0</b>", pages[0].read_text())

    def test_files_can_be_chosen(self):
        cover(self.folder, SUBJECT, "run", options=["--only", "/nowhere"])
        self.assertEqual(list(load(self.folder)), [LINES])
        cover(self.folder, options=["--skip", "/nowhere"])
        self.assertEqual(list(load(self.folder)), [])
        cover(self.folder, options=["--only", "/now"])
        self.assertEqual(list(load(self.folder)), [], "a folder is more than the beginning of a name")

    def test_a_folder_that_cannot_be_written_fails_no_program(self):
        done = subprocess.run([SUBJECT, "run"], env={**os.environ, "VERDIGRIS_COVERAGE": "/proc/none"}, capture_output=True,
                              text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stderr.count("coverage:"), 1)

    def test_a_program_without_kernels_is_told_so(self):
        self.assertIn("no kernel", cover(self.folder, "/bin/true").stderr)

    def test_the_programs_exit_status_is_kept(self):
        cover(self.folder, "/bin/false", expect=1)
        cover(self.folder, "/no/such/program", expect=127)

    def test_counts_of_another_version_are_named_and_left_out(self):
        cover(self.folder, SUBJECT, "run")
        (counts,) = (self.folder / "data").glob("*.counts")
        counts.write_bytes(b"\1" * 9000)
        self.assertIn(counts.name, cover(self.folder).stderr)
        self.assertEqual(load(self.folder)[LINES].lines[1], 0)

    def check_source(self, records, name):
        record = records[str(SOURCES / name)]
        for line, (lanes, branch) in expected_lines(SOURCES / name).items():
            with self.subTest(f"{name}:{line}"):
                self.assertEqual(record.lines.get(line), lanes)
                if branch:
                    self.assertIn(line, record.branches)
                    self.assertEqual(sum(record.branches[line][0]), lanes)
        return record

    @unittest.skipUnless(PROGRAMS, "no nvcc")
    def test_programs_of_nvcc(self):
        for program in ("coverage_lines", "coverage_debug"):
            with self.subTest(program):
                cover(self.folder, PROGRAMS / program, options=["--anew", "--only", str(SOURCES)])
                records = load(self.folder)
                functions = self.check_source(records, "program.cu").functions
                self.check_source(records, "header.h")
                self.assertEqual(functions["_Z4bothPii"], 128)
                self.assertEqual(functions["_Z6unusedPi"], 0)
                self.assertEqual(functions["_Z5neveri"], 0)

    @unittest.skipUnless(PROGRAMS, "no nvcc")
    def test_programs_that_are_linked_when_they_load(self):
        cover(self.folder, PROGRAMS / "coverage_linked", options=["--only", str(SOURCES)])
        for name in ("linked.cu", "linked_part.cu"):
            self.check_source(load(self.folder), name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
