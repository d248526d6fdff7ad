#!/usr/bin/env python3
"""Recordings and replays as a user gets them.

    record_test.py VERDIGRIS SUBJECT
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

VERDIGRIS, SUBJECT = sys.argv[1:3]
KIB = 1 << 10


def run(*arguments, expect=0, **options):
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=120, **options)
    assert done.returncode == expect, (arguments, done.returncode, done.stdout, done.stderr)
    return done


class Recordings(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.file = str(pathlib.Path(self.folder.name) / "calls.vgr")

    def record(self, *what, options=(), expect=0):
        return run(VERDIGRIS, "record", "-o", self.file, *options, "--", SUBJECT, *what, expect=expect)

    def replay(self, *options, expect=0):
        return run(VERDIGRIS, "replay", *options, self.file, expect=expect).stdout

    def compared(self, text):
        made, copies, parts = map(int, re.search(r"(\d+) calls made, (\d+) copies .* and (\d+) parts", text).groups())
        return made, copies, parts

    def test_everything_is_as_recorded(self):
        done = self.record("all")
        self.assertIn("passed", done.stdout)
        text = self.replay()
        self.assertIn("all as recorded", text)
        made, copies, parts = self.compared(text)
        self.assertGreater(made, 100)
        self.assertEqual(copies, 14)  # as many as the program makes
        self.assertGreaterEqual(parts, 8)  # of pinned memory, registered memory, managed memory and what graphs copy to

    def test_results_are_the_same_where_the_driver_chooses_addresses(self):
        self.record("file", str(self.module()))
        text = self.replay("--own-addresses")
        self.assertIn("all as recorded", text)
        self.assertIn("lie elsewhere", text)

    def module(self):
        """The subject's own PTX as a file."""
        source = (pathlib.Path(__file__).parent / "subject.cpp").read_text()
        path = pathlib.Path(self.folder.name) / "module.ptx"
        path.write_text(re.search(r'R"\((.*?)\)"', source, re.DOTALL).group(1))
        return path

    def test_a_module_from_a_file_needs_no_file(self):
        path = self.module()
        self.record("file", str(path))
        path.unlink()
        self.assertIn("all as recorded", self.replay())

    def test_another_result_is_found(self):
        self.record("clock", options=["--contents"])
        text = self.replay(expect=1)
        self.assertRegex(text, r"differs: call \d+: the copy to the host of 8 bytes gave something else: \d bytes differ, the "
                               r"first at \d+: recorded 0x[0-9a-f]+ .*, now 0x")
        self.assertIn("1 differ", text)

    def test_calls_are_listed(self):
        self.record("clock")
        lines = self.replay("--list").splitlines()
        launch = next(line for line in lines if "cuLaunchKernel" in line)
        self.assertRegex(launch, r"^\d+ \[0\] cuLaunchKernel\(f=\S+ clock, gridDimX=1, .*kernelParams=\{0x\S+\}, extra=null\) = "
                                 r"CUDA_SUCCESS$")
        number = launch.split()[0]
        self.assertEqual(self.replay("--list", "--until", number).splitlines()[-1], launch)
        self.assertEqual(self.compared(self.replay("--until", number))[1], 0)

    def test_what_a_killed_program_did_is_there(self):
        self.record("kill", expect=128 + 9)
        # Who runs the function that kills is the driver's choice.
        self.assertRegex(self.replay("--list").splitlines()[-1], r"(cuCtxSynchronize|cuLaunchHostFunc)\(.*\) had not ended$")
        self.assertIn("had not ended when the recording did", self.replay(expect=1))

    def test_the_same_data_is_kept_once(self):
        self.record("again", "40")
        self.assertLess(os.path.getsize(self.file), 1300 * KIB)
        self.assertIn("all as recorded", self.replay())

    def test_recording_stops_at_its_limit(self):
        done = self.record("random", "40", options=["--limit", "16MiB"])
        self.assertIn("recording stops here", done.stderr)
        self.assertIn("passed", done.stdout)
        self.assertLess(os.path.getsize(self.file), 16 << 20)
        self.assertGreater(self.compared(self.replay())[0], 10)  # the call at which it stopped is not there

    def test_what_cannot_be_replayed_is_named(self):
        done = self.record("ipc")
        self.assertEqual(len(re.findall("verdigris record: cuIpcGetMemHandle: ", done.stderr)), 1)
        text = self.replay(expect=3)
        self.assertRegex(text, r"not made: call \d+: cuIpcGetMemHandle")
        self.assertIn("1 calls could not be made", text)

    def test_programs_that_are_started_have_files_of_their_own(self):
        self.record("child")
        files = sorted(pathlib.Path(self.folder.name).iterdir())
        self.assertEqual(len(files), 2, files)
        self.assertIn("all as recorded", self.replay())
        self.assertRegex(run(VERDIGRIS, "replay", str(files[1]), expect=1).stdout, "gave something else")

    def test_what_is_no_recording_is_refused(self):
        self.assertIn("cannot be read", run(VERDIGRIS, "replay", self.file, expect=2).stderr)
        pathlib.Path(self.file).write_bytes(b"nothing of the kind")
        self.assertIn("is no recording", run(VERDIGRIS, "replay", self.file, expect=2).stderr)
        self.record("clock")
        whole = pathlib.Path(self.file).read_bytes()
        pathlib.Path(self.file).write_bytes(whole[:-200] + bytes(100) + whole[-100:])
        self.assertIn("damaged", run(VERDIGRIS, "replay", self.file, expect=2).stderr)
        pathlib.Path(self.file).write_bytes(whole)
        self.assertIn("no driver", run(VERDIGRIS, "replay", "--library", "/nowhere.so", self.file, expect=2).stderr)

    def test_a_file_that_cannot_be_written_is_refused(self):
        self.file = "/nowhere/calls.vgr"
        self.assertIn("there is no folder", self.record("clock", expect=2).stderr)


unittest.main(argv=sys.argv[:1])
